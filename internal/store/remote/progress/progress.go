// Package progress limits calls by their progress. A large state over a slow network may take as long as it needs, but
// a call without progress soon ends, and so does one to a server that sends only a few bytes at a time.
//
//	ctx, cancel := progress.Within(ctx, 2*time.Minute)
//	defer cancel()
//	client := &http.Client{Transport: progress.Over(transport)} // reports the bytes of requests with ctx
package progress

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/switched"
)

// leastRate is the minimum average rate after the first silence, in bytes per second.
const leastRate = 32 << 10

// within is a context that ends when its call makes no progress.
type within struct {
	parent  context.Context
	silence time.Duration
	began   time.Time
	done    chan struct{}
	quiet   *time.Timer
	leave   func() bool // detaches the context from its parent

	mu    sync.Mutex // guards the fields below
	err   error
	moved int64
	grant time.Duration // time granted beyond that for bytes
}

type key struct{}

// Within returns a context that ends when no bytes move for the duration silence, or when after that the average rate
// is below leastRate.
func Within(parent context.Context, silence time.Duration) (context.Context, context.CancelFunc) {
	w := &within{parent: parent, silence: silence, began: time.Now(), done: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet = time.AfterFunc(silence, func() { w.end(context.DeadlineExceeded) })
	w.leave = context.AfterFunc(parent, func() { w.end(parent.Err()) })
	return w, func() { w.end(context.Canceled) }
}

// end ends the context with an error, if it has not ended.
func (w *within) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.err = err
	w.quiet.Stop()
	w.leave()
	close(w.done)
}

// made records that n bytes have moved, and grants additional time.
func (w *within) made(n int64, grant time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.moved += n
	w.grant += grant
	most := w.silence + w.grant + perRate(w.moved)
	w.quiet.Reset(min(w.silence+grant, most-time.Since(w.began)))
}

// perRate returns how long bytes may take.
func perRate(n int64) time.Duration { return time.Duration(n) * (time.Second / leastRate) }

// Moved records that bytes of a call have moved, for transports that do not report them.
func Moved(ctx context.Context, n int) {
	if w, ok := ctx.Value(key{}).(*within); ok {
		w.made(int64(n), 0)
	}
}

// Expect grants a call the time for n bytes whose progress is not visible.
func Expect(ctx context.Context, n int) {
	if w, ok := ctx.Value(key{}).(*within); ok {
		w.made(0, perRate(int64(n)))
	}
}

// Pause grants a call the time of a pause that a service requests.
func Pause(ctx context.Context, d time.Duration) {
	if w, ok := ctx.Value(key{}).(*within); ok {
		w.made(0, d)
	}
}

// Deadline implements context.Context.
func (w *within) Deadline() (time.Time, bool) { return w.parent.Deadline() }

// Done implements context.Context.
func (w *within) Done() <-chan struct{} { return w.done }

// Err implements context.Context.
func (w *within) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Value implements context.Context.
func (w *within) Value(k any) any {
	if k == (key{}) {
		return w
	}
	return w.parent.Value(k)
}

// Over returns a transport that reports the bytes of requests to the contexts of Within. It refuses responses whose
// bytes no context would end, see package switched.
func Over(next http.RoundTripper) http.RoundTripper { return over{next} }

type over struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (o over) RoundTrip(r *http.Request) (*http.Response, error) { return report(r, o.next.RoundTrip) }

// Doer sends requests, as an http.Client does.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// OverClient is like Over, for a Doer.
func OverClient(next Doer) Doer { return overClient{next} }

type overClient struct{ Doer }

// Do implements Doer.
func (o overClient) Do(r *http.Request) (*http.Response, error) { return report(r, o.Doer.Do) }

// report sends a request and reports its bytes.
func report(r *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	w, ok := r.Context().Value(key{}).(*within)
	if !ok {
		return switched.Refuse(send(r))
	}
	if r.Body != nil && r.Body != http.NoBody {
		again := r.GetBody
		r = r.WithContext(r.Context()) // copy it: the request belongs to the caller
		r.Body = counted{r.Body, w}
		if again != nil {
			r.GetBody = func() (io.ReadCloser, error) {
				body, err := again()
				return counted{body, w}, err
			}
		}
	}
	a, err := switched.Refuse(send(r))
	if err == nil && a.Body != http.NoBody {
		a.Body = counted{a.Body, w}
	}
	return a, err
}

// CloseIdleConnections closes the idle connections of the underlying transport.
func (o over) CloseIdleConnections() {
	if c, ok := o.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// counted reports the bytes that are read.
type counted struct {
	io.ReadCloser
	w *within
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 {
		c.w.made(int64(n), 0)
	}
	return n, err
}

// conn reports the bytes of a connection.
type conn struct {
	net.Conn
	moved func(n int)
}

// mostAtOnce is the maximum number of bytes that a connection sends between reports.
const mostAtOnce = 64 << 10

// Conn returns a connection that reports all bytes in both directions, including those of a large write while it is in
// progress.
func Conn(c net.Conn, moved func(n int)) net.Conn { return conn{c, moved} }

// Read implements net.Conn.
func (c conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.moved(n)
	}
	return n, err
}

// Write implements net.Conn.
func (c conn) Write(p []byte) (sent int, err error) {
	for {
		n, err := c.Conn.Write(p[sent:min(len(p), sent+mostAtOnce)])
		if sent += n; n > 0 {
			c.moved(n)
		}
		if err != nil || sent == len(p) {
			return sent, err
		}
	}
}
