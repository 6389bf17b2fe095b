package callback_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/callback"
)

var errOwn = errors.New("own")

func TestCallsThatDoNotReturnAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		call func() error
		want error
	}{
		"answer": {func() error { return nil }, nil},
		"error":  {func() error { return errOwn }, errOwn},
		"panic":  {func() error { panic(errOwn) }, errOwn},
		"Goexit": {func() error { runtime.Goexit(); return nil }, callback.ErrGoexit},
	} {
		got, err := callback.Await(t.Context(), time.Hour, c.call, nil)
		for how, err := range map[string]error{"Await": errors.Join(got, err),
			"CallAndWait": callback.CallAndWait(c.call)} {
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s, %s: got %v", how, name, err)
			}
			var panicked *diag.PanicError
			if errors.As(err, &panicked) != (name == "panic") {
				t.Errorf("%s, %s: got %#v", how, name, err)
			}
		}
	}
}

// A call may continue for the grace period after its context has ended. A later result is passed to late.
func TestLateAnswersAreNotLost(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		lost  bool
	}{{0, false}, {9 * time.Second, false}, {11 * time.Second, true}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(context.Background())
			end()
			late := 0
			got, err := callback.Await(ctx, 10*time.Second, func() int { time.Sleep(c.takes); return 7 },
				func(v int) { late = v; panic("nobody hears it") })
			if (err == callback.ErrLost) != c.lost || (got == 7) == c.lost {
				t.Errorf("after %s: got %d, %v", c.takes, got, err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if (late == 7) != c.lost {
				t.Errorf("after %s: late is %d", c.takes, late)
			}
		})
	}
}
