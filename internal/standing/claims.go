package standing

import (
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/claims"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/plan"
)

// Claims returns what an apply of a plan reads and writes in the state. If the claims of two plans do not conflict,
// they can be applied in any order, or at the same time, with the same result.
//
// A plan without -target reads everything. A plan that moves, imports or destroys objects, depends on more than objects
// and outputs, or was made before there was a state claims the whole state.
func Claims(prog *linking.Program, p *plan.Plan) claims.Set {
	if p.Base == nil || all(p) || rearranges(p) {
		return claims.Whole()
	}
	e := effectsOf(prog, p)
	var list []claims.Claim
	add := func(m claims.Mode, s claims.Scope) { list = append(list, claims.Claim{Scope: s, Mode: m}) }
	for inst := range e.instances {
		add(claims.Write, claims.Instance(inst))
	}
	for r := range e.needs {
		add(claims.Read, claims.Config(r))
	}
	for _, c := range p.Changes {
		add(claims.Read, claims.Instance(c.Object.Instance))
	}
	for _, o := range e.outputs(prog, p, Changed{}) {
		if !o.ours {
			continue
		}
		add(claims.Write, claims.Output(o.name))
		if slot := prog.OutputSlot(addr.RootModule, o.name); slot != nil {
			for _, r := range prog.ResourcesBehind(slot) {
				add(claims.Read, claims.Config(r)) // another run may have a configuration without this output
			}
		}
	}
	if e.limits == nil || e.limits.Excepts() {
		add(claims.Read, claims.Everything())
		return claims.Of(list...)
	}
	for slot := range e.limits.Only {
		if slot.Kind == linking.SlotResource {
			add(claims.Read, claims.Config(slot.ConfigAddr()))
		}
	}
	for _, t := range p.Targets { // these may contain objects without a block, now or later
		add(claims.Read, scopeOf(t))
	}
	return claims.Of(list...)
}

// rearranges reports whether a plan gives objects other addresses, or takes over existing ones.
func rearranges(p *plan.Plan) bool {
	for _, c := range p.Changes {
		if c.PrevAddr != nil || c.Importing != nil {
			return true
		}
	}
	for _, e := range p.Refreshed {
		if e.Move != nil {
			return true
		}
	}
	return false
}

// scopeOf returns a scope that contains all objects of a target.
func scopeOf(t addr.Target) claims.Scope {
	in := addr.AbsResource{Module: t.Module, Resource: t.Resource}
	switch _, last, nested := t.Module.Parent(); {
	case t.Pattern != "":
		return claims.Everything()
	case t.IsModule() && nested && last.Key.IsNone(): // all instances of the call
		return claims.Modules(t.Module.Config())
	case t.IsModule():
		return claims.Module(t.Module)
	case t.HasKey:
		return claims.Instance(in.Instance(t.Key))
	}
	return claims.Resource(in)
}
