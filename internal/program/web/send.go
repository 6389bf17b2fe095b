package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/message"
)

// ask is a request whose templates have been evaluated.
type ask struct {
	op      *manifest.Operation
	url     *url.URL
	headers http.Header
	body    []byte
	server  *url.URL
	// idempotent means that the request may be sent again even if its result is unknown.
	idempotent bool
	// changes means that the request may change something.
	changes bool
	// bare means that the request itself is for a token, so that it has none.
	bare bool
}

// reply is the response to a request.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// serverOf parses the base address of all paths.
func serverOf(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the address of the server cannot be read")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, errors.New("the address of the server must begin with https:// or http:// and a host")
	case u.User != nil:
		return nil, errors.New(`the address of the server contains credentials; use "auth" in the manifest`)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the address of the server must not have a query (?) or a fragment (#)")
	}
	return u, nil
}

// prepare evaluates the templates of a request.
func (v *visit) prepare(op *manifest.Operation, vars manifest.Variables) (*ask, error) {
	text, _, err := v.c.m.HTTP.URL.Text(vars)
	if err != nil {
		return nil, unsent("its address is not known: %s", err)
	}
	a := &ask{op: op, headers: http.Header{}}
	if a.server, err = serverOf(text); err != nil {
		return nil, unsent("%s", err)
	}
	path, link, err := op.Path.Path(vars)
	if err != nil {
		return nil, unsent("the request cannot be created: %s", err)
	}
	if a.url, err = a.address(path, link); err != nil {
		return nil, unsent("the request cannot be created: %s", err)
	}
	query := a.url.Query()
	if err := each(op.Query, vars, func(name, text string) { query.Add(name, text) }); err != nil {
		return nil, unsent("the query cannot be computed: %s", err)
	}
	if op.Query != nil {
		a.url.RawQuery = query.Encode()
	}
	for _, t := range []*manifest.Template{v.c.m.HTTP.Headers, op.Headers} {
		given := http.Header{}
		if err := each(t, vars, func(name, text string) { given.Add(name, text) }); err != nil {
			return nil, unsent("the headers cannot be computed: %s", err)
		}
		for name, list := range given {
			a.headers[name] = list
		}
	}
	a.changes = !slices.Contains([]string{http.MethodGet, http.MethodHead}, op.Method)
	a.idempotent = op.Idempotent || !slices.Contains([]string{http.MethodPost, http.MethodPatch}, op.Method)
	if v.reads() { // even with POST, which some APIs use for reads
		a.changes, a.idempotent = false, true
	}
	if err := a.encode(vars); err != nil {
		return nil, unsent("the body cannot be computed: %s", err)
	}
	if a.headers.Get("Accept") == "" {
		a.headers.Set("Accept", "application/json")
	}
	return a, nil
}

// address appends a path to the address of the server. A link is resolved as on a page of the server, and must lead to
// the same server.
func (a *ask) address(path string, link bool) (*url.URL, error) {
	base := *a.server
	if !link {
		path, query, _ := strings.Cut(path, "?")
		full, err := url.Parse(strings.TrimSuffix(base.String(), "/") + "/" + strings.TrimPrefix(path, "/"))
		if err != nil {
			return nil, errors.New("the path cannot be read")
		}
		full.RawQuery = query
		return full, nil
	}
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	u, err := base.Parse(path)
	if err != nil {
		return nil, errors.New("the link cannot be read")
	}
	if !sameServer(a.server, u) {
		return nil, fmt.Errorf("the link leads to another server, %s; requests with credentials only go to %s", u.Host,
			a.server.Host)
	}
	return u, nil
}

func sameServer(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) && b.User == nil
}

// each evaluates an object whose members are strings or lists of strings. It skips null.
func each(t *manifest.Template, vars manifest.Variables, use func(name, text string)) error {
	if t == nil {
		return nil
	}
	v, err := t.Value(vars)
	if err != nil || v.IsNull() {
		return err
	}
	if !v.Type().IsObjectType() && !v.Type().IsMapType() || !v.IsWhollyKnown() {
		return errors.New("expected an object whose values are known")
	}
	for _, name := range sortedNames(v) {
		list := []cty.Value{member(v, name)}
		if ty := list[0].Type(); !list[0].IsNull() && (ty.IsTupleType() || ty.IsListType() || ty.IsSetType()) {
			list = list[0].AsValueSlice()
		}
		for _, one := range list {
			if one.IsNull() {
				continue
			}
			text, err := convert.Convert(one, cty.String)
			if err != nil {
				return fmt.Errorf("%q is neither a string nor a list of strings", name)
			}
			use(name, text.AsString())
		}
	}
	return nil
}

