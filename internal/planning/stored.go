package planning

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/hiding"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// known is a stored object upgraded to the current schema and, unless refreshing is off, refreshed.
type known struct {
	value     cty.Value  // without marks; null if there is no object
	sensitive []cty.Path // marks from the schema and the configuration
	private   []byte
	identity  cty.Value     // cty.NilVal if there is none
	object    *state.Object // as stored or as refreshed, or nil if there is none
	tainted   bool
	converted bool  // converted from another type or provider, so that it must be stored
	asStored  bool  // the upgrade changed nothing
	readAt    int64 // when it was read, in seconds since 1970, if that is stored
}

// null reports whether no object exists.
func (k known) null() bool { return k.object == nil }

// load upgrades a stored object and refreshes it; block is its block, or nil. It records the resulting edits and, for
// managed objects, drift.
func (p *planner) load(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType, inst provider.Provider,
	block *linking.Slot, refresh bool) (known, error) {
	k, err := p.upgraded(o, cfg, rt, inst)
	if err != nil || k.null() {
		return k, err
	}
	return p.refreshStored(o, cfg, rt, inst, k, block, refresh)
}

// upgraded returns a stored object at the current schema.
func (p *planner) upgraded(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType,
	inst provider.Provider) (known, error) {
	stored := p.prior.Object(o)
	none := known{value: cty.NullVal(rt.Block.ImpliedType())}
	if stored == nil {
		return none, nil
	}
	k := known{object: stored, sensitive: stored.Sensitive, private: stored.Private,
		tainted: stored.Status == state.Tainted}
	if _, _, foreign := p.foreign(o, cfg); foreign {
		k, err := p.convert(o, cfg, rt, inst, k)
		if err != nil {
			return none, err
		}
		return p.sound(o, cfg, rt, k)
	}
	if stored.SchemaVersion > rt.Version {
		return none, p.walk.Report(diag.List{}.Errorf(nil, "Resource instance managed by newer provider version",
			"The state of %s was written by a later version of the provider %s than the selected one. Select that "+
				"version, or a later one.", o, cfg.Provider.ForDisplay()))
	}
	hiding.Stored(p.opts.Secrets, rt.Block, stored)
	up := inst.UpgradeState(p.calls, provider.UpgradeStateRequest{
		Type: o.Instance.Resource.Type, Version: stored.SchemaVersion, Stored: provider.StoredObject{
			JSON: stored.Attributes, Flat: stored.Flat},
	})
	if err := p.walk.Report(p.place(o, up.Diagnostics)); err != nil {
		return none, err
	}
	k.value, k.asStored = up.State, up.AsStored
	if k.value != cty.NilVal && k.value.IsNull() {
		// If it were treated as deleted, it would be created again.
		return none,
			p.walk.Report(p.place(o, value.BadAnswer(o, cfg, "Invalid resource state upgrade", []value.PathError{
				{Problem: "the upgrade of the stored object to the current schema returned null"}})))
	}
	var err error
	if k.identity, err = p.identityOf(o, cfg, rt, inst, stored); err != nil {
		return none, err
	}
	return p.sound(o, cfg, rt, k)
}

// place returns a provider's diagnostics about an object with its address and, if it has a block, a source range.
func (p *planner) place(o addr.Object, diags diag.List) diag.List {
	if slot := p.prog.ResourceSlot(o.Instance.Config()); slot != nil && slot.Body != nil {
		diags = slot.Body.Locate(diags)
	}
	return diags.InAddress(o.String())
}

// sound checks an object at the current schema, and adds the marks of the schema.
func (p *planner) sound(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType, k known) (known, error) {
	if errs := value.CheckRefreshed(rt.Block, k.value); len(errs) > 0 {
		summary := "Invalid resource state upgrade"
		if k.converted {
			summary = "Invalid resource state move"
		}
		return known{value: cty.NullVal(rt.Block.ImpliedType())},
			p.walk.Report(p.place(o, value.BadAnswer(o, cfg, summary, errs)))
	}
	p.opts.Secrets.Add(k.value, value.SensitivePaths(rt.Block, k.value, k.sensitive))
	// a refresh adds the marks of the schema (plugins/unmarked_state)
	k.sensitive = value.Existing(k.value, k.sensitive)
	return k, nil
}

