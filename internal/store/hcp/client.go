package hcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Limits on the size of responses, on the time without data, and on retries.
const (
	maxState   = 1 << 30
	maxMessage = 64 << 20 // a state version lists all resources
	silence    = time.Minute
	retries    = 4
	longest    = 30 * time.Second
)

// services are the names under which hosts announce the API, in order of preference.
var services = []string{"tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"}

// mediaType is the media type of the API's documents.
const mediaType = "application/vnd.api+json"

// client sends requests.
type client struct {
	s     *settings
	hosts remote.Hosts
	http  *http.Client
	agent string
	log   func(format string, args ...any)
	wait  time.Duration // pause before the first retry
	// silence limits each step of a response, and longest a pause, whatever the server requests.
	silence, longest time.Duration
	most             int64 // maximum size of a state, in bytes
	message          int64 // maximum size of other responses, in bytes

	mu    sync.Mutex // guards the fields below; held while they are determined
	base  *url.URL   // of the API; nil until it is known
	token string
}

func newClient(s *settings, o remote.Surroundings) *client {
	transport := web.Transport(&tls.Config{MinVersion: tls.VersionTLS12})
	transport.DisableCompression = false
	return &client{s: s, hosts: o.Hosts, http: web.Over(transport), log: o.Log,
		agent: strings.TrimSpace("Tombolo " + o.Version),
		wait:  time.Second, silence: silence, longest: longest, most: maxState,
		message: maxMessage}
}

// reach determines the address of the API and the token for it.
func (c *client) reach(ctx context.Context) (*url.URL, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base != nil {
		return c.base, c.token, nil
	}
	token, err := c.authorize(ctx)
	if err != nil {
		return nil, "", err
	}
	base, err := c.hosts.Service(ctx, c.s.host, services...)
	if err != nil {
		return nil, "", err
	}
	c.base, c.token = base, token
	return base, token, nil
}

// authorize returns the token of the block, or else the user's token for the host.
func (c *client) authorize(ctx context.Context) (string, error) {
	switch {
	case c.hosts == nil:
		return "", fmt.Errorf("the embedding program does not allow access to the host %s", c.s.host)
	case c.s.token != "":
		return c.s.token, nil
	}
	token, err := c.hosts.Token(ctx, c.s.host)
	if err != nil {
		return "", fmt.Errorf("the token of the host %s cannot be read: %w", c.s.host, err)
	}
	if token != "" {
		return token, nil
	}
	also := ""
	if !strings.Contains(c.s.host, ":") { // variables with tokens cannot name a port
		also = fmt.Sprintf("set the variable TF_TOKEN_%s, ", strings.NewReplacer(".", "_", "-", "__").Replace(c.s.host))
	}
	return "", diag.Advised(fmt.Errorf("there is no token for the host %s, which the block names", c.s.host),
		"If you trust this directory and the host, run \"%s\", %sor write a credentials block %q into the CLI "+
			"configuration.", login(c.s.host), also, c.s.host)
}

// login returns the command that saves a token for a host.
func login(host string) diag.Command {
	if host == usualHost {
		return diag.Run("login")
	}
	return diag.Run("login", host)
}

// request is a request to the API or, if address is set, for the content of a state.
type request struct {
	what    string // for messages: "lock the workspace acme/one"
	method  string
	path    string // below the API
	query   map[string]string
	address *url.URL // of a content; replaces path
	body    []byte   // nil if there is none
	most    int64    // maximum size of the response; 0 means that of a message
}

// answer is a response of a server.
type answer struct {
	status int
	after  time.Duration // requested pause before a retry, or 0
	to     string        // target of a redirection
	body   []byte
}

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// passing reports whether a retry may have another result.
func passing(a *answer, err error) bool {
	var noResponse *problem
	switch {
	case errors.As(err, &noResponse):
		return noResponse.passing
	case err != nil:
		return false
	}
	return a.status == http.StatusTooManyRequests || a.status >= 500 && a.status != http.StatusNotImplemented
}

// send sends an idempotent request, with retries, and returns the final response.
func (c *client) send(ctx context.Context, r request) (*answer, error) {
	for try := 0; ; try++ {
		a, err := c.once(ctx, r)
		if !passing(a, err) || try >= retries {
			return a, err
		}
		if err := c.pause(ctx, try, a); err != nil {
			return nil, err
		}
	}
}

// pause waits before a retry, as long as the server requests, within limits.
func (c *client) pause(ctx context.Context, try int, a *answer) error {
	wait := c.wait << min(try, 10)
	if a != nil && a.after > 0 {
		wait = a.after
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(wait, c.longest)):
		return nil
	}
}

