package pg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// driver has the idle connections and those that hold locks.
type driver struct {
	o *options

	mu     sync.Mutex
	closed bool
	idle   []*session
	holds  map[*session]bool
}

func newDriver(o *options) *driver { return &driver{o: o, holds: map[*session]bool{}} }

// maxIdle is the maximum number of idle connections.
const maxIdle = 2

var errClosed = errors.New("the backend is closed")

// take returns a connection for exclusive use, an idle one if possible. The caller returns it with give.
func (d *driver) take(ctx context.Context) (s *session, old bool, err error) {
	d.mu.Lock()
	for n := len(d.idle); n > 0 && s == nil; n = len(d.idle) {
		s, d.idle = d.idle[n-1], d.idle[:n-1]
		if s.gone.Load() {
			s.close()
			s = nil
		}
	}
	closed := d.closed
	d.mu.Unlock()
	switch {
	case closed:
		return nil, false, errClosed
	case s != nil:
		return s, true, nil
	}
	s, err = d.o.connect(ctx)
	return s, false, err
}

// give returns a connection that holds no lock to the driver.
func (d *driver) give(s *session) {
	d.mu.Lock()
	delete(d.holds, s)
	keep := !d.closed && !s.gone.Load() && len(d.idle) < maxIdle
	if keep {
		d.idle = append(d.idle, s)
	}
	d.mu.Unlock()
	if !keep {
		s.close()
	}
}

// rest closes the idle connections: a run that waits for a lock does not need them, and the number of connections is
// limited.
func (d *driver) rest() {
	d.mu.Lock()
	idle := d.idle
	d.idle = nil
	d.mu.Unlock()
	for _, s := range idle {
		s.close()
	}
}

// idleSession returns a connection that holds a lock, if it is not writing, so that reading a state that was just
// locked needs no new connection.
func (d *driver) idleSession() *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.holds {
		if len(d.idle) == 0 && !s.writing.Load() && !s.gone.Load() {
			return s
		}
	}
	return nil
}

// ask runs a read-only query on any connection. If a connection broke while it was idle, it uses another.
func (d *driver) ask(ctx context.Context, sql string, args ...arg) (r rows, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s := d.idleSession(); s != nil {
		if r, err = s.ask(ctx, sql, args...); err == nil || !s.gone.Load() {
			return r, d.o.explain(err)
		}
	}
	for {
		s, old, err := d.take(ctx)
		if err != nil {
			return nil, err
		}
		r, err := s.ask(ctx, sql, args...)
		again := err != nil && old && s.gone.Load() && ctx.Err() == nil
		d.give(s)
		if again {
			continue
		}
		return r, d.o.explain(err)
	}
}

// change runs a query that writes without a lock.
func (d *driver) change(ctx context.Context, sql string, args ...arg) (rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		s, old, err := d.take(ctx)
		if err != nil {
			return nil, err
		}
		r, err := s.change(ctx, sql, args...)
		again := old && (errors.Is(err, errGone) || safeToRetry(err)) && ctx.Err() == nil
		d.give(s)
		if again {
			continue
		}
		return r, d.o.explain(err)
	}
}

// Workspaces implements remote.Driver.
func (d *driver) Workspaces(ctx context.Context) (names []string, _ error) {
	r, err := d.ask(ctx, "SELECT s.name FROM "+d.o.states()+" s WHERE s.name IS NOT NULL AND NOT "+isPlaceholder)
	if err != nil && !missing(err) {
		return nil, err
	}
	for i := range r {
		names = append(names, r.text(i, 0))
	}
	return names, nil
}

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	return &place{d: d, o: d.o, name: workspace}, nil
}

// Close implements remote.Driver. Closing the connections also releases their locks.
func (d *driver) Close() error {
	d.mu.Lock()
	d.closed = true
	all := d.idle
	for s := range d.holds {
		all = append(all, s)
	}
	d.idle, d.holds = nil, map[*session]bool{}
	d.mu.Unlock()
	for _, s := range all {
		s.close()
	}
	return nil
}

// address returns the server's address, for messages.
func (o *options) address() string {
	return fmt.Sprintf("%s:%d", o.config.Host, o.config.Port)
}

// String implements remote.Place.
func (p *place) String() string {
	return fmt.Sprintf("pg://%s/%s/%s/%s", p.o.address(), url.PathEscape(p.o.config.Database),
		url.PathEscape(p.o.schema), url.PathEscape(p.name))
}
