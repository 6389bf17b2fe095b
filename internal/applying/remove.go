package applying

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/patience"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// remove deletes or forgets an object, with the actions before and after that.
func (a *applier) remove(c *plan.Change, dispose bool) error {
	if c.Object.Deposed != "" || c.Action == plan.Forget || c.Action == plan.ForgetThenCreate {
		return a.removeObject(c, dispose)
	}
	end, err := a.begin(c.Object)
	if err != nil {
		return err
	}
	err = a.removeWithActions(c, dispose)
	end(err)
	return err
}

func (a *applier) removeWithActions(c *plan.Change, dispose bool) error {
	before, after := a.atEnd(c.Object.Instance)
	if err := a.invokeAll(before, cty.NilVal); err != nil {
		return err
	}
	if err := a.removeObject(c, dispose); err != nil {
		return err
	}
	return a.invokeAll(after, cty.NilVal)
}

// removeObject deletes or forgets the old object of a change: the current one, a deposed one, or the one that a
// replacement has deposed.
func (a *applier) removeObject(c *plan.Change, dispose bool) (err error) {
	o := c.Object
	end := a.Object("remove object", o.Instance)
	defer func() { end(err) }()
	if dispose && c.Action.Deposes() {
		o.Deposed = c.DeposedKey
	}
	if c.Action == plan.Forget || c.Action == plan.ForgetThenCreate {
		a.count(func(n *Counts) { n.Forgotten++ })
		return a.record(state.Edit{Drop: &state.DropObject{Addr: o}})
	}
	prov, schema, err := a.providerOf(o.Instance, *c.Provider)
	if err != nil {
		return err
	}
	stored, rt, err := a.deletable(o, c, schema)
	if err != nil {
		return err
	}
	meta, err := a.Meta(a.prog.ResourceSlot(o.Instance.Config()))
	if err != nil {
		return err
	}
	a.opts.Secrets.Add(c.Before.Value, c.Before.Sensitive)
	d := &deletion{a: a, o: o, c: c, prov: prov, schema: schema, stored: stored, rt: rt, meta: meta}
	d.hooks = a.hooksOf(hook.Operation{Object: o, Action: plan.Delete, Replacing: c.Action.IsReplace(), Block: rt.Block,
		Before: c.Before, After: noValue}, *c.Provider)
	if err := d.hooks.before(); err != nil {
		return err
	}
	left := noValue
	if err = d.delete(); err != nil {
		left = c.Before
	}
	return d.hooks.end(err, left)
}

// deletion is the deletion of one object.
type deletion struct {
	a      *applier
	o      addr.Object
	c      *plan.Change
	prov   provider.Provider
	schema *provider.Schema
	stored *state.Object
	rt     *provider.ResourceType
	meta   cty.Value
	hooks  *hooked
}

// delete calls the provider after waiting for a slot, and records the call in the journal.
func (d *deletion) delete() error {
	a, o, c := d.a, d.o, d.c
	null, of := cty.NullVal(d.rt.Block.ImpliedType()), access.Of{Provider: c.Provider.Provider, Object: o}
	turn, err := a.Enter(of)
	if err != nil {
		return err
	}
	defer turn.Leave()
	if err := d.hooks.begin(); err != nil {
		return err
	}
	intent := func() (string, error) { return a.intent(o, plan.Delete, *c.Provider, d.schema, null, c) }
	request := provider.ApplyRequest{Object: o, Type: o.Instance.Resource.Type, Prior: c.Before.Value, Planned: null,
		Config: null, PlannedPrivate: d.stored.Private, Meta: d.meta}
	if c.Action == plan.Delete {
		request.PlannedPrivate = c.Private
	}
	call := func(op string) provider.ApplyResponse {
		request.Intent = state.Token(state.RunInfo{ID: a.opts.RunID}, op)
		return d.prov.Apply(a.Calls, request)
	}
	var failed error
	a.operation(o, plan.Delete, a.identify(d.rt.Block, c.Before.Value,
		value.MarkedPaths{Sensitive: c.Before.Sensitive}), func() (event.ID, bool) {
		if failed = a.unprovision(o, c, d.stored); failed != nil {
			return event.ID{}, false
		}
		var op string
		if op, failed = intent(); failed != nil {
			return event.ID{}, false
		}
		resp, op := a.attempts(of, op, turn, intent, call, always)
		turn.Leave()
		failed = a.removed(o, c, d.rt, d.stored, op, resp)
		return event.ID{}, failed == nil
	})
	if failed == nil {
		a.complete(half{object: o.Instance, destruction: true})
		a.count(func(n *Counts) { n.Destroyed++ })
	}
	return failed
}

