// Package web sends requests to untrusted servers: it finds the services of a host, reads documents and downloads
// files.
//
//	client := web.New(web.Options{Credentials: tokens})
//	base, err := client.Service(ctx, "example.com", "providers.v1")
//	err = client.JSON(ctx, web.Request{URL: base.JoinPath("corp", "thing", "versions"), Host: "example.com"}, &answer)
//
// Every answer is limited: a document in size and time, a download in size and by how much has to come within half a
// minute. Requests that failed in a way that may pass are repeated, a little later each time; the caller's context ends
// all waiting.
//
// The token of a host goes where the caller says, over TLS or to this machine only; a redirect to any other host, port
// or scheme continues without it, and one from https to http is refused. Errors name the address that failed, without
// passwords in it, and the number of attempts.
//
// A Client may be used by several goroutines. It starts none that outlive a call.
package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
)

// Options configures a client. The zero value is usable.
type Options struct {
	// Transport replaces the connections to servers; nil means those of the system, through the proxies that the
	// environment names.
	Transport http.RoundTripper
	// Credentials returns the token of a host, in the form in which hosts are written in addresses; "" when it has
	// none. nil means no tokens.
	Credentials func(ctx context.Context, host string) (string, error)
	// Logins returns the login for a repository of artifacts; nil means none.
	Logins func(ctx context.Context, host, repository string) (Login, error)
	// Services replace what hosts would announce of themselves.
	Services map[string]map[string]any
	// Retries is how often a request for a document is repeated.
	Retries int
	// Timeout limits one attempt to read a document; 0 means 10 seconds.
	Timeout time.Duration
	// Stall is the time in which a download has to bring its next 16 KiB; 0 means 30 seconds.
	Stall time.Duration
	// Pause waits before an attempt is repeated; nil for time itself.
	Pause func(ctx context.Context, d time.Duration) error
	// Agent is the User-Agent of all requests.
	Agent string
}

const (
	defaultTimeout = 10 * time.Second

	// timedOut is how net/http and programs that wrap Terraform know it: they run a command again that has failed so.
	timedOut     = "(Client.Timeout exceeded while awaiting headers)"
	defaultStall = 30 * time.Second
	// downloadRetries is how often a download is started again.
	downloadRetries = 2
	maxRedirects    = 5
	maxDocument     = 8 << 20 // the list of versions of the largest provider has a tenth of it
	maxHeaders      = 256 << 10
)

// Client asks servers.
type Client struct {
	Options
	mu    sync.Mutex
	hosts map[string]*announced // what hosts announce; guarded by mu
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

// Transport returns a transport with this package's limits on what a server may do before it answers.
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
	// Host is the host whose token goes along, if it has one; "" for none.
	Host string
	// Accept is the media type that is wanted; "" for any.
	Accept string
	// Limit is how many bytes the answer may have; 0 means 8 MiB.
	Limit int64
	// Empty allows an answer without content (204), whose headers say it all.
	Empty bool
}

// Document is an answer that was read as a whole.
type Document struct {
	Body   []byte
	Header http.Header
	URL    *url.URL // where it came from, after redirects
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
		// A server that notices our end may complete its answer just then.
		if err := context.Cause(ctx); err != nil {
			return err
		}
		doc.Header, doc.URL = answer.Header, answer.Request.URL
		return nil
	})
	return doc, err
}

// Download writes an answer to an empty file, and returns its length. progress is called with the bytes so far, and the
// total if it is known; it may be nil. After an error the content of the file is undefined.
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
			return &localError{err} // the disk, not the server
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

// token returns what goes along with a request. It is found out before the time of the answer begins: a program of the
// user's may have to be asked, which has its own time.
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

// movedAway reports whether an address is known only because the host has redirected to another one, which chose it.
func (c *Client) movedAway(r Request) bool {
	c.mu.Lock()
	known := c.hosts[r.Host]
	c.mu.Unlock()
	name, err := svchost.ForComparison(r.Host)
	return known != nil && known.found.Load() && known.moved && (err != nil || r.URL.Host != string(name))
}

// Entrusted reports whether the token of a host may go to an address that the host announces: TLS protects it, or it is
// on this machine, and no other host has chosen it.
func (c *Client) Entrusted(host string, u *url.URL) bool {
	return private(u) && !c.movedAway(Request{URL: u, Host: host})
}

// ask sends one request. The caller closes the body of the answer; a status of failure is an error.
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
		request.Header.Set("Accept-Encoding", "identity") // a file as it is: its checksum is known
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	asker := http.Client{Transport: readable{c.Transport}, CheckRedirect: redirect}
	answer, err := asker.Do(request)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the caller names the address
		}
		return nil, because(ctx, err)
	}
	if answer.StatusCode != http.StatusOK && (!r.Empty || answer.StatusCode != http.StatusNoContent) {
		answer.Body.Close()
		return nil, &StatusError{Code: answer.StatusCode, retryAfter: answer.Header.Get("Retry-After")}
	}
	return answer, nil
}

// readable refuses a redirect to what is not an address. The error of net/http has all of the text, with its secrets.
type readable struct{ http.RoundTripper }

// RoundTrip sends one request.
func (r readable) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if _, err := request.URL.Parse(answer.Header.Get("Location")); err != nil && answer.StatusCode/100 == 3 {
		answer.Body.Close()
		return nil, &refusedError{"it redirects to an address that is not a URL"}
	}
	return answer, nil
}

// redirect decides whether and how to follow.
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
		// After a redirect to another host, everything counts as elsewhere: that host's redirects are not the first
		// one's.
		if hop.URL.Host != first.Host || hop.URL.Scheme != first.Scheme {
			next.Header.Del("Authorization")
		}
	}
	return nil
}

// private reports whether a request cannot be read or changed on the way: TLS protects it, or it stays on this machine,
// where wrappers have servers that require a token (Terragrunt's cache of providers).
func private(u *url.URL) bool {
	return u.Scheme == "https" || onThisMachine(u)
}

func onThisMachine(u *url.URL) bool {
	name := u.Hostname()
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// Protected returns an error if an address in a document at base is less protected than the document: it has no TLS.
// Within this machine it needs none. A server elsewhere may not refer to services here that have no TLS.
func Protected(base, u *url.URL) error {
	if base.Scheme == "https" && u.Scheme != "https" && !(onThisMachine(base) && onThisMachine(u)) {
		return fmt.Errorf("%s is not protected by TLS", bare(u))
	}
	return nil
}

// bare returns an address without possible secrets.
func bare(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	text := plain.String()
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return text
}

// maxShown limits the part of an address in an error.
const maxShown = 500
