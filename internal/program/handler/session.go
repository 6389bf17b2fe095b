package handler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/debugger"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/session"
	"github.com/tombolo-iac/tombolo/internal/program/talk"
)

// defaultPatience limits the wait for the response to initialize.
const defaultPatience = time.Minute

// NewSession returns the caller that starts the program with the first call, and sends all calls to the one process. If
// the program ends early, the calls in flight fail; it is started once more for later ones.
func NewSession(m *manifest.Manifest, s Surroundings) Caller {
	if s.Patience == 0 {
		s.Patience = defaultPatience
	}
	c := &sessions{m: m, surroundings: s, preparation: newPreparation(m, s), guest: newGuest(m, s),
		active: map[*activeCall]bool{}, runs: map[*running]bool{}}
	c.closing, c.close = context.WithCancelCause(context.Background())
	return c
}

var errClosed = errors.New("the provider has been closed")

type sessions struct {
	*preparation
	m            *manifest.Manifest
	surroundings Surroundings
	guest        *guest
	closing      context.Context
	close        context.CancelCauseFunc

	mu      sync.Mutex // guards the fields below
	current *running   // nil: the next call starts a process
	all     sync.WaitGroup
	crashes int
	refused error // set when no process may be started any more
	active  map[*activeCall]bool
	runs    map[*running]bool // all running processes
	listen  func(line string)
}

// running is one process, from its start to its end.
type running struct {
	talk  *talk.Talk
	shown string
	ready chan struct{} // closed when it is ready for calls, or when it is not and err is set
	err   error
	// retired means that the process gets no new calls, because an abandoned call may still be running in it. Guarded
	// by sessions.mu.
	retired bool
}

// activeCall forwards the messages during a call, and none after its end.
type activeCall struct {
	call Call
	mu   sync.Mutex
	over bool
}

func (a *activeCall) line(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.call.Line(text)
	}
}

func (a *activeCall) progress(message string, fraction float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.call.Progress(message, fraction)
	}
}

// Listen implements listener. fn is called with lines of standard error that cannot be assigned to a call.
func (c *sessions) Listen(fn func(line string)) { c.listen = fn }

// printed forwards a line of standard error to the only call in flight, or to the listener.
func (c *sessions) printed(text string) {
	c.mu.Lock()
	var only *activeCall
	if len(c.active) == 1 {
		for only = range c.active {
			break
		}
	}
	c.mu.Unlock()
	switch {
	case only != nil:
		only.line(text)
	case c.listen != nil:
		c.listen(text)
	}
}

// Call implements Caller.
func (c *sessions) Call(ctx context.Context, call Call) (*Answer, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	a := &activeCall{call: call}
	c.mu.Lock()
	c.active[a] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.active, a)
		c.mu.Unlock()
		a.mu.Lock()
		a.over = true
		a.mu.Unlock()
	}()
	for {
		r, err := c.started(ctx)
		if err != nil {
			return nil, err
		}
		p, err := r.talk.Conn.Begin(call.Action, call.Params, a.progress)
		if err == nil {
			defer c.finish(r)
			return c.await(ctx, r, p, call)
		}
		if invalid := (*session.InvalidLineError)(nil); errors.As(err, &invalid) {
			return nil, &OutputError{
				Problem: "it printed a line on standard output between two calls that is not a message",
				Line:    invalid.Line,
				Program: r.shown}
		}
		// The process ended before it got the call, and is being removed.
		select {
		case <-r.talk.Ended():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		c.forget(r)
	}
}

