package planning

import (
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// planData reads a data source now, or plans to read it during apply: if its configuration is unknown, or if a managed
// resource that it depends on has pending changes.
func (p *planner) planData(b *eval.Block, key addr.Key) (cty.Value, error) {
	inst := b.Addr().Instance(key)
	cfg, err := b.ConfiguredBy(key)
	if err != nil {
		return cty.DynamicVal, err
	}
	prov, err := p.providerOf(inst, cfg)
	if err != nil {
		return cty.DynamicVal, err
	}
	if err := p.walk.Report(b.Preconditions(key)); err != nil {
		return cty.DynamicVal, err
	}
	config, marks, err := p.configuration(b, key, prov)
	if err != nil {
		return cty.DynamicVal, err
	}
	reason := plan.NoReason
	switch {
	case !ctyfast.WhollyKnown(config):
		reason = plan.ReadBecauseConfigUnknown
	case p.dataMustWait(b):
		reason = plan.ReadBecauseDependencyPending
	}
	if reason != plan.NoReason && p.opts.Mode == plan.Destroy {
		// its dependencies no longer exist
		return value.MarkAt(value.PlannedForData(b.Slot.Type.Block, config), value.Sensitive, marks.Sensitive), nil
	}
	if reason != plan.NoReason {
		planned, err := p.deferData(b, inst, cfg, config, marks, reason)
		if err != nil || planned == cty.NilVal {
			return planned, err
		}
		return planned, p.walk.Report(b.Postconditions(key, planned)) // known parts are checked now
	}
	meta, err := p.Meta(b.Slot)
	if err != nil {
		return cty.DynamicVal, err
	}
	v, err := p.readData(b, inst, cfg, prov, config, meta, marks)
	if err != nil {
		return cty.DynamicVal, err
	}
	return v, p.walk.Report(b.Postconditions(key, v))
}

// deferData plans the read for apply.
func (p *planner) deferData(b *eval.Block, inst addr.AbsResourceInstance, cfg addr.AbsProviderConfig,
	config cty.Value, marks value.MarkedPaths, reason plan.Reason) (cty.Value, error) {
	block := b.Slot.Type.Block
	planned := value.PlannedForData(block, config)
	if p.prior.Object(addr.Object{Instance: inst}) != nil {
		// The stored object is stale: a new read is planned.
		p.edit(state.Edit{Drop: &state.DropObject{Addr: addr.Object{Instance: inst}}})
	}
	if p.opts.Mode == plan.RefreshOnly {
		return cty.NilVal, nil // there is no object, like in keep
	}
	change := p.readLater(b, inst, cfg, planned, marks, reason)
	p.add(change)
	return value.MarkAt(planned, value.Sensitive, change.After.Sensitive), nil
}

// readData reads the data source, with the hooks of the project.
func (p *planner) readData(b *eval.Block, inst addr.AbsResourceInstance, cfg addr.AbsProviderConfig,
	prov provider.Provider, config, meta cty.Value, marks value.MarkedPaths) (cty.Value, error) {
	none := plan.Value{Value: cty.NilVal}
	around := p.opts.Hooks.Object(hook.Operation{Object: addr.Object{Instance: inst}, Provider: cfg.Provider,
		Action: plan.Read, Block: b.Slot.Type.Block, Before: none, After: none})
	if err := p.walk.Report(around.Before(p.until)); err != nil {
		return cty.DynamicVal, err
	}
	v, err := p.requestData(b, inst, cfg, prov, config, meta, marks)
	outcome, found := hook.OK, plan.Value{Value: v, Sensitive: marks.Sensitive}
	if err != nil {
		outcome, found = hook.Failed, none
	}
	if problems := p.walk.Report(around.After(p.until, outcome, found)); err == nil {
		err = problems
	}
	return v, err
}

// requestData reads the data source and records its object for the state.
func (p *planner) requestData(b *eval.Block, inst addr.AbsResourceInstance, cfg addr.AbsProviderConfig,
	prov provider.Provider, config, meta cty.Value, marks value.MarkedPaths) (cty.Value, error) {
	block := b.Slot.Type.Block
	o := addr.Object{Instance: inst}
	inConfig := func(diags diag.List) diag.List { return b.Locate(diags, inst.Key) }
	var started time.Time
	var resp provider.ReadDataResponse
	if err := p.Ask(access.Of{Provider: cfg.Provider, Object: o}, func(attempt int) diag.List {
		if attempt == 1 {
			started = time.Now()
			p.opts.Events.Send(event.OperationStart{Object: o, Action: plan.Read, Started: started, Planning: true})
		}
		resp = prov.ReadData(p.calls, provider.ReadDataRequest{Object: o, Type: inst.Resource.Type,
			Config: config, Meta: meta, Client: p.client()})
		return resp.Diagnostics
	}); err != nil {
		return cty.DynamicVal, err
	}
	if later := p.postpones(cfg, resp.Deferred, resp.Diagnostics); later != nil {
		p.opts.Events.Send(event.OperationDone{Object: o, Action: plan.Read, Elapsed: time.Since(started),
			Planning: true})
		return cty.DynamicVal, later
	}
	diags := inConfig(resp.Diagnostics.Extend(value.Undeferred(o, cfg, resp.Deferred)))
	if !diags.HasErrors() {
		if errs := value.CheckData(block, resp.State); len(errs) > 0 {
			diags = diags.Extend(inConfig(value.BadAnswer(o, cfg, "Provider produced invalid object",
				errs)))
		}
	}
	done := event.OperationDone{Object: o, Action: plan.Read, Elapsed: time.Since(started), Planning: true,
		Failed: diags.HasErrors()}
	if !done.Failed {
		done.ID = p.identify(block, resp.State, marks.Sensitive)
	}
	p.opts.Events.Send(done)
	result := resp.State
	if nested := b.Config().Check != nil; nested && diags.HasErrors() {
		b.CheckFailed(diags)
		result = value.PlannedForData(block, config)
	} else if err := p.walk.Report(diags); err != nil {
		return cty.DynamicVal, err
	}
	if b.Config().Check != nil && p.opts.Mode == plan.Normal {
		// The check is evaluated again after all changes.
		p.add(p.readLater(b, inst, cfg, result, marks, plan.ReadBecauseCheckNested))
	}
	object, err := state.NewObject(value.UnknownAsNull(result), block.ImpliedType(), state.Object{
		SchemaVersion: b.Slot.Type.Version, Sensitive: value.SensitivePaths(block, result, marks.Sensitive)})
	if err != nil {
		return cty.DynamicVal, p.walk.Report(diag.FromError("Cannot store "+inst.String(), err))
	}
	p.edit(state.Edit{Put: &state.PutObject{Addr: o, Provider: cfg, Object: object}})
	return value.MarkAt(result, value.Sensitive, planValue(block, result, marks.Sensitive).Sensitive), nil
}

// readLater returns the change that reads a data source during apply.
func (p *planner) readLater(b *eval.Block, inst addr.AbsResourceInstance, cfg addr.AbsProviderConfig, planned cty.Value,
	marks value.MarkedPaths, reason plan.Reason) *plan.Change {
	block := b.Slot.Type.Block
	return &plan.Change{
		Object: addr.Object{Instance: inst}, Provider: p.shared(cfg), Action: plan.Read,
		Reason: reason,
		Before: plan.Value{Value: cty.NullVal(block.ImpliedType())}, After: planValue(block, planned, marks.Sensitive),
		Type: block.ImpliedType(), SchemaVersion: b.Slot.Type.Version,
	}
}

// dataMustWait reports whether a managed resource that the block refers to, or names in depends_on, has a pending
// change. A block with conditions waits for all its dependencies, direct and indirect, because its conditions are about
// their applied values.
func (p *planner) dataMustWait(b *eval.Block) bool {
	direct, explicit := b.ReferencedSlots()
	p.mu.Lock()
	defer p.mu.Unlock()
	module := b.Instance.Addr
	for _, s := range append(direct, explicit...) {
		if s.Kind == linking.SlotResource && s.Resource.Addr.Mode == addr.Data {
			continue // a waiting data source is not a reason to wait: its known parts are sufficient
		}
		if p.pending(module, s) {
			return true
		}
	}
	if c := b.Config(); c.Addr.Mode == addr.Data && len(c.Preconditions)+len(c.Postconditions) > 0 &&
		p.pendingBehind(module, b.Slot) {
		return true
	}
	wait := false
	b.Instance.CallDependsOn(func(i *eval.Instance, s *linking.Slot) { wait = wait || p.pending(i.Addr, s) })
	return wait
}

// pending reports whether a dependency of a slot changes; the caller holds mu.
func (p *planner) pending(module addr.ModuleInstance, s *linking.Slot) bool {
	switch s.Kind {
	case linking.SlotResource:
		a := addr.AbsResource{Module: module, Resource: s.Resource.Addr}
		return (a.Resource.Mode == addr.Managed || a.Resource.Mode == addr.Data) && p.changed[a]
	case linking.SlotCallClose:
		i := p.walk.Instance(module)
		for _, key := range i.CallKeys(s.Call.Name) {
			if p.changedModules[module.Child(s.Call.Name, key)] {
				return true
			}
		}
		return slices.ContainsFunc(p.storedResources().below[moduleCall{module, s.Call.Name}], p.willBeDeleted)
	case linking.SlotCallOutput:
		return p.pendingBehind(module, s)
	}
	return false
}

// A changedBelow is a resource that changes in a module instance or in one below it.
type changedBelow struct {
	resource addr.ConfigResource
	module   addr.ModuleInstance
}

// noteChanged records a change for data sources that depend on the resource; the caller holds mu.
func (p *planner) noteChanged(a addr.AbsResource, why plan.Reason) {
	p.changed[a] = true
	if why == plan.ReadBecauseCheckNested {
		return // no data source waits for it
	}
	for m, ok := a.Module, true; ok && !p.changedModules[m]; m, _, ok = m.Parent() {
		p.changedModules[m] = true
	}
	for m, ok := a.Module, true; ok; m, _, ok = m.Parent() {
		p.changedBelow[changedBelow{a.Config(), m}] = true
	}
}

// pendingBehind reports whether any resource changes that a slot of a module depends on, directly or indirectly. It
// considers the innermost module instance that contains both, so that other instances of the module are ignored; the
// caller holds mu.
func (p *planner) pendingBehind(module addr.ModuleInstance, s *linking.Slot) bool {
	resources, ok := p.behind[s]
	if !ok {
		resources = p.prog.ResourcesBehind(s)
		p.behind[s] = resources
	}
	return slices.ContainsFunc(resources, func(r addr.ConfigResource) bool {
		m := module
		for !m.Config().Contains(r.Module) {
			m, _, _ = m.Parent()
		}
		return p.changedBelow[changedBelow{r, m}] || slices.ContainsFunc(p.storedResources().of[r],
			func(a addr.AbsResource) bool { return m.Contains(a.Module) && p.willBeDeleted(a) })
	})
}

// A moduleCall is a call in one instance of a module.
type moduleCall struct {
	module addr.ModuleInstance
	name   string
}

// stored are the managed resources of the prior state, by block and by enclosing module call.
type stored struct {
	of    map[addr.ConfigResource][]addr.AbsResource
	below map[moduleCall][]addr.AbsResource
}

// storedResources indexes the prior state on first use; the caller holds mu.
func (p *planner) storedResources() *stored {
	if p.stored != nil {
		return p.stored
	}
	p.stored = &stored{of: map[addr.ConfigResource][]addr.AbsResource{}, below: map[moduleCall][]addr.AbsResource{}}
	for _, r := range p.prior.Resources() {
		if r.Addr.Resource.Mode != addr.Managed {
			continue
		}
		p.stored.of[r.Addr.Config()] = append(p.stored.of[r.Addr.Config()], r.Addr)
		for m, last, ok := r.Addr.Module.Parent(); ok; m, last, ok = m.Parent() {
			call := moduleCall{m, last.Call}
			p.stored.below[call] = append(p.stored.below[call], r.Addr)
		}
	}
	return p.stored
}

// willBeDeleted reports whether the stored objects of a block will be deleted because its module instance, or its
// block, is no longer in the configuration. Data sources wait for that like for any other change.
func (p *planner) willBeDeleted(a addr.AbsResource) bool {
	slot := p.prog.ResourceSlot(a.Config())
	if slot != nil && p.walk.Instance(a.Module) != nil || p.prog.Unit(a.Module.Config()) == nil {
		return false
	}
	if p.opts.Mode != plan.Normal || p.walk.HeldBlock(a) != nil {
		return false
	}
	return slices.ContainsFunc(p.prior.Resource(a).Keys(), func(key addr.Key) bool {
		return p.targets.Wants(slot, a.Instance(key))
	})
}
