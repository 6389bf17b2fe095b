// Package host starts providers, requests the schema of each once, and returns configured providers.
//
// A Registry can start the provider of an address, and lives as long as the project. A Pool belongs to one walk: it
// stores the value of every provider configuration, and starts and configures a provider once, when the first call
// needs it. The provider that was started for its schema is the first to be configured, and equal configurations share
// one provider. Closing the pool ends all of them, so that none is running while a person reviews a plan.
package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/callback"
	"github.com/tombolo-iac/tombolo/provider"
)

// Registry starts providers by address.
type Registry struct {
	calls     context.Context // cancels requests for schemas
	factories map[addr.Provider]provider.Factory

	beginning sync.WaitGroup // goroutines of Begin

	mu      sync.Mutex // guards the fields below
	entries map[addr.Provider]*entry
	pools   int // number of open pools
	unbegin []context.CancelFunc
}

// entry holds a provider's schema and its running instance.
type entry struct {
	mu     sync.Mutex // guards the fields below; held while the schema is requested
	asked  bool
	schema *provider.Schema
	diags  diag.List
	// common serves calls that need no configuration: it was started for its schema, or is the first of a pool. One
	// pool may take it over, and closes it.
	common *started
	taken  bool
	// begun is closed when the start of Begin has ended; it is nil if there was none.
	begun chan struct{}
}

// started is a running provider. It is identified by its pointer, because the values of two providers may be equal or
// not comparable.
type started struct{ provider.Provider }

// NewRegistry returns a registry; the map is not copied and must not change. calls cancels starts and requests for
// schemas that are in progress; all callers share the request for a schema.
func NewRegistry(calls context.Context, factories map[addr.Provider]provider.Factory) *Registry {
	return &Registry{calls: calls, factories: factories, entries: map[addr.Provider]*entry{}}
}

// Prepare requests the schemas of several providers concurrently. Problems are reported when the schemas are used.
func (r *Registry) Prepare(list []addr.Provider) {
	r.each(list, func(p addr.Provider) { r.Schema(p) })
}

// Begin starts plugins that will be needed soon, without waiting for them: in the background, it requests the schemas
// that are not known yet, and starts an instance of each plugin that has none which a pool could take. Close cancels
// and ends it. The providers must not panic.
func (r *Registry) Begin(list []addr.Provider) {
	ctx, cancel := context.WithCancel(r.calls)
	r.mu.Lock()
	r.unbegin = append(r.unbegin, cancel)
	r.mu.Unlock()
	begun := make(map[addr.Provider]chan struct{}, len(list))
	for _, p := range list {
		e := r.entry(p)
		begun[p] = make(chan struct{})
		e.mu.Lock()
		e.begun = begun[p]
		e.mu.Unlock()
	}
	r.beginning.Go(func() {
		r.each(list, func(p addr.Provider) {
			defer close(begun[p])
			e := r.entry(p)
			e.mu.Lock()
			defer e.mu.Unlock()
			if r.ask(ctx, p, e); e.schema != nil && e.common == nil {
				e.common, _ = r.start(ctx, p) // the caller that needs it tries again and reports the problem
				e.taken = false
			}
		})
	})
}

// cancelBegun cancels all starts of Begin.
func (r *Registry) cancelBegun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cancel := range r.unbegin {
		cancel()
	}
	r.unbegin = nil
}

// each calls a function for several providers concurrently.
func (r *Registry) each(list []addr.Provider, do func(addr.Provider)) {
	var asking sync.WaitGroup
	slots := make(chan struct{}, max(4, runtime.GOMAXPROCS(0))) // starting a large provider uses a core for a second
	var panicked atomic.Pointer[diag.PanicError]
	for _, p := range list {
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			err := callback.CallAndWait(func() error { do(p); return nil })
			if err != nil { // the embedding program has supplied the provider
				problem := diag.AsPanic(err)
				problem.Provider = p.ForDisplay()
				panicked.CompareAndSwap(nil, problem)
			}
		})
	}
	asking.Wait()
	if problem := panicked.Load(); problem != nil {
		panic(problem)
	}
}

// Schema returns the schema of a provider, which it requests once. The schema is nil if there are errors.
func (r *Registry) Schema(p addr.Provider) (*provider.Schema, diag.List) {
	e := r.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	r.ask(r.calls, p, e)
	return e.schema, e.diags
}

// ask requests the schema. The caller holds the lock of the entry.
func (r *Registry) ask(ctx context.Context, p addr.Provider, e *entry) {
	if e.asked {
		return
	}
	e.asked = true
	e.diags = diag.List{}.Errorf(nil, "Provider without a schema", "The provider %s crashed when it was asked for its "+
		"schema.", p.ForDisplay()) // used if the call does not return
	inst, diags := r.start(ctx, p)
	if diags.HasErrors() {
		e.diags = diags
		return
	}
	schema, diags := inst.Schema(ctx)
	if schema == nil && !diags.HasErrors() {
		diags = diags.Errorf(nil, "Provider without a schema", "The provider %s answered with neither a schema nor an "+
			"error. This is a bug in the provider.", p.ForDisplay())
	}
	if schema != nil {
		if err := checkSchema(schema); err != nil {
			diags = diags.Errorf(nil, "Invalid schema of a provider", "The schema of the provider %s cannot be used: "+
				"%s. This is a bug in the provider.", p.ForDisplay(), err)
		}
	}
	e.diags = diags.InAddress(fmt.Sprintf("provider[%q]", p)) // otherwise the problem would not name the provider
	if diags.HasErrors() {
		_ = inst.Close() // the problem is already reported
		return
	}
	e.schema, e.common = schema, inst
}

