package linking

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// Contributors visits, once each, the resource references that contribute to slots: their own, and those of the objects
// that they refer to, through variables, local values, outputs and other resources. It reads only the configuration, so
// it also works for modules without instances. A reference is passed with its module; a reference to a whole repeated
// module has a module address without a key.
type Contributors struct {
	visit func(addr.ModuleInstance, addr.Reference)
	seen  map[contributor]bool
	queue []contributor
}

type contributor struct {
	module addr.ModuleInstance
	slot   *Slot
	attr   string // for a resource, only the references of this attribute; "" means all
}

// NewContributors returns an empty search.
func NewContributors(visit func(addr.ModuleInstance, addr.Reference)) *Contributors {
	return &Contributors{visit: visit, seen: map[contributor]bool{}}
}

// Add starts from a slot of a module.
func (c *Contributors) Add(m addr.ModuleInstance, s *Slot) { c.add(contributor{module: m, slot: s}) }

func (c *Contributors) add(k contributor) {
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
		for _, ref := range k.refs() {
			c.follow(k.module, k.slot.unit, ref)
		}
		if len(k.slot.ArgRefs) > 0 {
			parent, _, _ := k.module.Parent()
			for _, ref := range k.slot.ArgRefs {
				c.follow(parent, k.slot.unit.Parent, ref)
			}
		}
	}
}

func (c *Contributors) follow(m addr.ModuleInstance, u *Unit, ref addr.Reference) {
	switch ref.Kind {
	case addr.RefVariable:
		if i, ok := u.Variables[ref.Name]; ok {
			c.Add(m, u.slots[i])
		}
	case addr.RefLocal:
		if i, ok := u.Locals[ref.Name]; ok {
			c.Add(m, u.slots[i])
		}
	case addr.RefResource:
		i, ok := u.Resources[ref.Resource]
		if !ok {
			return // reported by its evaluation
		}
		c.visit(m, ref)
		k := contributor{module: m, slot: u.slots[i]}
		if len(ref.Remaining) > 0 {
			if attr, ok := ref.Remaining[0].(hcl.TraverseAttr); ok {
				k.attr = attr.Name
			}
		}
		c.add(k)
	case addr.RefModule, addr.RefOutput:
		child := u.Calls[ref.Name]
		if child == nil {
			return
		}
		key := addr.NoKey
		if ref.HasKey {
			key = ref.Key
		}
		for name, slot := range child.Outputs {
			if ref.Kind == addr.RefModule || name == ref.Output {
				c.Add(m.Child(ref.Name, key), child.slots[slot])
			}
		}
	}
}

// OutputSlot returns the slot of an output value of a module, or nil if there is none.
func (p *Program) OutputSlot(m addr.Module, name string) *Slot {
	u := p.units[m]
	if u == nil {
		return nil
	}
	if i, ok := u.Outputs[name]; ok {
		return u.slots[i]
	}
	return nil
}

// refs returns the references that determine the value of a slot, or of one attribute of a resource. Those of
// conditions and triggers are not included, and those of count and for_each only if count or each is used.
func (k contributor) refs() []addr.Reference {
	s := k.slot
	switch s.Kind {
	case SlotVariable:
		return nil // its validations do not determine its value
	case SlotOutput:
		return parse(funcs.Mentions(s.Output.Expr))
	case SlotResource:
		if s.Body == nil {
			return nil
		}
	default:
		return s.Refs
	}
	traversals := s.Body.Traversals()
	if k.attr != "" {
		traversals = s.Body.Mentions(k.attr)
	}
	out := parse(traversals)
	if r := s.Resource; r.Count != nil && mentionsRoot(traversals, "count") {
		out = append(out, parse(funcs.Mentions(r.Count))...)
	} else if r.ForEach != nil && mentionsRoot(traversals, "each") {
		out = append(out, parse(funcs.Mentions(r.ForEach))...)
	}
	return out
}

func mentionsRoot(list []hcl.Traversal, name string) bool {
	return slices.ContainsFunc(list, func(t hcl.Traversal) bool { return t.RootName() == name })
}

func parse(list []hcl.Traversal) []addr.Reference {
	out := make([]addr.Reference, 0, len(list))
	for _, t := range list {
		if ref, diags := addr.ParseReference(t); !diags.HasErrors() {
			out = append(out, ref)
		}
	}
	return out
}