// encode sets the body and its content type.
func (a *ask) encode(vars manifest.Variables) error {
	op := a.op
	kind := "application/json"
	switch {
	case !op.HasBody && vars["fields"] != cty.NilVal && a.changes && op.Method != http.MethodDelete:
		body := vars["fields"]
		if op.Method == http.MethodPatch && vars["changes"] != cty.NilVal {
			body, kind = vars["changes"], "application/merge-patch+json"
		}
		a.body, _ = message.EncodeValue(body.Type(), body)
	case op.Body == nil:
		return nil
	case op.Encoding == "form":
		form := url.Values{}
		if err := each(op.Body, vars, form.Add); err != nil {
			return err
		}
		a.body, kind = []byte(form.Encode()), "application/x-www-form-urlencoded"
	case op.Encoding == "text":
		text, _, err := op.Body.Text(vars)
		if err != nil {
			return err
		}
		a.body, kind = []byte(text), "text/plain; charset=utf-8"
	default:
		v, err := op.Body.Value(vars)
		if err != nil {
			return err
		}
		if !v.IsWhollyKnown() {
			return errors.New("it has values that are not known yet")
		}
		if v.IsNull() {
			return nil
		}
		a.body, _ = message.EncodeValue(v.Type(), v)
	}
	if a.headers.Get("Content-Type") == "" {
		a.headers.Set("Content-Type", kind)
	}
	return nil
}

const maxRedirects = 5

// send sends a request, with retries if necessary, and returns the response whatever its status.
func (v *visit) send(a *ask, vars manifest.Variables) (*reply, error) {
	repeats := v.c.m.HTTP.Retry
	renewed := false
	for attempt := 1; ; attempt++ {
		got, sent, err := v.once(a, vars)
		wait := time.Duration(0)
		switch {
		case err == nil && got.status == http.StatusUnauthorized && !a.bare && !renewed && v.c.forgetToken(v.token):
			renewed = true // the token may have been revoked; the server has done nothing
			attempt--
			continue
		case err == nil && !slices.Contains(repeats.Statuses, got.status), v.ctx.Err() != nil,
			attempt >= repeats.Attempts, sent && !a.idempotent:
			return got, v.failed(a, sent, err)
		case err == nil:
			wait = retryAfter(got.header, time.Now())
			if wait > repeats.MaxDelay {
				return got, nil
			}
		default:
			var f *Failure
			if errors.As(err, &f) {
				return nil, err // a permanent error
			}
		}
		backoff := repeats.Delay << min(attempt-1, 20)
		if backoff <= 0 || backoff > repeats.MaxDelay {
			backoff = repeats.MaxDelay
		}
		backoff = backoff/2 + rand.N(backoff/2+1)
		if err := sleep(v.ctx, max(wait, backoff)); err != nil {
			return nil, v.failed(a, sent && a.changes && !a.idempotent, err)
		}
	}
}

// failed returns the failure of a request without a response.
func (v *visit) failed(a *ask, sent bool, err error) error {
	var f *Failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	if cause := context.Cause(v.ctx); cause != nil {
		err = cause
	}
	f = &Failure{State: "it did not answer: " + reason(err), Lost: sent && a.changes, Unsent: !sent}
	if f.Lost {
		f.Advice = "It is not known whether the server performed the request."
	}
	return f
}

// reason returns an error of the library without the address, which is shown elsewhere and may be secret.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() {
			return "the time limit of the request has passed"
		}
		err = u.Err
	}
	return err.Error()
}

