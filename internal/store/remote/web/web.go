// Package web sends requests to the services that drivers keep states in. An answer has a bound in size, and in the
// time without data. A request is sent again when the service asks for that, or when nothing was heard, so it has to
// name what it replaces, or to change nothing. No secret reaches a line of the log or an error.
//
//	c := &web.Client{Kind: "oss", HTTP: web.HTTP(nil), Log: o.Log, Clean: s.Clean, Authorize: sign}
//	answer, err := c.Send(ctx, web.Request{What: "read", Name: "oss://states/a", Method: "GET", Address: address})
package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
)

// Limits on the size of answers, and on their time: each step of an answer has to arrive within a silence.
const (
	MaxObject  = 1 << 30
	MaxMessage = 16 << 20
	answerTime = time.Minute
	Silence    = 30 * time.Second
	step       = 16 << 10
	maxHeader  = 256 << 10
)

// How often a request is tried again that the service asks to have tried again, and the pauses before.
const (
	retries      = 6
	FirstPause   = 300 * time.Millisecond
	LongestPause = 5 * time.Second
)

// HTTP returns a client for services. It uses the proxies of the environment, and follows no redirections: a request is
// signed for one address.
func HTTP(trust *tls.Config) *http.Client {
	return Over(Transport(trust))
}

// Over returns a client over a transport, which may be one of Transport with changes. It follows no redirections.
func Over(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: progress.Over(transport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Transport returns the transport of HTTP.
func Transport(trust *tls.Config) *http.Transport {
	proxy := httpproxy.FromEnvironment().ProxyFunc()
	return &http.Transport{
		Proxy:                 func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       trust,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: answerTime,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   16,
		DisableCompression:    true, // an object is what is stored

		MaxResponseHeaderBytes: maxHeader,
	}
}

// Client sends requests. Its fields are set before its first request.
type Client struct {
	Kind  string // of the backend, for the log
	HTTP  *http.Client
	Log   func(format string, args ...any)
	Clean func(text string) string // removes secrets
	// Authorize adds to a request what the service knows its sender by. A *NoAccess says that there are no
	// credentials.
	Authorize func(ctx context.Context, r *http.Request, body []byte) error
	// Renew reports whether a request that was refused may succeed under other credentials, or by another clock, which
	// Authorize uses from now on. Nil: it cannot.
	Renew func(r *http.Request, a *Answer) bool
	Pause time.Duration // before a request is tried again for the first time; FirstPause when 0
	Most  int64         // bytes of an object that is read; MaxObject when 0
	// Silence is how long each step of an answer may take; Silence when 0.
	Silence time.Duration
}

// Request is one that may be sent again.
type Request struct {
	What, Name string // for people: "read", "gs://bucket/object"
	Method     string
	Address    string
	Header     http.Header
	Body       []byte
	Object     bool // the answer is an object, and not a message
}

// Answer is an answer of the service.
type Answer struct {
	Method string // of the request
	Status int
	Header http.Header
	Body   []byte
	Again  bool // an earlier try may have arrived
}

// OK reports whether the service did what it was asked for.
func (a *Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// NoAccess means that there are no credentials: nothing was asked of the service.
type NoAccess struct {
	Text    string
	Passing bool // there may be some another time
}

// Error implements error.
func (n *NoAccess) Error() string { return n.Text }

// Problem is an error with a text for people, without secrets.
type Problem struct {
	Text string
	Err  error
}

// Error implements error.
func (p *Problem) Error() string { return p.Text }

// Unwrap returns the reason.
func (p *Problem) Unwrap() error { return p.Err }

// Send sends a request, with retries, until it has a final answer.
func (c *Client) Send(ctx context.Context, r Request) (*Answer, error) {
	arrived, renewed := false, false
	for try := 0; ; try++ {
		a, sent, err := c.once(ctx, r)
		if err == nil && !a.OK() && !renewed && c.Renew != nil && c.Renew(sent, a) {
			renewed = true
			continue
		}
		var none *NoAccess
		passing := err != nil && !Lasting(err) && (!errors.As(err, &none) || none.Passing)
		if err == nil {
			a.Again, passing = arrived, Busy(a.Status)
		}
		if ctx.Err() != nil {
			return nil, &Problem{Text: r.What + " " + r.Name + ": " + context.Cause(ctx).Error(), Err: ctx.Err()}
		}
		if !passing || try == retries {
			return a, c.unheard(r, err)
		}
		arrived = arrived || err != nil && none == nil || err == nil && a.Status >= 500
		if err := c.wait(ctx, try, a); err != nil {
			return nil, &Problem{Text: r.What + " " + r.Name + ": " + err.Error(), Err: err}
		}
	}
}

// Busy reports whether a later retry of a request may have another result.
func Busy(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 &&
		status != http.StatusNotImplemented
}

// wait waits before another try.
func (c *Client) wait(ctx context.Context, try int, a *Answer) error {
	var said http.Header
	if a != nil {
		said = a.Header
	}
	return Wait(ctx, try, cmp.Or(c.Pause, FirstPause), said)
}

// longestAsked is how many times the first pause a pause may take that the service asks for: a minute after FirstPause.
const longestAsked = 200

// Wait waits before another try: as long as the service asks for, within a bound, or for some time within one that
// doubles from the first on.
func Wait(ctx context.Context, try int, first time.Duration, said http.Header) error {
	most := min(first<<min(try, 10), LongestPause)
	pause := most/2 + rand.N(most/2+1)
	if asked := Asked(said); asked > 0 {
		pause = min(asked+rand.N(asked/8+1), longestAsked*first)
		progress.Pause(ctx, pause)
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Asked returns how long a service wants to be left alone, by a number of seconds or a time; 0 where it does not say.
func Asked(said http.Header) time.Duration {
	text := said.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds <= 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// ErrLong means that an answer has more bytes than are read.
var ErrLong = errors.New("the answer is too long")

// Lasting reports whether a retry is useless after an error.
func Lasting(err error) bool {
	var op *net.OpError
	return errors.Is(err, ErrLong) || strings.Contains(err.Error(), "x509: ") ||
		errors.As(err, &op) && op.Op == "proxyconnect"
}

// once sends a request and reads the answer.
func (c *Client) once(ctx context.Context, r Request) (a *Answer, sent *http.Request, err error) {
	began := time.Now()
	defer func() {
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = strconv.Itoa(a.Status)
		}
		c.Log("%s: %s %s in %s: %s", c.Kind, r.What, r.Name, time.Since(began).Round(time.Millisecond), c.Clean(text))
	}()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	out, err := http.NewRequestWithContext(limited, r.Method, r.Address, bytes.NewReader(r.Body))
	if err != nil {
		return nil, nil, &Problem{Text: "the address cannot be used"}
	}
	for name, values := range r.Header {
		out.Header[name] = values
	}
	out.Header.Set("User-Agent", "tombolo")
	if err = c.Authorize(limited, out, r.Body); err != nil {
		return nil, out, err
	}
	in, err := c.HTTP.Do(out)
	if err != nil {
		return nil, out, Reason(err)
	}
	defer in.Body.Close()
	most := int64(MaxMessage)
	if r.Object && in.StatusCode == http.StatusOK {
		if most = c.Most; most == 0 {
			most = MaxObject
		}
	}
	body, err := Read(limited, cancel, in.Body, most, cmp.Or(c.Silence, Silence))
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, out, err
	}
	return &Answer{Method: r.Method, Status: in.StatusCode, Header: in.Header, Body: body}, out, nil
}

// Read reads the body of an answer, up to a number of bytes. When less than a step arrives in a time, it ends the
// request: a server that sends a byte now and then would keep a run for ever.
func Read(ctx context.Context, end context.CancelFunc, body io.Reader, most int64, silence time.Duration) ([]byte,
	error) {
	quiet := time.AfterFunc(silence, end)
	defer quiet.Stop()
	b, err := io.ReadAll(io.LimitReader(&paced{r: body, quiet: quiet, silence: silence}, most+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("the answer is incomplete: no data arrived for %s, or too little", silence)
	case err != nil:
		return nil, err
	case int64(len(b)) > most:
		return nil, fmt.Errorf("%w: %d bytes", ErrLong, most)
	}
	return b, nil
}

// paced resets a timer after each step.
type paced struct {
	r       io.Reader
	quiet   *time.Timer
	silence time.Duration
	since   int // bytes since the timer was reset
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if p.since += n; p.since >= step {
		p.since = 0
		p.quiet.Reset(p.silence)
	}
	return n, err
}

// Reason returns an error of a request without its address, which may have a secret in it.
func Reason(err error) error {
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// unheard returns the reason why there is no answer, or nil if there is one.
func (c *Client) unheard(r Request, err error) error {
	if err == nil {
		return nil
	}
	text := r.What + " " + r.Name + ": "
	var none *NoAccess
	if !errors.As(err, &none) && !errors.Is(err, ErrLong) {
		text += "the service cannot be reached, or does not answer: "
	}
	return &Problem{Text: c.Clean(text + strings.TrimSuffix(err.Error(), ".")), Err: err}
}

// Failed returns the error for an unexpected answer: what was asked, what the service says of it, and what to do.
func (c *Client) Failed(r Request, a *Answer, said, hint string) error {
	text := fmt.Sprintf("%s %s: the service answered with status %d", r.What, r.Name, a.Status)
	if said = Short(said); said != "" {
		text += ": " + strings.TrimSuffix(said, ".")
	}
	if hint != "" {
		text += ". " + hint
	}
	return &Problem{Text: c.Clean(text)}
}

// maxSaid limits how much of a service's text is shown.
const maxSaid = 500

// Short returns a text as one line of limited length.
func Short(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxSaid {
		text = string(runes[:maxSaid]) + "..."
	}
	return text
}
