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

// Invoked is an action that a trigger of an instance names.
type Invoked struct {
	Action addr.AbsResourceInstance
	Event  config.ActionEvent
	// Trigger is the number of the action_trigger block in its lifecycle block, Index that of the action in its list.
	Trigger, Index int
	OnFailure      config.OnActionFailure
	Range          hcl.Range
}

// Invoked returns the actions that the triggers of one instance name for some events, in the order of the
// configuration: event by event as they are given. It is for walks that have ended, or for a block whose conditions and
// keys must be known now.
func (b *Block) Invoked(key addr.Key, events ...config.ActionEvent) (out []Invoked, diags diag.List) {
	if len(b.Slot.Resource.ActionTriggers) == 0 {
		return nil, nil
	}
	ctx := b.exp.Repetition(key).Context(b.Instance.Scope(b.Slot.LateRefs))
	holds := make([]bool, len(b.Slot.Resource.ActionTriggers))
	for i, t := range b.Slot.Resource.ActionTriggers {
		var d diag.List
		if !fires(t, events) {
			continue
		}
		if d = b.Slot.Faulty(t); !d.HasErrors() {
			holds[i], d = triggerHolds(t, ctx)
		}
		diags = diags.Extend(d)
	}
	for _, event := range events {
		for i, t := range b.Slot.Resource.ActionTriggers {
			if !holds[i] || !fires(t, []config.ActionEvent{event}) {
				continue
			}
			for n, e := range t.Actions {
				a, d := b.actionAt(e, ctx)
				if diags = diags.Extend(d); !d.HasErrors() {
					out = append(out, Invoked{Action: a, Event: event, Trigger: i, Index: n,
						OnFailure: t.OnFailure, Range: e.Range()})
				}
			}
		}
	}
	return out, diags
}

// Named returns the actions that the triggers of one instance name, for any event, once for each mention.
func (b *Block) Named(key addr.Key) (out []addr.AbsResourceInstance, diags diag.List) {
	ctx := b.exp.Repetition(key).Context(b.Instance.Scope(b.Slot.LateRefs))
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

// TriggerFaults returns the problems of a block's triggers before anything is evaluated.
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

// triggerHolds evaluates the condition of a trigger.
func triggerHolds(t *config.ActionTrigger, ctx *hcl.EvalContext) (bool, diag.List) {
	if t.Condition == nil {
		return true, nil
	}
	at := t.Condition.Range()
	v, hclDiags := funcs.Evaluate(t.Condition, ctx)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return false, diags
	}
	v, _ = v.UnmarkDeep()
	if !v.IsKnown() {
		return false, diags.Errorf(&at, "Condition must be known",
			"The condition of a trigger is evaluated during planning, but it depends on a value that is known only "+
				"after apply.")
	}
	is, err := convert.Convert(v, cty.Bool)
	if err != nil || is.IsNull() {
		return false, diags.Errorf(&at, "Incorrect condition type",
			"The condition of a trigger must be true or false.")
	}
	return is.True(), diags
}

// actionAt finds the instance that an element of actions names.
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
