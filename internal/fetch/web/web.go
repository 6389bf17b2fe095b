// Package web sends requests to untrusted servers: it finds the services of a host, reads documents and downloads
// files.
//
//	client := web.New(web.Options{Credentials: tokens})
//	base, err := client.Service(ctx, "example.com", "providers.v1")
//	err = client.JSON(ctx, web.Request{URL: base.JoinPath("corp", "thing", "versions"), Host: "example.com"}, &answer)
//
// Every response is limited: a document in size and time, a download in size and in the bytes that must arrive within
// half a minute. Requests with temporary failures are repeated, with increasing pauses; the caller's context ends all
// waits.
//
// The token of a host is sent where the caller requests, but only over TLS or to this machine. A redirection to another
// host, port or scheme is followed without it, and one from https to http is refused. Errors contain the address that
// failed, without passwords, and the number of attempts.
//
// A Client is safe for concurrent use. It starts no goroutines that outlive a call.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tombolo-iac/tombolo/internal/switched"
)

// Options configures a client. The zero value is usable.
type Options struct {
	// Transport replaces the connections to servers; nil means those of the system, through the proxies of the
	// environment.
	Transport http.RoundTripper
	// Credentials returns the token of a host, whose name is in the form used in addresses, or "". Nil means no tokens.
	Credentials func(ctx context.Context, host string) (string, error)
	// Logins returns the login for a repository of artifacts. Nil means none.
	Logins func(ctx context.Context, host, repository string) (Login, error)
	// Services replaces the services that hosts announce.
	Services map[string]map[string]any
	// Retries is how often a request for a document is repeated.
	Retries int
	// Timeout limits one attempt to read a document; 0 means 10 seconds.
	Timeout time.Duration
	// Stall is the time in which a download must receive its next 16 KiB; 0 means 30 seconds.
	Stall time.Duration
	// Pause waits before a retry; nil means waiting in real time.
	Pause func(ctx context.Context, d time.Duration) error
	// Agent is the User-Agent of all requests.
	Agent string
}

const (
	defaultTimeout = 10 * time.Second

	// timedOut is the text of net/http for a timeout. Programs that wrap Terraform repeat a command that fails with it.
	timedOut     = "(Client.Timeout exceeded while awaiting headers)"
	defaultStall = 30 * time.Second
	// downloadRetries is how often a download is restarted.
	downloadRetries = 2
	maxRedirects    = 5
	maxDocument     = 8 << 20 // ten times the list of versions of the largest provider
	maxHeaders      = 256 << 10
)

// Client sends requests to servers.
type Client struct {
	Options
	mu    sync.Mutex
	hosts map[string]*announced // services of hosts; guarded by mu
}

// New returns a client.
func New(opts Options) *Client {
	if opts.Transport == nil {
		opts.Transport = Transport()
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.Stall <= 0 {
		opts.Stall = defaultStall
	}
	if opts.Pause == nil {
		opts.Pause = pause
	}
	if opts.Agent == "" {
		opts.Agent = "Tombolo"
	}
	return &Client{Options: opts, hosts: map[string]*announced{}}
}

// Transport returns a transport with this package's limits for servers before they respond.
func Transport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ResponseHeaderTimeout:  time.Minute,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    8,
		MaxResponseHeaderBytes: maxHeaders,
		ForceAttemptHTTP2:      true,
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Request is a request for a document.
type Request struct {
	URL *url.URL
	// Host is the host whose token is sent, if there is one; "" means none.
	Host string
	// Accept is the requested media type; "" means any.
	Accept string
	// Limit is the maximum size of the response in bytes; 0 means 8 MiB.
	Limit int64
	// Empty allows a response without content (204), whose headers contain the result.
	Empty bool
}

// Document is a response that was read completely.
type Document struct {
	Body   []byte
	Header http.Header
	URL    *url.URL // its address after redirections
}

// Get reads a document.
func (c *Client) Get(ctx context.Context, r Request) (Document, error) {
	if r.Limit <= 0 {
		r.Limit = maxDocument
	}
	var doc Document
	token, err := c.token(ctx, r)
	if err != nil {
		return doc, err
	}
	err = c.repeat(ctx, c.Retries, r.URL, func() error {
		ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("there was no complete answer within %s %s",
			c.Timeout, timedOut))
		defer cancel()
		answer, err := c.ask(ctx, r, token)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if doc.Body, err = io.ReadAll(limited(answer.Body, r.Limit)); err != nil {
			return because(ctx, err)
		}
		// A server that notices our cancellation may complete its response just then.
		if err := context.Cause(ctx); err != nil {
			return err
		}
		doc.Header, doc.URL = answer.Header, answer.Request.URL
		return nil
	})
	return doc, err
}

// Download writes a response to an empty file, and returns its length. progress is called with the bytes so far, and
// the total if known; it may be nil. After an error the content of the file is undefined.
func (c *Client) Download(ctx context.Context, r Request, to File, progress func(done, total int64)) (n int64,
	err error) {
	token, err := c.token(ctx, r)
	if err != nil {
		return 0, err
	}
	err = c.repeat(ctx, downloadRetries, r.URL, func() error {
		if err := to.Truncate(0); err != nil {
			return err
		}
		if _, err := to.Seek(0, io.SeekStart); err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		watch := newPace(c.Stall, cancel)
		defer watch.stop()
		answer, err := c.ask(ctx, r, token)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.ContentLength > r.Limit {
			return &tooLargeError{r.Limit}
		}
		body := &counted{r: limited(answer.Body, r.Limit), watch: watch, total: answer.ContentLength,
			progress: progress}
		n, err = io.Copy(to, body)
		if body.failed != nil {
			return because(ctx, err)
		}
		if err != nil {
			return &localError{err} // an error of the disk, not of the server
		}
		return context.Cause(ctx)
	})
	return n, err
}