// Unconfigured returns a provider for calls that need no configuration: validation and functions. It must not be used
// after the pool that owns it is closed.
func (r *Registry) Unconfigured(p addr.Provider) (provider.Provider, diag.List) {
	e := r.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.ask(r.calls, p, e); e.schema == nil {
		return nil, e.diags
	}
	if e.common != nil {
		return e.common.Provider, e.diags
	}
	inst, diags := r.start(r.calls, p)
	if e.common, e.taken = inst, false; inst == nil {
		return nil, diags
	}
	return inst.Provider, diags
}

// take returns a provider that is not configured yet.
func (r *Registry) take(ctx context.Context, p addr.Provider) (*started, diag.List) {
	e := r.entry(p)
	e.mu.Lock()
	begun := e.begun
	e.mu.Unlock()
	if begun != nil {
		stop := context.AfterFunc(ctx, r.cancelBegun)
		<-begun
		stop()
	}
	e.mu.Lock()
	if e.common != nil && !e.taken {
		e.taken = true
		e.mu.Unlock()
		return e.common, nil
	}
	e.mu.Unlock() // several may start concurrently
	inst, diags := r.start(ctx, p)
	if diags.HasErrors() {
		return nil, diags
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.common == nil {
		e.common, e.taken = inst, true
	}
	return inst, diags
}

// end closes a provider that a pool has taken.
func (r *Registry) end(p addr.Provider, inst *started) error {
	e := r.entry(p)
	e.mu.Lock()
	if e.common == inst {
		e.common, e.taken = nil, false
	}
	e.mu.Unlock()
	return closeAll(inst)
}

// Functions returns the functions of a provider by name, in the form that an evaluator calls, or nil if the schema is
// not available. ctx cancels calls in progress.
func (r *Registry) Functions(ctx context.Context, p addr.Provider) map[string]function.Function {
	schema, _ := r.Schema(p)
	if schema == nil {
		return nil
	}
	out := make(map[string]function.Function, len(schema.Functions))
	for name, described := range schema.Functions {
		out[name] = described.Spec(func(args []cty.Value) (cty.Value, error) {
			inst, diags := r.Unconfigured(p)
			if inst == nil {
				return cty.NilVal, diags.Err()
			}
			result, err := inst.CallFunction(ctx, name, args)
			if err != nil {
				return cty.NilVal, err
			}
			if problems := result.Type().TestConformance(described.Return); len(problems) > 0 {
				return cty.NilVal,
					fmt.Errorf("provider %s answered with a %s but its signature declares a %s; this is a bug in "+
						"the provider", p.ForDisplay(), result.Type().FriendlyName(), described.Return.FriendlyName())
			}
			return result, nil
		})
	}
	return out
}

func (r *Registry) entry(p addr.Provider) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[p]
	if e == nil {
		e = &entry{}
		r.entries[p] = e
	}
	return e
}

func (r *Registry) start(ctx context.Context, p addr.Provider) (*started, diag.List) {
	factory := r.factories[p]
	if factory == nil {
		return nil, diag.List{}.Errorf(nil, "Missing required provider",
			"This configuration or its state requires provider %s, which is not installed.", p).
			Advise("Run \"%s\" to install it.", diag.Run("init"))
	}
	inst, err := factory(ctx)
	if err != nil {
		return nil, diag.FromError("Failed to start provider "+p.ForDisplay(), err)
	}
	if inst == nil {
		return nil, diag.List{}.Errorf(nil, "Failed to start provider "+p.ForDisplay(), "Its factory returned neither "+
			"a provider nor an error. This is a bug in the program that brings the provider.")
	}
	return &started{inst}, nil
}

// Close closes the providers that no pool has taken.
func (r *Registry) Close() error {
	r.cancelBegun()
	r.beginning.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var unused []*started
	for _, e := range r.entries {
		e.mu.Lock()
		if e.common != nil && !e.taken {
			unused = append(unused, e.common)
			e.common = nil
		}
		e.mu.Unlock()
	}
	return closeAll(unused...)
}

// closeAll closes providers concurrently, because some take a while to end.
func closeAll(list ...*started) error {
	errs := make([]error, len(list))
	var closing sync.WaitGroup
	for i, inst := range list {
		closing.Go(func() {
			if err := callback.CallAndWait(inst.Close); err != nil {
				errs[i] = fmt.Errorf("close provider: %w", err)
			}
		})
	}
	closing.Wait()
	return errors.Join(errs...)
}
