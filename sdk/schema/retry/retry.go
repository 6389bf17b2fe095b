// Package retry waits for slow systems: RetryContext repeats a call until it succeeds, and StateChangeConf polls a
// state until it has an expected value.
//
// The waiting goroutine makes the calls one after another, and waits for each: pass them the context, so that they end
// with it.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RetryFunc is a call that may be repeated. It returns nil on success.
type RetryFunc func() *RetryError

// RetryError is a failure, temporary or permanent.
type RetryError struct {
	Err       error
	Retryable bool
}

func (e *RetryError) Unwrap() error { return e.Err }

func (e *RetryError) Error() string { return e.Err.Error() }

// RetryableError returns a temporary failure, or nil if err is nil.
func RetryableError(err error) *RetryError { return failure(err, true) }

// NonRetryableError returns a permanent failure, or nil if err is nil.
func NonRetryableError(err error) *RetryError { return failure(err, false) }

func failure(err error, passing bool) *RetryError {
	if err == nil {
		err = errors.New("the provider reported a failure without an error")
		passing = false
	}
	return &RetryError{Err: err, Retryable: passing}
}

// RetryContext repeats a call until it succeeds or fails permanently, with increasing pauses. After the timeout or the
// end of the context, it returns the last failure.
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

// Retry is RetryContext without a context.
func Retry(timeout time.Duration, f RetryFunc) error {
	return RetryContext(context.Background(), timeout, f)
}
