package pg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
)

// session is one connection. Its calls run one at a time, each in its own goroutine, so that a caller can leave without
// closing the connection. A closed session is never reopened.
type session struct {
	o    *options
	conn *pgconn.PgConn // used by the call that has the turn
	net  *metered       // the connection below conn
	turn chan struct{}  // contains an element during a call
	gone atomic.Bool    // the connection is closed
	// writing is set during a write, which may take long. answered is when data last arrived or was sent, with a
	// monotonic clock reading, so that setting the clock does not look like silence.
	writing  atomic.Bool
	answered atomic.Pointer[time.Time]

	ctx context.Context // of all calls; cut cancels it
	cut context.CancelFunc
	wg  sync.WaitGroup
	pid string // of the server process, as the server reports it

	mu      sync.Mutex
	callers map[*context.Context]bool // of calls in progress or waiting
}

// errGone means that nothing was sent because the connection was already closed.
var errGone = errors.New("the connection to the database is closed")

// times holds time limits.
type times struct {
	connect time.Duration // unless connect_timeout is set
	// grace is how long a write may continue after its caller's context has ended. Then the connection is cut.
	grace time.Duration
	// check is how long the check of a lock waits for a response before the result is "unknown". After patience without
	// traffic, the connection is closed.
	check, patience time.Duration
	// creation is how long a run waits for a creation lock: Terraform acquires it briefly for each lock. kept is how
	// long one is held after the row exists, for programs that looked for the row before.
	creation, kept time.Duration
	freed          time.Duration // wait for the server to end a session
}

var usualTimes = times{connect: 30 * time.Second, grace: 10 * time.Second, check: 20 * time.Second,
	patience: 2 * time.Minute, creation: 4 * time.Second, kept: time.Second, freed: 15 * time.Second}

// Errors of a server that may accept a connection a moment later: its connections are exhausted, or it is starting.
const (
	tooManyConnections = "53300"
	cannotConnectNow   = "57P03"
)

// maxPause is the approximate maximum pause between tries.
const maxPause = 2 * time.Second

// connect opens a connection. It tries again while the server is starting or has no free connection.
func (o *options) connect(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limit := o.times.connect
	if o.config.ConnectTimeout > 0 {
		limit = o.config.ConnectTimeout
	}
	dialing, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := &session{o: o, turn: make(chan struct{}, 1), callers: map[*context.Context]bool{}}
	config, network := o.metering(s.moved)
	conn, err := pgconn.ConnectConfig(dialing, config)
	for pause := 100 * time.Millisecond; code(err, tooManyConnections, cannotConnectNow); pause = min(2*pause,
		maxPause) {
		o.log("the PostgreSQL server %s does not accept more connections now", o.address())
		select {
		case <-dialing.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		if dialing.Err() != nil {
			break
		}
		conn, err = pgconn.ConnectConfig(dialing, config)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, o.connectError(err)
	}
	s.conn, s.net, s.pid = conn, *network, strconv.Itoa(int(conn.PID()))
	s.ctx, s.cut = context.WithCancel(context.Background())
	conn.Frontend().SetMaxBodyLen(int(min(o.most, mostValue)))
	s.recordResponse()
	o.log("connected to the PostgreSQL server %s, process %s", o.address(), s.pid)
	return s, nil
}

// do runs one call at a time. If the caller's context ends, do returns immediately if the call has not begun or does
// not write; it waits a little longer for the result of a write, and then closes the connection.
func (s *session) do(ctx context.Context, writes bool, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer s.called(&ctx)()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.gone.Load() {
		<-s.turn
		return errGone
	}
	done := make(chan error, 1)
	s.wg.Go(func() {
		s.writing.Store(writes)
		err := call(s.ctx)
		s.writing.Store(false)
		if s.conn.IsClosed() {
			s.gone.Store(true)
		} else {
			s.recordResponse()
		}
		<-s.turn
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if !writes {
		return ctx.Err()
	}
	timer := time.NewTimer(s.o.times.grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		s.cut()
		<-done
		return fmt.Errorf("the database does not answer: %w", ctx.Err())
	}
}

// called registers a call. The function that it returns ends the registration.
func (s *session) called(ctx *context.Context) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callers[ctx] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.callers, ctx)
	}
}

// moved records that data arrived or was sent, which counts as progress of all calls, including those that wait for a
// large response to end.
func (s *session) moved(n int) {
	s.recordResponse()
	s.mu.Lock()
	defer s.mu.Unlock()
	for ctx := range s.callers {
		progress.Moved(*ctx, n)
	}
}

// recordResponse records that the server has responded.
func (s *session) recordResponse() {
	now := time.Now()
	s.answered.Store(&now)
}

// close closes the connection, which ends its calls.
func (s *session) close() {
	select {
	case s.turn <- struct{}{}: // regular end
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = s.conn.Close(ctx) // the server notices it in any case
		cancel()
		s.gone.Store(true)
		<-s.turn
	default:
	}
	s.cut()
	s.wg.Wait()
}

// arg is an argument of a statement.
type arg struct {
	value  []byte
	oid    uint32
	format int16
}

// Types of arguments, as OIDs of PostgreSQL.
const (
	oidBytes = 17
	oidInt   = 20
	oidText  = 25
)

func text(s string) arg { return arg{[]byte(s), oidText, 0} }

func number(n int64) arg { return arg{strconv.AppendInt(nil, n, 10), oidInt, 0} }

// binary returns an argument of type bytea; nil is NULL.
func binary(b []byte) arg { return arg{b, oidBytes, 1} }

// rows are the rows of a result. Statements only return text and bytea, whose binary form is their content.
type rows [][][]byte

func (r rows) text(row, column int) string {
	if row >= len(r) || column >= len(r[row]) {
		return ""
	}
	return string(r[row][column])
}

// wide returns an error if a row has fewer columns than requested.
func (r rows) wide(columns int) error {
	for _, row := range r {
		if len(row) < columns {
			return &problem{text: fmt.Sprintf("the server answered with %d columns instead of %d. Check that it is a "+
				"PostgreSQL server", len(row), columns)}
		}
	}
	return nil
}

func (r rows) true(row, column int) bool { return r.text(row, column) == "true" }

// query runs one statement in one round trip, as its own transaction. The size of the response is limited.
func (s *session) query(ctx context.Context, sql string, args ...arg) (rows, error) {
	values, oids, formats := make([][]byte, len(args)), make([]uint32, len(args)), make([]int16, len(args))
	for i, a := range args {
		values[i], oids[i], formats[i] = a.value, a.oid, a.format
	}
	s.net.begin(s.o.most)
	r := s.conn.ExecParams(ctx, sql, values, oids, formats, []int16{1}).Read()
	if why := s.net.why(); r.Err != nil && why != nil {
		return nil, why
	}
	return r.Rows, r.Err
}

// ask runs a read-only query.
func (s *session) ask(ctx context.Context, sql string, args ...arg) (rows, error) {
	answer := make(chan rows, 1) // the caller may have left
	err := s.do(ctx, false, func(ctx context.Context) error {
		r, err := s.query(ctx, sql, args...)
		answer <- r
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-answer, nil
}

// change runs a query that writes.
func (s *session) change(ctx context.Context, sql string, args ...arg) (r rows, err error) {
	err = s.do(ctx, true, func(ctx context.Context) error {
		r, err = s.query(ctx, sql, args...)
		return err
	})
	return r, err
}
