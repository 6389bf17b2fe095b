package httpstore

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Limits on the size of responses, and on the time without data.
const (
	maxState   = 1 << 30
	maxMessage = 1 << 20
	silence    = time.Minute
)

// client sends requests.
type client struct {
	s    *settings
	http *http.Client
	log  func(format string, args ...any)
	most int64 // maximum size of a state, in bytes
	// silence limits each step of a response.
	silence time.Duration
}

func newClient(s *settings, o remote.Surroundings) *client {
	transport := web.Transport(s.tls)
	transport.DisableCompression = false
	c := web.Over(transport)
	c.CheckRedirect = s.follow
	return &client{s: s, http: c, log: o.Log, most: maxState, silence: silence}
}

// request is a request of the protocol.
type request struct {
	what    string // verb for messages: "read"
	method  string
	address *url.URL
	body    []byte // nil if there is none
	match   string // required tag of the state, or "" for any
	most    int64  // maximum size of the response; 0 means maxMessage
}

// answer is a response of a server.
type answer struct {
	status int
	etag   string // a strong one, or ""
	after  string // value of Retry-After
	body   []byte
}

func (a *answer) ok() bool { return a.status == 200 || a.status == 201 || a.status == 204 }

// refused reports whether another run holds the lock, or has written the state.
func (a *answer) refused() bool {
	return a.status == http.StatusLocked || a.status == http.StatusConflict
}

// errRedirect is the error for a redirection that is not followed.
var errRedirect = errors.New("the server redirects to another address in a way that would change the request. Set " +
	"that address in the backend block")

// follow allows only redirections that keep the method: Go turns others into GET, whose response would look like
// success. It refuses redirections from https to http, and sends the user's headers only to the first host.
func (s *settings) follow(r *http.Request, via []*http.Request) error {
	switch first := via[0]; {
	case len(via) >= 10:
		return errors.New("the server redirects in a loop")
	case r.Method != first.Method, first.URL.Scheme == "https" && r.URL.Scheme != "https":
		return errRedirect
	}
	if r.URL.Host != via[0].URL.Host {
		for name := range s.headers {
			r.Header.Del(name)
		}
	}
	r.Header.Del("Referer") // may contain a token
	return nil
}

// send sends an idempotent request, with retries, and returns the final response.
func (c *client) send(ctx context.Context, r request) (*answer, error) {
	for try := 0; ; try++ {
		a, err := c.once(ctx, r)
		if !again(a, err) || try >= c.s.retries {
			return a, err
		}
		if err := c.wait(ctx, try, a); err != nil {
			return nil, err
		}
	}
}

// again reports whether a retry may have another result.
func again(a *answer, err error) bool {
	var noResponse *problem
	switch {
	case errors.As(err, &noResponse):
		return noResponse.passing
	case err != nil:
		return false
	}
	return a.status == http.StatusTooManyRequests || a.status >= 500 && a.status != http.StatusNotImplemented
}

// wait waits before a retry, as long as the server requests, within limits.
func (c *client) wait(ctx context.Context, try int, a *answer) error {
	pause := c.s.waitMin << min(try, 20)
	if a != nil && a.after != "" {
		if n, err := strconv.Atoi(a.after); err == nil && n >= 0 {
			pause = time.Duration(min(n, 3600)) * time.Second
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(pause, c.s.waitMax)):
		return nil
	}
}

// once sends a request without retries and reads the response. If there is none, the error is a *problem or that of the
// context.
func (c *client) once(ctx context.Context, r request) (a *answer, err error) {
	began := time.Now()
	defer func() {
		message_ := ""
		if err != nil {
			message_ = err.Error()
		} else {
			message_ = strconv.Itoa(a.status)
		}
		c.log("http: %s %s in %s: %s", r.method, nameOf(r.address), time.Since(began).Round(time.Millisecond),
			c.s.clean(message_))
	}()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	out, err := c.prepare(limited, r)
	if err != nil {
		return nil, c.noResponse(ctx, r, err)
	}
	in, err := c.http.Do(out)
	if err != nil {
		return nil, c.noResponse(ctx, r, err)
	}
	defer in.Body.Close()
	most := r.most
	if most == 0 {
		most = maxMessage
	}
	body, err := web.Read(limited, cancel, in.Body, most, c.silence)
	switch {
	case errors.Is(err, web.ErrLong):
		return nil, &problem{text: fmt.Sprintf("%s %s: the answer is larger than %d bytes", r.what, c.s.name, most)}
	case err != nil:
		return nil, c.noResponse(ctx, r, err)
	}
	a = &answer{status: in.StatusCode, body: body, after: in.Header.Get("Retry-After")}
	if a.ok() && bytes.HasPrefix(bytes.TrimLeft(body, "\ufeff \t\r\n"), []byte("<")) {
		return nil, c.page(r)
	}
	if tag := in.Header.Get("ETag"); len(tag) > 1 && tag[0] == '"' {
		a.etag = tag
	}
	return a, nil
}

// prepare returns the HTTP request as Terraform sends it.
func (c *client) prepare(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	out, err := http.NewRequestWithContext(ctx, r.method, r.address.String(), body)
	if err != nil {
		return nil, err
	}
	for name, value := range c.s.headers {
		out.Header.Set(name, value)
	}
	if c.s.user != "" {
		out.SetBasicAuth(c.s.user, c.s.password)
	}
	if r.body != nil {
		sum := md5.Sum(r.body)
		out.Header.Set("Content-Type", "application/json")
		out.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	if r.match != "" {
		out.Header.Set("If-Match", r.match)
	}
	return out, nil
}

// noResponse returns the error for a request without a response. The request may have been performed.
func (c *client) noResponse(ctx context.Context, r request, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", r.what, c.s.name, ctx.Err())
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err // drop the address
	}
	var unknown x509.UnknownAuthorityError
	var bad *tls.CertificateVerificationError
	lasting := errors.Is(err, errRedirect) || errors.As(err, &unknown) || errors.As(err, &bad)
	text := fmt.Sprintf("%s %s: %v", r.what, c.s.name, err)
	if errors.As(err, &unknown) {
		text += ". Set client_ca_certificate_pem to the certificate of the CA that signed the server's certificate"
	}
	return &problem{text: c.s.clean(text), passing: !lasting}
}
