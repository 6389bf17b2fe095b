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

// session is one connection. Its calls are made one after the other, each in its own goroutine, so that a caller
// can leave without the connection being closed. It is never opened again.
type session struct {
	o    *options
	conn *pgconn.PgConn // used by who has the turn
	net  *metered       // what the connection stands on
	turn chan struct{}  // has an element while a call is made
	gone atomic.Bool    // the connection is closed
	// writing is set while something is written, which may take long. heard is when anything last came or went: a time
	// with a monotonic reading, so that a clock that is set meanwhile makes no silence.
	writing atomic.Bool
	heard   atomic.Pointer[time.Time]

	ctx context.Context // of all calls; cut ends it
	cut context.CancelFunc
	wg  sync.WaitGroup
	pid string // of the server's process, as the server says

	mu      sync.Mutex
	callers map[*context.Context]bool // of calls that are made, or wait for their turn
}

// errGone means that nothing was sent, because the connection was already closed.
var errGone = errors.New("the connection to the database is closed")

// times are time limits.
type times struct {
	connect time.Duration // unless connect_timeout says otherwise
	// grace is how long the outcome of a write is waited for after its caller wanted to leave. Then the connection is
	// cut.
	grace time.Duration
	// check is how long an answer is waited for when a lock is checked, before nobody knows. After patience in which
	// nothing came or went the connection is given up.
	check, patience time.Duration
	// creation is how long a creation lock is waited for: Terraform takes it for a moment with each lock. kept is how
	// long one is kept after the row is there, for those who looked for the row before.
	creation, kept time.Duration
	freed          time.Duration // for the server to end a session
}

var usualTimes = times{connect: 30 * time.Second, grace: 10 * time.Second, check: 20 * time.Second,
	patience: 2 * time.Minute, creation: 4 * time.Second, kept: time.Second, freed: 15 * time.Second}

// What a server answers that may take a connection a moment later: it has as many as it may have, or it starts.
const (
	tooManyConnections = "53300"
	cannotConnectNow   = "57P03"
)

// maxPause is how long it is left alone then, about.
const maxPause = 2 * time.Second

// connect opens a connection. It tries again while the server is about to take one.
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
	s.hear()
	o.log("connected to the PostgreSQL server %s, process %s", o.address(), s.pid)
	return s, nil
}

// do makes one call when it is this one's turn. The caller may leave: when it is not its turn yet, or when the call
// changes nothing. Of a write it waits for the outcome a little longer, and then closes the connection.
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
			s.hear()
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

// called notes a call, which ends with the function that it returns.
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

// moved notes that bytes came or went. All calls go on then: also those that wait until a large answer has come.
func (s *session) moved(n int) {
	s.hear()
	s.mu.Lock()
	defer s.mu.Unlock()
	for ctx := range s.callers {
		progress.Moved(*ctx, n)
	}
}

// hear notes that the server is there.
func (s *session) hear() {
	now := time.Now()
	s.heard.Store(&now)
}

// close ends the connection, and with it what is asked there.
func (s *session) close() {
	select {
	case s.turn <- struct{}{}: // in good order
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = s.conn.Close(ctx) // the server notices in any case
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

// Types of arguments, by PostgreSQL's numbers.
const (
	oidBytes = 17
	oidInt   = 20
	oidText  = 25
)

func text(s string) arg { return arg{[]byte(s), oidText, 0} }

func number(n int64) arg { return arg{strconv.AppendInt(nil, n, 10), oidInt, 0} }

// binary is a bytea; nil is NULL.
func binary(b []byte) arg { return arg{b, oidBytes, 1} }

// rows are a result. Statements return text and bytea only, whose binary form is what they say.
type rows [][][]byte

func (r rows) text(row, column int) string {
	if row >= len(r) || column >= len(r[row]) {
		return ""
	}
	return string(r[row][column])
}

// wide returns an error if there is a row with fewer columns than were asked for.
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

// query runs one statement in one round trip, its own transaction. The answer has a bound in size.
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

// ask is a read-only query.
func (s *session) ask(ctx context.Context, sql string, args ...arg) (rows, error) {
	answer := make(chan rows, 1) // which nobody may be waiting for any more
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

// change is a query that writes.
func (s *session) change(ctx context.Context, sql string, args ...arg) (r rows, err error) {
	err = s.do(ctx, true, func(ctx context.Context) error {
		r, err = s.query(ctx, sql, args...)
		return err
	})
	return r, err
}
