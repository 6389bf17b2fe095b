package command

import (
	"context"
	"io"
	"os"
	"testing"
	"time"
)

func TestProcessEndsIfInterruptsCannotStopTheRun(t *testing.T) {
	status := make(chan int, 1)
	r := &Running{call: &Call{App: &App{Out: io.Discard, Err: io.Discard}}, patience: time.Millisecond,
		exit: func(s int) { status <- s }}
	signals, quit, ended := make(chan os.Signal), make(chan struct{}), make(chan struct{})
	run, cancel := context.WithCancelCause(t.Context())
	calls, cut := context.WithCancelCause(t.Context())
	go func() {
		defer close(ended)
		r.watch(signals, quit, cancel, cut)
	}()
	signals <- os.Interrupt
	<-run.Done()
	signals <- os.Interrupt
	<-calls.Done()
	if got := <-status; got != Failed.ExitCode() {
		t.Errorf("the process ends with status %d", got)
	}
	close(quit)
	<-ended
}
