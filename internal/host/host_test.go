package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// counted is a provider that counts its calls.
type counted struct {
	provider.Base
	number                      int32
	schemas, configured, closed *atomic.Int32
	refuse                      bool
}

func (c counted) Schema(context.Context) (*provider.Schema, diag.List) {
	c.schemas.Add(1)
	return &provider.Schema{Provider: &provider.Block{Attributes: map[string]*provider.Attribute{
		"region": {Type: cty.String, Required: true}}}}, nil
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
	return NewRegistry(context.Background(), map[addr.Provider]provider.Factory{
		a: func(context.Context) (provider.Provider, error) {
			return counted{number: n.started.Add(1), schemas: &n.schemas, configured: &n.configured, closed: &n.closed,
				refuse: refuse}, nil
		}}), addr.AbsProviderConfig{Provider: a}
}

func TestProvidersReturnTheirSchemaOnceAndAreConfiguredOncePerConfiguration(t *testing.T) {
	var n counts
	r, cfg := registry(&n, false)
	pool := r.NewPool()
	west := cfg
	west.Alias = "west"
	region := cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal("x")})
	pool.SetConfig(cfg, region)
	pool.SetConfig(west, cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal("y")}))
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
	if n.started.Load() != 2 || n.schemas.Load() != 1 || n.configured.Load() != 2 {
		t.Errorf("%d starts, %d schemas and %d configurations, want 2, 1 and 2", n.started.Load(), n.schemas.Load(),
			n.configured.Load())
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

func TestMissingBlockNamesTheFirstOfSeveralRequiredArguments(t *testing.T) {
	block := &provider.Block{Attributes: map[string]*provider.Attribute{}}
	for _, name := range []string{"d", "c", "b", "a"} {
		block.Attributes[name] = &provider.Attribute{Type: cty.String, Required: true}
	}
	for range 20 {
		if _, diags := absent(addr.Provider{Host: "h", Namespace: "n", Type: "t"}, block); !strings.Contains(
			diags.Err().Error(), `"a"`) {
			t.Fatalf("diagnostics: %v", diags)
		}
	}
}

func TestMissingProvidersNeedInit(t *testing.T) {
	var n counts
	r, _ := registry(&n, false)
	_, diags := r.Schema(addr.DefaultProvider("nope"))
	if text := diags.Err().Error(); !strings.Contains(text, "hashicorp/nope") ||
		!strings.Contains(text, "Run \"tombolo init\"") {
		t.Errorf("diagnostics: %v", text)
	}
}

func TestEqualConfigurationsShareAProviderAndItsProblems(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		var n counts
		r, cfg := registry(&n, refuse)
		pool := r.NewPool()
		unknown := cty.UnknownVal(cty.String)
		got := map[string]provider.Provider{}
		for alias, region := range map[string]cty.Value{"": cty.StringVal("x"), "same": cty.StringVal("x"),
			"other": cty.StringVal("y"), "u1": unknown, "u2": unknown} {
			a := cfg
			a.Alias = alias
			pool.SetConfig(a, cty.ObjectVal(map[string]cty.Value{"region": region}))
			inst, diags := pool.Get(t.Context(), a)
			if refuse != diags.HasErrors() || refuse && diags[0].Address != a.String() {
				t.Errorf("%s: %v", a, diags)
			}
			got[alias] = inst
		}
		if n.started.Load() != 4 || n.configured.Load() != 4 {
			t.Errorf("%d starts and %d configurations of 4 different ones", n.started.Load(), n.configured.Load())
		}
		if !refuse && (got[""] != got["same"] || got[""] == got["other"] || got["u1"] == got["u2"]) {
			t.Error("the wrong ones share a provider")
		}
		if err := errors.Join(pool.Close(), r.Close()); err != nil || n.closed.Load() != n.started.Load() {
			t.Errorf("closed %d of %d: %v", n.closed.Load(), n.started.Load(), err)
		}
	}
}

func TestNothingRunsBetweenTwoWalks(t *testing.T) {
	var n counts
	r, cfg := registry(&n, false)
	region := cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal("x")})
	for walk := range int32(3) {
		pool := r.NewPool()
		if _, diags := r.Schema(cfg.Provider); diags.HasErrors() {
			t.Fatal(diags)
		}
		common, _ := r.Unconfigured(cfg.Provider)
		pool.SetConfig(cfg, region)
		inst, _ := pool.Get(t.Context(), cfg)
		if inst == nil || inst != common {
			t.Errorf("walk %d: a second provider was started", walk)
		}
		if again, _ := r.Unconfigured(cfg.Provider); again != common {
			t.Errorf("walk %d: the one that was configured does not answer any more", walk)
		}
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		if n.started.Load() != walk+1 || n.closed.Load() != walk+1 {
			t.Errorf("walk %d: %d started, %d closed", walk, n.started.Load(), n.closed.Load())
		}
	}
	pool := r.NewPool()
	r.Unconfigured(cfg.Provider) // for a function
	if err := pool.Close(); err != nil || n.closed.Load() != n.started.Load() {
		t.Errorf("%d of %d closed: %v", n.closed.Load(), n.started.Load(), err)
	}
	if n.schemas.Load() != 1 {
		t.Errorf("%d schemas", n.schemas.Load())
	}
}

