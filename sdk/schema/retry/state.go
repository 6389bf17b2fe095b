package retry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// StateRefreshFunc returns the state of an object. A nil result means that it does not exist.
type StateRefreshFunc func() (result interface{}, state string, err error)

// StateChangeConf describes the state to wait for.
type StateChangeConf struct {
	Refresh StateRefreshFunc
	// Target are the states that end the wait; if empty, it ends when the object no longer exists. Pending are the
	// states before a target, and any other is an error; if empty, all others are pending.
	Pending []string
	Target  []string

	Delay        time.Duration // before the first call of Refresh
	Timeout      time.Duration // of the whole wait; zero means that only the context ends it
	MinTimeout   time.Duration // the minimum pause; pauses double up to ten seconds
	PollInterval time.Duration // a fixed pause, below three minutes
	// NotFoundChecks is how many times in a row the object may be missing; zero means twenty.
	NotFoundChecks int
	// ContinuousTargetOccurence is how many times in a row a Target state must be returned; zero means once.
	ContinuousTargetOccurence int
}

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
	longestPoll  = 180 * time.Second
)

// WaitForState is WaitForStateContext without a context.
func (c *StateChangeConf) WaitForState() (interface{}, error) {
	return c.WaitForStateContext(context.Background())
}

// WaitForStateContext waits, and returns the result of the last Refresh. It returns the first error of Refresh.
func (c *StateChangeConf) WaitForStateContext(ctx context.Context) (interface{}, error) {
	w := waiting{StateChangeConf: c, ctx: ctx}
	if c.Timeout > 0 {
		deadline := time.NewTimer(c.Timeout)
		defer deadline.Stop()
		w.over = deadline.C
	}
	if err := w.pause(c.Delay); err != nil {
		return nil, err
	}
	for step := firstPause; ; step = min(2*step, longestPause) {
		result, state, err := c.Refresh()
		if err != nil {
			return result, err
		}
		w.last = state
		if done, err := w.check(result, state); done || err != nil {
			return result, err
		}
		if err := w.pause(c.between(step)); err != nil {
			return result, err
		}
	}
}

// between returns a pause: the fixed one, or the given doubled one.
func (c *StateChangeConf) between(step time.Duration) time.Duration {
	if c.PollInterval > 0 && c.PollInterval < longestPoll {
		return c.PollInterval
	}
	return max(step, min(c.MinTimeout, longestPause))
}

// waiting is one wait.
type waiting struct {
	*StateChangeConf
	ctx     context.Context
	over    <-chan time.Time
	last    string
	seen    int // number of Target states in a row
	missing int // number of times in a row that the object was missing
}

// check reports whether the wait has ended.
func (w *waiting) check(result interface{}, state string) (bool, error) {
	if result == nil {
		if len(w.Target) == 0 {
			return w.again(), nil
		}
		w.seen = 0
		if w.missing++; w.missing > w.limit() {
			return true, &NotFoundError{Retries: w.missing}
		}
		return false, nil
	}
	w.missing = 0
	switch {
	case slices.Contains(w.Target, state):
		return w.again(), nil
	case len(w.Pending) > 0 && !slices.Contains(w.Pending, state):
		return true, &UnexpectedStateError{State: state, ExpectedState: w.Target}
	}
	w.seen = 0
	return false, nil
}

func (w *waiting) again() bool {
	w.seen++
	return w.seen >= max(1, w.ContinuousTargetOccurence)
}

func (w *waiting) limit() int {
	if w.NotFoundChecks > 0 {
		return w.NotFoundChecks
	}
	return 20
}

func (w *waiting) pause(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	case <-w.over:
		return &TimeoutError{LastState: w.last, Timeout: w.Timeout, ExpectedState: w.Target}
	case <-t.C:
		return nil
	}
}

// NotFoundError means that the object was missing too many times.
type NotFoundError struct {
	LastError    error
	LastRequest  interface{}
	LastResponse interface{}
	Message      string
	Retries      int
}

func (e *NotFoundError) Error() string {
	switch {
	case e.Message != "":
		return e.Message
	case e.Retries > 0:
		return fmt.Sprintf("there is no such object (after %d reads)", e.Retries)
	}
	return "there is no such object"
}

func (e *NotFoundError) Unwrap() error { return e.LastError }

// UnexpectedStateError means that a state is neither pending nor a target.
type UnexpectedStateError struct {
	LastError     error
	State         string
	ExpectedState []string
}

func (e *UnexpectedStateError) Error() string {
	return because(fmt.Sprintf("the state is %q, which does not lead to %s", e.State, wanted(e.ExpectedState)),
		e.LastError)
}

func (e *UnexpectedStateError) Unwrap() error { return e.LastError }

// TimeoutError means that the wait took too long.
type TimeoutError struct {
	LastError     error
	LastState     string
	Timeout       time.Duration
	ExpectedState []string
}

func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("waited %s for %s", e.Timeout, wanted(e.ExpectedState))
	if e.LastState != "" {
		text += fmt.Sprintf("; the state is still %q", e.LastState)
	}
	return because(text, e.LastError)
}

func (e *TimeoutError) Unwrap() error { return e.LastError }

func because(text string, err error) string {
	if err == nil {
		return text
	}
	return text + ": " + err.Error()
}

func wanted(states []string) string {
	if len(states) == 0 {
		return "its end"
	}
	quoted := make([]string, len(states))
	for i, s := range states {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(quoted, " or ")
}
