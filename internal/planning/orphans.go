package planning

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// unplanned is a stored object that no block of the walk has planned.
type unplanned struct {
	object addr.Object
	cfg    addr.AbsProviderConfig
	reason plan.Reason
}

// planOrphans plans the deletion of every stored object that the walk did not visit: its block or module was removed,
// or the plan destroys everything.
func (p *planner) planOrphans(ctx context.Context) error {
	// After errors, a block may not have been visited because a dependency failed: its objects are still in the
	// configuration.
	failed := p.opts.Mode != plan.Destroy && p.walk.Diagnostics().HasErrors()
	late := p.late
	for _, r := range p.prior.Resources() {
		if p.visited[r.Addr] && p.opts.Mode != plan.Destroy {
			continue
		}
		slot := p.prog.ResourceSlot(r.Addr.Config())
		if failed && slot != nil || p.heldBlock(r.Addr) != nil && !p.visited[r.Addr] {
			continue
		}
		for _, key := range r.Keys() {
			inst := r.Instances[key]
			a := r.Addr.Instance(key)
			if !p.wantsStray(slot, a) {
				continue
			}
			if inst.Current != nil {
				late = append(late, unplanned{addr.Object{Instance: a}, p.prior.ProviderOf(addr.Object{Instance: a}),
					p.strayReason(a)})
			}
			for _, d := range inst.DeposedKeys() {
				o := addr.Object{Instance: a, Deposed: d}
				late = append(late, unplanned{o, p.prior.ProviderOf(o), plan.NoReason})
			}
		}
	}
	if len(late) == 0 {
		return nil
	}
	r := graph.New(max(1, p.opts.Parallelism) + 4)
	r.Add(func(n *graph.Node) error {
		n.FanOut(len(late), func(i int) error { return p.planStray(late[i]) }, nil)
		return nil
	})
	if err := r.Run(ctx); err != nil {
		return err
	}
	return p.walk.Report(p.goneActions())
}

// goneActions warns of destructions in module instances that no longer exist: the actions that they would trigger are
// not in the configuration either.
func (p *planner) goneActions() (diags diag.List) {
	count, first := map[addr.ConfigResource]int{}, map[addr.ConfigResource]addr.AbsResourceInstance{}
	for _, c := range p.changes {
		if c.Action != plan.Delete || c.Reason != plan.DeleteBecauseNoModule || c.Object.Deposed != "" {
			continue
		}
		a := c.Object.Instance
		if n := count[a.Config()]; n == 0 || a.Compare(first[a.Config()]) < 0 {
			first[a.Config()] = a
		}
		count[a.Config()]++
	}
	for _, r := range slices.SortedFunc(maps.Keys(first), addr.ConfigResource.Compare) {
		slot := p.prog.ResourceSlot(r)
		if slot == nil {
			continue
		}
		i := slices.IndexFunc(slot.Resource.ActionTriggers, (*config.ActionTrigger).OfDestruction)
		if i < 0 {
			continue
		}
		name := first[r].String()
		if more := count[r] - 1; more > 0 {
			name += fmt.Sprintf(" (and %d more of this block)", more)
		}
		diags = diags.Warnf(slot.Resource.ActionTriggers[i].Range.Ptr(), "Orphaned action failed to plan",
			"%s is no longer configured and will be destroyed, but the actions that its destruction triggers will not "+
				"be invoked: their module instance no longer exists.", name)
	}
	return diags
}

// strayReason returns the reason why an object without a block is deleted.
func (p *planner) strayReason(a addr.AbsResourceInstance) plan.Reason {
	switch {
	case p.opts.Mode == plan.Destroy:
		return plan.NoReason
	case p.prog.ResourceSlot(a.Config()) == nil && p.prevAddr(a) != nil:
		return plan.DeleteBecauseNoMoveTarget
	case p.prog.ResourceSlot(a.Config()) != nil && p.walk.Instance(a.Module) == nil:
		return plan.DeleteBecauseNoModule
	}
	return plan.DeleteBecauseNoResource
}

func (p *planner) planStray(s unplanned) error {
	return p.putOff(s.object, s.cfg, p.planStrayNow(s))
}