// refreshStored refreshes an object of the current schema version, unless refreshing is off, and records the result.
func (p *planner) refreshStored(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType,
	inst provider.Provider, k known, block *linking.Slot, refresh bool) (known, error) {
	none := known{value: cty.NullVal(rt.Block.ImpliedType())}
	current := k
	if refresh {
		var err error
		var meta cty.Value
		if meta, err = p.Meta(p.prog.ResourceSlot(o.Instance.Config())); err != nil {
			return none, err
		}
		if current, err = p.refresh(o, cfg, rt, inst, k, meta); err != nil {
			return none, err
		}
		if p.opts.MaxAge > 0 {
			current.readAt = p.opts.Now.Unix()
		}
	}
	return p.recordRefresh(o, cfg, rt, k, current, block)
}

// identityOf returns the stored identity of an object at the current version of its schema.
func (p *planner) identityOf(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType,
	inst provider.Provider, stored *state.Object) (cty.Value, error) {
	if rt.Identity == nil || len(stored.Identity) == 0 {
		return cty.NilVal, nil
	}
	if stored.IdentityVersion == rt.Identity.Version {
		v, err := value.DecodeIdentity(rt.Identity, stored.Identity)
		if err != nil {
			return cty.NilVal, p.walk.Report(diag.FromError("Cannot read the stored identity of "+o.String(), err))
		}
		return v, nil
	}
	up := inst.UpgradeIdentity(p.calls, provider.UpgradeIdentityRequest{Type: o.Instance.Resource.Type,
		Version: stored.IdentityVersion, JSON: stored.Identity})
	if err := p.walk.Report(p.place(o, up.Diagnostics)); err != nil {
		return cty.NilVal, err
	}
	errs := value.CheckIdentity(rt.Identity, up.Identity, true)
	return up.Identity, p.walk.Report(p.place(o, value.BadAnswer(o, cfg, "Invalid resource identity upgrade", errs)))
}

// storedIdentity returns the stored form of the identity of an object, and the version of its schema.
func storedIdentity(rt *provider.ResourceType, k known, stored *state.Object) ([]byte, int64, error) {
	switch {
	case k.converted && k.identity == cty.NilVal:
		return nil, 0, nil // the identity is that of another object
	case rt.Identity == nil || k.identity == cty.NilVal:
		return stored.Identity, stored.IdentityVersion, nil
	}
	b, err := value.EncodeIdentity(rt.Identity, k.identity)
	return b, rt.Identity.Version, err
}

// refresh reads the current object from the provider.
func (p *planner) refresh(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType, inst provider.Provider,
	k known, meta cty.Value) (known, error) {
	id := p.identify(rt.Block, k.value, k.sensitive)
	var resp provider.ReadResponse
	if err := p.Ask(access.Of{Provider: cfg.Provider, Object: o}, func(attempt int) diag.List {
		if attempt == 1 {
			p.opts.Events.Send(event.RefreshStart{Object: o, ID: id})
		}
		resp = inst.Read(p.calls, provider.ReadRequest{Object: o, Type: o.Instance.Resource.Type,
			Prior: k.value, Private: k.private, Identity: k.identity, Meta: meta, Client: p.client()})
		return resp.Diagnostics
	}); err != nil {
		return k, err
	}
	defer func() { p.opts.Events.Send(event.RefreshDone{Object: o, ID: id}) }()
	if err := p.postpones(cfg, resp.Deferred, resp.Diagnostics); err != nil {
		return k, err
	}
	if err := p.walk.Report(p.place(o, resp.Diagnostics.Extend(value.Undeferred(o, cfg, resp.Deferred)))); err != nil {
		return k, err
	}
	if resp.State == cty.NilVal { // a deleted object is null; a missing response must not lose the object
		return k,
			p.walk.Report(p.place(o, value.BadAnswer(o, cfg, "Provider produced invalid object", []value.PathError{
				{Problem: "the answer has no object; an object that no longer exists must be null"}})))
	}
	if resp.State.IsNull() {
		return known{value: cty.NullVal(rt.Block.ImpliedType())}, nil
	}
	state := value.NormalizeRead(rt.Block, resp.State)
	if errs := value.CheckRefreshed(rt.Block, state); len(errs) > 0 {
		return k, p.walk.Report(p.place(o, value.BadAnswer(o, cfg, "Provider produced invalid object", errs)))
	}
	if errs := value.CheckIdentity(rt.Identity, resp.Identity, true); len(errs) > 0 {
		return k, p.walk.Report(p.place(o, value.BadAnswer(o, cfg, "Provider produced invalid identity", errs)))
	}
	k.value, k.private, k.sensitive = state, resp.Private, value.SensitivePaths(rt.Block, state, k.sensitive)
	id = cmp.Or(p.identify(rt.Block, state, k.sensitive), id) // imported objects get their id here
	if resp.Identity != cty.NilVal && !resp.Identity.IsNull() {
		k.identity = resp.Identity
	}
	return k, nil
}

