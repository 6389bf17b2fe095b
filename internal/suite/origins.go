package suite

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/suite/mock"
	"github.com/tombolo-iac/tombolo/provider"
)

// origins records the objects of a state that mocks created. All others are real, even if a later run mocks their
// provider, and only that provider can destroy them.
type origins struct {
	mu     sync.Mutex
	madeUp map[addr.AbsResourceInstance]bool // guarded by mu
}

func (o *origins) note(a addr.AbsResourceInstance, madeUp bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.madeUp == nil {
		o.madeUp = map[addr.AbsResourceInstance]bool{}
	}
	o.madeUp[a] = madeUp
}

// now returns the objects that currently come from mocks.
func (o *origins) now() map[addr.AbsResourceInstance]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.madeUp)
}

// creationRecorder is a provider for one instance. It records who creates its object, and prevents mocks from deleting
// real objects.
type creationRecorder struct {
	provider.Provider
	instance addr.AbsResourceInstance
	origins  *origins
	// real deletes an object that mocks have not created; nil if the whole configuration is mocked.
	real    provider.Provider
	standIn bool // the provider is a mock
	madeUp  bool // the former object is from a mock
}

// Apply implements provider.Provider.
func (w *creationRecorder) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Planned.IsNull() {
		switch {
		case !w.standIn || w.madeUp:
			return w.Provider.Apply(ctx, req)
		case w.real != nil:
			return w.real.Apply(ctx, req)
		}
		return provider.ApplyResponse{State: req.Prior, Private: req.PlannedPrivate, Diagnostics: notMadeUp(w.instance)}
	}
	resp := w.Provider.Apply(ctx, req)
	if req.Prior.IsNull() || !w.standIn { // whatever the response, the object may exist
		w.origins.note(w.instance, w.standIn)
	}
	return resp
}

// Import implements provider.Provider: what a mock imports, it has made up.
func (w *creationRecorder) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	resp := w.Provider.Import(ctx, req)
	if w.standIn && !resp.Diagnostics.HasErrors() {
		w.origins.note(w.instance, true)
	}
	return resp
}

// notMade marks the error of a mock that should delete an object that it has not created.
type notMade struct{}

func notMadeUp(a addr.AbsResourceInstance) diag.List {
	return diag.List{{Severity: diag.Error, Summary: "Mocks cannot destroy real objects", Extra: notMade{},
		Detail: fmt.Sprintf("An earlier run created %s with the real provider. Here the provider is mocked, and a "+
			"mock cannot destroy real objects. Set another state_key for this run, or use the provider of the other "+
			"run.", a)}}
}

// ending selects providers while the objects of runs are destroyed: mocks for the objects that they created, and real
// providers for all others. It ignores overrides.
type ending struct{ *standIns }

var _ engine.StandIns = ending{}

// Instance implements engine.StandIns.
func (e ending) Instance(a addr.AbsResourceInstance, cfg addr.AbsProviderConfig,
	p provider.Provider) provider.Provider {
	mocked := e.mocks[cfg] != nil
	if a.Resource.Mode != addr.Managed {
		return e.standIns.Instance(a, cfg, p)
	}
	madeUp := e.before[a]
	if madeUp && !mocked {
		if rt := e.typeOf(a, cfg); rt != nil {
			p = mock.NewObject(p, rt, mock.Values{}, random)
		}
	}
	return &creationRecorder{Provider: p, instance: a, origins: e.origins, standIn: mocked || madeUp, madeUp: madeUp}
}
