// Package session communicates with a program that performs many calls: JSON-RPC 2.0, one message per line,
// docs/program-protocol.md.
//
// A Conn handles the messages, not the process. Its owner runs Read and Write, each in its own goroutine, and calls
// Fail when the other side has ended. A program may answer calls in any order, send other lines, answer calls that do
// not exist, or fall silent: no call waits for an answer that can no longer arrive, and none gets the answer to
// another.
//
//	conn := session.New(stdin, stdout)
//	go conn.Write()
//	go conn.Read()
//	p, err := conn.Begin("read", params, progress)
//	<-p.Done()
//	reply, err := p.Reply()
package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// MaxLine is the maximum size of an incoming message, in bytes, unless Limit sets another.
const MaxLine = 64 << 20

// Error codes that the protocol defines.
const (
	CodeMissing   = -32601 // the program does not implement the method
	CodeCancelled = -32800
	CodeTemporary = 75 // try again later, as with the exit status EX_TEMPFAIL
)

// Reply is the reply to a call.
type Reply struct {
	// Result is the result of the call, or the data of an error, or nil.
	Result json.RawMessage
	// Error is set if the program answered with an error.
	Error *Error
	// Invalid is set if the program printed a line that is not a message during the call.
	Invalid *InvalidLineError
}

// Error is the error in a response.
type Error struct {
	Code    int64
	Message string
}

// InvalidLineError means that a line is not a message. The session continues.
type InvalidLineError struct{ Line []byte }

func (e *InvalidLineError) Error() string {
	return "it printed a line on standard output that is not a message"
}

// BrokenError means that the session cannot continue because of an invalid message.
type BrokenError struct {
	Problem string
	Line    []byte // the line; may be nil
	Reply   *Reply // possible answer to the only call in flight; may be nil
}

func (e *BrokenError) Error() string { return e.Problem }

// Conn is one session.
type Conn struct {
	w       io.Writer
	r       io.Reader
	longest int // maximum size of an incoming message

	mu      sync.Mutex // guards the fields below
	next    int64
	calls   map[int64]*Pending
	late    map[int64]bool // abandoned calls, whose responses are dropped
	outbox  []byte
	wake    chan struct{}     // has one element while the outbox is not empty, or after the end
	invalid *InvalidLineError // printed while no call was in flight
	failed  error             // not nil: no further responses will arrive
}

// New returns a session with a process over its standard streams.
func New(w io.Writer, r io.Reader) *Conn {
	return &Conn{w: w, r: r, longest: MaxLine, calls: map[int64]*Pending{}, late: map[int64]bool{},
		wake: make(chan struct{}, 1)}
}

// Limit sets the maximum size of incoming messages, in bytes. It must be called before Read.
func (c *Conn) Limit(longest int) { c.longest = longest }

// Pending is a call in flight.
type Pending struct {
	conn     *Conn
	id       int64
	progress func(message string, fraction float64)
	done     chan struct{}
	invalid  *InvalidLineError
	reply    *Reply
	err      error
}

// Begin sends a call. params must be JSON. It fails with the reason of the end if the session has ended, and once with
// a *InvalidLineError if something was printed between two calls; then nothing was sent.
func (c *Conn) Begin(method string, params []byte, progress func(message string, fraction float64)) (*Pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return nil, c.failed
	}
	if invalid := c.invalid; invalid != nil {
		c.invalid = nil
		return nil, invalid
	}
	p := &Pending{conn: c, id: c.next, progress: progress, done: make(chan struct{})}
	c.next++
	c.calls[p.id] = p
	c.outbox = append(c.outbox, `{"jsonrpc":"2.0","id":`...)
	c.outbox = strconv.AppendInt(c.outbox, p.id, 10)
	c.outbox = append(c.outbox, `,"method":"`+method+`","params":`...)
	c.outbox = appendLine(c.outbox, params)
	c.outbox = append(c.outbox, "}\n"...)
	c.signal()
	return p, nil
}

// appendLine appends JSON without newlines between its tokens; inside of strings they are escaped.
func appendLine(to, text []byte) []byte {
	at := len(to)
	to = append(to, text...)
	for i := at; i < len(to); i++ {
		if to[i] == '\n' || to[i] == '\r' {
			to[i] = ' '
		}
	}
	return to
}

func (c *Conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Done returns a channel that is closed when the call has an answer or can no longer get one.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Reply returns the answer. It must only be called after Done is closed. The error is that of Fail, or a *BrokenError.
func (p *Pending) Reply() (*Reply, error) { return p.reply, p.err }

// Cancel asks the program to end the call soon. The program still has to answer.
func (p *Pending) Cancel() {
	c := p.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[p.id] == p && c.failed == nil {
		c.outbox = fmt.Appendf(c.outbox, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`+"\n", p.id)
		c.signal()
	}
}

// GiveUp abandons a call: its answer is dropped. It reports whether there was no answer yet.
func (p *Pending) GiveUp() (unanswered bool) {
	c := p.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[p.id] == p {
		delete(c.calls, p.id)
		c.late[p.id] = true
		unanswered = true
	}
	return unanswered
}

// Waiting returns the number of calls in flight.
func (c *Conn) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// Fail ends the session: calls in flight and all later ones get the error. Only the first error is used.
func (c *Conn) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(err)
}

func (c *Conn) fail(err error) {
	if c.failed != nil {
		return
	}
	c.failed = err
	for id := range c.calls {
		c.finish(id, nil, err)
	}
	c.signal()
}

// finish delivers the answer of a call.
func (c *Conn) finish(id int64, reply *Reply, err error) {
	p := c.calls[id]
	delete(c.calls, id)
	p.reply, p.err = reply, err
	if reply != nil {
		reply.Invalid = p.invalid
	}
	close(p.done)
}

// Write sends messages until the session ends. It returns the reason of an early end, or nil.
func (c *Conn) Write() error {
	var batch []byte
	for range c.wake {
		c.mu.Lock()
		batch, c.outbox = c.outbox, batch[:0]
		over := c.failed != nil
		c.mu.Unlock()
		if over {
			return nil
		}
		if len(batch) == 0 { // the previous batch already contained this message
			continue
		}
		if _, err := c.w.Write(batch); err != nil {
			return err
		}
		if cap(batch) > 1<<20 {
			batch = nil
		}
	}
	return nil
}

// Read reads messages until the end of the input (nil), a read error, or an invalid message after which the session
// cannot continue: a *BrokenError.
func (c *Conn) Read() error {
	lines := newLines(c.r, c.longest)
	for {
		line, err := lines.next()
		if len(bytes.TrimSpace(line)) > 0 {
			if broken := c.take(line); broken != nil {
				c.Fail(broken)
				return broken
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooLong):
			broken := &BrokenError{Problem: fmt.Sprintf("it printed a line of more than %d MiB", c.longest>>20),
				Line: bytes.Clone(line[:min(len(line), 1<<10)])}
			c.Fail(broken)
			return broken
		case err != nil:
			return err
		}
	}
}
