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

// actionTriggers adds what the action_trigger blocks of a resource mention. Actions of an event before the change come
// before the resource. The others and all conditions come later, so that they may refer to it.
func (l *linker) actionTriggers(s *Slot) {
	late := &linker{p: l.p, u: l.u, s: s, deps: map[int]bool{}, late: true}
	refs := s.Refs
	s.Refs = nil
	for _, t := range s.Resource.ActionTriggers {
		for _, e := range t.Actions {
			l.actionReference(late, t, e)
		}
		if t.Condition != nil {
			late.traversals(t, funcs.Mentions(t.Condition))
		}
	}
	s.LateRefs, s.Refs = s.Refs, refs
	s.late = sortedKeys(late.deps)
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

// invokes reports whether a trigger of the resource names an action.
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

// resolveCaller checks a reference to the object that an action is invoked for: its attribute must be one of every
// resource that invokes the action.
func (l *linker) resolveCaller(ref addr.Reference, undeclared problemAt) (diags diag.List) {
	if len(l.callers) == 0 {
		return undeclared(`Invalid "caller" reference`, `"caller" is the object that an action is invoked for. It can `+
			`be used in the config block of an action that the action_trigger block of a resource names, and nowhere `+
			`else.`)
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

// ActsAtEnd reports whether the end of an object of the block triggers actions.
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
			continue // the loader has reported it
		}
		late.deps[i] = true
		if t.Before() {
			l.deps[i] = true
		}
	}
}
