package command

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
)

// errAsked is the cause of a context that a signal has cancelled.
var errAsked = errors.New("interrupted")

// Running is a run that can be interrupted. It passes events from the engine to the view, and counts the operations in
// flight.
//
// The first SIGINT, SIGTERM or SIGHUP cancels the context: nothing new starts, and the run waits for operations in
// flight. The second cancels Abort, which aborts the calls in flight; the journal keeps them as open operations. The
// third ends the process immediately; the journal is then still valid. The process also ends if the run does not end
// within a time limit after the second signal, because some call cannot be interrupted. A closed standard output does
// not stop the run: see signals_unix.go.
type Running struct {
	// Abort is cancelled by the second interrupt.
	Abort context.Context
	call  *Call

	mu sync.Mutex // guards the fields below
	// inFlight counts the operations at each object: parallel test runs may have several, in separate states.
	inFlight map[addr.Object]int

	finish   func()
	patience time.Duration // how long a run may take to end after the second interrupt
	exit     func(status int)
}

// patience is longer than the grace period of programs.
const patience = 20 * time.Second

// Interruptible starts a run; the caller must call End.
func (c *Call) Interruptible(ctx context.Context) (context.Context, *Running) {
	c.View() // before several goroutines use it
	r := &Running{call: c, inFlight: map[addr.Object]int{}, patience: patience, exit: os.Exit}
	ctx, cancel := context.WithCancelCause(ctx)
	abort, cut := context.WithCancelCause(context.Background())
	r.Abort = abort
	signals, release := watchSignals()
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r.watch(signals, quit, cancel, cut)
	}()
	r.finish = func() {
		release()
		close(quit)
		<-ended
		cancel(nil)
		cut(nil)
	}
	return ctx, r
}

// Stoppable returns a run that the first interrupt cancels, for commands that do not handle interrupts themselves.
func (c *Call) Stoppable(run Run) Run {
	return func(ctx context.Context) Outcome {
		ctx, running := c.Interruptible(ctx)
		defer running.End()
		return run(ctx)
	}
}

// End stops watching signals.
func (r *Running) End() { r.finish() }

func (r *Running) watch(signals <-chan os.Signal, quit <-chan struct{}, cancel, cut context.CancelCauseFunc) {
	var late <-chan time.Time
	for n := 1; ; n++ {
		select {
		case <-quit:
			return
		case <-signals:
		case <-late:
		}
		switch n {
		case 1:
			r.stop(false)
			cancel(errAsked)
		case 2:
			r.stop(true)
			cut(errAsked)
			late = time.After(r.patience)
		default:
			r.exit(Failed.ExitCode())
		}
	}
}

// stop reports an interrupt and cancels the contexts.
func (r *Running) stop(now bool) {
	r.mu.Lock()
	list := make([]addr.Object, 0, len(r.inFlight))
	for o := range r.inFlight {
		list = append(list, o)
	}
	r.mu.Unlock()
	slices.SortFunc(list, func(a, b addr.Object) int { return a.Instance.Compare(b.Instance) })
	r.call.View().Send(event.Stopping{InFlight: list, Now: now})
}

// Send implements event.Sink.
func (r *Running) Send(e event.Event) {
	switch e := e.(type) {
	case event.OperationStart:
		r.set(e.Object, true)
	case event.OperationDone:
		r.set(e.Object, false)
	}
	if to := r.call.Watch; to != nil {
		to.Send(e)
	}
	r.call.View().Send(e)
}

// Track returns a sink that records events without showing them.
func (r *Running) Track() event.Sink {
	return event.Func(func(e event.Event) {
		switch e := e.(type) {
		case event.OperationStart:
			r.set(e.Object, true)
		case event.OperationDone:
			r.set(e.Object, false)
		}
	})
}

func (r *Running) set(o addr.Object, in bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in {
		r.inFlight[o]++
	} else if r.inFlight[o]--; r.inFlight[o] <= 0 {
		delete(r.inFlight, o)
	}
}
