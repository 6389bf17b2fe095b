package provider_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestStopCancelsInterruptibleCalls(t *testing.T) {
	s := provider.NewStopping()
	ended, done := s.Interruptible(t.Context())
	done()
	if got := context.Cause(ended); !errors.Is(got, context.Canceled) || s.Context().Err() != nil {
		t.Errorf("a call that has ended: %v", got)
	}
	call, done := s.Interruptible(t.Context())
	defer done()
	if call.Err() != nil {
		t.Error("a call ends before anything is stopped")
	}
	for range 2 {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	<-call.Done()
	late, done := s.Interruptible(t.Context())
	defer done()
	<-late.Done()
	for name, ctx := range map[string]context.Context{"call": call, "late call": late, "provider": s.Context()} {
		if got := context.Cause(ctx); got != provider.ErrStopping {
			t.Errorf("the %s ended because of %v", name, got)
		}
	}
	if got := context.Cause(ended); errors.Is(got, provider.ErrStopping) {
		t.Error("Stop changed why an earlier call ended")
	}
}
