package planning

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// managed is the planning of one configured instance.
type managed struct {
	p     *planner
	b     *eval.Block // nil if its configuration is only being generated
	key   addr.Key
	inst  addr.AbsResourceInstance
	obj   addr.Object
	cfg   addr.AbsProviderConfig
	rt    *provider.ResourceType
	block *provider.Block
	prov  provider.Provider
	meta  cty.Value // the provider_meta value of its module
	deps  []addr.ConfigResource
	cbd   bool
	// skipDestroy means destroy = false: the object is forgotten instead of destroyed.
	skipDestroy bool
	// protected means that prevent_destroy is recorded in the state.
	protected bool

	prior  known
	config cty.Value // evaluated, without marks
	marks  value.MarkedPaths
	// importing is set if an import block has found the object in this plan.
	importing *plan.Importing
	// missing is set if an optional import block has found no object.
	missing *plan.Importing
	// trial is set while the object is planned only to determine whether it has to be read; warnings holds the problems
	// found then.
	trial    bool
	warnings diag.List
	// effective is the configuration after ignore_changes, and kept holds its marks.
	effective cty.Value
	kept      value.MarkedPaths
}

// planManaged refreshes and plans one instance and returns its planned value, with marks.
func (p *planner) planManaged(b *eval.Block, key addr.Key) (cty.Value, error) {
	m := &managed{
		p: p, b: b, key: key, inst: b.Addr().Instance(key), rt: b.Slot.Type,
		block: b.Slot.Type.Block,
		deps:  b.Slot.ResourceDeps(), cbd: b.Slot.CreateBeforeDestroy,
	}
	m.obj = addr.Object{Instance: m.inst}
	if err := p.walk.Report(b.CheckGuards(key)); err != nil {
		return cty.DynamicVal, err
	}
	var err error
	if m.cfg, err = b.ConfiguredBy(key); err != nil {
		return cty.DynamicVal, err
	}
	if m.skipDestroy, err = p.skipsDestroy(b.Slot, b, m.inst); err != nil {
		return cty.DynamicVal, err
	}
	if m.prov, err = p.providerOf(m.inst, m.cfg); err != nil {
		return cty.DynamicVal, err
	}
	if m.meta, err = p.Meta(b.Slot); err != nil {
		return cty.DynamicVal, err
	}
	if m.protected, err = p.remembers(b, m.inst); err != nil {
		return cty.DynamicVal, err
	}
	minimal, err := m.loadPrior()
	if err != nil {
		return cty.DynamicVal, err
	}
	if err := m.takeOver(); err != nil {
		return cty.DynamicVal, err
	}
	if err := p.walk.Report(b.Preconditions(key)); err != nil {
		return cty.DynamicVal, err
	}
	if p.opts.Mode == plan.RefreshOnly {
		return m.keep()
	}
	if err := m.evaluate(); err != nil {
		return cty.DynamicVal, err
	}
	change, err := m.planAsNeeded(minimal)
	if err != nil {
		return cty.DynamicVal, err
	}
	p.add(change)
	if change.Action == plan.NoOp {
		p.settle(m.obj, m.cfg, m.prior.object, joinDeps(change.Dependencies, b.Slot.ImportDeps()), m.skipDestroy,
			m.protected)
	}
	if err := p.protect(change, b); err != nil {
		return cty.DynamicVal, err
	}
	planned := value.MarkAt(change.After.Value, value.Sensitive, change.After.Sensitive)
	return planned, p.walk.Report(b.Postconditions(key, planned))
}

// loadPrior sets the prior object: the current or the stored one. It reports whether the object has to be read if it
// would change.
func (m *managed) loadPrior() (minimal bool, err error) {
	p, slot := m.p, m.b.Slot
	reads := p.reads(m.obj)
	if reads && p.opts.MinimalRefresh && p.opts.Mode == plan.Normal {
		m.prior, err = p.upgraded(m.obj, m.cfg, slot.Type, m.prov)
		return err == nil && !m.prior.null(), err
	}
	m.prior, err = p.load(m.obj, m.cfg, slot.Type, m.prov, slot, reads)
	return false, err
}

