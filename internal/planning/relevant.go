package planning

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
)

// relevant returns the attributes of resources that contributed to the plan's changes: tools use them to identify
// relevant drift.
func (p *planner) relevant(out *plan.Plan) []plan.RelevantAttribute {
	type key struct{ resource, path string }
	seen := map[key]bool{}
	var list []plan.RelevantAttribute
	search := linking.NewContributors(func(m addr.ModuleInstance, ref addr.Reference) {
		a := addr.AbsResourceInstance{Module: m, Resource: ref.Resource}
		if ref.HasKey {
			a.Key = ref.Key
		}
		path := attributePath(ref.Remaining)
		k := key{a.String(), pathKey(path)}
		if !seen[k] {
			seen[k] = true
			list = append(list, plan.RelevantAttribute{Resource: a, Path: path})
		}
	})
	for block := range p.changed {
		if slot := p.prog.ResourceSlot(block.Config()); slot != nil {
			search.Add(block.Module, slot)
		}
	}
	for _, o := range out.Outputs {
		if slot := p.prog.OutputSlot(addr.RootModule, o.Name); slot != nil && o.Action != plan.NoOp {
			search.Add(addr.RootInstance, slot)
		}
	}
	// Output values of other modules are not stored, so they count as new every time, as in Terraform.
	if p.opts.Mode == plan.Destroy {
		for _, r := range p.prior.Resources() {
			if slot := p.prog.ResourceSlot(r.Addr.Config()); slot != nil && r.Addr.Resource.Mode == addr.Data {
				search.Add(r.Addr.Module, slot) // it is deleted with everything else
			}
		}
		search.Run()
		return ordered(list)
	}
	p.walk.Outputs(func(i *eval.Instance, s *linking.Slot, null bool) {
		if !null && p.targets.Includes(s) {
			search.Add(i.Addr, s)
		}
	})
	search.Run()
	return ordered(list)
}

// ordered sorts the list, because modules and their instances are found in random order.
func ordered(list []plan.RelevantAttribute) []plan.RelevantAttribute {
	slices.SortFunc(list, func(x, y plan.RelevantAttribute) int {
		return cmp.Or(x.Resource.Compare(y.Resource), value.ComparePaths(x.Path, y.Path))
	})
	return list
}

func attributePath(t hcl.Traversal) cty.Path {
	path := cty.Path{}
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseAttr:
			path = path.GetAttr(s.Name)
		case hcl.TraverseIndex:
			path = path.Index(s.Key)
		}
	}
	return path
}

func pathKey(path cty.Path) string {
	out := ""
	for _, step := range path {
		switch s := step.(type) {
		case cty.GetAttrStep:
			out += "." + s.Name
		case cty.IndexStep:
			out += s.Key.GoString()
		}
	}
	return out
}