// refreshedFacts returns the stored properties of a refreshed object other than its value: the former ones, with the
// settings of its block, unless that is nil.
func (p *planner) refreshedFacts(rt *provider.ResourceType, stored *state.Object, after known, block *linking.Slot) (
	state.Object, error) {
	deps, createFirst := stored.Dependencies, stored.CreateBeforeDestroy
	if block == nil || p.opts.Mode == plan.Destroy {
		deps = p.moves.Follow(deps)
	}
	if block != nil {
		createFirst = block.CreateBeforeDestroy
		if !p.opts.SkipRefresh {
			deps = joinDeps(joinDeps(deps, block.ResourceDeps()), block.ImportDeps())
		}
	}
	identity, version, err := storedIdentity(rt, after, stored)
	return state.Object{
		Status: stored.Status, SchemaVersion: rt.Version, Sensitive: after.sensitive, Private: after.private,
		Dependencies: deps, CreateBeforeDestroy: createFirst, IdentityVersion: version, Identity: identity,
		Provider: stored.Provider, SkipDestroy: stored.SkipDestroy, Protected: stored.Protected,
		ReadAt: cmp.Or(after.readAt, stored.ReadAt),
	}, err
}

// recorded reports whether the stored object already has the same value and properties.
func recorded(rt *provider.ResourceType, before, after known, facts *state.Object) bool {
	if before.converted || !bytes.Equal(before.private, after.private) || !sameFacts(before.object, facts) {
		return false
	}
	return before.asStored || storedAs(before.object, before.value, rt.Block.ImpliedType())
}

// recordRefresh stores the edit and the drift of a refresh, and returns the object with the settings of its block.
// before is the upgraded object, after the current one. Until the object is written or found unchanged, it has both its
// stored and its configured dependencies.
func (p *planner) recordRefresh(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType,
	before, after known, block *linking.Slot) (known, error) {
	if after.null() {
		p.edit(state.Edit{Drop: &state.DropObject{Addr: o}})
		p.addDrift(o, cfg, rt, plan.Delete, before, after)
		return after, nil
	}
	same := ctyfast.RawEquals(before.value, after.value)
	// Missing marks in a state of an older version count as drift, except before a destroy.
	marked := p.opts.Mode == plan.Destroy || value.EqualPaths(before.sensitive, after.sensitive)
	if same && marked {
		p.noteMove(o, cfg, rt, after)
	}
	facts, err := p.refreshedFacts(rt, before.object, after, block)
	if err != nil {
		return after, p.walk.Report(diag.FromError("Cannot store the identity of "+o.String(), err))
	}
	if same && p.prior.ProviderOf(o) == cfg && recorded(rt, before, after, &facts) {
		return p.recordRead(o, after, &facts), nil
	}
	next, err := state.NewObject(after.value, rt.Block.ImpliedType(), facts, rt.Newer...)
	if err != nil {
		return after, p.walk.Report(diag.FromError("Cannot store the refreshed object "+o.String(), err))
	}
	after.object = next
	p.edit(state.Edit{Put: &state.PutObject{Addr: o, Provider: cfg, Object: next}})
	if !same || !marked {
		p.addDrift(o, cfg, rt, plan.Update, before, after)
	}
	return after, nil
}

// recordRead records when an unchanged object was read.
func (p *planner) recordRead(o addr.Object, k known, facts *state.Object) known {
	if facts.ReadAt == k.object.ReadAt {
		return k
	}
	next := *k.object
	next.ReadAt = facts.ReadAt
	k.object = &next
	p.edit(state.Edit{Seen: &state.SeenObject{Addr: o, At: facts.ReadAt}})
	return k
}