// keep plans an instance in a refresh-only plan, which changes and creates nothing. An instance that does not exist has
// no value: references to all instances of the block only see existing ones. Its postconditions are still evaluated as
// far as possible (checks/refresh_only_of_more).
func (m *managed) keep() (cty.Value, error) {
	if m.prior.null() {
		return cty.NilVal, m.p.walk.Report(m.b.Postconditions(m.key, cty.UnknownVal(m.block.ImpliedType())))
	}
	v := value.MarkAt(m.prior.value, value.Sensitive, planValue(m.block, m.prior.value, m.prior.sensitive).Sensitive)
	m.p.recordCaller(m.b, m.inst, v)
	return v, m.p.walk.Report(m.b.Postconditions(m.key, v))
}

// evaluate returns the configuration of the instance, checked by the engine and by the provider.
func (m *managed) evaluate() (err error) {
	if m.config, m.marks, err = m.p.configuration(m.b, m.key, m.prov); err != nil {
		return err
	}
	var ignored diag.List
	m.effective, m.kept, ignored = m.b.IgnoreChanges(m.key, m.prior.value, m.prior.sensitive, m.config, m.marks)
	return m.p.walk.Report(ignored)
}

// configuration evaluates a block for one instance, checked by the engine and by its provider.
func (p *planner) configuration(b *eval.Block, key addr.Key, prov provider.Provider) (cty.Value, value.MarkedPaths,
	error) {
	marked, err := b.Evaluate(key)
	if err != nil {
		return cty.DynamicVal, value.MarkedPaths{}, err
	}
	return p.checked(b, key, prov, marked)
}

// checked returns the configuration of an instance without its marks, checked by the engine and by its provider.
func (p *planner) checked(b *eval.Block, key addr.Key, prov provider.Provider, marked cty.Value) (cty.Value,
	value.MarkedPaths, error) {
	config, marks := p.opts.Secrets.Unmark(b.Slot.Type.Block, marked)
	if err := p.walk.Report(b.Persistable(key, marks.Ephemeral).Extend(b.Storable(key, config))); err != nil {
		return cty.DynamicVal, value.MarkedPaths{}, err
	}
	return config, marks, p.walk.Report(b.Locate(p.validate(b.Addr().Instance(key), prov, config), key))
}

// validate calls the provider to validate the configuration of an instance.
func (p *planner) validate(inst addr.AbsResourceInstance, prov provider.Provider, config cty.Value) diag.List {
	return prov.ValidateResource(p.calls, provider.ValidateResourceRequest{Object: addr.Object{Instance: inst},
		Kind: kinds[inst.Resource.Mode], Type: inst.Resource.Type, Config: config, Client: access.Client,
	})
}

// inConfig adds the range of the block to a provider's diagnostics.
func (m *managed) inConfig(diags diag.List) diag.List {
	if m.b == nil {
		return diags.InAddress(m.obj.String())
	}
	return m.b.Locate(diags, m.key)
}

// plan requests a plan from the provider and determines the action.
func (m *managed) plan() (*plan.Change, error) {
	null := cty.NullVal(m.block.ImpliedType())
	prior, private := m.prior.value, m.prior.private
	tainted := !m.prior.null() && m.prior.tainted
	if tainted {
		prior, private = null, nil
	}
	config := m.effective
	if tainted {
		config = m.config
	}
	planned, resp, err := m.requestPlan(prior, config, private)
	if err != nil {
		return nil, err
	}
	after := planned
	switch {
	case m.prior.null():
		// A trigger is recorded as the reason even if it need not replace the object.
		return m.creation(plan.Create, plan.NoReason, after, resp)
	case tainted:
		return m.creation(m.replacement(), plan.ReplaceBecauseTainted, after, resp)
	}
	return m.decide(planned, resp)
}

