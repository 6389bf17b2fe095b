// Package host starts providers, asks each for its schema once, and hands out configured ones.
//
// A Registry knows how to start the provider of an address and lives as long as the project. A Pool belongs to one walk: it
// remembers the configuration of every provider configuration and starts and configures a provider when the first call needs it,
// once. Closing the pool stops what it started.
package host

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Registry starts providers by address.
type Registry struct {
	calls     context.Context // its end cuts off the fetching of a schema
	factories map[addr.Provider]provider.Factory

	mu      sync.Mutex
	schemas map[addr.Provider]*schemaEntry
}

type schemaEntry struct {
	once   sync.Once
	schema *provider.Schema
	diags  diag.List
	// unconfigured is the provider that was started for its schema: it also answers validation and functions.
	unconfigured provider.Provider
}

// NewRegistry makes a registry; the map is not copied and must not change. calls carries the cancellation of starts and of schemas that
// are under way: a schema is asked for once for everyone, so it is nobody's own call.
func NewRegistry(calls context.Context, factories map[addr.Provider]provider.Factory) *Registry {
	return &Registry{calls: calls, factories: factories, schemas: map[addr.Provider]*schemaEntry{}}
}

// Schema gives the schema of a provider, asking it once. The schema is nil when there are errors.
func (r *Registry) Schema(p addr.Provider) (*provider.Schema, diag.List) {
	e := r.entry(p)
	return e.schema, e.diags
}

// Unconfigured gives a provider that has no configuration: for validation and functions.
func (r *Registry) Unconfigured(p addr.Provider) (provider.Provider, diag.List) {
	e := r.entry(p)
	return e.unconfigured, e.diags
}

// Functions gives the functions of a provider by name, as an evaluator can call them; nil when the provider cannot be asked. They
// are called on the provider that was started for its schema; ctx ends calls under way.
func (r *Registry) Functions(ctx context.Context, p addr.Provider) map[string]function.Function {
	e := r.entry(p)
	if e.schema == nil {
		return nil
	}
	out := make(map[string]function.Function, len(e.schema.Functions))
	for name, described := range e.schema.Functions {
		out[name] = described.Spec(func(args []cty.Value) (cty.Value, error) {
			result, err := e.unconfigured.CallFunction(ctx, name, args)
			if err != nil {
				return cty.NilVal, err
			}
			if problems := result.Type().TestConformance(described.Return); len(problems) > 0 {
				return cty.NilVal, fmt.Errorf("provider %s answered with a %s where its signature promises a %s; this is a bug in the provider", p.ForDisplay(), result.Type().FriendlyName(), described.Return.FriendlyName())
			}
			return result, nil
		})
	}
	return out
}

func (r *Registry) entry(p addr.Provider) *schemaEntry {
	r.mu.Lock()
	e := r.schemas[p]
	if e == nil {
		e = &schemaEntry{}
		r.schemas[p] = e
	}
	r.mu.Unlock()
	e.once.Do(func() {
		inst, diags := r.start(r.calls, p)
		if diags.HasErrors() {
			e.diags = diags
			return
		}
		schema, diags := inst.Schema(r.calls)
		e.diags = diags
		if !diags.HasErrors() {
			e.schema, e.unconfigured = schema, inst
		}
	})
	return e
}

func (r *Registry) start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	factory := r.factories[p]
	if factory == nil {
		have := make([]string, 0, len(r.factories))
		for a := range r.factories {
			have = append(have, a.ForDisplay())
		}
		sort.Strings(have)
		return nil, diag.List{}.Errorf(nil, "Missing required provider",
			"This configuration requires provider %s, but that provider isn't available. This version cannot install providers; it has %s.", p, strings.Join(have, ", "))
	}
	inst, err := factory(ctx)
	if err != nil {
		return nil, diag.FromError("Failed to start provider "+p.ForDisplay(), err)
	}
	return inst, nil
}

// Close ends the providers that were started for their schemas.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, e := range r.schemas {
		if e.unconfigured != nil {
			errs = append(errs, e.unconfigured.Close())
		}
	}
	return errors.Join(errs...)
}

// Pool hands out configured providers to one walk.
type Pool struct {
	registry *Registry

	mu      sync.Mutex
	entries map[addr.AbsProviderConfig]*poolEntry
	started []provider.Provider
}

type poolEntry struct {
	config cty.Value // cty.NilVal: empty block
	once   sync.Once
	inst   provider.Provider
}

// NewPool makes an empty pool.
func (r *Registry) NewPool() *Pool {
	return &Pool{registry: r, entries: map[addr.AbsProviderConfig]*poolEntry{}}
}

// Schema is Registry.Schema.
func (p *Pool) Schema(a addr.Provider) (*provider.Schema, diag.List) { return p.registry.Schema(a) }

// Unconfigured is Registry.Unconfigured.
func (p *Pool) Unconfigured(a addr.Provider) (provider.Provider, diag.List) {
	return p.registry.Unconfigured(a)
}

// SetConfig remembers the value of a provider block, without marks. It must come before Get of the same configuration.
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

// Get gives the provider of a configuration, started and configured. The diagnostics go to the first caller only; when starting
// failed, every caller gets nil.
func (p *Pool) Get(ctx context.Context, a addr.AbsProviderConfig) (provider.Provider, diag.List) {
	e := p.entry(a)
	var diags diag.List
	e.once.Do(func() {
		e.inst, diags = p.configure(ctx, a, e.config)
		if e.inst != nil {
			p.mu.Lock()
			p.started = append(p.started, e.inst)
			p.mu.Unlock()
		}
	})
	return e.inst, diags
}

func (p *Pool) configure(ctx context.Context, a addr.AbsProviderConfig, config cty.Value) (provider.Provider, diag.List) {
	schema, diags := p.registry.Schema(a.Provider)
	if schema == nil {
		return nil, diags
	}
	block := schema.Provider
	if block == nil {
		block = &provider.Block{}
	}
	if config == cty.NilVal {
		config = block.EmptyValue()
		for name, attr := range block.Attributes {
			if attr.Required {
				return nil, diag.List{}.Errorf(nil, "Invalid provider configuration",
					"Provider %q requires explicit configuration: its argument %q is required. Add a provider block to the root module and configure the provider's required arguments as described in the provider documentation.", a.Provider, name)
			}
		}
	}
	inst, diags := p.registry.start(ctx, a.Provider)
	if diags.HasErrors() {
		return nil, diags
	}
	client := provider.ClientCapabilities{WriteOnlyAttributesAllowed: true}
	checked := inst.ValidateConfig(ctx, provider.ValidateConfigRequest{Config: config})
	diags = checked.Diagnostics
	if !diags.HasErrors() {
		if checked.Prepared != cty.NilVal && !checked.Prepared.IsNull() {
			config = checked.Prepared
		}
		diags = diags.Extend(inst.Configure(ctx, provider.ConfigureRequest{
			TerraformVersion: state.LanguageVersion, Config: config, Client: client,
		}).Diagnostics)
	}
	if diags.HasErrors() {
		_ = inst.Close()
		return nil, diags.InAddress(a.String())
	}
	return inst, diags.InAddress(a.String())
}

// Stop asks all running providers to end their calls soon.
func (p *Pool) Stop(ctx context.Context) {
	for _, inst := range p.running() {
		_ = inst.Stop(ctx)
	}
}

// Close ends all providers of the pool.
func (p *Pool) Close() error {
	var errs []error
	for _, inst := range p.running() {
		if err := inst.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close provider: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (p *Pool) running() []provider.Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]provider.Provider(nil), p.started...)
}
