package patience_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/patience"
)

var cloud = addr.DefaultProvider("cloud")

func failure(text string) diag.List { return diag.List{}.Errorf(nil, "Failed", "%s", text) }

// TestLimitsHoldAtEveryMoment makes random calls with random limits. At the start of each call it checks both limits,
// and in the end all calls must have run.
func TestLimitsHoldAtEveryMoment(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, seed))
			all := patience.Limit{AtOnce: random.IntN(5), PerSecond: []float64{0, 3, 50}[random.IntN(3)]}
			some := patience.Limit{AtOnce: random.IntN(3), PerSecond: []float64{0, 2}[random.IntN(2)]}
			gate := patience.New(patience.Policy{cloud: {Limit: all, Types: map[string]patience.Rules{
				"slow": {Limit: some}}}})
			var mu sync.Mutex
			active, begun := map[string]int{}, map[string][]time.Time{}
			check := func(name string, l patience.Limit, change int) {
				active[name] += change
				if l.AtOnce > 0 && active[name] > l.AtOnce {
					t.Errorf("seed %d: %d calls of %s at once, limit %d", seed, active[name], name, l.AtOnce)
				}
				if change < 0 {
					return
				}
				times := append(begun[name], time.Now())
				begun[name] = times
				if n := len(times); n > 1 && l.PerSecond > 0 &&
					times[n-1].Sub(times[n-2]) < time.Duration(float64(time.Second)/l.PerSecond)-time.Microsecond {
					t.Errorf("seed %d: two calls of %s within %s", seed, name, times[n-1].Sub(times[n-2]))
				}
			}
			var wg sync.WaitGroup
			for n := range 40 {
				typ, took := []string{"fast", "slow"}[n%2], time.Duration(random.IntN(300))*time.Millisecond
				wg.Go(func() {
					leave, err := gate.Enter(context.Background(), patience.Call{Provider: cloud, Type: typ}, nil)
					if err != nil {
						t.Error(err)
						return
					}
					note := func(change int) {
						mu.Lock()
						defer mu.Unlock()
						if check("all", all, change); typ == "slow" {
							check("slow", some, change)
						}
					}
					note(1)
					time.Sleep(took)
					note(-1)
					leave(nil)
				})
			}
			wg.Wait()
		})
	}
}

// A service that allows a number of calls per second, and refuses the rest, performs all of its work at nearly that
// rate, whatever the number of concurrent calls is.
func TestThrottlingAdaptsToTheService(t *testing.T) {
	for _, workers := range []int{1, 10, 64} {
		synctest.Test(t, func(t *testing.T) {
			const allowed, calls = 100, 3000
			gate := patience.New(nil)
			var mu sync.Mutex
			var window []time.Time
			refusals := 0
			serve := func() diag.List {
				time.Sleep(50 * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				now := time.Now()
				for len(window) > 0 && now.Sub(window[0]) >= time.Second {
					window = window[1:]
				}
				if len(window) >= allowed {
					refusals++
					return failure("API error: 429 Too Many Requests")
				}
				window = append(window, now)
				return nil
			}
			began, failed := time.Now(), 0
			queue := make(chan int, calls)
			for n := range calls {
				queue <- n
			}
			close(queue)
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for range queue {
						if !made(gate, serve) {
							mu.Lock()
							failed++
							mu.Unlock()
						}
					}
				})
			}
			wg.Wait()
			took := time.Since(began)
			best := max(calls/allowed*time.Second, calls*50*time.Millisecond/time.Duration(workers))
			t.Logf("%d at a time: %s, %s at best, %d refusals", workers, took, best, refusals)
			if failed > 0 || took > 3*best+10*time.Second {
				t.Errorf("%d at a time: %d of %d failed; it took %s, %s at best", workers, failed, calls, took, best)
			}
		})
	}
}

// made performs a call with all allowed attempts, and reports whether it succeeded.
func made(gate *patience.Gate, serve func() diag.List) bool {
	c := patience.Call{Provider: cloud, Type: "thing"}
	for attempt := 1; ; attempt++ {
		leave, err := gate.Enter(context.Background(), c, nil)
		if err != nil {
			return false
		}
		problems := serve()
		leave(problems)
		v := gate.Decide(c, attempt, problems)
		if !v.Again {
			return !problems.HasErrors()
		}
		time.Sleep(v.Wait)
	}
}

