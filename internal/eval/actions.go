package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// Invoked is an action that a trigger of an instance invokes.
type Invoked struct {
	Action addr.AbsResourceInstance
	Event  config.ActionEvent
	// Trigger is the number of the action_trigger block in its lifecycle block, Index that of the action in its list.
	Trigger, Index int
	OnFailure      config.OnActionFailure
	// Undecided means that the condition of the trigger is unknown.
	Undecided bool
	Range     hcl.Range
}

// Invoked returns the actions that the triggers of one instance invoke for the given events, event by event in
// configuration order. object is the planned value of the instance. It must only be called after the walk.
func (b *Block) Invoked(key addr.Key, object cty.Value, events ...config.ActionEvent) (out []Invoked,
	diags diag.List,
) {
	if len(b.Slot.Resource.ActionTriggers) == 0 {
		return nil, nil
	}
	ctx := b.triggerContext(key)
	judging := withCaller(withSelf(ctx, object), object)
	holds := make([]cty.Value, len(b.Slot.Resource.ActionTriggers))
	for i, t := range b.Slot.Resource.ActionTriggers {
		if holds[i] = cty.False; !fires(t, events) {
			continue
		}
		d := b.Slot.Faulty(t)
		if !d.HasErrors() {
			holds[i], d = triggerHolds(t, judging)
		}
		diags = diags.Extend(d)
	}
	for _, event := range events {
		for i, t := range b.Slot.Resource.ActionTriggers {
			undecided := !holds[i].IsKnown()
			if !undecided && holds[i].False() || !fires(t, []config.ActionEvent{event}) {
				continue
			}
			for n, e := range t.Actions {
				a, d := b.actionAt(e, ctx)
				if diags = diags.Extend(d); !d.HasErrors() {
					out = append(out, Invoked{Action: a, Event: event, Trigger: i, Index: n,
						OnFailure: t.OnFailure, Undecided: undecided, Range: e.Range()})
				}
			}
		}
	}
	return out, diags
}

func (b *Block) triggerContext(key addr.Key) *hcl.EvalContext {
	return b.exp.Repetition(key).Context(b.Instance.Scope(b.Slot.LateRefs))
}

// Holds evaluates the condition of the numbered trigger that the plan did not decide. object is the value of the
// changed instance. All values in the condition must be known, except those that are only known after the change.
func (b *Block) Holds(key addr.Key, trigger int, object cty.Value) (cty.Value, diag.List) {
	ctx := b.triggerContext(key)
	return triggerHolds(b.Slot.Resource.ActionTriggers[trigger], withCaller(withSelf(ctx, object), object))
}

// Named returns the actions that the triggers of one instance refer to, for any event, once for each mention.
func (b *Block) Named(key addr.Key) (out []addr.AbsResourceInstance, diags diag.List) {
	ctx := b.triggerContext(key)
	for _, t := range b.Slot.Resource.ActionTriggers {
		for _, e := range t.Actions {
			a, d := b.actionAt(e, ctx)
			if diags = diags.Extend(d); !d.HasErrors() {
				out = append(out, a)
			}
		}
	}
	return out, diags
}

// TriggerFaults returns the problems of a block's triggers that can be found without evaluation.
func (b *Block) TriggerFaults() (diags diag.List) {
	for _, t := range b.Slot.Resource.ActionTriggers {
		diags = diags.Extend(b.Slot.Faulty(t))
	}
	return diags
}

func fires(t *config.ActionTrigger, events []config.ActionEvent) bool {
	for _, e := range t.Events {
		for _, want := range events {
			if e == want {
				return true
			}
		}
	}
	return false
}

// triggerHolds evaluates the condition of a trigger to true, false or an unknown value. A null condition is false.
func triggerHolds(t *config.ActionTrigger, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	if t.Condition == nil {
		return cty.True, nil
	}
	at := t.Condition.Range()
	v, hclDiags := funcs.Evaluate(t.Condition, ctx)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return cty.False, diags
	}
	v, _ = v.UnmarkDeep()
	is, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return cty.False, diags.Errorf(&at, "Incorrect condition type",
			"The condition of a trigger must be true or false.")
	case is.IsKnown() && is.IsNull():
		return cty.False, diags
	}
	return is, diags
}

// actionAt returns the instance that an element of actions refers to.
func (b *Block) actionAt(e hcl.Expression, ctx *hcl.EvalContext) (addr.AbsResourceInstance, diag.List) {
	traversal, diags := staticTraversal(e, ctx)
	if diags.HasErrors() {
		return addr.AbsResourceInstance{}, diags
	}
	ref, diags := addr.ParseReference(traversal)
	at := e.Range()
	if diags.HasErrors() || ref.Kind != addr.RefResource || len(ref.Remaining) > 0 {
		return addr.AbsResourceInstance{}, diags.Errorf(&at, "Invalid action argument inside action_triggers",
			"Each element of actions must be the address of an action in this module: action.TYPE.NAME, with a key "+
				"if it has instances.")
	}
	a := addr.AbsResource{Module: b.Instance.Addr, Resource: ref.Resource}
	exp, ok := b.Instance.walk.Expansion(a)
	if !ok || !exp.Has(ref.Key) {
		return addr.AbsResourceInstance{}, diags.Errorf(&at, "Reference to non-existent action instance",
			"There is no %s. Only actions with count or for_each have instances with keys.",
			a.Instance(ref.Key))
	}
	return a.Instance(ref.Key), nil
}
