package schema

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Apply creates, updates or deletes an object.
func (s *server) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	t := s.managed[req.Type]
	if t == nil {
		return s.Base.Apply(ctx, req)
	}
	resp := provider.ApplyResponse{State: req.Prior, Private: req.PlannedPrivate, Identity: req.PlannedIdentity}
	switch {
	case req.Planned.IsNull():
		resp.State, resp.Diagnostics = s.destroy(ctx, t, req)
	case req.Prior.IsNull():
		resp.State, resp.Identity, resp.Diagnostics = s.create(ctx, t, req)
	default:
		resp.State, resp.Identity, resp.Diagnostics = s.change(ctx, t, req)
	}
	return resp
}

// run calls a callback with its time limit. It records whether the context of the callback ended before the callback
// did.
func (s *server) run(ctx context.Context, d *ResourceData, key string, op operation) diag.List {
	diags := s.guard(ctx, d.typ, key, func(ctx context.Context) diag.List {
		if d.typ.resource.Timeouts != nil && !d.typ.resource.untimed(key) {
			limit := d.Timeout(key)
			var cancel func()
			ctx, cancel = context.WithTimeoutCause(ctx, limit, timedOut{key, limit})
			defer cancel()
		}
		d.ctx = ctx
		defer func() { d.cut = ctx.Err() != nil }()
		return op(ctx, d, s.meta())
	})
	return dropped(d.mistakes, diags)
}

// timedOut is the cause when the context of a callback ends because of its time limit.
type timedOut struct {
	key   string
	limit time.Duration
}

func (t timedOut) Error() string { return fmt.Sprintf("the %s takes longer than %s", t.key, t.limit) }

// Is reports whether target is a deadline of package context.
func (t timedOut) Is(target error) bool { return target == context.DeadlineExceeded }

func (s *server) create(ctx context.Context, t *resourceType, req provider.ApplyRequest) (cty.Value, cty.Value,
	diag.List) {
	null := cty.NullVal(t.object.ty)
	d := newData(t, reader{object: t.object, old: req.Prior, now: settle(req.Planned, null), unknown: req.Planned,
		config: req.Config})
	s.withMeta(d, req.Meta)
	d.fresh, d.suppress, d.record = true, true, req.Partial
	d.identity = t.identityData(req.PlannedIdentity)
	if s.stopping.Context().Err() != nil {
		return null, cty.NilVal, diag.List{}.Errorf(nil, "Nothing was created", "The run was interrupted before the "+
			"creation of an object of type %s started.", t.name)
	}
	diags := s.run(ctx, d, TimeoutCreate, t.resource.create())
	switch {
	case d.id != "":
	case d.cut && diags.HasErrors() && s.stopping.Context().Err() != nil:
		return cty.NilVal, cty.NilVal, diags // the request may have been received although the response was not awaited
	case d.cut && diags.HasErrors() || crashed(diags):
		// Over the protocol, too: a client that did not cancel the call would understand null as "nothing was created".
		return cty.UnknownVal(t.object.ty), cty.NilVal, diags
	default:
		if !diags.HasErrors() {
			diags = diags.Errorf(nil, "Nothing was created",
				"The provider's Create for %s succeeded without calling SetId, so there is nothing to store. %s",
				t.name,
				value.ProviderBug)
		}
		return null, cty.NilVal, diags
	}
	return s.result(d, req, t.block().EmptyValue(), diags)
}

func (s *server) change(ctx context.Context, t *resourceType, req provider.ApplyRequest) (cty.Value, cty.Value,
	diag.List) {
	d := newData(t, reader{object: t.object, old: req.Prior, now: settle(req.Planned, req.Prior), unknown: req.Planned,
		config: req.Config})
	s.withMeta(d, req.Meta)
	d.suppress = true
	d.identity = t.identityData(req.PlannedIdentity)
	op := t.resource.update()
	var diags diag.List
	switch {
	case !t.changes(req.Prior, req.Planned): // only timeouts, which are just stored
	case op == nil:
		diags = diags.Errorf(nil, "No update",
			"The provider has no Update for %s, so a change must replace the object, but no replacement was planned. "+
				"%s",
			t.name, value.ProviderBug)
		return req.Prior, req.PlannedIdentity, diags
	default:
		diags = s.run(ctx, d, TimeoutUpdate, op)
	}
	if d.id == "" {
		if !diags.HasErrors() {
			diags = diags.Errorf(nil, "The object is gone", "During the update, the provider found that the object "+
				"of type %s no longer exists. Plan again to create it.", t.name)
		}
		return cty.NullVal(t.object.ty), cty.NilVal, diags
	}
	return s.result(d, req, req.Prior, diags)
}

