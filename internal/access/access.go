// Package access gives the driver of a walk access to providers. It limits the number of concurrent calls, starts no
// call after the run has been stopped, configures providers and locates the problems of their configuration, and owns
// the ephemeral objects of the run.
//
// Planning and applying embed an Access. Each open ephemeral object has one goroutine, which renews it; CloseAll waits
// for all of them.
//
//	a := access.New(ctx, calls, walk, providers, settings)
//	prov, err := a.Configured(cfg)
//	err = a.Call(func() { resp = prov.Read(a.Calls, request) })
package access

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/patience"
	"github.com/tombolo-iac/tombolo/internal/tracing"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Client declares the engine's capabilities to providers.
var Client = provider.ClientCapabilities{WriteOnlyAttributesAllowed: true, StorePlannedPrivate: true,
	ComputedBlocksAllowed: true}

// Providers returns providers; internal/host's Pool implements it.
type Providers interface {
	linking.Schemas
	Get(ctx context.Context, a addr.AbsProviderConfig) (provider.Provider, diag.List)
	SetConfig(a addr.AbsProviderConfig, config cty.Value)
}

// Access is the access to providers for one walk. Its methods may be called concurrently.
type Access struct {
	// objects are the instances with operations under way, with contexts that hold their spans; empty if tracing is
	// off.
	Calls context.Context

	walk       *eval.Walk
	providers  Providers
	until      context.Context
	slots      chan struct{}
	gate       *patience.Gate
	events     event.Sink
	ephemerals *ephemerals

	mu    sync.Mutex             // guards the fields below
	metas map[*linking.Meta]bool // the provider_meta blocks whose problems were reported
	// objects are the instances with operations under way, with contexts that hold their spans; empty if tracing is
	// off.
	objects map[addr.AbsResourceInstance]context.Context
}

// New returns the access for a walk, which may have begun. When until ends, no new call starts; calls is the context of
// provider calls.
func New(until, calls context.Context, walk *eval.Walk, providers Providers, s Settings) *Access {
	gate := s.Gate
	if gate == nil {
		gate = patience.New(nil)
	}
	return &Access{gate: gate, events: s.Events, Calls: calls, walk: walk, providers: providers, until: until,
		slots: make(chan struct{}, max(1, s.Parallelism)), ephemerals: newEphemerals(calls, s.Events),
		metas: map[*linking.Meta]bool{}}
}

// Slot waits until another call may run. It returns an error after the run has been stopped: waiting calls must not
// begin then. An operation takes its slot before writing its intent, so that no intent is written for an operation that
// does not begin.
func (a *Access) Slot() (release func(), err error) {
	select {
	case <-a.until.Done():
		return nil, context.Cause(a.until)
	case a.slots <- struct{}{}:
	}
	release = func() { <-a.slots }
	if a.until.Err() != nil { // both cases were ready
		release()
		return nil, context.Cause(a.until)
	}
	return release, nil
}

// Stopped returns why the run is being stopped, or nil. Nothing new must begin then.
func (a *Access) Stopped() error {
	if a.until.Err() == nil {
		return nil
	}
	return context.Cause(a.until)
}

