package linking

import (
	"fmt"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// Removal holds the removed blocks of a resource that is no longer declared.
type Removal struct {
	// Forget means that the objects are removed from the state without being destroyed.
	Forget bool
	// Provisioners run before the objects are destroyed; Unit is their module.
	Provisioners []*Provisioner
	Unit         *Unit
	// Unusable lists the provisioners of the blocks that cannot run. It only matters if there is an object to destroy:
	// a block may be kept long after the last object was destroyed.
	Unusable diag.List
}

// removals holds removed blocks by their address.
type removals struct {
	resources map[addr.ConfigResource]*Removal
	modules   map[addr.Module]*Removal
	// instances are the blocks that name instances, by the resource or module of the instances.
	instances map[addr.ConfigResource][]*config.Removed
}

// compileRemoved collects the removed blocks of all modules. If several have the same address, one that forgets takes
// precedence: the object can still be destroyed manually.
func (p *Program) compileRemoved() {
	p.removed = removals{resources: map[addr.ConfigResource]*Removal{}, modules: map[addr.Module]*Removal{},
		instances: map[addr.ConfigResource][]*config.Removed{}}
	for _, u := range p.order {
		for _, b := range u.Module.Removed {
			r := p.removed.modules[b.Module]
			name := addr.ConfigResource{Module: b.Module, Resource: b.Resource}
			if b.Keyed {
				p.removed.instances[name] = append(p.removed.instances[name], b)
				continue
			}
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

// Removal returns the removed blocks that apply to a resource, or nil if there are none. The nearest block takes
// precedence.
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

// RemovalOf returns the removal for an instance that is not declared: that of a block for the instance or, if the
// resource has no block, for the whole resource. It returns nil if there is none.
func (p *Program) RemovalOf(a addr.AbsResourceInstance) *Removal {
	var found *Removal
	look := func(name addr.ConfigResource) {
		for _, b := range p.removed.instances[name] {
			if b.Names(a) {
				found = &Removal{Forget: !b.Destroy || found != nil && found.Forget}
			}
		}
	}
	if len(p.removed.instances) > 0 {
		look(a.Config())
		for m, ok := a.Config().Module, found == nil; ok && found == nil; m, _, ok = m.Parent() {
			look(addr.ConfigResource{Module: m})
		}
	}
	if found != nil || p.ResourceSlot(a.Config()) != nil {
		return found
	}
	return p.Removal(a.Config())
}

// RemovedInstances returns the removed blocks whose addresses are instances.
func (p *Program) RemovedInstances() (out []*config.Removed) {
	for _, u := range p.order {
		for _, b := range u.Module.Removed {
			if b.Keyed {
				out = append(out, b)
			}
		}
	}
	return out
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
			if b.Keyed {
				continue // the instances are known later
			}
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