// always is for calls that can be repeated after every failure: deleting a deleted object does no harm.
func always(provider.ApplyResponse, patience.Verdict) bool { return true }

// deletable returns the stored object that a plan deletes, and its type.
func (a *applier) deletable(o addr.Object, c *plan.Change, schema *provider.Schema) (*state.Object,
	*provider.ResourceType, error) {
	stored := a.journal.Working().Object(o)
	if stored == nil {
		return nil, nil, a.walk.Report(diag.List{}.Errorf(nil, "Object to delete is not in the state",
			"The plan deletes %s, but the state does not hold it. Make a new plan.", o))
	}
	rt := schema.Resources[o.Instance.Resource.Type]
	if rt == nil {
		return nil, nil, a.walk.Report(diag.List{}.Errorf(nil, "Unsupported resource type in the state",
			"Provider %s no longer has a resource type %q, so %s cannot be deleted.", c.Provider.Provider.ForDisplay(),
			o.Instance.Resource.Type, o))
	}
	return stored, rt, nil
}

// removed checks the response to a deletion and records it.
func (a *applier) removed(o addr.Object, c *plan.Change, rt *provider.ResourceType, stored *state.Object, op string,
	resp provider.ApplyResponse) error {
	diags := resp.Diagnostics.InAddress(o.String())
	v := resp.State
	if v == cty.NilVal {
		v = cty.NullVal(rt.Block.ImpliedType())
	}
	edit := state.Edit{Drop: &state.DropObject{Addr: o}}
	switch {
	case len(value.Conforms(rt.Block, v)) > 0:
		diags = diags.Extend(value.BadAnswer(o, *c.Provider, "Provider produced invalid object",
			value.Conforms(rt.Block, v)))
		return a.keepAfter(op, diags)
	case !v.IsKnown():
		diags = diags.Extend(value.BadAnswer(o, *c.Provider, "Provider returned invalid result object after apply",
			[]value.PathError{
				{Problem: "the object is unknown as a whole, so it is not known whether it still exists"}}))
		return a.keepAfter(op, diags)
	case v.IsNull() && diags.HasErrors():
		// Many providers return no object after a failure. The object may still exist, and removing it from the state
		// would lose it. If it does not, the next refresh detects that.
		return a.keepAfter(op, diags)
	case !v.IsNull():
		if !diags.HasErrors() {
			diags = diags.Errorf(nil, "Provider returned invalid result object after apply",
				"After applying a deletion of %s, the provider %s returned an object that still exists. "+
					value.ProviderBug, o, c.Provider.Provider.ForDisplay())
		}
		diags = diags.Extend(value.BadAnswer(o, *c.Provider, "Provider produced invalid object",
			value.CheckWriteOnly(rt.Block, v)))
		v = value.NullWriteOnly(rt.Block, value.UnknownAsNull(v))
		next, err := state.NewObject(v, rt.Block.ImpliedType(), state.Object{
			Status: stored.Status, SchemaVersion: rt.Version, Sensitive: value.SensitivePaths(rt.Block, v,
				stored.Sensitive), Private: resp.Private,
			Dependencies: stored.Dependencies, CreateBeforeDestroy: stored.CreateBeforeDestroy,
			SkipDestroy: stored.SkipDestroy, Protected: stored.Protected, ReadAt: stored.ReadAt,
			IdentityVersion: stored.IdentityVersion, Identity: stored.Identity,
		}, rt.Newer...)
		if err != nil {
			return a.keepAfter(op, diags.AppendError(fmt.Sprintf("Cannot store %s", o), err))
		}
		edit = state.Edit{Put: &state.PutObject{Addr: o, Provider: *c.Provider, Object: next}}
	}
	if err := a.result(op, edit); err != nil {
		_ = a.walk.Report(diags)
		return err
	}
	return a.walk.Report(diags)
}

// keepAfter ends an operation without a known change.
func (a *applier) keepAfter(op string, diags diag.List) error {
	if err := a.result(op); err != nil {
		_ = a.walk.Report(diags)
		return err
	}
	return a.walk.Report(diags)
}
