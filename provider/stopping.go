package provider

import (
	"context"
	"errors"
)

// ErrStopping is why a call ended that Stopping.Interruptible cut off.
var ErrStopping = errors.New("the run is being interrupted")

// Stopping is for providers that end some of their calls when Stop asks for it. It may be used concurrently.
type Stopping struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// NewStopping returns a Stopping that is not stopped.
func NewStopping() *Stopping {
	s := &Stopping{}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

// Stop implements Provider.Stop. It may be called several times.
func (s *Stopping) Stop(context.Context) error {
	s.end(ErrStopping)
	return nil
}

// Context returns a context that ends with Stop, because of ErrStopping.
func (s *Stopping) Context() context.Context { return s.ctx }

// Interruptible returns a context for a call that may be cut off: it also ends with Stop. The caller must call done
// when the call has ended.
func (s *Stopping) Interruptible(ctx context.Context) (call context.Context, done func()) {
	call, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(s.ctx, func() { cancel(ErrStopping) })
	return call, func() {
		release()
		cancel(nil)
	}
}
