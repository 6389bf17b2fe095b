package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/callback"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/tracing"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Pool holds the configured providers of one walk.
type Pool struct {
	registry *Registry

	mu      sync.Mutex // guards the fields below
	entries map[addr.AbsProviderConfig]*poolEntry
	// equal holds the configured providers by the hash of their configuration.
	equal map[configHash][]*configured
	// deferral is told to providers as a capability of the engine.
	deferral bool
	taken    []taken
}

// taken is a provider that is closed with the pool.
type taken struct {
	provider addr.Provider
	inst     *started
}

// poolEntry is a provider configuration.
type poolEntry struct {
	config cty.Value // cty.NilVal means an empty block
	once   sync.Once
	inst   provider.Provider
}

// configured is a provider and its configuration.
type configured struct {
	provider addr.Provider
	config   cty.Value

	once  sync.Once
	inst  provider.Provider // nil if it could not be started
	diags diag.List         // without an address
}

type configHash struct {
	provider addr.Provider
	hash     int
}

// NewPool returns an empty pool, which must be closed.
func (r *Registry) NewPool() *Pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pools++
	return &Pool{registry: r, entries: map[addr.AbsProviderConfig]*poolEntry{}, equal: map[configHash][]*configured{}}
}

// Schema is Registry.Schema.
func (p *Pool) Schema(a addr.Provider) (*provider.Schema, diag.List) { return p.registry.Schema(a) }

// Unconfigured is Registry.Unconfigured.
func (p *Pool) Unconfigured(a addr.Provider) (provider.Provider, diag.List) {
	return p.registry.Unconfigured(a)
}

// AllowDeferral lets providers defer their answers: the pool announces it when it configures them. It must be called
// before Get.
func (p *Pool) AllowDeferral() { p.deferral = true }

// SetConfig sets the value of a provider block, without marks. It must be called before Get for the same configuration.
func (p *Pool) SetConfig(a addr.AbsProviderConfig, config cty.Value) {
	p.entry(a).config = config
}

func (p *Pool) entry(a addr.AbsProviderConfig) *poolEntry {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[a]
	if e == nil {
		e = &poolEntry{}
		p.entries[a] = e
	}
	return e
}

// Get returns the provider of a configuration, started and configured. Only the first caller gets the diagnostics; if
// the start failed, every caller gets nil.
func (p *Pool) Get(ctx context.Context, a addr.AbsProviderConfig) (provider.Provider, diag.List) {
	e := p.entry(a)
	var diags diag.List
	e.once.Do(func() {
		config := e.config
		schema, problems := p.registry.Schema(a.Provider)
		if schema == nil {
			diags = problems
			return
		}
		if config == cty.NilVal {
			if config, diags = absent(a.Provider, schema.Provider); diags.HasErrors() {
				return
			}
		}
		c := p.configured(a.Provider, config)
		c.once.Do(func() {
			ctx, span := tracing.Start(ctx, "provider Configure",
				tracing.Attr{Key: "tombolo.provider", Value: a.String()})
			p.configure(ctx, c)
			span.End(!c.diags.HasErrors())
		})
		e.inst, diags = c.inst, c.diags.InAddress(a.String())
	})
	return e.inst, diags
}

// absent returns the value of an omitted provider block.
func absent(a addr.Provider, block *provider.Block) (cty.Value, diag.List) {
	if block == nil {
		block = &provider.Block{}
	}
	for _, name := range slices.Sorted(maps.Keys(block.Attributes)) {
		if block.Attributes[name].Required {
			return cty.NilVal, diag.List{}.Errorf(nil, "Invalid provider configuration",
				"Provider %q needs a configuration: its argument %q is required. Add a provider block with "+
					"that argument to the root module.", a, name)
		}
	}
	return block.EmptyValue(), nil
}

// configured returns the provider with an equal configuration, or adds one. A partly unknown configuration equals no
// other.
func (p *Pool) configured(a addr.Provider, config cty.Value) *configured {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &configured{provider: a, config: config}
	if ctyfast.WhollyKnown(config) {
		key := configHash{a, config.Hash()}
		for _, other := range p.equal[key] {
			if ctyfast.RawEquals(other.config, config) {
				return other
			}
		}
		p.equal[key] = append(p.equal[key], c)
	}
	return c
}

// configure starts and configures a provider. A provider that cannot be configured is kept until the pool is closed,
// because others may use it for calls that need no configuration.
func (p *Pool) configure(ctx context.Context, c *configured) {
	inst, diags := p.registry.take(ctx, c.provider)
	if c.diags = diags; inst == nil {
		return
	}
	c.inst = inst.Provider
	p.mu.Lock()
	p.taken = append(p.taken, taken{c.provider, inst})
	p.mu.Unlock()
	config := c.config
	checked := inst.ValidateConfig(ctx, provider.ValidateConfigRequest{Config: config})
	c.diags = c.diags.Extend(checked.Diagnostics)
	if !c.diags.HasErrors() {
		if checked.Prepared != cty.NilVal && !checked.Prepared.IsNull() {
			config = checked.Prepared
		}
		c.diags = c.diags.Extend(inst.Configure(ctx, provider.ConfigureRequest{
			TerraformVersion: state.LanguageVersion, Config: config, Client: provider.ClientCapabilities{
				WriteOnlyAttributesAllowed: true, StorePlannedPrivate: true, ComputedBlocksAllowed: true,
				DeferralAllowed: p.deferral},
		}).Diagnostics)
	}
	if c.diags.HasErrors() {
		c.inst = nil
	}
}

// Stop asks all running providers to end their calls soon.
func (p *Pool) Stop(ctx context.Context) {
	var asking sync.WaitGroup
	for _, t := range p.running() {
		asking.Go(func() {
			// The result shows in the calls of the provider.
			_ = callback.CallAndWait(func() error { return t.inst.Stop(ctx) })
		})
	}
	asking.Wait()
}

// Close closes all providers of the pool. With the last open pool, it also closes those that only served calls without
// configuration.
func (p *Pool) Close() error {
	r, list := p.registry, p.running()
	errs := make([]error, len(list))
	var closing sync.WaitGroup
	for i, t := range list {
		closing.Go(func() { errs[i] = r.end(t.provider, t.inst) })
	}
	closing.Wait()
	r.mu.Lock()
	r.pools--
	last := r.pools == 0
	r.mu.Unlock()
	if last {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

func (p *Pool) running() []taken {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.taken)
}
