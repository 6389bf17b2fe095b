package linking

import (
	"fmt"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// Removal holds the removed blocks of a resource that no block declares any more.
type Removal struct {
	// Forget means that the objects leave the state without being destroyed.
	Forget bool
	// Provisioners run before the objects are destroyed; Unit is the module in which they stand.
	Provisioners []*Provisioner
	Unit         *Unit
	// Unusable lists the provisioners of the blocks that cannot run. It matters only if there is an object to destroy:
	// a block may stay long after the last one is gone.
	Unusable diag.List
}

// removals holds removed blocks by the address that they name.
type removals struct {
	resources map[addr.ConfigResource]*Removal
	modules   map[addr.Module]*Removal
}

// compileRemoved collects the removed blocks of all modules. If several name the same address, one that forgets counts:
// the object can still be destroyed by hand.
func (p *Program) compileRemoved() {
	p.removed = removals{resources: map[addr.ConfigResource]*Removal{}, modules: map[addr.Module]*Removal{}}
	for _, u := range p.order {
		for _, b := range u.Module.Removed {
			r := p.removed.modules[b.Module]
			name := addr.ConfigResource{Module: b.Module, Resource: b.Resource}
			if b.Resource != (addr.Resource{}) {
				r = p.removed.resources[name]
			}
			if r == nil {
				r = &Removal{Unit: u}
			}
			r.Forget = r.Forget || !b.Destroy
			list, d := compileProvisioners(b.Provisioners, b.Connection)
			r.Unusable = r.Unusable.Extend(d)
			for _, c := range list {
				c.Refs = parse(c.mentions())
			}
			r.Provisioners = append(r.Provisioners, list...)
			if b.Resource == (addr.Resource{}) {
				p.removed.modules[b.Module] = r
			} else {
				p.removed.resources[name] = r
			}
		}
	}
}

// Removal returns the removed blocks that apply to a resource; nil if there are none. The nearest block counts.
func (p *Program) Removal(r addr.ConfigResource) *Removal {
	if found := p.removed.resources[r]; found != nil {
		return found
	}
	for m, ok := r.Module, true; ok; m, _, ok = m.Parent() {
		if found := p.removed.modules[m]; found != nil && !m.IsRoot() {
			return found
		}
	}
	return nil
}

// StillDeclared reports removed blocks whose resource or module is still declared.
func (p *Program) StillDeclared() diag.List {
	var diags diag.List
	reported := map[string]bool{}
	report := func(b *config.Removed, what, name string, where *diag.Diagnostic) {
		if !reported[name] {
			reported[name] = true
			where.Severity, where.Summary = diag.Error, "Removed "+what+" still exists"
			where.Detail = fmt.Sprintf("The removed block at %s:%d removes %s, but it is still declared here. Remove "+
				"one of the two blocks.", b.Range.Filename, b.Range.Start.Line, name)
			diags = append(diags, where)
		}
	}
	for _, u := range p.order {
		for _, b := range u.Module.Removed {
			if b.Resource != (addr.Resource{}) {
				if s := p.ResourceSlot(addr.ConfigResource{Module: b.Module, Resource: b.Resource}); s != nil {
					report(b, "resource", s.ConfigAddr().String(), &diag.Diagnostic{
						Subject: s.Resource.DeclRange.Ptr()})
				}
				continue
			}
			if m := p.units[b.Module]; m != nil && m.Module.Call != nil {
				report(b, "module", b.Module.String(), &diag.Diagnostic{Subject: m.Module.Call.Range.Ptr()})
			}
		}
	}
	return diags
}
