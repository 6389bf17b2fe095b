package host

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// counted is a provider that counts what happens to it.
type counted struct {
	provider.Base
	schemas, configured, closed *atomic.Int32
	refuse                      bool
}

func (c counted) Schema(context.Context) (*provider.Schema, diag.List) {
	c.schemas.Add(1)
	return &provider.Schema{Provider: &provider.Block{Attributes: map[string]*provider.Attribute{"region": {Type: cty.String, Required: true}}}}, nil
}

func (c counted) Configure(context.Context, provider.ConfigureRequest) provider.ConfigureResponse {
	c.configured.Add(1)
	if c.refuse {
		return provider.ConfigureResponse{Diagnostics: diag.List{}.Errorf(nil, "Bad region", "No.")}
	}
	return provider.ConfigureResponse{}
}

func (c counted) Close() error { c.closed.Add(1); return nil }

type counts struct{ started, schemas, configured, closed atomic.Int32 }

func registry(n *counts, refuse bool) (*Registry, addr.AbsProviderConfig) {
	a := addr.DefaultProvider("counted")
	return NewRegistry(context.Background(), map[addr.Provider]provider.Factory{a: func(context.Context) (provider.Provider, error) {
		n.started.Add(1)
		return counted{schemas: &n.schemas, configured: &n.configured, closed: &n.closed, refuse: refuse}, nil
	}}), addr.AbsProviderConfig{Provider: a}
}

func TestProviderIsAskedForItsSchemaOnceAndConfiguredOncePerConfiguration(t *testing.T) {
	var n counts
	r, cfg := registry(&n, false)
	pool := r.NewPool()
	west := cfg
	west.Alias = "west"
	region := cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal("x")})
	pool.SetConfig(cfg, region)
	pool.SetConfig(west, region)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			which := cfg
			if i%2 == 0 {
				which = west
			}
			if inst, diags := pool.Get(context.Background(), which); inst == nil || diags.HasErrors() {
				t.Errorf("no provider: %v", diags)
			}
		})
	}
	wg.Wait()
	if n.schemas.Load() != 1 || n.configured.Load() != 2 {
		t.Errorf("%d schemas and %d configurations, want 1 and 2", n.schemas.Load(), n.configured.Load())
	}
	if err := errors.Join(pool.Close(), r.Close()); err != nil || n.closed.Load() != n.started.Load() {
		t.Errorf("closed %d of %d providers: %v", n.closed.Load(), n.started.Load(), err)
	}
}

func TestFailedConfigurationIsReportedOnceAndLeavesNothingRunning(t *testing.T) {
	var n counts
	r, cfg := registry(&n, true)
	pool := r.NewPool()
	pool.SetConfig(cfg, cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal("x")}))
	reports := 0
	for range 3 {
		inst, diags := pool.Get(context.Background(), cfg)
		if inst != nil {
			t.Error("a provider that refused its configuration was handed out")
		}
		if diags.HasErrors() {
			reports++
		}
	}
	if err := errors.Join(pool.Close(), r.Close()); err != nil || reports != 1 || n.closed.Load() != n.started.Load() {
		t.Errorf("%d reports, closed %d of %d: %v", reports, n.closed.Load(), n.started.Load(), err)
	}
}

func TestMissingBlockOfAProviderThatNeedsOneNamesTheArgument(t *testing.T) {
	var n counts
	r, cfg := registry(&n, false)
	_, diags := r.NewPool().Get(context.Background(), cfg)
	if !strings.Contains(diags.Err().Error(), `"region"`) {
		t.Errorf("diagnostics: %v", diags)
	}
}

func TestUnknownProviderNamesThoseThatExist(t *testing.T) {
	var n counts
	r, _ := registry(&n, false)
	_, diags := r.Schema(addr.DefaultProvider("nope"))
	if text := diags.Err().Error(); !strings.Contains(text, "hashicorp/nope") || !strings.Contains(text, "hashicorp/counted") {
		t.Errorf("diagnostics: %v", text)
	}
}

func TestAnEndedContextCutsOffTheFetchingOfASchema(t *testing.T) {
	a := addr.DefaultProvider("stuck")
	ctx, cancel := context.WithCancel(t.Context())
	r := NewRegistry(ctx, map[addr.Provider]provider.Factory{a: func(ctx context.Context) (provider.Provider, error) {
		cancel()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}})
	if schema, diags := r.Schema(a); schema != nil || !diags.HasErrors() {
		t.Errorf("got %v, %v", schema, diags)
	}
}
