package eval

import "github.com/tombolo-iac/tombolo/addr"

// Contributors visits, once each, the resource references that contribute to slots: their own, those of whatever they mention, and so on
// through variables, local values, outputs and other resources. It looks at the configuration alone, so it also works for modules that have
// no instance any more. The module that comes with a reference is the one it stands in; a reference to a whole repeated module leads into
// it without a key.
type Contributors struct {
	visit func(addr.ModuleInstance, addr.Reference)
	seen  map[contributor]bool
	queue []contributor
}

type contributor struct {
	module addr.ModuleInstance
	slot   *Slot
}

// NewContributors makes an empty search.
func NewContributors(visit func(addr.ModuleInstance, addr.Reference)) *Contributors {
	return &Contributors{visit: visit, seen: map[contributor]bool{}}
}

// Add starts from a slot of a module.
func (c *Contributors) Add(m addr.ModuleInstance, s *Slot) {
	k := contributor{m, s}
	if !c.seen[k] {
		c.seen[k] = true
		c.queue = append(c.queue, k)
	}
}

// Run visits everything.
func (c *Contributors) Run() {
	for len(c.queue) > 0 {
		k := c.queue[0]
		c.queue = c.queue[1:]
		for _, ref := range k.slot.refs {
			if k.slot.Kind == SlotVariable {
				break // its validations give no value
			}
			c.follow(k.module, k.slot.unit, ref)
		}
		if len(k.slot.argRefs) > 0 {
			parent, _, _ := k.module.Parent()
			for _, ref := range k.slot.argRefs {
				c.follow(parent, k.slot.unit.parent, ref)
			}
		}
	}
}

func (c *Contributors) follow(m addr.ModuleInstance, u *Unit, ref addr.Reference) {
	switch ref.Kind {
	case addr.RefVariable:
		c.Add(m, u.slots[u.variables[ref.Name]])
	case addr.RefLocal:
		c.Add(m, u.slots[u.locals[ref.Name]])
	case addr.RefResource:
		c.visit(m, ref)
		c.Add(m, u.slots[u.resources[ref.Resource]])
	case addr.RefModule, addr.RefOutput:
		child := u.calls[ref.Name]
		if child == nil {
			return
		}
		key := addr.NoKey
		if ref.HasKey {
			key = ref.Key
		}
		for name, slot := range child.outputs {
			if ref.Kind == addr.RefModule || name == ref.Output {
				c.Add(m.Child(ref.Name, key), child.slots[slot])
			}
		}
	}
}

// OutputSlot gives the slot of an output value of a module; nil when there is none.
func (p *Program) OutputSlot(m addr.Module, name string) *Slot {
	u := p.units[m]
	if u == nil {
		return nil
	}
	if i, ok := u.outputs[name]; ok {
		return u.slots[i]
	}
	return nil
}

// Outputs visits the output values of all module instances but the root's, after a run.
func (w *Walk) Outputs(visit func(i *Instance, s *Slot, null bool)) {
	for _, i := range w.instances {
		if i.parent == nil {
			continue
		}
		for _, slot := range i.Unit.outputs {
			v, _ := i.values[slot].Unmark()
			visit(i, i.Unit.slots[slot], v.IsKnown() && v.IsNull())
		}
	}
}
