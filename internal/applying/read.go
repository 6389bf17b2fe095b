package applying

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// read reads a data source whose configuration has become known, and stores its object.
func (a *applier) read(b *eval.Block, key addr.Key, c *plan.Change) (cty.Value, error) {
	w := &writing{a: a, b: b, c: c, inst: c.Object.Instance, block: b.Slot.Type.Block}
	var err error
	if w.prov, w.schema, err = a.providerOf(w.inst, *c.Provider); err != nil {
		return cty.DynamicVal, err
	}
	if w.meta, err = a.Meta(b.Slot); err != nil {
		return cty.DynamicVal, err
	}
	if w.config, w.marks, err = a.configuration(b, key); err != nil {
		return cty.DynamicVal, err
	}
	hooks := a.hooksOf(hook.Operation{Object: c.Object, Action: plan.Read, Block: w.block, Before: noValue,
		After: noValue}, *c.Provider)
	if err := hooks.before(); err != nil {
		return cty.DynamicVal, err
	}
	v, err := w.readData(hooks)
	if err := hooks.end(err, w.shown(v)); err != nil {
		return cty.DynamicVal, err
	}
	if !ctyfast.WhollyKnown(v) {
		return w.marked(v), nil // the check has failed with it; the earlier result is kept
	}
	o, err := state.NewObject(v, w.block.ImpliedType(), state.Object{SchemaVersion: b.Slot.Type.Version,
		Sensitive: value.SensitivePaths(w.block, v, w.marks.Stored())})
	if err != nil {
		return cty.DynamicVal, a.walk.Report(diag.FromError("Cannot store "+w.inst.String(), err))
	}
	put := &state.PutObject{Addr: c.Object, Provider: *c.Provider, Object: o}
	if err := a.record(state.Edit{Put: put}); err != nil {
		return cty.DynamicVal, err
	}
	result := w.marked(v)
	return result, a.walk.Report(b.Postconditions(key, result))
}

// readData reads the data source after waiting for a slot.
func (w *writing) readData(hooks *hooked) (cty.Value, error) {
	a, b, c := w.a, w.b, w.c
	of := access.Of{Provider: c.Provider.Provider, Object: c.Object}
	turn, err := a.Enter(of)
	if err != nil {
		return cty.NilVal, err
	}
	if err := hooks.begin(); err != nil {
		turn.Leave()
		return cty.NilVal, err
	}
	var v cty.Value
	var failed error
	a.operation(c.Object, plan.Read, event.ID{}, func() (event.ID, bool) {
		var resp provider.ReadDataResponse
		a.Repeat(turn, func(int) diag.List {
			resp = w.prov.ReadData(a.Calls, provider.ReadDataRequest{Object: c.Object, Type: w.inst.Resource.Type,
				Config: w.config, Meta: w.meta, Client: access.Client})
			return resp.Diagnostics
		})
		diags := w.place(resp.Diagnostics.Extend(value.Undeferred(c.Object, *c.Provider, resp.Deferred)))
		if !diags.HasErrors() {
			if errs := value.CheckData(w.block, resp.State); len(errs) > 0 {
				diags = diags.Extend(w.bad("Provider produced invalid object", errs))
			}
		}
		if nested := b.Config().Check != nil; nested && diags.HasErrors() {
			b.CheckFailed(diags)
			v = value.PlannedForData(w.block, w.config)
			return event.ID{}, false
		}
		if failed = a.walk.Report(diags); failed != nil {
			return event.ID{}, false
		}
		v = resp.State
		return a.identify(w.block, v, w.marks), true
	})
	return v, failed
}
