package planning

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// actions are collected during the walk and planned after it, when all references of triggers and conditions are
// evaluated.
type actions struct {
	triggers map[addr.AbsResource]*eval.Block // the resources that have triggers
	ready    map[addr.AbsResourceInstance]*readyAction
	order    []addr.AbsResourceInstance
	// callers holds the values of the objects whose actions may be invoked by address.
	callers map[addr.AbsResourceInstance]cty.Value
	// only selects the callers for which an action is invoked by address; nil means all.
	only *linking.Selection
}

// readyAction is an instance of an action that could be invoked.
type readyAction struct {
	b      *eval.Block
	cfg    addr.AbsProviderConfig
	config cty.Value
	marks  value.MarkedPaths
	prov   provider.Provider
}

// forCaller returns the action with its configuration for a caller.
func (p *planner) forCaller(r *readyAction, key addr.Key, caller cty.Value) (*readyAction, error) {
	if len(r.b.Slot.CalledBy) == 0 {
		return r, nil
	}
	marked, err := r.b.EvaluateFor(key, caller)
	if err != nil {
		return nil, err
	}
	out := *r
	out.config, out.marks, err = p.checked(r.b, key, r.prov, marked)
	return &out, err
}

// recordCaller records the value of an object whose triggers refer to an action that is to be invoked by its address.
func (p *planner) recordCaller(b *eval.Block, inst addr.AbsResourceInstance, v cty.Value) {
	if len(p.opts.Invoke) == 0 || len(b.Config().ActionTriggers) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.actions.callers[inst] = v
}

// action evaluates the instances of an action block.
func (p *planner) action(n *graph.Node, b *eval.Block) error {
	exp, diags := b.Expand()
	if exp.Deferred() {
		b.HoldWhole()
		return nil
	}
	if err := p.walk.Report(diags); err != nil {
		return err
	}
	if len(exp.Keys) > 0 {
		b.Prepare()
	}
	keys := slices.DeleteFunc(slices.Clone(exp.Keys), func(k addr.Key) bool {
		return !p.targets.Wants(b.Slot, b.Addr().Instance(k))
	})
	n.FanOut(len(keys), func(i int) error {
		inst := b.Addr().Instance(keys[i])
		err := p.readyAction(b, keys[i])
		if isPostponed(err) {
			p.mu.Lock()
			b.HoldDeferred(inst)
			p.mu.Unlock()
		}
		return p.putOff(addr.Object{Instance: inst}, b.Slot.ProviderConfig, err)
	}, func() error {
		values := map[addr.Key]cty.Value{}
		for _, key := range exp.Keys {
			values[key] = cty.EmptyObjectVal
		}
		b.Set(exp, values)
		return nil
	})
	return nil
}