// creation returns the change of an object that is created in any case. A trigger is the reason if one fires.
func (m *managed) creation(action plan.Action, reason plan.Reason, after cty.Value, resp provider.PlanResponse) (
	*plan.Change, error) {
	triggers, err := m.triggered()
	if err != nil {
		return nil, err
	}
	if len(triggers) > 0 {
		reason = plan.ReplaceByTriggers
	}
	c := m.change(action, reason, after, m.marks.Stored())
	c.Private, c.Triggers = resp.Private, triggers
	c.SetIdentities(m.prior.identity, resp.Identity)
	return c, nil
}

// decide determines no-op, update and replacement of an existing object.
func (m *managed) decide(planned cty.Value, resp provider.PlanResponse) (*plan.Change, error) {
	reason := plan.NoReason
	paths, invalid := value.FilterReplacePaths(m.block, m.prior.value, planned, resp.RequiresReplace)
	if len(invalid) > 0 {
		return nil, m.report(m.inConfig(value.BadAnswer(m.obj, m.cfg, "Provider produced invalid plan",
			[]value.PathError{
				{Path: invalid[0], Problem: "a path that requires replacement does not exist in the schema"}})))
	}
	triggers, err := m.triggered()
	if err != nil {
		return nil, err
	}
	changed := !ctyfast.RawEquals(planned, m.prior.value)
	if !changed {
		planned = m.prior.value // without a second copy of each unchanged object
	}
	switch {
	case len(triggers) > 0:
		reason = plan.ReplaceByTriggers
	case m.p.replace[m.inst]:
		reason = plan.ReplaceByRequest
	case len(paths) > 0:
		reason = plan.ReplaceBecauseCannotUpdate
	}
	if reason == plan.NoReason {
		action := plan.NoOp
		if changed || !value.EqualPaths(m.prior.sensitive, value.SensitivePaths(m.block, planned, m.kept.Stored())) {
			action = plan.Update
		}
		c := m.change(action, plan.NoReason, planned, m.kept.Stored())
		c.Private = resp.Private
		c.SetIdentities(m.prior.identity, resp.Identity)
		return c, nil
	}
	// The new object is planned as if there were no old one, and without ignore_changes.
	again, resp2, err := m.requestPlan(cty.NullVal(m.block.ImpliedType()), m.config, nil)
	if err != nil {
		return nil, err
	}
	c := m.change(m.replacement(), reason, again, m.marks.Stored())
	c.Private, c.ReplacePaths, c.Triggers = resp2.Private, paths, triggers
	c.SetIdentities(m.prior.identity, resp2.Identity)
	return c, nil
}

func (m *managed) replacement() plan.Action {
	switch {
	case m.skipDestroy:
		return plan.ForgetThenCreate
	case m.cbd:
		return plan.CreateThenDelete
	}
	return plan.DeleteThenCreate
}