// started returns a process that is ready for calls.
func (c *sessions) started(ctx context.Context) (*running, error) {
	c.mu.Lock()
	if c.closing.Err() != nil {
		c.mu.Unlock()
		return nil, errClosed
	}
	if c.refused != nil {
		c.mu.Unlock()
		return nil, c.refused
	}
	r := c.current
	if r == nil {
		r = &running{ready: make(chan struct{})}
		c.current = r
		c.runs[r] = true
		c.all.Add(1)
		go func() {
			defer c.all.Done()
			c.run(r)
			c.mu.Lock()
			delete(c.runs, r)
			c.mu.Unlock()
		}()
	}
	c.mu.Unlock()
	select {
	case <-r.ready:
		return r, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run manages a process from its start to its end.
func (c *sessions) run(r *running) {
	if r.err = c.start(r); r.err != nil {
		c.mu.Lock()
		c.refused = r.err
		c.mu.Unlock()
		close(r.ready)
		return
	}
	go c.initialize(r)
	r.talk.Serve(func() { c.forget(r) }, func() error {
		if c.closing.Err() != nil {
			return errClosed
		}
		return nil
	})
}

// finish ends a process that gets no new calls, after its last call.
func (c *sessions) finish(r *running) {
	c.mu.Lock()
	over := r.retired && r.talk.Conn.Waiting() == 0
	c.mu.Unlock()
	if over {
		r.talk.End(0)
	}
}

// forget removes a process, so that the next call starts another. A program that ends by itself is restarted once.
func (c *sessions) forget(r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != r {
		return
	}
	c.current = nil
	if c.crashes++; c.crashes > 1 && c.refused == nil && c.closing.Err() == nil {
		c.refused = &NotReadyError{
			Summary: sumNotReady, Detail: fmt.Sprintf("The program of provider %s ended twice during the session, so "+
				"it is not started again in this run. In a session, it must read one call per line from standard "+
				"input, until the input ends.\n\nProgram: %s", c.m.Name, r.shown)}
	}
}

// start starts the process.
func (c *sessions) start(r *running) error {
	s, err := NewStart(c.m, c.settled())
	if err != nil {
		return err
	}
	r.shown = shown(s.Argv)
	cmd := program.Command{Argv: s.Argv, Base: c.surroundings.Dir, Env: s.Env, Stderr: c.printed,
		Grace: c.surroundings.Grace}
	if err := c.guest.into(&cmd); err != nil {
		return err
	}
	var attached *talk.Attached
	if s.Socket != "" {
		if cmd.Inside, err = c.connect(s); err != nil {
			return err
		}
		attached = c.attached(s)
	}
	if s.Debugged {
		c.printed(s.notice())
	}
	r.talk, err = talk.Start(cmd, talk.Greeting(manifest.Protocol, c.surroundings.Host, s.Env, attached),
		session.MaxLine)
	return err
}

// connect connects to a program that its author has started, or is about to start.
func (c *sessions) connect(s Start) (program.Inside, error) {
	inside, err := debugger.Connect(s.Socket, func() {
		c.printed(fmt.Sprintf("Waiting for the program of provider %s, because %s is set. Start it with this variable "+
			"in its environment: %s=%s", c.m.Name, debugger.Variable, debugger.ListenVariable, s.Socket))
	}, c.closing.Done())
	switch {
	case errors.Is(err, debugger.ErrStopped):
		return nil, errClosed
	case err != nil:
		return nil, &NotReadyError{Summary: sumNotReady, Detail: err.Error() + ".", Ours: true}
	}
	return inside, nil
}

// attached returns what a program lacks that its author has started: a program gets its directory and its variables
// from the process that starts it.
func (c *sessions) attached(s Start) *talk.Attached {
	a := &talk.Attached{Environment: map[string]string{}}
	if dir, err := filepath.Abs(c.surroundings.Dir); err == nil { // "" is the current directory
		a.Directory = dir
	}
	for _, name := range []string{"TOMBOLO_PROTOCOL", "TOMBOLO_PROVIDER_DIR", "TOMBOLO_CACHE_DIR"} {
		if text := variable(s.Env, name); text != "" {
			a.Environment[name] = text
		}
	}
	return a
}

// initialize negotiates the version of the protocol with a process. It makes the process ready for calls, or ends it.
func (c *sessions) initialize(r *running) {
	defer close(r.ready)
	err := c.agree(r)
	if err == nil {
		return
	}
	r.err = err
	c.mu.Lock()
	if c.refused == nil && c.closing.Err() == nil {
		c.refused = err
	}
	c.mu.Unlock()
	r.talk.Conn.Fail(errClosed)
	go r.talk.End(0)
}

func (c *sessions) agree(r *running) error {
	patience := c.surroundings.Patience
	if c.Debugged() {
		patience = program.Unlimited
	}
	err := r.talk.Agree(manifest.Protocol, patience, c.closing.Done())
	var refused *talk.RefusedError
	switch {
	case errors.Is(err, talk.ErrStopped):
		return errClosed
	case errors.As(err, &refused):
		return &NotReadyError{
			Summary: sumNotReady,
			Detail: fmt.Sprintf("The program of provider %s was asked to initialize a session, and %s\n\nProgram: %s",
				c.m.Name, refused.Clause, r.shown)}
	}
	return err
}

// await waits for the answer to a call. When the context ends, it notifies the program, which has a grace period to
// answer; then it abandons the call, and the process ends after the last call that is still waiting.
func (c *sessions) await(ctx context.Context, r *running, p *session.Pending, call Call) (*Answer, error) {
	select {
	case <-p.Done():
		return r.answer(p, call)
	case <-ctx.Done():
	}
	p.Cancel()
	grace := c.surroundings.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	stopped := &program.StoppedError{Err: context.Cause(ctx)}
	select {
	case <-p.Done():
		a, err := r.answer(p, call)
		if err == nil && a.Failure != nil {
			err = stopped
		}
		return a, err
	case <-timer.C:
	}
	c.mu.Lock()
	r.retired = true
	if c.current == r {
		c.current = nil
	}
	unanswered := p.GiveUp()
	c.mu.Unlock()
	if !unanswered {
		return r.answer(p, call)
	}
	return &Answer{Program: r.shown}, stopped
}

// defaultGrace is how long a program may take to answer a cancelled call.
const defaultGrace = 10 * time.Second

// answer converts a response to an answer.
func (r *running) answer(p *session.Pending, call Call) (*Answer, error) {
	r.talk.CatchUp() // messages before the response belong to this call
	reply, err := p.Reply()
	var ended *talk.EndedError
	var broken *session.BrokenError
	switch {
	case errors.As(err, &ended):
		return &Answer{Program: r.shown, Failure: &Failure{State: ended.Error(), Message: ended.Message, Killed: true}},
			nil
	case errors.As(err, &broken):
		a := &Answer{Program: r.shown}
		if broken.Reply != nil {
			a.Result = broken.Reply.Result
		}
		return a, &OutputError{Problem: broken.Problem, Line: broken.Line, Program: r.shown}
	case err != nil:
		return &Answer{Program: r.shown}, err
	}
	a := &Answer{Program: r.shown, Result: reply.Result}
	if reply.Invalid != nil {
		return a, &OutputError{Problem: reply.Invalid.Error(), Line: reply.Invalid.Line, Program: r.shown}
	}
	if e := reply.Error; e != nil {
		a.Failure = &Failure{State: fmt.Sprintf("it answered with error %d", e.Code),
			Message: strings.TrimSpace(e.Message), Temporary: e.Code == session.CodeTemporary,
			Missing: e.Code == session.CodeMissing}
		switch {
		case a.Failure.Temporary:
			a.Failure.Advice = temporaryAdvice
		case a.Failure.Missing:
			a.Failure.Advice = fmt.Sprintf("This means that it does not support the action %s. The manifest must "+
				"list only actions that the program implements.", call.Action)
		}
	}
	return a, nil
}

// Close implements Caller. It closes the program's input, and gives it one second to end.
func (c *sessions) Close() error {
	c.mu.Lock()
	c.close(errClosed)
	runs := slices.Collect(maps.Keys(c.runs))
	c.mu.Unlock()
	c.preparation.end()
	for _, r := range runs {
		<-r.ready
		if r.talk != nil {
			r.talk.End(talk.LastWord)
		}
	}
	c.all.Wait()
	return c.guest.close()
}

// OutputError means that the program of a session printed invalid lines, so that its answers may be wrong.
type OutputError struct {
	Problem string
	Line    []byte
	Program string
}

// Error returns the problem.
func (e *OutputError) Error() string { return e.Problem }

// optional are actions that a program need not implement even if its manifest names them, because there is a default.
var optional = []string{"configure", "validate", "plan"}

// withoutProgram reports whether a call failed only because the program does not implement the action after all.
func (f *Failure) withoutProgram(action string) bool {
	return f.Missing && slices.Contains(optional, action)
}
