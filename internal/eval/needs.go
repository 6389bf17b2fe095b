package eval

import (
	"iter"

	"github.com/tombolo-iac/tombolo/internal/graph"
)

// need is one thing that a slot waits for: another slot, in one or several instances of its module.
type need struct {
	slot *Slot
	// each means that the slot counts in every instance of the module that the waiting slot calls. Otherwise it counts
	// in the one instance of its module that is, or encloses, the waiting one.
	each bool
}

// needs yields everything that a slot waits for. It is the only place that knows: the search for cycles, the order
// within a module, the dependencies that the state records, the closure of targets and the nodes of a walk are all made
// of it.
func (p *Program) needs(s *Slot) iter.Seq[need] {
	return func(yield func(need) bool) {
		for n := range p.slotNeeds(s) {
			if !yield(n) {
				return
			}
		}
		if up := s.unit.parent; up != nil {
			// Everything inside of a module waits for its expansion.
			yield(need{slot: up.slots[up.callSlots[s.unit.Module.Call.Name]]})
		}
	}
}

// slotNeeds yields what a slot waits for of its own account.
func (p *Program) slotNeeds(s *Slot) iter.Seq[need] {
	return func(yield func(need) bool) {
		for _, d := range s.deps {
			if !yield(need{slot: s.unit.slots[d]}) {
				return
			}
		}
		for _, d := range s.outer {
			if !yield(need{slot: s.unit.parent.slots[d]}) {
				return
			}
		}
		switch s.Kind {
		case SlotCallOutput:
			child := s.unit.calls[s.Call.Name]
			yield(need{slot: child.slots[child.outputs[s.Name]], each: true})
		case SlotCallClose:
			child := s.unit.calls[s.Call.Name]
			if child == nil {
				return
			}
			for _, c := range child.slots {
				// Arguments that nothing uses count too (modules/unused_arguments_are_dependencies).
				if c.Kind != SlotCallOutput && !yield(need{slot: c, each: true}) {
					return
				}
			}
		case SlotResource:
			if s.providerUnit != nil && s.providerSlot >= 0 &&
				!yield(need{slot: s.providerUnit.slots[s.providerSlot]}) {
				return
			}
			root := p.order[0]
			for _, d := range s.imports {
				if !yield(need{slot: root.slots[d]}) {
					return
				}
			}
		}
	}
}

// edges returns the numbers of the slots that a slot depends on, over the whole program.
func (p *Program) edges(s *Slot) []int {
	out := make([]int, 0, len(s.deps)+len(s.outer)+2)
	for n := range p.needs(s) {
		out = append(out, n.slot.number())
	}
	return out
}

// number is the number of a slot in the whole program.
func (s *Slot) number() int { return s.unit.base + s.index }

// sort orders the slots of a module so that each comes after what it depends on within the module.
func (p *Program) sort(u *Unit) {
	within := func(s *Slot) (out []int) {
		for n := range p.needs(s) {
			if n.slot.unit == u && !n.each {
				out = append(out, n.slot.index)
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
			u.topo = append(u.topo, f.slot)
			stack = stack[:len(stack)-1]
		}
	}
}

// dependencies returns the nodes that the node of a slot waits for as soon as it is made: those of the same and of
// enclosing module instances.
func (i *Instance) dependencies(s *Slot) []graph.ID {
	deps := make([]graph.ID, 0, len(s.deps)+len(s.outer)+2)
	for n := range i.walk.Program.needs(s) {
		if n.each {
			continue // see connectChildren
		}
		if owner := i.ancestor(n.slot.unit); owner != nil {
			deps = append(deps, owner.nodes[n.slot.index])
		}
	}
	return deps
}

// connectChildren makes the nodes of a module that wait for all instances of a call do so, once there are these.
func (i *Instance) connectChildren(call *Slot) {
	c := i.calls[call.Name]
	if c.unit == nil {
		return // the module is not there, which is reported when the call is evaluated
	}
	waiting := []*Slot{i.Unit.slots[i.Unit.closes[call.Name]]}
	for _, s := range c.unit.slots {
		if s.Kind == SlotOutput {
			waiting = append(waiting, i.Unit.slots[i.Unit.outSlots[[2]string{call.Name, s.Name}]])
		}
	}
	for _, s := range waiting {
		for n := range i.walk.Program.needs(s) {
			if !n.each {
				continue
			}
			for _, key := range c.keys {
				i.walk.runner.Depend(i.nodes[s.index], c.children[key].nodes[n.slot.index])
			}
		}
	}
}

// waits returns the nodes that a slot waits for, as numbers of Graph.
func (w *Walk) waits(i *Instance, s *Slot, base map[*Instance]int) []int {
	var out []int
	for n := range w.Program.needs(s) {
		if !n.each {
			if owner := i.ancestor(n.slot.unit); owner != nil {
				out = append(out, base[owner]+n.slot.index)
			}
			continue
		}
		call := i.calls[s.Call.Name]
		for _, key := range call.keys {
			out = append(out, base[call.children[key]]+n.slot.index)
		}
	}
	return out
}

// ancestor finds the instance of a module that is, or encloses, this one; nil when there is none.
func (i *Instance) ancestor(u *Unit) *Instance {
	for a := i; a != nil; a = a.parent {
		if a.Unit == u {
			return a
		}
	}
	return nil
}