// CutOff reports whether a failed call may have been interrupted: calls are cancelled, or the run is being stopped and
// the provider reports that a context has ended.
func (a *Access) CutOff(failed diag.List) bool {
	if a.Calls.Err() != nil {
		return true
	}
	err := failed.Err()
	return a.until.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// Call runs f while holding a slot.
func (a *Access) Call(f func()) error {
	release, err := a.Slot()
	if err != nil {
		return err
	}
	defer release()
	f()
	return nil
}

// Configure stores the evaluated configuration of a provider block, or of an instance of it, and returns it without
// marks. The provider starts on first use.
func (a *Access) Configure(s *linking.Slot, key addr.Key, config cty.Value) cty.Value {
	var block *provider.Block
	if schema, _ := a.providers.Schema(s.Provider.Provider); schema != nil && !s.Provider.Mock {
		block = schema.Provider
	}
	unmarked, _ := a.walk.Inputs.Secrets.Unmark(block, config)
	cfg := s.ConfiguredAs()
	cfg.Key = key
	a.providers.SetConfig(cfg, unmarked)
	return unmarked
}

// Configured returns a configured provider, or an error that was reported.
func (a *Access) Configured(cfg addr.AbsProviderConfig) (provider.Provider, error) {
	inst, diags := a.providers.Get(a.Calls, cfg)
	if err := a.walk.Report(a.walk.Program.LocateProvider(cfg, diags)); err != nil {
		return nil, err
	}
	if inst == nil {
		return nil, eval.ErrReported
	}
	if tracing.Recording(a.Calls) {
		return trace(inst, cfg, a.Calls), nil
	}
	return inst, nil
}

// Schema returns the schema of a provider, or an error that was reported. Warnings about a schema are reported once for
// a loaded configuration: not for each object, and not again by an apply after its plan.
func (a *Access) Schema(p addr.Provider) (*provider.Schema, error) {
	schema, diags := a.providers.Schema(p)
	if len(diags) == 0 {
		return schema, nil
	}
	if !a.walk.Program.FirstReport(p) {
		if diags = diags.OnlyErrors(); len(diags) == 0 {
			return schema, nil
		}
	}
	return schema, a.walk.Report(diags)
}

// Meta returns the provider_meta value of a block's module for the block's provider. Its problems are reported once,
// and make every block that needs it fail.
func (a *Access) Meta(block *linking.Slot) (cty.Value, error) {
	m := block.Meta()
	if m == nil {
		return cty.NilVal, nil
	}
	a.mu.Lock()
	met := a.metas[m]
	a.metas[m] = true
	a.mu.Unlock()
	switch {
	case !met:
		return m.Value, a.walk.Report(slices.Clone(m.Problems))
	case m.Problems.HasErrors():
		return cty.NilVal, eval.ErrReported
	}
	return m.Value, nil
}

// Deferral is the error of a call whose provider cannot answer yet, if that is allowed.
type Deferral struct{ Reason provider.DeferredReason }

func (Deferral) Error() string { return "deferred by the provider" }

// Open opens an instance of an ephemeral block for this run, and returns its value if the postconditions are true. If
// the client allows deferrals, the error may be a Deferral.
func (a *Access) Open(b *eval.Block, key addr.Key, cfg addr.AbsProviderConfig, prov provider.Provider,
	config cty.Value, marks value.MarkedPaths, client provider.ClientCapabilities) (cty.Value, error) {
	of := Of{cfg.Provider, addr.Object{Instance: b.Addr().Instance(key)}}
	turn, err := a.Enter(of)
	if err != nil {
		return cty.DynamicVal, err
	}
	defer turn.Leave()
	v, diags, later := a.ephemerals.Open(b.Addr().Instance(key), prov, b.Slot.Type.Block, config, client)
	turn.Answered(diags)
	turn.Leave()
	if later != provider.NotDeferred {
		return cty.DynamicVal, Deferral{later}
	}
	_ = a.Decide(of, 1, diags) // delays other calls, but does not repeat this one, because the object may be open
	if err := a.walk.Report(b.Locate(diags, key)); err != nil {
		return cty.DynamicVal, err
	}
	a.walk.Inputs.Secrets.AddOpened(b.Slot.Type.Block, v, config, marks)
	return v, a.walk.Report(b.Postconditions(key, v))
}

// CloseEphemeral implements eval.Closer.
func (a *Access) CloseEphemeral(r addr.AbsResource) error {
	return a.walk.Report(a.ephemerals.CloseBlock(r))
}

// CloseAll closes the ephemeral objects that are still open: those that providers use, and those left open after a
// failure. It may be called on a nil Access.
func (a *Access) CloseAll() diag.List {
	if a == nil {
		return nil
	}
	return a.ephemerals.CloseAll()
}