// once sends a request without retries. sent reports whether a connection was used, so that the server may have read
// the request.
func (v *visit) once(a *ask, vars manifest.Variables) (got *reply, sent bool, err error) {
	headers := a.headers.Clone()
	if !a.bare {
		if err := v.authorize(headers, vars); err != nil {
			return nil, false, err
		}
	}
	client, err := v.c.client(vars)
	if err != nil {
		return nil, false, err
	}
	limit := v.c.m.HTTP.Timeout
	if a.op.Timeout > 0 {
		limit = a.op.Timeout
	}
	ctx, cancel := context.WithTimeout(v.ctx, limit)
	defer cancel()
	var used atomic.Bool
	connected := func(httptrace.GotConnInfo) { used.Store(true) }
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: connected})
	to := a.url
	for hop := 0; ; hop++ {
		shown := *to
		shown.RawQuery, shown.Fragment = "", ""
		v.request = a.op.Method + " " + shown.String()
		req, err := http.NewRequestWithContext(ctx, a.op.Method, to.String(), bytes.NewReader(a.body))
		if err != nil {
			return nil, false, unsent("the request cannot be created")
		}
		req.Header = headers
		resp, err := client.RoundTrip(req)
		v.sent = v.sent || a.changes && used.Load()
		if err != nil {
			if ctx.Err() != nil && v.ctx.Err() == nil {
				err = fmt.Errorf("the time limit of %s for a request has passed", limit)
			}
			return nil, used.Load(), err
		}
		body, err := v.c.read(resp)
		if err != nil {
			if f := (*Failure)(nil); errors.As(err, &f) {
				f.Lost = a.changes && resp.StatusCode < 300
			} else if ctx.Err() != nil && v.ctx.Err() == nil {
				err = fmt.Errorf("the answer is incomplete: the time limit of %s for a request has passed", limit)
			}
			return nil, true, err
		}
		next, err := redirected(a, to, resp)
		if err != nil {
			return nil, true, err
		}
		if next == nil {
			return &reply{resp.StatusCode, resp.Header, body}, true, nil
		}
		if hop == maxRedirects {
			return nil, true, &Failure{State: fmt.Sprintf("it redirected the request more than %d times", maxRedirects)}
		}
		to = next
	}
}

// redirected returns the target of a redirection, or nil for other responses. Only redirections to the same server are
// followed, because the request contains credentials.
func redirected(a *ask, from *url.URL, resp *http.Response) (*url.URL, error) {
	location := resp.Header.Get("Location")
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		if a.op.Method != http.MethodGet && a.op.Method != http.MethodHead {
			return nil, nil // the target is unclear; the status is an error unless the manifest accepts it
		}
	default:
		return nil, nil
	}
	to, err := from.Parse(location)
	if err != nil || location == "" {
		return nil, &Failure{State: "it redirected the request to an address that cannot be read"}
	}
	if !sameServer(a.server, to) {
		return nil, &Failure{
			State: fmt.Sprintf("it redirected the request to another server, %s://%s", to.Scheme, to.Host),
			Advice: "Such a redirect is not followed, because the request has credentials. If that server is " +
				"correct, configure its address."}
	}
	return to, nil
}

// read reads the body of a response.
func (c *Client) read(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // the body is the connection, which knows no time limit
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.m.HTTP.MaxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer is incomplete: %w", err)
	case int64(len(body)) > c.m.HTTP.MaxBody:
		return nil, &Failure{State: fmt.Sprintf("its answer is longer than the %d bytes that \"max_body\" allows",
			c.m.HTTP.MaxBody)}
	}
	return body, nil
}

// retryAfter returns the pause that the server requests, which may be centuries.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(n) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

const maxHeaders = 1 << 20

// client returns the transport for the TLS settings.
func (c *Client) client(vars manifest.Variables) (http.RoundTripper, error) {
	settings, key := map[string]string{}, ""
	for _, name := range []string{"ca", "certificate", "key"} {
		t := c.m.HTTP.TLS[name]
		if t == nil {
			continue
		}
		text, _, err := t.Text(vars)
		if err != nil {
			return nil, unsent("the setting tls.%s is not known: %s", name, err)
		}
		settings[name] = text
		key += fmt.Sprintf("%s %q\n", name, text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transports[key]; t != nil {
		return t, nil
	}
	config, err := c.tls(settings)
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig, t.MaxResponseHeaderBytes, t.MaxConnsPerHost = config, maxHeaders, 64
	c.transports[key] = t
	return t, nil
}

// tls loads certificates and keys, which are texts or names of files.
func (c *Client) tls(settings map[string]string) (*tls.Config, error) {
	pem := map[string][]byte{}
	for name, text := range settings {
		switch {
		case text == "":
		case strings.Contains(text, "-----BEGIN"):
			pem[name] = []byte(text)
		default:
			data, err := readFile(text)
			if err != nil {
				return nil, unsent("the file that tls.%s names cannot be read: %s", name, reasonOfFile(err))
			}
			pem[name] = data
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if pem["ca"] != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem["ca"]) {
			return nil, unsent("tls.ca has no certificate in PEM form")
		}
	}
	if pem["certificate"] != nil || pem["key"] != nil {
		c.hide(string(pem["key"]))
		pair, err := tls.X509KeyPair(pem["certificate"], pem["key"])
		if err != nil {
			return nil, unsent("tls.certificate and tls.key are not a certificate and its key in PEM form")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func reasonOfFile(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
