package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-iac/tombolo/sdk/schema/retry"
)

var errBusy = errors.New("busy")

func TestRetryEndsOnSuccessPermanentErrorOrTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		after := func(n int, end *retry.RetryError) retry.RetryFunc {
			calls = 0
			return func() *retry.RetryError {
				if calls++; calls >= n {
					return end
				}
				return retry.RetryableError(errBusy)
			}
		}
		if err := retry.Retry(time.Hour, after(4, nil)); err != nil || calls != 4 {
			t.Errorf("success: %v after %d calls", err, calls)
		}
		broken := errors.New("broken")
		if err := retry.Retry(time.Hour, after(3, retry.NonRetryableError(broken))); err != broken || calls != 3 {
			t.Errorf("failure for good: %v after %d calls", err, calls)
		}
		start := time.Now()
		if err := retry.Retry(time.Minute, after(1<<30, nil)); !errors.Is(err, errBusy) ||
			time.Since(start) != time.Minute {
			t.Errorf("too long: %v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := retry.RetryContext(ctx, time.Hour, after(1<<30, nil)); !errors.Is(err, errBusy) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("context: %v", err)
		}
		if err := retry.Retry(time.Hour, after(1, retry.RetryableError(nil))); err == nil || calls != 1 {
			t.Errorf("a failure without an error: %v after %d calls", err, calls)
		}
	})
}

// replay returns a sequence of states; "" means that the object does not exist.
func replay(calls *int, states ...string) retry.StateRefreshFunc {
	return func() (interface{}, string, error) {
		s := states[min(*calls, len(states)-1)]
		*calls++
		if s == "" {
			return nil, "", nil
		}
		return s, s, nil
	}
}

func TestStateChangeWaitsForTheTarget(t *testing.T) {
	var missing *retry.NotFoundError
	var unexpected *retry.UnexpectedStateError
	var late *retry.TimeoutError
	for name, c := range map[string]struct {
		conf   retry.StateChangeConf
		states []string
		result interface{}
		calls  int
		took   time.Duration
		as     any
		text   string
	}{
		"there at last": {conf: retry.StateChangeConf{Pending: []string{"new"}, Target: []string{"up"}},
			states: []string{"new", "", "new", "up"}, result: "up", calls: 4, took: 700 * time.Millisecond},
		"at once": {conf: retry.StateChangeConf{Target: []string{"up"}, Delay: time.Minute},
			states: []string{"up"}, result: "up", calls: 1, took: time.Minute},
		"anything is on the way": {conf: retry.StateChangeConf{Target: []string{"up"}, PollInterval: time.Second},
			states: []string{"a", "b", "up"}, result: "up", calls: 3, took: 2 * time.Second},
		"several times": {conf: retry.StateChangeConf{Target: []string{"up"}, PollInterval: time.Second,
			ContinuousTargetOccurence: 2}, states: []string{"up", "down", "up", "up"}, result: "up", calls: 4,
			took: 3 * time.Second},
		"gone": {conf: retry.StateChangeConf{Pending: []string{"going"}, MinTimeout: time.Second},
			states: []string{"going", "going", ""}, calls: 3, took: 2 * time.Second},
		"never there": {conf: retry.StateChangeConf{Target: []string{"up"}, PollInterval: time.Second,
			NotFoundChecks: 3}, states: []string{""}, calls: 4, took: 3 * time.Second, as: &missing,
			text: "there is no such object (after 4 reads)"},
		"another way": {conf: retry.StateChangeConf{Pending: []string{"new"}, Target: []string{"up", "idle"},
			PollInterval: time.Second}, states: []string{"new", "broken"}, result: "broken", calls: 2,
			took: time.Second, as: &unexpected, text: `the state is "broken", which does not lead to "up" or "idle"`},
		"too long": {conf: retry.StateChangeConf{Pending: []string{"new"}, Target: []string{"up"},
			Timeout: 3500 * time.Millisecond, PollInterval: time.Second}, states: []string{"new"}, result: "new",
			calls: 4, took: 3500 * time.Millisecond, as: &late, text: `waited 3.5s for "up"; the state is still "new"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, start := 0, time.Now()
				c.conf.Refresh = replay(&calls, c.states...)
				result, err := c.conf.WaitForStateContext(t.Context())
				if result != c.result || calls != c.calls || time.Since(start) != c.took {
					t.Errorf("got %v after %d calls and %s; want %v, %d, %s", result, calls, time.Since(start),
						c.result, c.calls, c.took)
				}
				if c.as == nil {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if !errors.As(err, c.as) || err.Error() != c.text {
					t.Errorf("got %T %v; want %s", err, err, c.text)
				}
			})
		})
	}
}

func TestRefreshErrorEndsTheWait(t *testing.T) {
	conf := retry.StateChangeConf{Target: []string{"up"}, Refresh: func() (interface{}, string, error) {
		return "x", "", errBusy
	}}
	if result, err := conf.WaitForState(); result != "x" || err != errBusy {
		t.Errorf("got %v, %v", result, err)
	}
}
