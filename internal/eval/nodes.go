package eval

import (
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
)

// dependencies returns the nodes that a new node of a slot depends on: those of the same and of enclosing module
// instances.
func (i *Instance) dependencies(s *linking.Slot) []graph.ID {
	deps := make([]graph.ID, 0, 4)
	for n := range i.walk.Program.Needs(s) {
		if n.Each {
			continue // see connectChildren
		}
		if owner := i.ancestor(n.Slot.Unit()); owner != nil {
			deps = append(deps, owner.nodes[n.Slot.Index])
		}
	}
	return deps
}

// connectChildren connects the nodes of a module that depend on all instances of a call, once these exist.
func (i *Instance) connectChildren(call *linking.Slot) {
	c := i.calls[call.Name]
	if c.unit == nil {
		return // the evaluation of the call reports the missing module
	}
	waiting := []*linking.Slot{i.Unit.Slots()[i.Unit.Closes[call.Name]]}
	for _, s := range c.unit.Slots() {
		if s.Kind == linking.SlotOutput {
			waiting = append(waiting, i.Unit.Slots()[i.Unit.CallOutputs[[2]string{call.Name, s.Name}]])
		}
	}
	for _, s := range waiting {
		for n := range i.walk.Program.Needs(s) {
			if !n.Each {
				continue
			}
			for _, key := range c.keys {
				i.walk.runner.Depend(i.nodes[s.Index], c.children[key].nodes[n.Slot.Index])
			}
		}
	}
}

// waits returns the nodes that a slot depends on, as numbers of Graph.
func (w *Walk) waits(i *Instance, s *linking.Slot, base map[*Instance]int) []int {
	var out []int
	for n := range w.Program.Needs(s) {
		if !n.Each {
			if owner := i.ancestor(n.Slot.Unit()); owner != nil {
				out = append(out, base[owner]+n.Slot.Index)
			}
			continue
		}
		call := i.calls[s.Call.Name]
		for _, key := range call.keys {
			out = append(out, base[call.children[key]]+n.Slot.Index)
		}
	}
	return out
}

// ancestor returns the instance of a module that is i or encloses it, or nil.
func (i *Instance) ancestor(u *linking.Unit) *Instance {
	for a := i; a != nil; a = a.parent {
		if a.Unit == u {
			return a
		}
	}
	return nil
}

// Closer is implemented by a Driver that opens ephemeral resources. It is called for each block after the last user of
// its value has ended without error. After the walk, the Closer closes all others, which are open because of an error
// or because a provider's configuration uses them.
type Closer interface {
	CloseEphemeral(a addr.AbsResource) error
}

// trackUsers adds a node that closes an ephemeral resource of a module instance.
func (i *Instance) trackUsers(s *linking.Slot, closer Closer) {
	users, kept := s.Users, s.Kept
	if kept || i.walk.Inputs.Only != nil && !i.walk.Inputs.Only[s] {
		return
	}
	deps := []graph.ID{i.nodes[s.Index]}
	for _, u := range users {
		if id, ok := i.nodeTowards(u); ok {
			deps = append(deps, id)
		}
	}
	i.walk.runner.Add(func(*graph.Node) error {
		return closer.CloseEphemeral(addr.AbsResource{Module: i.Addr, Resource: s.Resource.Addr})
	}, deps...)
}

// nodeTowards returns the node that ends a slot: its own in this instance or an enclosing one, otherwise that of the
// call on the path to it.
func (i *Instance) nodeTowards(s *linking.Slot) (graph.ID, bool) {
	for at := i; at != nil; at = at.parent {
		if at.Unit == s.Unit() {
			return at.nodes[s.Index], true
		}
		for u := s.Unit(); u.Parent != nil; u = u.Parent {
			if u.Parent == at.Unit {
				return at.nodes[at.Unit.Closes[u.Module.Call.Name]], true
			}
		}
	}
	return 0, false
}