func TestThrottlingErrorsAreRecognized(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"429 Too Many Requests":                                      0,
		"unexpected status code: 429":                                0,
		"googleapi: Error 429: Quota exceeded, rateLimitExceeded":    0,
		"ThrottlingException: Rate exceeded":                         0,
		"api error RequestLimitExceeded: Request limit exceeded.":    0,
		"The rate limit of the service was exceeded":                 0,
		"HTTP/1.1 429\nRetry-After: 7":                               7 * time.Second,
		`{"status":429,"retry_after":"12"} Too many requests`:        12 * time.Second,
		"Too Many Requests (retry after 250 ms)":                     250 * time.Millisecond,
		"Too many requests. Retry-After is 2 minutes.":               2 * time.Minute,
		"status 429, retry-after: Sat, 01 Jan 2000 00:00:30 GMT now": 30 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) { // the fake clock starts in the year 2000
			v := patience.New(nil).Decide(patience.Call{Provider: cloud}, 1, failure(text))
			if !v.Again || !v.Refused || v.Wait < max(want, time.Second) || v.Wait > max(want, 1250*time.Millisecond) {
				t.Errorf("%q: %+v, want a refusal and to wait %s", text, v, want)
			}
		})
	}
	for _, text := range []string{"no such thing", "port 429 is in use", "The server has 42900 objects", "rate 5",
		"the limit of names was exceeded", ""} {
		if v := patience.New(nil).Decide(patience.Call{Provider: cloud}, 1, failure(text)); v.Again || v.Refused {
			t.Errorf("%q: %+v, want a failure", text, v)
		}
	}
}

func TestRulesSelectRetries(t *testing.T) {
	re := func(s string) []*regexp.Regexp { return []*regexp.Regexp{regexp.MustCompile(s)} }
	gate := patience.New(patience.Policy{cloud: {
		Retry: &patience.Retry{Errors: re("reset"), Refusals: re("later"), Attempts: 3, Wait: 2 * time.Second,
			MaxWait: 5 * time.Second},
		Types: map[string]patience.Rules{"once": {Retry: &patience.Retry{Attempts: 1}}},
	}})
	for _, c := range []struct {
		typ, text      string
		attempt        int
		again, refused bool
		least, most    time.Duration
	}{
		{"any", "connection reset", 1, true, false, 2 * time.Second, 2500 * time.Millisecond},
		{"any", "connection reset", 2, true, false, 4 * time.Second, 5 * time.Second},
		{"any", "connection reset", 3, false, false, 5 * time.Second, 6250 * time.Millisecond},
		{"any", "come later", 1, true, true, 2 * time.Second, 2500 * time.Millisecond},
		{"any", "too many requests, retry-after: 3600", 1, false, true, time.Hour, time.Hour},
		{"once", "connection reset", 1, false, false, time.Second, 1250 * time.Millisecond},
		{"once", "too many requests", 1, false, true, time.Second, 1250 * time.Millisecond},
		{"any", "no", 1, false, false, 2 * time.Second, 2500 * time.Millisecond},
	} {
		v := gate.Decide(patience.Call{Provider: cloud, Type: c.typ}, c.attempt, failure(c.text))
		if v.Again != c.again || v.Refused != c.refused || v.Wait < c.least || v.Wait > c.most {
			t.Errorf("%+v: %+v", c, v)
		}
	}
	warned := diag.List{}.Warnf(nil, "Slow", "429 Too Many Requests")
	if v := gate.Decide(patience.Call{Provider: cloud}, 1, warned); v != (patience.Verdict{}) {
		t.Errorf("a warning: %+v", v)
	}
}

func TestWaitsAreExplainedAndCancellable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := patience.New(patience.Policy{cloud: {Limit: patience.Limit{AtOnce: 1}}})
		c := patience.Call{Provider: cloud, Type: "thing"}
		leave, err := gate.Enter(context.Background(), c, func(string) { t.Error("the first call waits") })
		if err != nil {
			t.Fatal(err)
		}
		defer leave(nil)
		ctx, cancel := context.WithCancelCause(context.Background())
		stopped := fmt.Errorf("stopped")
		go func() { time.Sleep(time.Minute); cancel(stopped) }()
		text := ""
		if _, err := gate.Enter(ctx, c, func(why string) { text += why }); err != stopped {
			t.Errorf("%v, want that it was stopped", err)
		}
		if !strings.Contains(text, "1 calls of hashicorp/cloud at once") {
			t.Errorf("told %q", text)
		}
		other := patience.Call{Provider: addr.DefaultProvider("other")}
		if _, err := gate.Enter(context.Background(), other, nil); err != nil {
			t.Error(err)
		}
	})
}
