package linking

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// actionTriggers adds the references of the action_trigger blocks of a resource. Actions and conditions for an event
// before the change are evaluated before the resource. All others are evaluated after it, so that they may refer to it.
func (l *linker) actionTriggers(s *Slot) {
	late := &linker{p: l.p, u: l.u, s: s, deps: map[int]bool{}}
	refs := s.Refs
	s.Refs = nil
	for _, t := range s.Resource.ActionTriggers {
		late.late = !t.Before()
		for _, e := range t.Actions {
			l.actionReference(late, t, e)
		}
		if t.Condition != nil {
			l.triggerCondition(late, t)
		}
	}
	s.LateRefs, s.Refs = s.Refs, refs
	s.late = sortedKeys(late.deps)
}

// triggerCondition adds the references in the condition of a trigger. It may use self and caller: the changed object.
func (l *linker) triggerCondition(late *linker, t *config.ActionTrigger) {
	own := &linker{p: l.p, u: l.u, s: l.s, deps: map[int]bool{}, late: late.late, self: true, judged: true}
	own.traversals(t, funcs.Mentions(t.Condition))
	for i := range own.deps {
		late.deps[i] = true
		if t.Before() {
			l.deps[i] = true
		}
	}
}

// Late returns the slots that the triggers of a resource refer to. They have been evaluated when the triggers are.
func (s *Slot) Late() []*Slot {
	list := make([]*Slot, len(s.late))
	for n, i := range s.late {
		list[n] = s.unit.slots[i]
	}
	return list
}

// callersOf returns the resources whose triggers invoke an action.
func (l *linker) callersOf(s *Slot) (list []*Slot) {
	if s.Resource.Addr.Mode != addr.Action {
		return nil
	}
	for _, r := range l.u.slots {
		if r.Kind == SlotResource && r.invokes(s.Resource.Addr) {
			list = append(list, r)
		}
	}
	return list
}

// invokes reports whether a trigger of the resource invokes an action.
func (s *Slot) invokes(action addr.Resource) bool {
	for _, t := range s.Resource.ActionTriggers {
		for _, e := range t.Actions {
			for _, traversal := range funcs.Mentions(e) {
				if ref, d := addr.ParseReference(traversal); !d.HasErrors() && ref.Resource == action {
					return true
				}
			}
		}
	}
	return false
}

// resolveCaller checks a reference to the object that an action is invoked for: every resource that invokes the action
// must have the attribute.
func (l *linker) resolveCaller(ref addr.Reference, undeclared problemAt) (diags diag.List) {
	if l.judged {
		if l.s.Type == nil {
			return nil
		}
		return blocks.StaticTraversal(ref.Remaining, l.s.Type.Block)
	}
	if len(l.callers) == 0 {
		return undeclared(`Invalid "caller" reference`, `"caller" is the object that an action is invoked for. It can `+
			`be used in the config block of an action that the action_trigger block of a resource names, and in the `+
			`condition of that block.`)
	}
	l.s.CalledBy = l.callers
	for _, r := range l.callers {
		if r.Type == nil {
			continue
		}
		if diags = blocks.StaticTraversal(ref.Remaining, r.Type.Block); diags.HasErrors() {
			return diags
		}
	}
	return diags
}

// ActsAtEnd reports whether destroying an object of the block triggers actions.
func (s *Slot) ActsAtEnd() bool {
	return s.Kind == SlotResource &&
		slices.ContainsFunc(s.Resource.ActionTriggers, (*config.ActionTrigger).OfDestruction)
}

// actionReference adds one action of a trigger.
func (l *linker) actionReference(late *linker, t *config.ActionTrigger, e hcl.Expression) {
	for _, traversal := range funcs.Mentions(e) {
		ref, d := addr.ParseReference(traversal)
		if d.HasErrors() || ref.Kind != addr.RefResource {
			late.traversals(t, []hcl.Traversal{traversal})
			continue
		}
		i, ok := l.u.Resources[ref.Resource]
		if !ok {
			continue // reported by the loader
		}
		late.deps[i] = true
		if t.Before() {
			l.deps[i] = true
		}
	}
}
