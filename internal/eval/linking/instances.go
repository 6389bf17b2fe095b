package linking

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// checkInstances returns errors for each for_each of a provider block that depends on a resource or on the result of a
// module: its instances must be known before anything is planned, and after everything has been destroyed.
func (p *Program) checkInstances() {
	for _, u := range p.order {
		for _, s := range u.slots {
			if s.Kind != SlotProvider || s.Provider.ForEach == nil {
				continue
			}
			for _, t := range funcs.Mentions(s.Provider.ForEach) {
				if problem := p.dynamic(u, s, t); problem != nil {
					s.fault(s.Provider.ForEach, problem)
				}
			}
		}
	}
}

// dynamic returns the problem of one reference in such a for_each.
func (p *Program) dynamic(u *Unit, s *Slot, t hcl.Traversal) (diags diag.List) {
	ref, problems := addr.ParseReference(t)
	if problems.HasErrors() {
		return nil // reported already
	}
	const summary = "Dynamic value in static context"
	at := ref.Range
	if ref.Kind == addr.RefEach || ref.Kind == addr.RefCount {
		return diags.Errorf(&at, summary, "The for_each of a provider block cannot use %q, because it determines the "+
			"instances.", t.RootName())
	}
	l := &linker{p: p, u: u, s: &Slot{Kind: SlotProvider, Provider: s.Provider, unit: u}, deps: map[int]bool{}}
	l.traversals(s.Provider, []hcl.Traversal{t})
	var queue []*Slot
	for _, d := range sortedKeys(l.deps) {
		queue = append(queue, u.slots[d])
	}
	seen := map[*Slot]bool{}
	for ; len(queue) > 0; queue = queue[1:] {
		next := queue[0]
		if seen[next] {
			continue
		}
		seen[next] = true
		switch next.Kind {
		case SlotVariable: // references of its conditions are ignored
			for _, d := range next.outer {
				queue = append(queue, next.unit.Parent.slots[d])
			}
		case SlotLocal:
			for _, d := range next.deps {
				queue = append(queue, next.unit.slots[d])
			}
		default:
			return diags.Errorf(&at, summary, "The for_each of a provider block must be known before anything is "+
				"planned, and %s is not. Use variables, local values made of them, and functions.", next.Addr())
		}
	}
	return nil
}