// readyAction evaluates an instance of an action block.
func (p *planner) readyAction(b *eval.Block, key addr.Key) error {
	cfg, err := b.ConfiguredBy(key)
	if err != nil {
		return err
	}
	prov, err := p.provider(cfg)
	if err != nil {
		return err
	}
	a := &readyAction{b: b, cfg: cfg, prov: prov}
	if len(b.Slot.CalledBy) == 0 {
		if a.config, a.marks, err = p.configuration(b, key, prov); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.actions.ready[b.Addr().Instance(key)] = a
	return nil
}

// planActions plans the invocations of actions: those that changes trigger, and those that were requested.
func (p *planner) planActions() error {
	if p.opts.Mode == plan.Normal || p.opts.Mode == plan.Destroy {
		slices.SortFunc(p.changes, compareChanges)
		for _, c := range p.changes {
			if err := p.planTriggers(c); err != nil {
				return err
			}
		}
	}
	if len(p.opts.Invoke) == 0 {
		return nil
	}
	for a := range p.actions.ready {
		if p.targets.Contains(a) {
			p.actions.order = append(p.actions.order, a)
		}
	}
	if len(p.actions.order) == 0 {
		return p.walk.Report(p.nothingToInvoke())
	}
	slices.SortFunc(p.actions.order, addr.AbsResourceInstance.Compare)
	for _, a := range p.actions.order {
		if err := p.invokeAsked(a); err != nil {
			return err
		}
	}
	return nil
}

// invokeAsked plans the invocation of a requested action: once or, if it refers to its caller, for each mention of it
// by an object.
func (p *planner) invokeAsked(a addr.AbsResourceInstance) error {
	callers := p.actions.ready[a].b.Slot.CalledBy
	if len(callers) == 0 {
		return p.invoke(a, &plan.Invocation{Action: a}, cty.NilVal, false)
	}
	insts := slices.SortedFunc(maps.Keys(p.actions.callers), addr.AbsResourceInstance.Compare)
	for _, caller := range callers {
		found := false
		for _, inst := range insts {
			if inst.AbsResource() != (addr.AbsResource{Module: a.Module, Resource: caller.Resource.Addr}) {
				continue
			}
			found = true
			if p.actions.only != nil && !p.actions.only.Contains(inst) {
				continue
			}
			named, diags := p.actions.triggers[inst.AbsResource()].Named(inst.Key)
			if err := p.walk.Report(diags); err != nil {
				return err
			}
			for _, n := range named {
				if n != a {
					continue
				}
				i := &plan.Invocation{Action: a, Caller: inst}
				if err := p.invoke(a, i, p.actions.callers[inst], false); err != nil {
					return err
				}
			}
		}
		if !found {
			return p.walk.Report(diag.List{}.Errorf(nil, "Partially applied configuration",
				"%s refers to its caller, and %s does not exist yet. Apply the configuration before you invoke the "+
					"action.", a, caller.Resource.Addr))
		}
	}
	return nil
}

// nothingToInvoke returns errors for requested addresses at which the configuration has no action, or not the instance
// that they name.
func (p *planner) nothingToInvoke() (diags diag.List) {
	for _, t := range p.opts.Invoke {
		r := addr.AbsResource{Module: t.Module, Resource: t.Resource}
		slot := p.prog.ResourceSlot(r.Config())
		if slot == nil {
			return diags.Errorf(nil, fmt.Sprintf("action %s does not exist in the configuration", t),
				"-invoke needs the address of an action block, such as action.TYPE.NAME, or of one of its instances.")
		}
		if !t.HasKey && t.Module.String() == t.Module.Config().String() {
			continue // all of its instances: there are none
		}
		diags = diags.Errorf(slot.Resource.DeclRange.Ptr(), "Invalid action", "There is no %s: the action has no "+
			"instance with that key.", t)
	}
	return diags
}

// planTriggers plans the actions that a change triggers.
func (p *planner) planTriggers(c *plan.Change) error {
	b := p.actions.triggers[c.Object.Instance.AbsResource()]
	if b == nil || c.Object.Deposed != "" {
		return nil
	}
	var events []config.ActionEvent
	switch c.Action {
	case plan.Create:
		events = []config.ActionEvent{config.BeforeCreate, config.AfterCreate}
	case plan.DeleteThenCreate, plan.CreateThenDelete:
		events = []config.ActionEvent{config.BeforeCreate, config.AfterCreate, config.BeforeDestroy,
			config.AfterDestroy}
	case plan.ForgetThenCreate:
		events = []config.ActionEvent{config.BeforeCreate, config.AfterCreate}
	case plan.Delete:
		events = []config.ActionEvent{config.BeforeDestroy, config.AfterDestroy}
	case plan.Update:
		events = []config.ActionEvent{config.BeforeUpdate, config.AfterUpdate}
	default:
		return nil
	}
	before := value.MarkAt(c.Before.Value, value.Sensitive, c.Before.Sensitive)
	after := value.MarkAt(c.After.Value, value.Sensitive, c.After.Sensitive)
	orphan := c.Action == plan.Delete && p.opts.Mode == plan.Normal
	invoked, diags := b.Invoked(c.Object.Instance.Key, after, events...)
	if err := p.walk.Report(diags); err != nil {
		return err
	}
	for _, i := range invoked {
		t := &plan.ActionTrigger{Resource: c.Object.Instance, Event: planEvents[i.Event], Before: i.Event.Before(),
			Block: i.Trigger, Index: i.Index, OnFailure: string(i.OnFailure), Undecided: i.Undecided,
			Range: i.Range}
		caller := after
		if i.Event.OfDestruction() {
			caller = before
		}
		if err := p.invoke(i.Action, &plan.Invocation{Action: i.Action, Trigger: t}, caller, orphan); err != nil {
			return err
		}
	}
	return nil
}

var planEvents = map[config.ActionEvent]plan.ActionEvent{
	config.BeforeCreate: plan.BeforeCreate, config.AfterCreate: plan.AfterCreate,
	config.BeforeUpdate: plan.BeforeUpdate, config.AfterUpdate: plan.AfterUpdate,
	config.BeforeDestroy: plan.BeforeDestroy, config.AfterDestroy: plan.AfterDestroy,
}

// invoke plans one invocation: it asks the provider whether the action can be invoked. caller is the value of the
// object that it is for, and orphan means that this object is destroyed because it is no longer in the configuration.
func (p *planner) invoke(a addr.AbsResourceInstance, i *plan.Invocation, caller cty.Value,
	orphan bool) error {
	ready, t := p.actions.ready[a], i.Trigger
	if ready == nil {
		return nil // it is excluded, or its problem was reported
	}
	ready, err := p.forCaller(ready, a.Key, caller)
	if err != nil {
		return err
	}
	if t == nil && !ctyfast.WhollyKnown(ready.config) {
		at := ready.b.Slot.Resource.DeclRange.Ptr()
		return p.walk.Report(diag.List{}.Errorf(at, "Partially applied configuration",
			"The configuration of %s refers to objects that do not exist yet, so it has values that are known only "+
				"after apply. Apply the configuration before you invoke the action.", a))
	}
	if t != nil && t.Event.OfDestruction() {
		if orphan && !ctyfast.WhollyKnown(ready.config) {
			return p.walk.Report(ready.unknownAtEnd(a, t))
		}
		if err := p.walk.Report(ready.settled(a, t)); err != nil {
			return err
		}
	}
	cfg := ready.cfg
	prov, err := p.provider(cfg)
	if err != nil {
		return err
	}
	var resp provider.PlanActionResponse
	if err := p.Call(func() {
		resp = prov.PlanAction(p.calls, provider.PlanActionRequest{Type: a.Resource.Type, Config: ready.config,
			Client: p.client()})
	}); err != nil {
		return err
	}
	if later := p.postpones(cfg, resp.Deferred, resp.Diagnostics); later != nil && t != nil {
		caller := p.actions.triggers[t.Resource.AbsResource()]
		p.again[caller.Instance.DeferralOf(caller.Slot)] = a.String()
		return nil
	}
	diags := resp.Diagnostics.Extend(value.Undeferred(addr.Object{Instance: a}, cfg, resp.Deferred))
	if err := p.walk.Report(locateAction(ready.b, a, t, "Failed to plan action", diags)); err != nil {
		return err
	}
	i.Provider, i.Type = cfg, ready.b.Slot.Type.Block.ImpliedType()
	i.Config = plan.Value{Value: ready.config, Sensitive: ready.marks.Sensitive}
	p.invocations = append(p.invocations, i)
	return nil
}

// unknownAtEnd warns that an object that is no longer in the configuration is destroyed without an action whose
// configuration is unknown.
func (r *readyAction) unknownAtEnd(a addr.AbsResourceInstance, t *plan.ActionTrigger) (diags diag.List) {
	diags = diags.Warnf(nil, "Orphaned action failed to plan", "%s is no longer configured and will be destroyed, "+
		"but %s, whose trigger is that destruction, will not be invoked.", t.Resource, a)
	return diags.Warnf(r.b.Slot.Resource.DeclRange.Ptr(), "Unknown action config", "%s is to be invoked when %s is "+
		"destroyed, and its configuration has values that are known only after apply. Use values that are known "+
		"while planning.", a, t.Resource)
}

// settled returns the problems that prevent an action on the destruction of an object: nothing is evaluated then, so
// the plan must have the whole configuration.
func (r *readyAction) settled(a addr.AbsResourceInstance, t *plan.ActionTrigger) (diags diag.List) {
	at := t.Range.Ptr()
	if !ctyfast.WhollyKnown(r.config) {
		diags = diags.Errorf(at, "Unknown action config", "%s is to be invoked when %s is destroyed, and its "+
			"configuration has values that are known only after apply. Use values that are known while planning.",
			a, t.Resource)
	}
	if len(r.marks.Ephemeral) > 0 {
		diags = diags.Errorf(at, "Action config contains ephemeral values", "%s is to be invoked when %s is "+
			"destroyed, and its configuration has ephemeral values, which a plan does not keep.", a, t.Resource)
	}
	return diags
}

// locateAction returns problems of an action with a range: that of the trigger or of the action's block.
func locateAction(b *eval.Block, a addr.AbsResourceInstance, t *plan.ActionTrigger, summary string,
	diags diag.List) diag.List {
	if t == nil {
		return b.Locate(diags, a.Key)
	}
	out := make(diag.List, 0, len(diags))
	for _, d := range diags {
		moved := *d
		if d.Severity == diag.Error {
			moved.Summary, moved.Detail = summary, strings.TrimSuffix(d.Summary+": "+d.Detail, ": ")
		}
		moved.Subject, moved.Path = t.Range.Ptr(), nil
		out = append(out, &moved)
	}
	return out
}
