package eval

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
)

// Hold decides about blocks that depend on instances which the driver of a walk leaves alone (see Block.Hold).
type Hold uint8

// The decisions. HoldDependents leaves out everything that depends on such an instance, directly or not: blocks,
// modules by their calls, provider configurations with all their objects, values. Of a repeated module only the
// instance around it is concerned. HoldOutputs evaluates everything, and leaves out only the output values of the root
// module.
const (
	HoldNothing Hold = iota
	HoldDependents
	HoldOutputs
)

// Hold reports, before Set, that the driver leaves an instance of the block alone: dependents of the block are held. Of
// several instances, the least address counts.
func (b *Block) Hold(a addr.AbsResourceInstance) {
	held := b.Instance.held
	if held == nil {
		return
	}
	if first := held[b.Slot.Index]; first == nil || a.Compare(*first) < 0 {
		held[b.Slot.Index] = &a
	}
}

// cause returns the instance that holds a slot, nil for none. Everything that the slot waits for has ended.
func (i *Instance) cause(s *linking.Slot) (first *addr.AbsResourceInstance) {
	see := func(at *Instance, slot *linking.Slot) {
		if c := at.held[slot.Index]; c != nil && (first == nil || c.Compare(*first) < 0) {
			first = c
		}
	}
	for n := range i.walk.Program.Needs(s) {
		if !n.Each {
			if owner := i.ancestor(n.Slot.Unit()); owner != nil {
				see(owner, n.Slot)
			}
			continue
		}
		call := i.calls[s.Call.Name]
		for _, key := range call.keys {
			see(call.children[key], n.Slot)
		}
	}
	return first
}

// unlessHeld returns the work of a slot in a walk that holds something.
func (i *Instance) unlessHeld(s *linking.Slot, work graph.Task) graph.Task {
	all := i.walk.Inputs.Hold == HoldDependents
	return func(n *graph.Node) error {
		c := i.cause(s)
		if c == nil {
			return work(n)
		}
		i.held[s.Index] = c
		if !all && (s.Kind != linking.SlotOutput || i.parent != nil) {
			return work(n)
		}
		i.values[s.Index] = cty.DynamicVal
		i.walk.mu.Lock()
		defer i.walk.mu.Unlock()
		if i.walk.heldSlots == nil {
			i.walk.heldSlots = map[*linking.Slot]bool{}
		}
		i.walk.heldSlots[s] = true
		return nil
	}
}

// HeldBlock returns the instance because of which a block, or a module around it, is left out or leaves others out; nil
// for none. Call it after the walk.
func (w *Walk) HeldBlock(r addr.AbsResource) *addr.AbsResourceInstance {
	at := w.Root
	for _, step := range r.Module.Steps() {
		slot, ok := at.Unit.CallSlots[step.Call]
		if !ok || at.held == nil {
			return nil
		}
		if c := at.held[slot]; c != nil {
			return c
		}
		if at = at.calls[step.Call].children[step.Key]; at == nil {
			return nil
		}
	}
	slot, ok := at.Unit.Resources[r.Resource]
	if !ok || at.held == nil {
		return nil
	}
	return at.held[slot]
}

// HeldProvider returns the instance because of which a provider configuration is not evaluated; nil for none.
func (w *Walk) HeldProvider(a addr.AbsProviderConfig) *addr.AbsResourceInstance {
	s := w.Program.ProviderSlot(a)
	if s == nil {
		return nil
	}
	i := w.Instance(onlyInstance(a.Module))
	if i == nil || i.held == nil {
		return nil
	}
	return i.held[s.Index]
}

// EachHeld calls f with every slot of the walk that is held, with its cause. Call it after the walk.
func (w *Walk) EachHeld(f func(i *Instance, s *linking.Slot, cause addr.AbsResourceInstance)) {
	for _, i := range w.instances {
		for n, c := range i.held {
			if c != nil {
				f(i, i.Unit.Slots()[n], *c)
			}
		}
	}
}
