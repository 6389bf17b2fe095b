// Package callback calls code that the calling program brought: a provider, a store or a sink of events. Its panic, and
// the end of its goroutine, are errors, and a call that does not return when its context has ended is given up.
//
// Each call has a separate goroutine. That of a call that was given up still runs; nobody waits for it, and its answer
// is dropped.
package callback

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
)

// ErrLost means that a call was given up.
var ErrLost = errors.New("the call did not return after it was cancelled")

// ErrGoexit means that a call ended its goroutine.
var ErrGoexit = errors.New("it ended its goroutine with runtime.Goexit, as FailNow and Fatal of package testing do: " +
	"return an error instead")

// Await calls a function, and gives it up when it has not returned within the grace after the end of its context. The
// error is a *diag.PanicError, ErrGoexit or ErrLost; late, unless it is nil, gets the answer that comes after all.
func Await[R any](ctx context.Context, grace time.Duration, f func() R, late func(R)) (R, error) {
	type answer struct {
		value R
		err   error
	}
	ended := make(chan answer, 1)
	var over atomic.Bool // it has ended, or was given up: whichever was first
	go func() {
		got := answer{err: ErrGoexit}
		defer func() {
			if value := recover(); value != nil {
				got.err = diag.AsPanic(value)
			}
			switch {
			case over.CompareAndSwap(false, true):
				ended <- got
			case late != nil && got.err == nil:
				_ = Calmly(func() error { late(got.value); return nil }) // nobody is left to hear of a problem
			}
		}()
		got.value = f()
		got.err = nil
	}()
	select {
	case got := <-ended:
		return got.value, got.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case got := <-ended:
		return got.value, got.err
	case <-timer.C:
	}
	if over.CompareAndSwap(false, true) {
		var none R
		return none, ErrLost
	}
	got := <-ended
	return got.value, got.err
}

// Calmly calls a function and waits for it, however long it takes.
func Calmly(call func() error) error {
	err := ErrGoexit
	var done sync.WaitGroup
	done.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				err = diag.AsPanic(v)
			}
		}()
		err = call()
	})
	done.Wait()
	return err
}
