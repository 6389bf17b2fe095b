// Package retry waits for systems that take their time: RetryContext repeats a call until it succeeds, StateChangeConf
// asks for the state of something until it is what it should be.
//
// Calls are made one after the other by the goroutine that waits, and are never left behind: give them the context, so
// that they end with it.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RetryFunc is a call that may be repeated. It returns nil when it has succeeded.
type RetryFunc func() *RetryError

// RetryError is a failure, and whether it may pass.
type RetryError struct {
	Err       error
	Retryable bool
}

func (e *RetryError) Unwrap() error { return e.Err }

func (e *RetryError) Error() string { return e.Err.Error() }

// RetryableError is a failure that may pass; nil for none.
func RetryableError(err error) *RetryError { return failure(err, true) }

// NonRetryableError is a failure that lasts.
func NonRetryableError(err error) *RetryError { return failure(err, false) }

func failure(err error, passing bool) *RetryError {
	if err == nil {
		err = errors.New("the provider reported a failure without an error")
		passing = false
	}
	return &RetryError{Err: err, Retryable: passing}
}

// RetryContext repeats a call until it succeeds or fails for good, with longer and longer pauses. When the time is over
// or the context ends, the last failure is given.
func RetryContext(ctx context.Context, timeout time.Duration, f RetryFunc) error {
	var last error
	_, err := (&StateChangeConf{
		Pending: []string{"failed"}, Target: []string{"done"}, Timeout: timeout, MinTimeout: 500 * time.Millisecond,
		Refresh: func() (interface{}, string, error) {
			e := f()
			switch {
			case e == nil:
				last = nil
				return true, "done", nil
			case !e.Retryable:
				last = nil
				return nil, "", e.Err
			}
			last = e.Err
			return true, "failed", nil
		},
	}).WaitForStateContext(ctx)
	if err != nil && last != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w (%w)", last, context.Cause(ctx))
		}
		return last
	}
	return err
}

// Retry is RetryContext for those who have no context.
func Retry(timeout time.Duration, f RetryFunc) error {
	return RetryContext(context.Background(), timeout, f)
}
