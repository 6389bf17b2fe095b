// Package web sends requests to the services in which drivers keep states. The size of a response is limited, and so is
// the time without data. A request is sent again if the service asks for that, or if there was no response, so it must
// be conditional or change nothing. No secret reaches the log or an error.
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

// Limits on the size of responses, and on the time of each step of a response.
const (
	MaxObject  = 1 << 30
	MaxMessage = 16 << 20
	answerTime = time.Minute
	Silence    = 30 * time.Second
	step       = 16 << 10
	maxHeader  = 256 << 10
)

// How often a request is retried if the service asks for that, and the pauses.
const (
	retries      = 6
	FirstPause   = 300 * time.Millisecond
	LongestPause = 5 * time.Second
)

// HTTP returns a client for services. It uses the proxies of the environment and follows no redirections, because a
// request is signed for one address.
func HTTP(trust *tls.Config) *http.Client {
	return Over(Transport(trust))
}

// Over returns a client with a transport, which may be a modified result of Transport. It follows no redirections.
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
		DisableCompression:    true, // read objects as they are stored

		MaxResponseHeaderBytes: maxHeader,
	}
}

// Client sends requests. Its fields are set before its first request.
type Client struct {
	Kind  string // name of the backend, for the log
	HTTP  *http.Client
	Log   func(format string, args ...any)
	Clean func(text string) string // removes secrets
	// Authorize adds credentials to a request. It returns a *NoAccess if there are none.
	Authorize func(ctx context.Context, r *http.Request, body []byte) error
	// Renew reports whether a request that was refused may succeed with other credentials or another time, which
	// Authorize uses from now on. Nil means that it cannot.
	Renew func(r *http.Request, a *Answer) bool
	Pause time.Duration // before the first retry; 0 means FirstPause
	Most  int64         // maximum size of an object, in bytes; 0 means MaxObject
	// Silence limits each step of a response; 0 means the constant Silence.
	Silence time.Duration
}

// Request is a request that may be repeated.
type Request struct {
	What, Name string // for messages: "read", "gs://bucket/object"
	Method     string
	Address    string
	Header     http.Header
	Body       []byte
	Object     bool // the response is an object and not a message
}

// Answer is a response of the service.
type Answer struct {
	Method string // of the request
	Status int
	Header http.Header
	Body   []byte
	Again  bool // the request was retried, and an earlier try may have arrived
}

// OK reports whether the request succeeded.
func (a *Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// NoAccess means that there are no credentials, so that no request was sent.
type NoAccess struct {
	Text    string
	Passing bool // a retry may succeed
}

// Error implements error.
func (n *NoAccess) Error() string { return n.Text }

// Problem is an error whose text is for users and contains no secrets.
type Problem struct {
	Text string
	Err  error
}

// Error implements error.
func (p *Problem) Error() string { return p.Text }

// Unwrap returns the reason.
func (p *Problem) Unwrap() error { return p.Err }

// Send sends a request, with retries, and returns the final response.
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
			return a, c.noResponse(r, err)
		}
		arrived = arrived || err != nil && none == nil || err == nil && a.Status >= 500
		if err := c.wait(ctx, try, a); err != nil {
			return nil, &Problem{Text: r.What + " " + r.Name + ": " + err.Error(), Err: err}
		}
	}
}

// Busy reports whether a retry may have another result.
func Busy(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 &&
		status != http.StatusNotImplemented
}

// wait pauses before a retry.
func (c *Client) wait(ctx context.Context, try int, a *Answer) error {
	var headers http.Header
	if a != nil {
		headers = a.Header
	}
	return Wait(ctx, try, cmp.Or(c.Pause, FirstPause), headers)
}

// longestAsked limits a pause that the service requests, as a multiple of the first pause: one minute for FirstPause.
const longestAsked = 200

// Wait pauses before a retry: for the requested time, within a limit, or for a random time whose limit doubles with
// each try.
func Wait(ctx context.Context, try int, first time.Duration, headers http.Header) error {
	most := min(first<<min(try, 10), LongestPause)
	pause := most/2 + rand.N(most/2+1)
	if asked := Asked(headers); asked > 0 {
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

// Asked returns the pause that a service requests, in seconds or as a time, or 0.
func Asked(headers http.Header) time.Duration {
	text := headers.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds <= 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// ErrLong means that a response exceeds the size limit.
var ErrLong = errors.New("the answer is too long")

// Lasting reports whether an error is permanent, so that a retry is useless.
func Lasting(err error) bool {
	var op *net.OpError
	return errors.Is(err, ErrLong) || strings.Contains(err.Error(), "x509: ") ||
		errors.As(err, &op) && op.Op == "proxyconnect"
}

// once sends a request without retries and reads the response.
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

// Read reads the body of a response, up to a number of bytes. It cancels the request if less than one step of bytes
// arrives within the duration silence: a server that sends single bytes could block a run for ever.
func Read(ctx context.Context, end context.CancelFunc, body io.Reader, most int64, silence time.Duration) ([]byte,
	error) {
	quiet := time.AfterFunc(silence, end)
	defer quiet.Stop()
	b, err := io.ReadAll(io.LimitReader(&stepTimer{r: body, quiet: quiet, silence: silence}, most+1))
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

// stepTimer resets a timer after each step.
type stepTimer struct {
	r       io.Reader
	quiet   *time.Timer
	silence time.Duration
	since   int // bytes since the last reset
}

// Read implements io.Reader.
func (p *stepTimer) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if p.since += n; p.since >= step {
		p.since = 0
		p.quiet.Reset(p.silence)
	}
	return n, err
}

// Reason returns an error of a request without the request's address, which may contain a secret.
func Reason(err error) error {
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// noResponse returns the error for a request without a response, or nil if there is one.
func (c *Client) noResponse(r Request, err error) error {
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

// Failed returns the error for an unexpected response: the request, the service's text, and advice.
func (c *Client) Failed(r Request, a *Answer, message, hint string) error {
	text := fmt.Sprintf("%s %s: the service answered with status %d", r.What, r.Name, a.Status)
	if message = Short(message); message != "" {
		text += ": " + strings.TrimSuffix(message, ".")
	}
	if hint != "" {
		text += ". " + hint
	}
	return &Problem{Text: c.Clean(text)}
}

// maxSaid is the maximum size of a service's text in an error, in bytes.
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