// result returns the object after a creation or an update. before is the object to keep if nothing new may be recorded.
func (s *server) result(d *ResourceData, req provider.ApplyRequest, before cty.Value, diags diag.List) (cty.Value,
	cty.Value, diag.List) {
	t := d.typ
	state := d.State()
	if t.block().HasComputedBlocks() { // but none were set
		state = value.NormalizeRead(t.block(), state)
	}
	if crash := crashed(diags) && !req.Prior.IsNull(); d.partial || crash {
		accepted := d.accepted
		if !d.partial {
			for name := range d.written {
				accepted = append(accepted, []string{name})
			}
		}
		state = t.object.accept(before, state, accepted)
		if d.partial && !diags.HasErrors() {
			diags = t.stillPartial(req.Planned, state)
		}
		state = withID(state, d.id)
	}
	identity, problems := d.identity.result(state)
	if diags.HasErrors() {
		return state, identity, diags
	}
	errs := value.CheckApplied(t.block(), req.Planned, state, everything)
	return state, identity, diags.Extend(problems).Extend(invalidResponse("Result differs from the plan", errs))
}

func withID(state cty.Value, id string) cty.Value {
	vals := state.AsValueMap()
	vals[idField] = cty.StringVal(id)
	return cty.ObjectVal(vals)
}

// crashed reports whether a callback panicked: what it had done before that is only known through Set.
func crashed(diags diag.List) bool {
	for _, d := range diags {
		if _, ok := d.Extra.(crash); ok {
			return true
		}
	}
	return false
}

// stillPartial returns an error for an update that succeeded in partial mode without accepting all planned values.
func (t *resourceType) stillPartial(planned, state cty.Value) diag.List {
	if len(value.CheckApplied(t.block(), planned, state)) == 0 {
		return nil
	}
	return diag.List{}.Errorf(nil, "Not everything was recorded",
		"The provider's callback for %s succeeded in partial mode without calling SetPartial for all planned "+
			"attributes. Before it succeeds, it must call Partial(false). %s", t.name, value.ProviderBug)
}

func (s *server) destroy(ctx context.Context, t *resourceType, req provider.ApplyRequest) (cty.Value, diag.List) {
	d := newData(t, reader{object: t.object, old: req.Prior, now: req.Prior})
	diags := s.run(ctx, s.withMeta(d, req.Meta), TimeoutDelete, t.resource.delete())
	if !diags.HasErrors() || d.id == "" {
		return req.Planned, diags
	}
	return d.State(), diags
}

// settle replaces unknown values in a plan by the former ones if these correspond, otherwise by null.
func settle(planned, prior cty.Value) cty.Value {
	if planned.IsWhollyKnown() {
		return planned
	}
	if !planned.IsKnown() {
		if prior != cty.NilVal && prior.IsKnown() && prior.Type().Equals(planned.Type()) {
			return prior
		}
		return cty.NullVal(planned.Type())
	}
	ty := planned.Type()
	switch {
	case ty.IsObjectType():
		vals := planned.AsValueMap()
		for name, v := range vals {
			vals[name] = settle(v, memberOf(prior, name))
		}
		return cty.ObjectVal(vals)
	case ty.IsMapType():
		vals := planned.AsValueMap()
		for key, v := range vals {
			vals[key] = settle(v, memberOf(prior, key))
		}
		return cty.MapVal(vals)
	case ty.IsListType() || ty.IsTupleType():
		vals := planned.AsValueSlice()
		var before []cty.Value
		if prior != cty.NilVal && !prior.IsNull() && prior.IsKnown() && prior.CanIterateElements() {
			before = prior.AsValueSlice()
		}
		for i, v := range vals {
			was := cty.NilVal
			if i < len(before) {
				was = before[i]
			}
			vals[i] = settle(v, was)
		}
		if ty.IsTupleType() {
			return cty.TupleVal(vals)
		}
		return cty.ListVal(vals)
	}
	return value.UnknownAsNull(planned)
}

