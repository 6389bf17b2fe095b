package access

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/provider"
)

// lender records its renewals, each of which requests another one after a given time.
type lender struct {
	provider.Base
	again   time.Duration
	renewed []time.Time
}

func (l *lender) Schema(context.Context) (*provider.Schema, diag.List) { return nil, nil }

func (l *lender) OpenEphemeral(context.Context, provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	return provider.OpenEphemeralResponse{Result: cty.EmptyObjectVal, RenewAt: time.Now().Add(l.again)}
}

func (l *lender) RenewEphemeral(context.Context, provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	l.renewed = append(l.renewed, time.Now())
	return provider.RenewEphemeralResponse{RenewAt: time.Now().Add(l.again)}
}

func (l *lender) CloseEphemeral(context.Context, provider.CloseEphemeralRequest) diag.List {
	return nil
}

func TestRenewalsAreNeverCloserThanASecond(t *testing.T) {
	for _, tt := range []struct {
		name   string
		again  time.Duration
		during time.Duration
		want   []time.Duration // between one and the next
	}{
		{"in time", 10 * time.Second, 31 * time.Second, []time.Duration{10 * time.Second, 10 * time.Second,
			10 * time.Second}},
		{"too often", time.Millisecond, 3500 * time.Millisecond, []time.Duration{time.Second, time.Second,
			time.Second}},
		{"in the past", -time.Hour, 128 * time.Second, []time.Duration{1 * time.Second, 2 * time.Second,
			4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, 60 * time.Second}},
		{"in the distant past", -200 * 365 * 24 * time.Hour, 2 * time.Second, []time.Duration{1 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lender{again: tt.again}
				set := newEphemerals(t.Context(), event.Discard)
				last := time.Now()
				if _, diags, _ := set.Open(addr.AbsResourceInstance{}, l, &provider.Block{}, cty.EmptyObjectVal,
					provider.ClientCapabilities{}); diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				time.Sleep(tt.during)
				if diags := set.CloseAll(); diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				var got []time.Duration
				for _, at := range l.renewed {
					got, last = append(got, at.Sub(last)), at
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("pauses (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestRenewalsFollowTheClock sets the clock while an object waits for its renewal, like when a machine sleeps.
func TestRenewalsFollowTheClock(t *testing.T) {
	for _, tt := range []struct {
		name string
		jump time.Duration // after five minutes
		want time.Duration // from the beginning to the renewal, in an hour
	}{
		{"no jump", 0, time.Hour},
		{"set on, past it", 2 * time.Hour, 5*time.Minute + glance},
		{"set on, to half a minute before", 54*time.Minute + 30*time.Second, 5*time.Minute + 30*time.Second},
		{"set back", -24 * time.Hour, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var jumped atomic.Int64
				l := &lender{again: time.Hour}
				set := newEphemerals(t.Context(), event.Discard)
				set.now = func() time.Time { return time.Now().Add(time.Duration(jumped.Load())) }
				start := time.Now()
				if _, diags, _ := set.Open(addr.AbsResourceInstance{}, l, &provider.Block{}, cty.EmptyObjectVal,
					provider.ClientCapabilities{}); diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				time.Sleep(5*time.Minute + time.Second)
				jumped.Store(int64(tt.jump))
				time.Sleep(time.Hour - 5*time.Minute)
				if diags := set.CloseAll(); diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				if len(l.renewed) == 0 {
					t.Fatal("it was not renewed")
				}
				if got := l.renewed[0].Sub(start); got != tt.want {
					t.Errorf("renewed after %s, not %s", got, tt.want)
				}
			})
		})
	}
}