// once sends a request without retries and reads the response. If there is none, the error is a *problem or that of the
// context.
func (c *client) once(ctx context.Context, r request) (a *answer, err error) {
	base, token, err := c.reach(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.what, err)
	}
	began := time.Now()
	defer func() {
		cause := any(err)
		if err == nil {
			cause = a.status
		}
		where := r.path
		if r.address != nil {
			where = "a file on " + r.address.Host // the rest of the address is a secret
		}
		c.log("hcp: %s %s in %s: %v", r.method, where, time.Since(began).Round(time.Millisecond), cause)
	}()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	out, err := r.prepare(limited, base, token)
	if err != nil {
		return nil, c.noResponse(ctx, r, err)
	}
	out.Header.Set("User-Agent", c.agent)
	in, err := c.http.Do(out)
	if err != nil {
		return nil, c.noResponse(ctx, r, err)
	}
	defer in.Body.Close()
	most := r.most
	if most == 0 {
		most = c.message
	}
	body, err := web.Read(limited, cancel, in.Body, most, c.silence)
	switch {
	case errors.Is(err, web.ErrLong):
		return nil, &problem{text: fmt.Sprintf("%s: the answer is larger than %d bytes", r.what, most)}
	case err != nil:
		return nil, c.noResponse(ctx, r, err)
	}
	return &answer{status: in.StatusCode, after: after(in.Header), to: in.Header.Get("Location"), body: body}, nil
}

// after returns the pause that the server requests.
func after(h http.Header) time.Duration {
	for _, name := range []string{"Retry-After", "X-RateLimit-Reset"} {
		seconds, err := strconv.ParseFloat(h.Get(name), 64)
		if err == nil && seconds > 0 && !math.IsInf(seconds, 0) {
			return time.Duration(min(seconds, 3600) * float64(time.Second))
		}
	}
	return 0
}

// prepare returns the HTTP request. The token is only sent to the API and to other addresses on its host.
func (r request) prepare(ctx context.Context, base *url.URL, token string) (*http.Request, error) {
	to := r.address
	if to == nil {
		to = base.JoinPath(r.path)
		query := url.Values{}
		for name, value := range r.query {
			query.Set(name, value)
		}
		to.RawQuery = query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	out, err := http.NewRequestWithContext(ctx, r.method, to.String(), body)
	if err != nil {
		return nil, err
	}
	own := to.Scheme == base.Scheme && to.Host == base.Host
	if own && (r.address == nil || r.method == http.MethodGet) {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	switch {
	case r.address != nil && r.body != nil:
		out.Header.Set("Content-Type", "application/octet-stream")
	case r.address == nil:
		out.Header.Set("Accept", mediaType)
		if r.method != http.MethodGet {
			out.Header.Set("Content-Type", mediaType)
		}
	}
	return out, nil
}

// content returns the address of a state's content, which a document contains or to which the server redirects.
func (c *client) content(ctx context.Context, from *url.URL, text string) (*url.URL, error) {
	base, _, err := c.reach(ctx)
	if err != nil {
		return nil, err
	}
	ref, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("the server sent an invalid address of the state")
	}
	if from == nil {
		from = base
	}
	u := from.ResolveReference(ref)
	switch {
	case u.Scheme == "https", u.Scheme == "http" && u.Scheme == base.Scheme && u.Host == base.Host:
		return u, nil
	}
	return nil, fmt.Errorf("the server sent an address of the state on %s that is not protected by TLS", u.Host)
}

// document sends an idempotent request, and decodes the response into a value. It reports whether the object exists.
func (c *client) document(ctx context.Context, r request, into any) (there bool, err error) {
	a, err := c.send(ctx, r)
	switch {
	case err != nil:
		return false, err
	case a.status == http.StatusNotFound && len(a.body) > 0 && !json.Valid(a.body):
		return false, c.failed(r, a) // the response did not come from the API
	case a.status == http.StatusNotFound:
		return false, nil
	case !a.ok():
		return false, c.failed(r, a)
	}
	return true, c.decode(r, a, into)
}

func (c *client) decode(r request, a *answer, into any) error {
	if json.Unmarshal(a.body, into) != nil {
		return &problem{text: fmt.Sprintf("%s: the answer of %s is not a document of the API. Check hostname: the "+
			"server may be a proxy, or the answer may be a sign-in page", r.what, c.s.host)}
	}
	return nil
}

// noResponse returns the error for a request without a response. The request may have been performed.
func (c *client) noResponse(ctx context.Context, r request, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", r.what, ctx.Err())
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err // drop the address
	}
	var unknown x509.UnknownAuthorityError
	var bad *tls.CertificateVerificationError
	text := fmt.Sprintf("%s: %v", r.what, err)
	if errors.As(err, &unknown) {
		text += ". Add the CA that signed the server's certificate to those of this machine, or name its file with " +
			"the variable SSL_CERT_FILE"
	}
	return &problem{text: c.clean(text), passing: !errors.As(err, &unknown) && !errors.As(err, &bad)}
}

// clean removes the token from a text.
func (c *client) clean(text string) string { return arguments.Hide(text, []string{c.token, c.s.token}) }
