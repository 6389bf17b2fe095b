package linking

import (
	"iter"
)

// Need is a dependency of a slot: another slot, in one or several instances of its module.
type Need struct {
	Slot *Slot
	// Each means that the dependency is the slot in every instance of the module that the dependent slot calls.
	// Otherwise it is the slot in the one instance of its module that is, or encloses, that of the dependent slot.
	Each bool
}

// Needs yields the dependencies of a slot. All other relations are derived from it: the search for cycles, the order
// within a module, the dependencies in the state, the closure of targets and the nodes of a walk.
func (p *Program) Needs(s *Slot) iter.Seq[Need] {
	return func(yield func(Need) bool) {
		for n := range p.slotNeeds(s) {
			if !yield(n) {
				return
			}
		}
		if up := s.unit.Parent; up != nil {
			// Everything within a module waits for its expansion.
			yield(Need{Slot: up.slots[up.CallSlots[s.unit.Module.Call.Name]]})
		}
	}
}

// slotNeeds yields the dependencies of the slot itself.
func (p *Program) slotNeeds(s *Slot) iter.Seq[Need] {
	return func(yield func(Need) bool) {
		if !yieldAll(yield, s.unit, s.deps) || !yieldAll(yield, s.unit.Parent, s.outer) {
			return
		}
		switch s.Kind {
		case SlotCallOutput:
			child := s.unit.Calls[s.Call.Name]
			yield(Need{Slot: child.slots[child.Outputs[s.Name]], Each: true})
		case SlotCallClose:
			s.closeNeeds(yield)
		case SlotResource:
			p.resourceNeeds(s, yield)
		}
	}
}

// yieldAll yields slots of a module by their indexes, and reports whether to continue.
func yieldAll(yield func(Need) bool, u *Unit, indexes []int) bool {
	for _, i := range indexes {
		if !yield(Need{Slot: u.slots[i]}) {
			return false
		}
	}
	return true
}

// closeNeeds yields the dependencies of the end of a call: everything in the module. Unused arguments are included, too
// (modules/unused_arguments_are_dependencies).
func (s *Slot) closeNeeds(yield func(Need) bool) {
	child := s.unit.Calls[s.Call.Name]
	if child == nil {
		return
	}
	for _, c := range child.slots {
		if c.Kind != SlotCallOutput && !yield(Need{Slot: c, Each: true}) {
			return
		}
	}
}

// resourceNeeds yields the provider configuration of a resource, and the references of its import blocks.
func (p *Program) resourceNeeds(s *Slot, yield func(Need) bool) {
	if s.ProviderUnit != nil && s.ProviderSlot >= 0 && !yieldAll(yield, s.ProviderUnit, []int{s.ProviderSlot}) {
		return
	}
	for _, d := range s.imports {
		if !yield(Need{Slot: p.bySlotNumber(d)}) {
			return
		}
	}
}

// edges returns the numbers of the slots that a slot depends on, over the whole program.
func (p *Program) edges(s *Slot) []int {
	out := make([]int, 0, len(s.deps)+len(s.outer)+2)
	for n := range p.Needs(s) {
		out = append(out, n.Slot.number())
	}
	return out
}

// number returns the number of a slot in the whole program.
func (s *Slot) number() int { return s.unit.base + s.Index }

// sort orders the slots of a module so that each comes after its dependencies within the module.
func (p *Program) sort(u *Unit) {
	within := func(s *Slot) (out []int) {
		for n := range p.Needs(s) {
			if n.Slot.unit == u && !n.Each {
				out = append(out, n.Slot.Index)
			}
		}
		return out
	}
	seen := make([]bool, len(u.slots))
	type frame struct {
		slot, next int
		deps       []int
	}
	for i := range u.slots {
		if seen[i] {
			continue
		}
		stack := []frame{{i, 0, within(u.slots[i])}}
		seen[i] = true
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next < len(f.deps) {
				d := f.deps[f.next]
				f.next++
				if !seen[d] {
					seen[d] = true
					stack = append(stack, frame{d, 0, within(u.slots[d])})
				}
				continue
			}
			u.Order = append(u.Order, f.slot)
			stack = stack[:len(stack)-1]
		}
	}
}
