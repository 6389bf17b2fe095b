package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	programs "github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/session"
	"github.com/tombolo-iac/tombolo/internal/program/talk"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

const (
	// maximum size of a message, which can contain a state of 192 MiB
	longest = 256 << 20
	// shortGrace is how long a read may continue after its caller's context has ended.
	shortGrace = time.Second
	// tries limits the attempts at a call if the program asks for a retry.
	tries = 6
	// heardLines is the maximum number of lines of standard error in an error.
	heardLines = 20
)

// client sends calls. The call that has the turn owns the process.
type client struct {
	o       Options
	env     []string
	shown   string
	secrets []string

	turn    chan struct{} // contains an element while a call has the turn
	current *running      // nil: the next call starts a process
	over    bool

	mu          sync.Mutex // guards stderrLines
	stderrLines []string   // lines of standard error since the call began
}

// running is a process that performs calls.
type running struct {
	*talk.Talk
	can features
}

// features lists what a store supports.
type features struct {
	journal, workspaces, conditions, renew, history bool
}

// errClosed means that the driver was used after Close.
var errClosed = errors.New("the store has been closed")

// take waits for the turn.
func (c *client) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) release() { <-c.turn }

// can returns the features of the store. It starts the program if necessary.
func (c *client) can(ctx context.Context) (features, error) {
	if err := c.take(ctx); err != nil {
		return features{}, err
	}
	defer c.release()
	r, err := c.started(ctx)
	if err != nil {
		return features{}, err
	}
	return r.can, nil
}

// call performs a call and reads its result.
func (c *client) call(ctx context.Context, verb string, params, result any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.release()
	for try := 1; ; try++ {
		err := c.once(ctx, verb, text, result)
		var later *temporaryError
		if !errors.As(err, &later) || try == tries {
			return err
		}
		select {
		case <-time.After(c.o.Pause << (try - 1)):
		case <-ctx.Done():
			return err
		}
	}
}

