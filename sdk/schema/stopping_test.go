package schema_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	. "github.com/tombolo-iac/tombolo/sdk/schema"
)

func TestTimeoutsLimitCallbacks(t *testing.T) {
	updates := 0
	r := &Resource{
		Schema: map[string]*Schema{"name": {Type: TypeString, Optional: true}, "etag": {
			Type: TypeString, Computed: true}},
		CreateContext: func(ctx context.Context, d *ResourceData, _ interface{}) diag.Diagnostics {
			if d.Timeout(TimeoutCreate) > time.Second {
				d.SetId(fmt.Sprint(d.Timeout(TimeoutCreate), d.Timeout(TimeoutRead), d.Timeout(TimeoutDelete)))
				return nil
			}
			<-ctx.Done()
			if ctx != d.Context() || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				return diag.Errorf("the context ended because of %v", context.Cause(ctx))
			}
			return diag.FromErr(context.Cause(ctx))
		},
		Read:   nop,
		Update: func(*ResourceData, interface{}) error { updates++; return nil },
		Delete: nop,
		Timeouts: &ResourceTimeout{Create: DefaultTimeout(time.Minute), Read: DefaultTimeout(time.Second),
			Default: DefaultTimeout(time.Hour)},
	}
	e := start(t, r)
	limits := func(v string) attrs { return attrs{"timeouts": obj(attrs{"create": str(v)})} }
	refused(t, e.tryApply(limits("1ms")), "", "the create takes longer than 1ms")
	if !e.lost {
		t.Error("a request that was not awaited is taken for one that did nothing")
	}
	e.apply(limits("2m"))
	has(t, e.state, attrs{"id": str("2m0s 1s 1h0m0s")})
	e.apply(limits("3m"))
	if updates != 0 {
		t.Error("other timeouts are no reason to update")
	}
	for _, bad := range []string{"soon", "-1s", "0s", ""} {
		refused(t, e.validate(limits(bad)), ".timeouts.create", "is not a duration")
	}
	if diags := e.validate(attrs{"timeouts": obj(attrs{"create": unknownText})}); len(diags) > 0 {
		t.Error(diags.Err())
	}
}

func TestStopEndsCallbacks(t *testing.T) {
	running := make(chan struct{})
	e := start(t, &Resource{
		Schema: map[string]*Schema{"name": {Type: TypeString, Optional: true, ForceNew: true}},
		CreateContext: func(ctx context.Context, d *ResourceData, _ interface{}) diag.Diagnostics {
			d.SetId("1")
			close(running)
			<-ctx.Done()
			return diag.FromErr(context.Cause(ctx))
		},
		Read: nop, Delete: nop,
	})
	go func() {
		<-running
		_ = e.p.Stop(context.Background())
	}()
	refused(t, e.tryApply(attrs{}), "", "interrupted")
	has(t, e.state, attrs{"id": str("1")})
}

// It is known whether a creation created an object if its callback returned in time, or set the id. After a panic, or
// if its context ended first, it is unknown.
func TestCreationsReportWhetherAnObjectMayExist(t *testing.T) {
	stopped := func(ctx context.Context, e *engine) {
		_ = e.p.Stop(context.Background())
		<-ctx.Done()
	}
	for name, test := range map[string]struct {
		create func(ctx context.Context, e *engine, d *ResourceData) diag.Diagnostics
		lost   bool
	}{
		"an error": {func(context.Context, *engine, *ResourceData) diag.Diagnostics {
			return diag.Errorf("no")
		}, false},
		"a panic": {func(context.Context, *engine, *ResourceData) diag.Diagnostics { panic("oh no") }, true},
		"a panic with an id": {func(_ context.Context, _ *engine, d *ResourceData) diag.Diagnostics {
			d.SetId("1")
			panic("oh no")
		}, false},
		"stopped": {func(ctx context.Context, e *engine, _ *ResourceData) diag.Diagnostics {
			stopped(ctx, e)
			return diag.FromErr(ctx.Err())
		}, true},
		"stopped, in other words": {func(ctx context.Context, e *engine, _ *ResourceData) diag.Diagnostics {
			stopped(ctx, e)
			return diag.Errorf("no answer")
		}, true},
		"stopped, with an id": {func(ctx context.Context, e *engine, d *ResourceData) diag.Diagnostics {
			d.SetId("1")
			stopped(ctx, e)
			return diag.FromErr(ctx.Err())
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var e *engine
			e = start(t, &Resource{
				Schema: map[string]*Schema{"name": {Type: TypeString, Optional: true, ForceNew: true}},
				CreateContext: func(ctx context.Context, d *ResourceData, _ interface{}) diag.Diagnostics {
					return test.create(ctx, e, d)
				},
				Read: nop, Delete: nop,
			})
			if diags := e.tryApply(attrs{}); !diags.HasErrors() || e.lost != test.lost {
				t.Errorf("lost: %t, %v", e.lost, diags.Err())
			}
		})
	}
}

// A call after the interrupt does not start its callback.
func TestStopPreventsCreations(t *testing.T) {
	e := start(t, keeper(map[string]*Schema{"name": {Type: TypeString, Optional: true}},
		func(op string, d *ResourceData) error { t.Error("Create was called"); return nil }))
	_ = e.p.Stop(context.Background())
	refused(t, e.tryApply(attrs{}), "", "before the creation")
	if e.lost || !e.state.IsNull() {
		t.Error("it is clear that nothing was created")
	}
}
