package eval

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
)

// Hold determines which blocks are excluded because they depend on instances that the driver of a walk excludes (see
// Block.Hold).
type Hold uint8

// The settings. HoldDependents excludes everything that depends on such an instance, directly or indirectly: blocks,
// modules through their calls, provider configurations with all their objects, and values. In a repeated module, only
// the same module instance is affected. HoldOutputs evaluates everything, and excludes only the output values of the
// root module.
const (
	HoldNothing Hold = iota
	HoldDependents
	HoldOutputs
)

// Hold reports, before Set, that the driver excludes an instance of the block: then its dependents are held. Of several
// instances, the one with the lowest address is recorded as the cause.
func (b *Block) Hold(a addr.AbsResourceInstance) {
	held := b.Instance.held
	if held == nil {
		return
	}
	if first := held[b.Slot.Index]; first == nil || a.Compare(*first) < 0 {
		held[b.Slot.Index] = &a
	}
}

// cause returns the instance that holds a slot, or nil. All dependencies of the slot must have ended.
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

// unlessHeld wraps the work of a slot in a walk with held slots.
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

// HeldBlock returns the instance that is the cause why a block, or a module around it, is excluded or excludes others,
// or nil. Call it after the walk.
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

// HeldProvider returns the instance because of which a provider configuration is not evaluated, or nil.
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

// EachHeld calls f with every held slot of the walk and its cause. Call it after the walk.
func (w *Walk) EachHeld(f func(i *Instance, s *linking.Slot, cause addr.AbsResourceInstance)) {
	for _, i := range w.instances {
		for n, c := range i.held {
			if c != nil {
				f(i, i.Unit.Slots()[n], *c)
			}
		}
	}
}