// File is the destination of a download.
type File interface {
	io.Writer
	io.Seeker
	Truncate(size int64) error
}

// token returns the token of a request. It is called before the time limit of the response begins, because it may run a
// program of the user, which has its own time limit.
func (c *Client) token(ctx context.Context, r Request) (string, error) {
	if r.Host == "" || c.Credentials == nil || !private(r.URL) {
		return "", nil
	}
	if c.movedAway(r) {
		return "", nil
	}
	token, err := c.Credentials(ctx, r.Host)
	if err != nil {
		return "", fmt.Errorf("%s: the credentials of %s could not be read: %w", bare(r.URL), r.Host, err)
	}
	return token, nil
}

// movedAway reports whether an address comes from another host, to which the host has redirected.
func (c *Client) movedAway(r Request) bool {
	c.mu.Lock()
	known := c.hosts[r.Host]
	c.mu.Unlock()
	name, err := svchost.ForComparison(r.Host)
	return known != nil && known.found.Load() && known.moved && (err != nil || r.URL.Host != string(name))
}

// MaySendToken reports whether the token of a host may be sent to an address that the host announces: the address uses
// TLS or is on this machine, and no other host has chosen it.
func (c *Client) MaySendToken(host string, u *url.URL) bool {
	return private(u) && !c.movedAway(Request{URL: u, Host: host})
}

// ask sends one request. The caller closes the body of the response; an error status is an error.
func (c *Client) ask(ctx context.Context, r Request, token string) (*http.Response, error) {
	if r.URL.Scheme != "https" && r.URL.Scheme != "http" {
		return nil, &refusedError{fmt.Sprintf("the scheme %q cannot be used: expected https", r.URL.Scheme)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL.String(), nil)
	if err != nil {
		return nil, &refusedError{"the address cannot be queried"}
	}
	request.Header.Set("User-Agent", c.Agent)
	if r.Accept != "" {
		request.Header.Set("Accept", r.Accept)
	} else {
		request.Header.Set("Accept-Encoding", "identity") // unmodified, because its checksum is known
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	asker := http.Client{Transport: readable{c.Transport}, CheckRedirect: redirect}
	answer, err := asker.Do(request)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the caller adds the address
		}
		return nil, because(ctx, err)
	}
	if answer.StatusCode != http.StatusOK && (!r.Empty || answer.StatusCode != http.StatusNoContent) {
		answer.Body.Close()
		return nil, &StatusError{Code: answer.StatusCode, retryAfter: answer.Header.Get("Retry-After")}
	}
	return answer, nil
}

// readable refuses a switch to another protocol, and a redirection to an invalid address, for which the error of
// net/http would contain all of the text with its secrets.
type readable struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r readable) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := switched.Refuse(r.RoundTripper.RoundTrip(request))
	if err != nil {
		return nil, err
	}
	if _, err := request.URL.Parse(answer.Header.Get("Location")); err != nil && answer.StatusCode/100 == 3 {
		answer.Body.Close()
		return nil, &refusedError{"it redirects to an address that is not a URL"}
	}
	return answer, nil
}

// redirect decides whether and how to follow a redirection.
func redirect(next *http.Request, via []*http.Request) error {
	first, last := via[0].URL, via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return &refusedError{fmt.Sprintf("there are more than %d redirects", maxRedirects)}
	case next.URL.Scheme != "https" && (next.URL.Scheme != "http" || last.Scheme != "http"):
		return &refusedError{fmt.Sprintf("it redirects to %s, which is not protected by TLS", bare(next.URL))}
	case next.URL.User != nil && (next.URL.Host != last.Host || last.User == nil || *next.URL.User != *last.User):
		return &refusedError{fmt.Sprintf("it redirects to an address that contains a user or password, %s",
			bare(next.URL))}
	}
	next.Header.Del("Referer")
	for _, hop := range append(via, next) {
		// After a redirection to another host, all further ones are foreign, too, because that host has chosen them.
		if hop.URL.Host != first.Host || hop.URL.Scheme != first.Scheme {
			next.Header.Del("Authorization")
		}
	}
	return nil
}

// private reports whether a request cannot be read or changed on the way: it uses TLS, or it stays on this machine,
// where wrappers run servers that require a token (Terragrunt's provider cache).
func private(u *url.URL) bool {
	return u.Scheme == "https" || onThisMachine(u)
}

func onThisMachine(u *url.URL) bool {
	name := u.Hostname()
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// SameOrigin reports whether two addresses have the same scheme, host and port.
func SameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	standard := map[string]string{"https": "443", "http": "80"}
	return cmp.Or(u.Port(), standard[u.Scheme])
}

// Protected returns an error if an address in a document at base is less protected than the document: it has no TLS.
// Within this machine TLS is not needed. A server elsewhere must not refer to services on this machine without TLS.
func Protected(base, u *url.URL) error {
	if base.Scheme == "https" && u.Scheme != "https" && !(onThisMachine(base) && onThisMachine(u)) {
		return fmt.Errorf("%s is not protected by TLS", bare(u))
	}
	return nil
}

// bare returns an address without parts that may be secret.
func bare(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	text := plain.String()
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return text
}

// maxShown limits the part of an address in an error, in bytes.
const maxShown = 500