func TestSchemasAreRequestedConcurrently(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	factories := map[addr.Provider]provider.Factory{}
	for _, name := range []string{"a", "b"} {
		factories[addr.DefaultProvider(name)] = func(context.Context) (provider.Provider, error) {
			both.Done()
			both.Wait() // blocks for ever if the other one has to wait for this one
			return nil, errors.New("no")
		}
	}
	NewRegistry(t.Context(), factories).Prepare([]addr.Provider{addr.DefaultProvider("a"), addr.DefaultProvider("b")})
}

func TestCancelledContextsEndSchemaRequests(t *testing.T) {
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

func TestStartsInTheBackgroundAreShared(t *testing.T) {
	var n counts
	r, cfg := registry(&n, false)
	r.Begin([]addr.Provider{cfg.Provider})
	if schema, diags := r.Schema(cfg.Provider); schema == nil || diags.HasErrors() {
		t.Errorf("got %v, %v", schema, diags)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n.started.Load() != 1 || n.schemas.Load() != 1 || n.closed.Load() != 1 {
		t.Errorf("%d were started, %d schemas, %d closed", n.started.Load(), n.schemas.Load(), n.closed.Load())
	}
}

func TestCloseEndsStartsInTheBackground(t *testing.T) {
	a, b := addr.DefaultProvider("stuck"), addr.DefaultProvider("unknown")
	began := make(chan bool, 1)
	var ended atomic.Bool
	r := NewRegistry(t.Context(), map[addr.Provider]provider.Factory{a: func(ctx context.Context) (provider.Provider,
		error) {
		began <- true
		<-ctx.Done() // for ever, unless Close cancels it
		ended.Store(true)
		return nil, context.Cause(ctx)
	}})
	r.Begin([]addr.Provider{a, b})
	<-began
	if err := r.Close(); err != nil || !ended.Load() {
		t.Errorf("the start has ended: %t, %v", ended.Load(), err)
	}
}

// TestStartsInTheBackgroundAreTakenByPools begins, uses and closes pools at random: no more instances are started than
// pools need, and all of them are closed.
func TestStartsInTheBackgroundAreTakenByPools(t *testing.T) {
	for seed := range uint64(50) {
		var n counts
		r, cfg := registry(&n, false)
		random := rand.New(rand.NewPCG(seed, 3))
		need := 0
		for range 1 + random.IntN(4) {
			began, uses := random.IntN(2) == 0, random.IntN(3) > 0
			if began {
				r.Begin([]addr.Provider{cfg.Provider})
			}
			if began || uses {
				need++
			}
			pool := r.NewPool()
			pool.SetConfig(cfg, cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal("x")}))
			if uses {
				if inst, diags := pool.Get(t.Context(), cfg); inst == nil || diags.HasErrors() {
					t.Fatal(diags.Err())
				}
			}
			if err := pool.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if started, closed := int(n.started.Load()), int(n.closed.Load()); started > need || closed != started {
			t.Errorf("seed %d: %d were started, %d closed, %d needed", seed, started, closed, need)
		}
	}
}

// labelled is a provider whose value is not comparable.
type labelled struct {
	counted
	labels map[string]string
}

func TestProvidersThatAreValuesAreDistinguished(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(c counted) provider.Provider
	}{
		{"equal", func(c counted) provider.Provider { return c }},
		{"not comparable", func(c counted) provider.Provider { return labelled{c, map[string]string{}} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var n counts
			a := addr.DefaultProvider("labelled")
			r := NewRegistry(t.Context(), map[addr.Provider]provider.Factory{
				a: func(context.Context) (provider.Provider, error) {
					n.started.Add(1)
					return tt.make(counted{schemas: &n.schemas, configured: &n.configured, closed: &n.closed}), nil
				}})
			first, second := r.NewPool(), r.NewPool()
			for i, pool := range []*Pool{first, second} {
				cfg := addr.AbsProviderConfig{Provider: a}
				pool.SetConfig(cfg, cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal("x")}))
				if inst, diags := pool.Get(t.Context(), cfg); inst == nil || diags.HasErrors() {
					t.Fatalf("pool %d: %v", i, diags)
				}
			}
			if err := second.Close(); err != nil {
				t.Fatal(err)
			}
			// The provider that the first pool has taken serves calls while that pool is open: no other is started.
			if _, diags := r.Unconfigured(a); diags.HasErrors() || n.started.Load() != 2 {
				t.Errorf("%d were started: %v", n.started.Load(), diags)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if n.closed.Load() != 2 {
				t.Errorf("%d of 2 were closed", n.closed.Load())
			}
		})
	}
}
