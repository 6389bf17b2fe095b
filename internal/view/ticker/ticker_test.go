package ticker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-iac/tombolo/internal/view/ticker"
)

func TestATickerCallsBetweenStartAndStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		ticks := ticker.New(time.Second, func() { calls++ })
		time.Sleep(time.Minute)
		if calls != 0 {
			t.Errorf("%d calls before the start", calls)
		}
		ticks.Start()
		ticks.Start()
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if calls != 10 {
			t.Errorf("%d calls in ten seconds", calls)
		}
		ticks.Stop()
		ticks.Stop()
		ticks.Start()
		time.Sleep(time.Minute)
		if calls != 10 {
			t.Errorf("%d calls after the stop", calls-10)
		}
	})
}
