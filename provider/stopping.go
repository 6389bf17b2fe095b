package provider

import (
	"context"
	"errors"
)

// ErrStopping is the cause when Stop cancels a context of Stopping.
var ErrStopping = errors.New("the run is being interrupted")

// Stopping helps providers to end some of their calls on Stop. It may be used concurrently.
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

// Context returns a context that Stop cancels with the cause ErrStopping.
func (s *Stopping) Context() context.Context { return s.ctx }

// Interruptible returns a context for a call that may be interrupted: Stop also cancels it. The caller must call done
// when the call has ended.
func (s *Stopping) Interruptible(ctx context.Context) (call context.Context, done func()) {
	call, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(s.ctx, func() { cancel(ErrStopping) })
	return call, func() {
		release()
		cancel(nil)
	}
}
