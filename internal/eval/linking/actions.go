package linking

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/config"
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