// once performs a call without retries. If the process has ended since the last call, it starts it again.
func (c *client) once(ctx context.Context, verb string, params []byte, result any) error {
	c.keepLine(nil)
	for again := false; ; again = true {
		r, err := c.started(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		p, err := r.Conn.Begin(verb, params, nil)
		if invalid := (*session.InvalidLineError)(nil); errors.As(err, &invalid) {
			return c.problem("%s. Write messages for people to standard error.\n\nOutput: %s", invalid,
				c.excerpt(invalid.Line))
		}
		if err != nil { // the process ended before it got the call
			c.end()
			if again {
				return c.problem("it ended when the first call was sent: %v", err)
			}
			continue
		}
		answer, err := c.await(ctx, r, p, verb)
		if err == nil {
			err = json.Unmarshal(answer, result)
			if err != nil {
				err = c.problem("its answer to %s is not valid: %v\n\nOutput: %s", verb, err,
					c.excerpt(answer))
			}
		}
		c.o.Log("program: %s took %s: %v", verb, time.Since(began).Round(time.Millisecond), err)
		return err
	}
}

// started returns a running process.
func (c *client) started(ctx context.Context) (*running, error) {
	switch r := c.current; {
	case c.over:
		return nil, errClosed
	case r != nil:
		select {
		case <-r.Ended():
			c.current = nil
		default:
			return r, nil
		}
	}
	t, err := talk.Start(programs.Command{Argv: c.o.Command, Base: c.o.Dir, Env: c.env, Grace: c.o.Grace,
		Stderr: c.printed}, talk.Greeting(Protocol, c.o.Host, c.env, nil), longest)
	if err != nil {
		return nil, &startError{c.notStarted(err)}
	}
	go t.Serve(nil, nil)
	r := &running{Talk: t}
	c.current = r
	if err := t.Agree(Protocol, c.o.Patience, ctx.Done()); err != nil {
		c.end()
		if errors.Is(err, talk.ErrStopped) {
			return nil, ctx.Err()
		}
		return nil, &startError{c.problem("%v", err)}
	}
	if err := c.open(ctx, r); err != nil {
		c.end()
		return nil, &startError{err}
	}
	return r, nil
}

// open sends a new process its settings, and reads its features.
func (c *client) open(ctx context.Context, r *running) error {
	params, err := json.Marshal(object{"config": c.o.Config, "secrets": c.o.Secrets})
	if err != nil {
		return err
	}
	p, err := r.Conn.Begin("open", params, nil)
	if err != nil {
		return c.problem("%v", err)
	}
	answer, err := c.await(ctx, r, p, "open")
	if err != nil {
		return err
	}
	var response struct {
		Features *[]string `json:"features"`
	}
	if err := json.Unmarshal(answer, &response); err != nil || response.Features == nil {
		return c.problem("it answered open with something other than {\"features\": [...]}.\n\nOutput: %s",
			c.excerpt(answer))
	}
	has := func(name string) bool { return slices.Contains(*response.Features, name) }
	r.can = features{journal: has("journal"), workspaces: has("workspaces"), conditions: has("conditions"),
		renew: has("renew"), history: has("history")}
	return nil
}

// readers are the verbs that only read.
var readers = []string{"open", "workspaces", "read", "holder", "read_journal", "history", "snapshot"}

// await waits for a response. If the caller's context has ended or the call takes too long, it notifies the program and
// gives it some time to respond; then it kills the program, so that the call cannot take effect after a later one.
func (c *client) await(ctx context.Context, r *running, p *session.Pending, verb string) (json.RawMessage, error) {
	timer := time.NewTimer(c.o.Timeout)
	defer timer.Stop()
	var stopped error
	select {
	case <-p.Done():
		return c.answer(r, p, verb)
	case <-ctx.Done():
		stopped = ctx.Err()
	case <-timer.C:
		stopped = c.problem("it did not answer %s within %s", verb, c.o.Timeout)
	}
	p.Cancel()
	grace := c.o.Grace
	if slices.Contains(readers, verb) {
		grace = min(grace, shortGrace)
	}
	timer.Reset(grace)
	select {
	case <-p.Done():
		answer, err := c.answer(r, p, verb)
		if err != nil && !definite(err) {
			err = stopped
		}
		return answer, err
	case <-timer.C:
	}
	p.GiveUp()
	c.end()
	return nil, stopped
}

// end ends the process, and returns after it has exited.
func (c *client) end() {
	if c.current != nil {
		c.current.End(0)
		c.current = nil
	}
}

// answer reads the response to a call.
func (c *client) answer(r *running, p *session.Pending, verb string) (json.RawMessage, error) {
	r.CatchUp()
	reply, err := p.Reply()
	var ended *talk.EndedError
	var broken *session.BrokenError
	switch {
	case errors.As(err, &ended):
		c.keepLine(nil)
		return nil, c.problem("%s, and the outcome of %s is unknown%s", ended, verb, indented(ended.Message))
	case errors.As(err, &broken):
		c.end()
		return nil, c.problem("%s\n\nOutput: %s", broken, c.excerpt(broken.Line))
	case err != nil:
		return nil, err
	case reply.Invalid != nil:
		return nil, c.problem("%s. Write messages for people to standard error.\n\nOutput: %s", reply.Invalid,
			c.excerpt(reply.Invalid.Line))
	case reply.Error == nil:
		return reply.Result, nil
	}
	var data struct {
		Kind   string          `json:"kind"`
		Holder json.RawMessage `json:"holder"`
	}
	_ = json.Unmarshal(reply.Result, &data) // if the lock is unreadable, its holder is unknown
	switch data.Kind {
	case "changed":
		return nil, remote.ErrChanged
	case "lost":
		return nil, remote.ErrLost
	case "no_revision":
		return nil, history.ErrNoRevision
	case "locked":
		return nil, &state.LockedError{Info: readHolder(data.Holder)}
	}
	switch reply.Error.Code {
	case session.CodeMissing:
		return nil, c.problem("it does not support the verb %s", verb)
	case session.CodeTemporary:
		return nil, &temporaryError{c.problem("it requested to retry %s later: %s", verb, reply.Error.Message)}
	}
	return nil, c.problem("it answered %s with error %d: %s", verb, reply.Error.Code, reply.Error.Message)
}

// definite reports whether an error means that nothing was changed.
func definite(err error) bool {
	var locked *state.LockedError
	return errors.Is(err, remote.ErrChanged) || errors.Is(err, remote.ErrLost) ||
		errors.Is(err, history.ErrNoRevision) || errors.As(err, &locked)
}

// temporaryError means that the program asks for a retry.
type temporaryError struct{ error }

// Unwrap returns the program's error.
func (e *temporaryError) Unwrap() error { return e.error }

// startError means that a call was not sent because no process could be started.
type startError struct{ error }

// Unwrap returns the reason.
func (e *startError) Unwrap() error { return e.error }

// close ends the process for good.
func (c *client) close() error {
	c.turn <- struct{}{}
	defer c.release()
	c.over = true
	if c.current != nil {
		c.current.End(talk.LastWord)
		c.current = nil
	}
	return nil
}

// notStarted returns the error for a program that cannot be started.
func (c *client) notStarted(err error) error {
	var refused *programs.StartError
	if errors.As(err, &refused) && refused.Advice() != "" {
		return fmt.Errorf("the program %s cannot be started: %w", c.shown, err)
	}
	return fmt.Errorf("the program %s cannot be started: %w. The argument \"command\" of the backend sets it; "+
		"relative paths start at the folder of the root module", c.shown, err)
}
