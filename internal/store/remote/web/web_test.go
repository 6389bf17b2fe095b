package web_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// A requested pause is kept, up to one minute. Otherwise pauses double, within a limit.
func TestPausesFollowTheService(t *testing.T) {
	for name, c := range map[string]struct {
		asked       string
		try         int
		least, most time.Duration
	}{
		"nothing":          {"", 0, 150 * time.Millisecond, 300 * time.Millisecond},
		"nothing, later":   {"", 3, 1200 * time.Millisecond, 2400 * time.Millisecond},
		"nothing, at last": {"", 60, 2500 * time.Millisecond, 5 * time.Second},
		"seconds":          {"20", 0, 20 * time.Second, 23 * time.Second},
		"a part of one":    {"0.5", 0, 500 * time.Millisecond, 600 * time.Millisecond},
		"a time":           {"Sat, 01 Jan 2000 00:00:30 GMT", 0, 30 * time.Second, 34 * time.Second},
		"a time that was":  {"Fri, 31 Dec 1999 00:00:30 GMT", 0, 150 * time.Millisecond, 300 * time.Millisecond},
		"an hour":          {"3600", 0, time.Minute, time.Minute},
		"less than none":   {"-5", 0, 150 * time.Millisecond, 300 * time.Millisecond},
		"a word":           {"soon", 0, 150 * time.Millisecond, 300 * time.Millisecond},
		"for ever":         {"1e300", 0, 150 * time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the fake clock starts on January 1, 2000
				began := time.Now()
				err := web.Wait(t.Context(), c.try, web.FirstPause, http.Header{"Retry-After": {c.asked}})
				if took := time.Since(began); err != nil || took < c.least || took > c.most {
					t.Errorf("%v after %s, want %s to %s", err, took, c.least, c.most)
				}
			})
		})
	}
}

// A call lasts as long as the service requests pauses. It ends during a pause if its context ends.
func TestPausesDoNotCountTowardsTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := progress.Within(t.Context(), time.Minute)
		defer cancel()
		busy := http.Header{"Retry-After": {"50"}}
		for try := range 5 {
			if err := web.Wait(ctx, try, web.FirstPause, busy); err != nil {
				t.Fatalf("at the %dth pause: %v", try, err)
			}
		}
		short, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		if err := web.Wait(short, 0, web.FirstPause, busy); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
	})
}
