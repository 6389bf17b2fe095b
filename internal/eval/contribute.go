package eval

import "github.com/tombolo-iac/tombolo/addr"

// Contributors visits, once each, the resource references that contribute to slots: their own, those of whatever they mention, and so on
// through variables, local values, outputs and other resources. The instance that comes with a reference is that of its module.
type Contributors struct {
	visit func(*Instance, addr.Reference)
	seen  map[contributor]bool
	queue []contributor
}

type contributor struct {
	instance *Instance
	slot     *Slot
}

// NewContributors makes an empty search.
func NewContributors(visit func(*Instance, addr.Reference)) *Contributors {
	return &Contributors{visit: visit, seen: map[contributor]bool{}}
}

// Add starts from a slot of a module instance.
func (c *Contributors) Add(i *Instance, s *Slot) {
	k := contributor{i, s}
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
			c.follow(k.instance, ref)
		}
		for _, ref := range k.slot.argRefs {
			c.follow(k.instance.parent, ref)
		}
	}
}

func (c *Contributors) follow(i *Instance, ref addr.Reference) {
	u := i.Unit
	switch ref.Kind {
	case addr.RefVariable:
		c.Add(i, u.slots[u.variables[ref.Name]])
	case addr.RefLocal:
		c.Add(i, u.slots[u.locals[ref.Name]])
	case addr.RefResource:
		c.visit(i, ref)
		c.Add(i, u.slots[u.resources[ref.Resource]])
	case addr.RefModule, addr.RefOutput:
		call := i.calls[ref.Name]
		for _, key := range call.keys {
			if ref.HasKey && key != ref.Key {
				continue
			}
			child := call.children[key]
			for name, slot := range child.Unit.outputs {
				if ref.Kind == addr.RefModule || name == ref.Output || !ref.HasKey && call.mode != Single {
					c.Add(child, child.Unit.slots[slot])
				}
			}
		}
	}
}

// OutputSlot gives the slot of an output value of the root module; nil when there is none.
func (p *Program) OutputSlot(name string) *Slot {
	u := p.units[addr.RootModule]
	if i, ok := u.outputs[name]; ok {
		return u.slots[i]
	}
	return nil
}