// sameFacts reports whether a stored object has the given properties, of those that a refresh may change.
func sameFacts(stored, facts *state.Object) bool {
	return stored.SchemaVersion == facts.SchemaVersion && bytes.Equal(stored.Identity, facts.Identity) &&
		stored.CreateBeforeDestroy == facts.CreateBeforeDestroy &&
		value.EqualPaths(stored.Sensitive, facts.Sensitive) && slices.Equal(stored.Dependencies, facts.Dependencies)
}

// storedAs reports whether an upgraded object equals the stored one: providers may also change objects of the current
// version. ty is the type of the schema. It first compares the JSON, because decoding the stored object is more
// expensive.
func storedAs(stored *state.Object, upgraded cty.Value, ty cty.Type) bool {
	if ctyfast.SameJSON(upgraded, ty, stored.Attributes) {
		return true
	}
	was, err := stored.Value(ty)
	return err == nil && ctyfast.RawEquals(was, upgraded)
}

// joinDeps returns the union of two lists of dependencies in the order of the state.
func joinDeps(a, b []addr.ConfigResource) []addr.ConfigResource {
	if len(b) == 0 || slices.Equal(a, b) {
		return a
	}
	out := slices.Concat(a, b)
	slices.SortFunc(out, func(x, y addr.ConfigResource) int { return strings.Compare(x.String(), y.String()) })
	return slices.Compact(out)
}

// settle records the configured settings of an unchanged object, whose stored dependencies are ignored in this run.
// skipDestroy means that it must not be destroyed, and protected that prevent_destroy is recorded.
func (p *planner) settle(o addr.Object, cfg addr.AbsProviderConfig, object *state.Object, deps []addr.ConfigResource,
	skipDestroy, protected bool) {
	if !slices.Equal(object.Dependencies, deps) || object.SkipDestroy != skipDestroy || object.Protected != protected ||
		p.prior.ProviderOf(o) != cfg {
		next := *object
		next.Dependencies, next.SkipDestroy, next.Protected = deps, skipDestroy, protected
		p.edit(state.Edit{Put: &state.PutObject{Addr: o, Provider: cfg, Object: &next}})
	}
}

func (p *planner) addDrift(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType, action plan.Action,
	before, after known) {
	if o.Instance.Resource.Mode != addr.Managed || o.Deposed != "" {
		return
	}
	if p.opts.Mode == plan.Destroy && action != plan.NoOp {
		return // drift of a removed object does not matter, and destroy plans do not show it
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drift = append(p.drift, &plan.Change{
		Object: o, PrevAddr: p.prevAddr(o.Instance), Provider: p.shared(cfg), Action: action,
		Type: rt.Block.ImpliedType(), SchemaVersion: rt.Version,
		Before: planValue(rt.Block, before.value, before.sensitive),
		After:  planValue(rt.Block, after.value, before.sensitive),
	})
}

// planValue adds the schema's sensitive paths to those of the configuration.
func planValue(b *provider.Block, v cty.Value, sensitive []cty.Path) plan.Value {
	return plan.Value{Value: v, Sensitive: value.SensitivePaths(b, v, sensitive)}
}

// identify returns the displayed identity of an object. An id that is not sensitive in the schema may still derive from
// secrets.
func (p *planner) identify(b *provider.Block, v cty.Value, sensitive []cty.Path) event.ID {
	key, text := value.Identify(b, v, sensitive)
	return event.ID{Key: key, Value: p.opts.Secrets.Redact(text)}
}

// destroyValue sets the value of a block in a destroy plan: the stored one, for provider configurations that refer to
// it.
func (p *planner) destroyValue(b *eval.Block) error {
	exp, diags := b.Expand()
	if err := p.walk.Report(diags); err != nil {
		return err
	}
	values := map[addr.Key]cty.Value{}
	for _, key := range exp.Keys {
		v := cty.DynamicVal
		if o := p.prior.Object(addr.Object{Instance: b.Addr().Instance(key)}); o != nil && b.Slot.Type != nil {
			if decoded, err := o.Value(b.Slot.Type.Block.ImpliedType()); err == nil {
				v = value.MarkAt(decoded, value.Sensitive, o.Sensitive)
			}
		}
		values[key] = v
	}
	b.Set(exp, values)
	return nil
}
