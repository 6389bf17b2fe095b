package planning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// actions are collected during the walk and planned after it, when everything that triggers and conditions refer to is
// known.
type actions struct {
	triggers map[addr.AbsResource]*eval.Block // the resources that have triggers
	ready    map[addr.AbsResourceInstance]*readyAction
	order    []addr.AbsResourceInstance
}

// readyAction is an instance of an action that could be invoked.
type readyAction struct {
	b      *eval.Block
	cfg    addr.AbsProviderConfig
	config cty.Value
	marks  value.MarkedPaths
}

// action evaluates the instances of an action block.
func (p *planner) action(n *graph.Node, b *eval.Block) error {
	exp, diags := b.Expand()
	if err := p.walk.Report(diags); err != nil {
		return err
	}
	if len(exp.Keys) > 0 {
		b.Prepare()
	}
	keys := slices.DeleteFunc(slices.Clone(exp.Keys), func(k addr.Key) bool {
		return !p.targets.Wants(b.Slot, b.Addr().Instance(k))
	})
	n.Fan(len(keys), func(i int) error {
		cfg, err := b.ConfiguredBy(keys[i])
		if err != nil {
			return err
		}
		prov, err := p.provider(cfg)
		if err != nil {
			return err
		}
		a := &readyAction{b: b, cfg: cfg}
		if a.config, a.marks, err = p.configuration(b, keys[i], prov); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.actions.ready[b.Addr().Instance(keys[i])] = a
		return nil
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

// planActions plans the invocations of actions: those that changes trigger, and those that were asked for.
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
		if err := p.invoke(a, nil); err != nil {
			return err
		}
	}
	return nil
}

// nothingToInvoke reports that the configuration has no instance of an action at the address that was given.
func (p *planner) nothingToInvoke() (diags diag.List) {
	for _, t := range p.opts.Invoke {
		r := addr.AbsResource{Module: t.Module, Resource: t.Resource}
		slot := p.prog.ResourceSlot(r.Config())
		if slot == nil {
			return diags.Errorf(nil, fmt.Sprintf("action %s does not exist in the configuration", t),
				"-invoke needs the address of an action block, such as action.TYPE.NAME, or of one of its instances.")
		}
		diags = diags.Errorf(slot.Resource.DeclRange.Ptr(), "Invalid action", "There is no %s: the action has no such "+
			"instance.", t)
	}
	return diags
}

// planTriggers plans what a change triggers.
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
	invoked, diags := b.Invoked(c.Object.Instance.Key, events...)
	if err := p.walk.Report(diags); err != nil {
		return err
	}
	for _, i := range invoked {
		t := &plan.ActionTrigger{Resource: c.Object.Instance, Event: planEvents[i.Event], Before: i.Event.Before(),
			Block: i.Trigger, Index: i.Index, OnFailure: string(i.OnFailure), Range: i.Range}
		if err := p.invoke(i.Action, t); err != nil {
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

// invoke plans one invocation: the provider is asked whether it could be.
func (p *planner) invoke(a addr.AbsResourceInstance, t *plan.ActionTrigger) error {
	ready := p.actions.ready[a]
	if ready == nil {
		return nil // it is left out, or its problem was reported
	}
	if t != nil && t.Event.OfDestruction() {
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
			Client: access.Client})
	}); err != nil {
		return err
	}
	diags := resp.Diagnostics.Extend(value.Undeferred(addr.Object{Instance: a}, cfg, resp.Deferred))
	if err := p.walk.Report(locateAction(ready.b, a, t, "Failed to plan action", diags)); err != nil {
		return err
	}
	p.invocations = append(p.invocations, &plan.Invocation{Action: a, Provider: cfg, Trigger: t,
		Config: plan.Value{Value: ready.config, Sensitive: ready.marks.Sensitive},
		Type:   ready.b.Slot.Type.Block.ImpliedType()})
	return nil
}

// settled reports what keeps an action from being invoked at the end of an object: by then nothing is evaluated any
// more, so that the plan has to have the whole configuration.
func (r *readyAction) settled(a addr.AbsResourceInstance, t *plan.ActionTrigger) (diags diag.List) {
	at := t.Range.Ptr()
	if !ctyfast.WhollyKnown(r.config) {
		diags = diags.Errorf(at, "Unknown action config", "%s is to be invoked when %s is destroyed, and its "+
			"configuration holds values that are known only after apply. Use values that are known while planning.",
			a, t.Resource)
	}
	if len(r.marks.Ephemeral) > 0 {
		diags = diags.Errorf(at, "Action config contains ephemeral values", "%s is to be invoked when %s is "+
			"destroyed, and its configuration holds ephemeral values, which no plan keeps.", a, t.Resource)
	}
	return diags
}

// locateAction returns problems of an action with a place: where it is triggered, or its block.
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
