package eval

import (
	"cmp"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
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

// Cause is the reason why a slot is held: an instance that the driver excludes, or something that is deferred. One of
// the fields is set.
type Cause struct {
	Excluded addr.AbsResourceInstance
	Deferred string // its address; see Instance.DeferralOf
}

// String returns the address.
func (c Cause) String() string {
	if c.Deferred != "" {
		return c.Deferred
	}
	return c.Excluded.String()
}

// compare orders causes: excluded instances first.
func (c Cause) compare(other Cause) int {
	switch {
	case c.Deferred != "" && other.Deferred != "":
		return cmp.Compare(c.Deferred, other.Deferred)
	case c.Deferred != "":
		return 1
	case other.Deferred != "":
		return -1
	}
	return c.Excluded.Compare(other.Excluded)
}

// LateCause returns the cause why something is held that the triggers of the block refer to, or nil. Call it after the
// walk: the block does not wait for these slots.
func (b *Block) LateCause() *Cause {
	i := b.Instance
	if i.held == nil {
		return nil
	}
	for _, s := range b.Slot.Late() {
		if c := i.held[s.Index]; c != nil {
			return c
		}
	}
	return nil
}

// Hold reports, before Set, that the driver excludes an instance of the block: then its dependents are held. Of several
// instances, the one with the lowest address is recorded as the cause.
func (b *Block) Hold(a addr.AbsResourceInstance) {
	b.hold(Cause{Excluded: a})
}

// HoldDeferred reports, before Set, that the driver defers an instance of the block. It is like Hold otherwise.
func (b *Block) HoldDeferred(a addr.AbsResourceInstance) {
	b.hold(Cause{Deferred: a.String()})
}

func (b *Block) hold(c Cause) {
	held := b.Instance.held
	if held == nil {
		return
	}
	if first := held[b.Slot.Index]; first == nil || c.compare(*first) < 0 {
		held[b.Slot.Index] = &c
	}
}

// HoldWhole holds the block itself, because its instances are unknown, and returns its address. The driver does nothing
// else for the block.
func (b *Block) HoldWhole() string { return b.Instance.holdWhole(b.Slot) }

// holdWhole holds a slot whose expansion is unknown.
func (i *Instance) holdWhole(s *linking.Slot) string {
	c := Cause{Deferred: i.DeferralOf(s)}
	if i.held[s.Index] = &c; i.walk.Inputs.Hold == HoldDependents {
		i.values[s.Index] = cty.DynamicVal
		i.walk.noteHeld(s)
	}
	return c.Deferred
}

// DeferralOf returns the address of a slot with all its instances, for deferrals; "" for other kinds of slots.
func (i *Instance) DeferralOf(s *linking.Slot) string {
	address := ""
	switch s.Kind {
	case linking.SlotResource:
		address = addr.AbsResource{Module: i.Addr, Resource: s.Resource.Addr}.String()
	case linking.SlotCall:
		address = i.Addr.Child(s.Name, addr.NoKey).String()
	case linking.SlotProvider:
		address = s.ConfiguredAs().String()
	case linking.SlotImport:
		if address = "import of " + s.Import.To.String(); i.parent != nil {
			address += " in " + i.Addr.String()
		}
	default:
		return ""
	}
	if s.Repeats() {
		address += "[*]"
	}
	return address
}

// deferred reports whether the diagnostics only say that something is unknown, in a walk that defers: then it holds the
// slot.
func (i *Instance) deferred(s *linking.Slot, diags diag.List) bool {
	if !i.walk.Inputs.Defers || !onlyUnknown(diags) {
		return false
	}
	i.holdWhole(s)
	return true
}

// preset returns the cause why a slot is held from the start, or nil.
func (i *Instance) preset(s *linking.Slot) *Cause {
	if len(i.walk.Inputs.Deferred) == 0 {
		return nil
	}
	if a := i.DeferralOf(s); i.walk.Inputs.Deferred[a] {
		return &Cause{Deferred: a}
	}
	return nil
}

// noteHeld records that a slot is held in some instance of its module.
func (w *Walk) noteHeld(s *linking.Slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.heldSlots == nil {
		w.heldSlots = map[*linking.Slot]bool{}
	}
	w.heldSlots[s] = true
}

// cause returns the reason why a slot is held, or nil. All dependencies of the slot must have ended.
func (i *Instance) cause(s *linking.Slot) (first *Cause) {
	see := func(at *Instance, slot *linking.Slot) {
		if c := at.held[slot.Index]; c != nil && (first == nil || c.compare(*first) < 0) {
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
		c := i.preset(s)
		if c == nil {
			c = i.cause(s)
		}
		if c == nil {
			return work(n)
		}
		i.held[s.Index] = c
		if !all && (s.Kind != linking.SlotOutput || i.parent != nil) {
			return work(n)
		}
		i.values[s.Index] = cty.DynamicVal
		i.walk.noteHeld(s)
		return nil
	}
}

// HeldBlock returns the cause why a block, or a module around it, is excluded or excludes others, or nil. Call it after
// the walk.
func (w *Walk) HeldBlock(r addr.AbsResource) *Cause {
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

// HeldProvider returns the cause why a provider configuration is not evaluated, or nil.
func (w *Walk) HeldProvider(a addr.AbsProviderConfig) *Cause {
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
func (w *Walk) EachHeld(f func(i *Instance, s *linking.Slot, cause Cause)) {
	for _, i := range w.instances {
		for n, c := range i.held {
			if c != nil {
				f(i, i.Unit.Slots()[n], *c)
			}
		}
	}
}
