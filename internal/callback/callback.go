// Package callback calls code of the embedding program: a provider, a store or a sink for events. It turns panics and
// runtime.Goexit into errors, and abandons a call that does not return after its context has ended.
//
// Each call has its own goroutine. The goroutine of an abandoned call continues; its result is dropped.
package callback

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
)

// ErrLost means that a call was abandoned.
var ErrLost = errors.New("the call did not return after it was cancelled")

// ErrGoexit means that a call ended its goroutine.
var ErrGoexit = errors.New("it ended its goroutine with runtime.Goexit, as FailNow and Fatal of package testing do: " +
	"return an error instead")

// Await calls a function, and abandons it if it has not returned within grace after the end of its context. The error
// is a *diag.PanicError, ErrGoexit or ErrLost. If an abandoned call returns after all, its result is passed to late,
// unless late is nil.
func Await[R any](ctx context.Context, grace time.Duration, f func() R, late func(R)) (R, error) {
	type answer struct {
		value R
		err   error
	}
	ended := make(chan answer, 1)
	var over atomic.Bool // set by whichever is first: the result or the abandonment
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
				_ = CallAndWait(func() error { late(got.value); return nil }) // errors have no recipient any more
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

// CallAndWait calls a function and waits for it, however long it takes. It returns its error, or an error for a panic.
func CallAndWait(call func() error) error {
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