// requestPlan gets the planned value from the provider and checks it.
func (m *managed) requestPlan(prior, config cty.Value, private []byte) (cty.Value, provider.PlanResponse, error) {
	config = value.ForPlan(m.block, config)
	proposed := value.Propose(m.block, prior, config)
	var resp provider.PlanResponse
	if err := m.p.Call(func() {
		resp = m.prov.Plan(m.p.calls, provider.PlanRequest{Object: m.obj,
			Type: m.inst.Resource.Type, Prior: prior, Proposed: proposed, Config: config, PriorPrivate: private,
			PriorIdentity: priorIdentity(prior, m.prior), Meta: m.meta, Client: m.p.client(),
		})
	}); err != nil {
		return cty.DynamicVal, resp, err
	}
	if err := m.p.postpones(m.cfg, resp.Deferred, resp.Diagnostics); err != nil {
		return cty.DynamicVal, resp, err
	}
	if err := m.report(m.inConfig(resp.Diagnostics)); err != nil {
		return cty.DynamicVal, resp, err
	}
	if diags := value.Undeferred(m.obj, m.cfg, resp.Deferred); len(diags) > 0 {
		return cty.DynamicVal, resp, m.report(m.inConfig(diags))
	}
	if resp.Planned == cty.NilVal {
		resp.Planned = cty.NullVal(m.block.ImpliedType())
	}
	errs := value.CheckPlan(m.block, prior, config, resp.Planned, slices.Concat(m.marks.Sensitive, m.kept.Sensitive)...)
	if resp.LegacyTypeSystem {
		errs = value.AlwaysErrors(errs)
	}
	errs = append(errs, value.CheckIdentity(m.rt.Identity, resp.Identity, false)...)
	if len(errs) > 0 {
		return cty.DynamicVal, resp,
			m.report(m.inConfig(value.BadAnswer(m.obj, m.cfg, "Provider produced invalid plan", errs)))
	}
	return resp.Planned, resp, nil
}

// priorIdentity returns the identity of the prior object of a plan.
func priorIdentity(prior cty.Value, k known) cty.Value {
	if prior.IsNull() {
		return cty.NilVal
	}
	return k.identity
}

// change returns the change of this instance; after has no marks; sensitive are the paths that the configuration marks.
func (m *managed) change(action plan.Action, reason plan.Reason, after cty.Value, sensitive []cty.Path) *plan.Change {
	c := &plan.Change{
		Object: m.obj, Provider: m.p.shared(m.cfg), Action: action, Reason: reason,
		Before: planValue(m.block, m.prior.value, m.prior.sensitive), After: planValue(m.block, after, sensitive),
		Type: m.block.ImpliedType(), SchemaVersion: m.rt.Version, Private: m.prior.private,
		Dependencies: m.deps, CreateBeforeDestroy: m.cbd, SkipDestroy: m.skipDestroy, Protected: m.protected,
		Importing: m.importing,
		Settled:   m.config != cty.NilVal && ctyfast.WhollyKnown(m.config),
	}
	c.Unprotected = m.unprotects(action)
	identity := cty.NilVal
	if action == plan.NoOp {
		identity = m.prior.identity
	}
	c.SetIdentities(m.prior.identity, identity)
	if action == plan.Create {
		c.NotImported = m.missing
	}
	if action.Deposes() {
		c.DeposedKey = m.p.opts.deposedKey()
	}
	return c
}

// triggered returns the references in replace_triggered_by that require a replacement.
func (m *managed) triggered() (fired []plan.ReplaceTrigger, err error) {
	if m.b == nil || len(m.b.Config().ReplaceTriggeredBy) == 0 {
		return nil, nil
	}
	triggers, diags := m.b.Triggers(m.key)
	if err := m.report(diags); err != nil {
		return nil, err
	}
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	for _, t := range triggers {
		target := addr.AbsResource{Module: m.inst.Module, Resource: t.Resource}
		trigger := plan.ReplaceTrigger{Instance: target.Instance(t.Key), Path: t.Path}
		trigger.All = !t.HasKey && len(t.Path) == 0
		if trigger.All && m.p.firing(target) || !trigger.All && trigger.Fires(m.p.planned.of(trigger.Instance)) {
			fired = append(fired, trigger)
		}
	}
	return fired, nil
}

// firing reports whether any instance of a block triggers replacements. The block is already planned, so the result is
// cached: otherwise the cost would be the product of the instances of both blocks. The caller holds the lock.
func (p *planner) firing(target addr.AbsResource) bool {
	if !p.changed[target] {
		return false
	}
	answer, known := p.fired[target]
	if !known {
		answer = slices.ContainsFunc(p.changes, func(c *plan.Change) bool {
			return c.Object.Instance.AbsResource() == target && plan.ReplaceTrigger{}.Fires(c)
		})
		p.fired[target] = answer
	}
	return answer
}