// memberOf returns a member of an object or a map, or cty.NilVal if there is none.
func memberOf(v cty.Value, name string) cty.Value {
	switch {
	case v == cty.NilVal || v.IsNull() || !v.IsKnown():
	case v.Type().IsObjectType() && v.Type().HasAttribute(name):
		return v.GetAttr(name)
	case v.Type().IsMapType() && v.HasIndex(cty.StringVal(name)).True():
		return v.Index(cty.StringVal(name))
	}
	return cty.NilVal
}

// accept returns the object before with the new values at the accepted keys, and below them.
func (o *object) accept(before, now cty.Value, keys [][]string) cty.Value {
	if len(keys) == 0 {
		return before
	}
	if before.IsNull() {
		before = o.block.EmptyValue()
	}
	if now.IsNull() {
		now = o.block.EmptyValue()
	}
	vals := before.AsValueMap()
	for name, below := range group(keys) {
		if f := o.fields[name]; f != nil {
			vals[name] = f.accept(vals[name], now.GetAttr(name), below)
		}
	}
	return cty.ObjectVal(vals)
}

// group groups keys by their first step.
func group(keys [][]string) map[string][][]string {
	groups := map[string][][]string{}
	for _, key := range keys {
		groups[key[0]] = append(groups[key[0]], key[1:])
	}
	return groups
}

func (f *field) accept(before, now cty.Value, keys [][]string) cty.Value {
	for _, key := range keys {
		if len(key) == 0 {
			return now
		}
	}
	switch f.schema.Type {
	case TypeList:
		if f.ty.IsListType() {
			return f.acceptList(before, now, keys)
		}
	case TypeMap:
		if f.ty.IsMapType() {
			return f.acceptMap(before, now, keys)
		}
	}
	return now // parts of a set have no names of their own
}

// acceptList accepts single elements. A new one is appended, a removed one is deleted: no element in between can be
// missing.
func (f *field) acceptList(before, now cty.Value, keys [][]string) cty.Value {
	vals, fresh := elementsOf(before), elementsOf(now)
	groups := group(keys)
	for i := 0; i < len(fresh); i++ {
		below, ok := groups[strconv.Itoa(i)]
		switch {
		case !ok || i > len(vals):
		case i == len(vals):
			vals = append(vals, f.acceptElement(cty.NullVal(f.elemType()), fresh[i], below))
		default:
			vals[i] = f.acceptElement(vals[i], fresh[i], below)
		}
	}
	for len(vals) > len(fresh) && groups[strconv.Itoa(len(vals)-1)] != nil {
		vals = vals[:len(vals)-1]
	}
	if len(vals) == 0 {
		if before.IsNull() {
			return before
		}
		return cty.ListValEmpty(f.elemType())
	}
	return cty.ListVal(vals)
}

func (f *field) acceptElement(before, now cty.Value, keys [][]string) cty.Value {
	for _, key := range keys {
		if len(key) == 0 {
			return now
		}
	}
	if f.object != nil {
		return f.object.accept(before, now, keys)
	}
	return f.elem.accept(before, now, keys)
}

func (f *field) acceptMap(before, now cty.Value, keys [][]string) cty.Value {
	vals := map[string]cty.Value{}
	if !before.IsNull() {
		maps.Copy(vals, before.AsValueMap())
	}
	for _, key := range keys {
		name := key[0]
		for _, step := range key[1:] {
			name += "." + step // keys of maps may hold dots
		}
		if v := memberOf(now, name); v != cty.NilVal {
			vals[name] = v
		} else {
			delete(vals, name)
		}
	}
	if len(vals) == 0 {
		if before.IsNull() {
			return before
		}
		return cty.MapValEmpty(f.elem.ty)
	}
	return cty.MapVal(vals)
}