func (p *planner) planStrayNow(s unplanned) error {
	if s.object.Instance.Resource.Mode == addr.Data {
		if p.opts.Mode == plan.Destroy {
			return nil // it is removed last, because provider configurations may refer to it
		}
		if p.walk.HeldBlock(s.object.Instance.AbsResource()) != nil {
			return nil
		}
		// Data sources only exist in the state: no real object is deleted.
		p.edit(state.Edit{Drop: &state.DropObject{Addr: s.object}})
		return nil
	}
	if err := p.checkStrayProvider(s); err != nil {
		return err
	}
	if c := p.heldBack(s.object.Instance.AbsResource(), s.cfg); c != nil {
		if c.Deferred != "" {
			p.addDeferral(plan.Deferral{Address: s.object.String(), Because: c.Deferred,
				Reason: plan.DeferredPrerequisite, Provider: s.cfg})
			return nil
		}
		p.leaveOut(plan.LeftOut{Address: s.object.String(), Because: c.Excluded, Reason: plan.LeftOutDependent})
		return nil
	}
	if p.forgets(s.object.Instance) {
		return p.planForget(s.object, s.cfg, s.reason)
	}
	if s.object.Deposed != "" {
		return p.planDeposed(s.object, s.cfg)
	}
	_, err := p.planOrphan(s.object.Instance, s.cfg, s.reason)
	return err
}

// checkStrayProvider checks that the provider configuration in the state still exists.
func (p *planner) checkStrayProvider(s unplanned) error {
	u := p.prog.Unit(s.cfg.Module)
	if u != nil && s.cfg.Alias == "" && s.cfg.Module.IsRoot() {
		return nil // a provider without a block has an empty configuration
	}
	if p.prog.ProviderSlot(s.cfg) == nil {
		return p.walk.Report(diag.List{}.Errorf(nil, "Provider configuration not present",
			"%s is still in the state and was created with the provider configuration %s, which no longer exists. "+
				"Restore that configuration, destroy %[1]s, and then remove it.",
			s.object, s.cfg, s.object))
	}
	return nil
}

// checkProviderInstance checks that a provider block still has the instance in the state.
func (p *planner) checkProviderInstance(o addr.Object, cfg addr.AbsProviderConfig) error {
	if p.prog.ProviderSlot(cfg) == nil && cfg.Key.IsNone() || p.walk.HasProvider(cfg) {
		return nil
	}
	return p.walk.Report(diag.List{}.Errorf(nil, "Provider instance not present",
		"%s is still in the state and was created with the provider instance %s, which no longer exists: the for_each "+
			"of the provider block has changed. Restore that instance, destroy %[1]s, and then remove it.", o,
		cfg))
}

// planUnwanted plans the deletion of an instance that a block no longer has. If the provider block has several
// instances, the state contains the one that manages it.
func (p *planner) planUnwanted(b *eval.Block, key addr.Key, reason plan.Reason) (cty.Value, error) {
	o := addr.Object{Instance: b.Addr().Instance(key)}
	cfg, stored := b.Slot.ProviderConfig, p.prior.ProviderOf(o)
	s := p.prog.ProviderSlot(cfg)
	switch {
	case stored.Key.IsNone() && (s == nil || s.Provider.ForEach == nil):
	case stored.Block() == cfg:
		cfg = stored
	default: // planned by another block that this one does not wait for
		p.mu.Lock()
		defer p.mu.Unlock()
		p.late = append(p.late, unplanned{o, stored, reason})
		return cty.NilVal, nil
	}
	if p.forgets(o.Instance) {
		return cty.NilVal, p.planForget(o, cfg, reason)
	}
	return p.planOrphan(o.Instance, cfg, reason)
}

// planOrphan plans the deletion of a current object. In a refresh-only plan it returns the value of the object.
func (p *planner) planOrphan(a addr.AbsResourceInstance, cfg addr.AbsProviderConfig, reason plan.Reason) (cty.Value,
	error) {
	if a.Resource.Mode == addr.Data {
		p.edit(state.Edit{Drop: &state.DropObject{Addr: addr.Object{Instance: a}}})
		return cty.NilVal, nil
	}
	if err := p.walk.Report(p.unusable(a)); err != nil {
		return cty.NilVal, err
	}
	return p.planDelete(addr.Object{Instance: a}, cfg, reason)
}

// unusable returns the problems of the provisioners of removed blocks that run before an object is destroyed. An apply
// would report them too late, after other objects were destroyed.
func (p *planner) unusable(a addr.AbsResourceInstance) diag.List {
	if p.opts.Mode == plan.RefreshOnly || p.prog.ResourceSlot(a.Config()) != nil {
		return nil
	}
	stored := p.prior.Object(addr.Object{Instance: a})
	if r := p.prog.Removal(a.Config()); r != nil && stored != nil && stored.Status != state.Tainted {
		return r.Unusable
	}
	return nil
}

// planDeposed plans the deletion of a deposed object.
func (p *planner) planDeposed(o addr.Object, cfg addr.AbsProviderConfig) error {
	if stored := p.prior.ProviderOf(o); stored != (addr.AbsProviderConfig{}) {
		cfg = stored
	}
	_, err := p.planDelete(o, cfg, plan.NoReason)
	return err
}

// planForget plans that an object is removed from the state without being destroyed. It is not refreshed.
func (p *planner) planForget(o addr.Object, cfg addr.AbsProviderConfig, reason plan.Reason) error {
	inst, _, rt, err := p.managerOf(o, cfg)
	if err != nil {
		return err
	}
	k, err := p.load(o, cfg, rt, inst, nil, false)
	if err != nil || k.null() || p.opts.Mode == plan.RefreshOnly {
		return err
	}
	p.add(&plan.Change{
		Object: o, Provider: p.shared(cfg), Action: plan.Forget, Reason: reason,
		Before: planValue(rt.Block, k.value, k.sensitive), After: plan.Value{
			Value: cty.NullVal(rt.Block.ImpliedType())},
		Type: rt.Block.ImpliedType(), SchemaVersion: rt.Version, Private: k.private,
		Dependencies: k.object.Dependencies, CreateBeforeDestroy: k.object.CreateBeforeDestroy,
	})
	return nil
}

// forgets reports whether a removed block removes an undeclared object from the state without destroying it.
func (p *planner) forgets(a addr.AbsResourceInstance) bool {
	if p.opts.Mode == plan.Destroy {
		return false
	}
	r := p.prog.RemovalOf(a)
	return r != nil && r.Forget
}

// forgotten returns a warning with the objects that are removed from the state without being destroyed.
func (p *planner) forgotten() diag.List {
	var names []string
	for _, c := range p.changes {
		switch c.Action {
		case plan.Forget:
			names = append(names, c.Object.String())
		case plan.ForgetThenCreate:
			names = append(names, c.Object.String()+" (the object that is replaced)")
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return diag.List{}.Warnf(nil, "Some objects will no longer be managed by "+cmp.Or(p.opts.Title, "Tombolo"),
		"Applying this plan drops these objects from the state, but does not destroy them:\n - %s\n\nAfter that, "+
			"they are unmanaged. To manage them again, import them.", strings.Join(names, "\n - "))
}

// managerOf returns the provider of a stored object with its schema, and the resource type.
func (p *planner) managerOf(o addr.Object, cfg addr.AbsProviderConfig) (provider.Provider, *provider.Schema,
	*provider.ResourceType, error) {
	inst, err := p.providerOf(o.Instance, cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	schema, err := p.Schema(cfg.Provider)
	if err != nil {
		return nil, nil, nil, err
	}
	rt := schema.Resources[o.Instance.Resource.Type]
	if rt == nil {
		return nil, nil, nil, p.walk.Report(diag.List{}.Errorf(nil, "Unsupported resource type in the state",
			"The state holds %s, but provider %s no longer has a resource type %q. Destroy it with an older version "+
				"of the provider, or remove it from the state.", o, cfg.Provider.ForDisplay(),
			o.Instance.Resource.Type))
	}
	return inst, schema, rt, nil
}

// planDelete refreshes an object and plans its deletion; one that no longer exists is only removed from the state. In a
// refresh-only plan it returns the value of the object, with marks.
func (p *planner) planDelete(o addr.Object, cfg addr.AbsProviderConfig, reason plan.Reason) (cty.Value, error) {
	if p.opts.Mode != plan.RefreshOnly {
		if forgotten, err := p.onlyForgotten(o); err != nil || forgotten {
			if err == nil {
				err = p.planForget(o, cfg, reason)
			}
			return cty.NilVal, err
		}
	}
	if err := p.checkProviderInstance(o, cfg); err != nil {
		return cty.NilVal, err
	}
	inst, schema, rt, err := p.managerOf(o, cfg)
	if err != nil {
		return cty.NilVal, err
	}
	var block *linking.Slot
	if p.opts.Mode == plan.Destroy && o.Deposed == "" {
		// The dependencies of an imported object only come from its block.
		block = p.prog.ResourceSlot(o.Instance.Config())
	}
	k, err := p.load(o, cfg, rt, inst, block, p.reads(o))
	if err != nil || k.null() {
		return cty.NilVal, err
	}
	if p.opts.Mode == plan.RefreshOnly {
		return value.MarkAt(k.value, value.Sensitive, planValue(rt.Block, k.value, k.sensitive).Sensitive), nil
	}
	private, err := p.requestDestroy(o, cfg, schema, rt, inst, k)
	if err != nil {
		return cty.NilVal, err
	}
	change := &plan.Change{
		Object: o, Provider: p.shared(cfg), Action: plan.Delete, Reason: reason,
		Before: planValue(rt.Block, k.value, k.sensitive), After: plan.Value{
			Value: cty.NullVal(rt.Block.ImpliedType())},
		Type: rt.Block.ImpliedType(), SchemaVersion: rt.Version, Private: private,
		Dependencies: k.object.Dependencies, CreateBeforeDestroy: k.object.CreateBeforeDestroy,
	}
	change.SetIdentities(k.identity, cty.NilVal)
	p.add(change)
	return cty.NilVal, p.protect(change, nil)
}

// requestDestroy calls a provider that plans deletions, which may refuse one.
func (p *planner) requestDestroy(o addr.Object, cfg addr.AbsProviderConfig, schema *provider.Schema,
	rt *provider.ResourceType, inst provider.Provider, k known) ([]byte, error) {
	if !schema.PlanDestroy {
		return k.private, nil
	}
	meta, err := p.Meta(p.prog.ResourceSlot(o.Instance.Config()))
	if err != nil {
		return nil, err
	}
	null := cty.NullVal(rt.Block.ImpliedType())
	var resp provider.PlanResponse
	if err := p.Call(func() {
		resp = inst.Plan(p.calls, provider.PlanRequest{Object: o,
			Type: o.Instance.Resource.Type, Prior: k.value, Proposed: null, Config: null, PriorPrivate: k.private,
			PriorIdentity: k.identity, Meta: meta, Client: p.client(),
		})
	}); err != nil {
		return nil, err
	}
	if err := p.postpones(cfg, resp.Deferred, resp.Diagnostics); err != nil {
		return nil, err
	}
	if err := p.walk.Report(p.place(o, resp.Diagnostics.Extend(value.Undeferred(o, cfg, resp.Deferred)))); err != nil {
		return nil, err
	}
	if resp.Planned != cty.NilVal && !resp.Planned.IsNull() {
		return nil,
			p.walk.Report(p.place(o, value.BadAnswer(o, cfg, "Provider produced invalid plan", []value.PathError{
				{Problem: "the planned value of a deletion must be null"}})))
	}
	return resp.Private, nil
}

// wantsStray reports whether targets include a stored object without a block.
func (p *planner) wantsStray(slot *linking.Slot, a addr.AbsResourceInstance) bool {
	if p.targets != nil && p.opts.Mode == plan.Destroy {
		if p.doomed == nil && !p.targets.Excepts() {
			p.doomed = p.withDependents()
		}
		if p.doomed != nil {
			return p.doomed[a]
		}
	}
	if p.targets.Excepts() && slot == nil || p.opts.Mode == plan.Destroy && p.targets != nil {
		if p.untouched == nil {
			p.untouched = p.withNeeded()
		}
		return !p.untouched[a]
	}
	return p.targets.Wants(slot, a)
}

// withNeeded returns the exclusions with everything that they depend on according to the state, which must not be
// destroyed either.
func (p *planner) withNeeded() map[addr.AbsResourceInstance]bool {
	untouched := map[addr.AbsResourceInstance]bool{}
	all := map[addr.ConfigResource][]addr.AbsResourceInstance{}
	var queue []addr.AbsResourceInstance
	for _, r := range p.prior.Resources() {
		for key := range r.Instances {
			a := r.Addr.Instance(key)
			all[a.Config()] = append(all[a.Config()], a)
			if !p.targets.Contains(a) {
				untouched[a] = true
				queue = append(queue, a)
			}
		}
	}
	for len(queue) > 0 {
		a := queue[0]
		queue = queue[1:]
		for _, dep := range p.needs(a) {
			near := commonPrefix(a.Module, dep.Module)
			for _, needed := range all[dep] {
				if !untouched[needed] && near.Contains(needed.Module) {
					untouched[needed] = true
					queue = append(queue, needed)
				}
			}
		}
	}
	return untouched
}

// withDependents returns the targets of a destroy with everything that depends on them, according to the state.
func (p *planner) withDependents() map[addr.AbsResourceInstance]bool {
	dependents := map[nearKey][]addr.AbsResourceInstance{}
	doomed := map[addr.AbsResourceInstance]bool{}
	var queue []addr.AbsResourceInstance
	for _, r := range p.prior.Resources() {
		for key, inst := range r.Instances {
			a := r.Addr.Instance(key)
			if p.targets.Contains(a) {
				doomed[a] = true
				queue = append(queue, a)
			}
			if inst.Current == nil {
				continue
			}
			for _, dep := range inst.Current.Dependencies {
				near := nearKey{dep, commonPrefix(a.Module, dep.Module)}
				dependents[near] = append(dependents[near], a)
			}
		}
	}
	for len(queue) > 0 {
		a := queue[0]
		queue = queue[1:]
		for m, ok := a.Module, true; ok; m, _, ok = m.Parent() {
			near := nearKey{a.Config(), m}
			for _, d := range dependents[near] {
				if !doomed[d] {
					doomed[d] = true
					queue = append(queue, d)
				}
			}
			delete(dependents, near)
		}
	}
	return doomed
}
