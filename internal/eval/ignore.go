package eval

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// IgnoreChanges restores the parts in lifecycle.ignore_changes in the configuration of an instance and its marks;
// sensitive holds the paths of the prior object.
func (b *Block) IgnoreChanges(key addr.Key, prior cty.Value, sensitive []cty.Path, config cty.Value,
	marks value.MarkedPaths) (cty.Value, value.MarkedPaths, diag.List) {
	r := b.Slot.Resource
	if prior.IsNull() || r.Ignored.IsZero() {
		return config, marks, nil
	}
	paths, all, diags := b.ignored(&r.Ignored, key)
	if diags.HasErrors() {
		return config, marks, diags
	}
	marks.Sensitive = value.IgnoreMarks(prior, config, sensitive, marks.Sensitive, paths, all)
	return value.IgnoreChanges(b.Slot.Type.Block, prior, config, paths, all), marks, nil
}

// ignored returns the paths that an instance ignores, or all.
func (b *Block) ignored(i *config.Ignored, key addr.Key) (paths []cty.Path, all bool, diags diag.List) {
	all = i.All
	for _, t := range i.Paths {
		path, err := value.TraversalPath(t)
		if err != nil {
			return nil, false, diags.Errorf(b.Slot.Resource.DeclRange.Ptr(), "Invalid ignore_changes", "%s.", err)
		}
		paths = append(paths, path)
	}
	for _, c := range i.Choices {
		v, diags := b.Guard(c.Condition, key)
		if diags.HasErrors() {
			return nil, false, diags
		}
		if !v.IsKnown() {
			return nil, false, unknownChoice(c.Condition).InAddress(b.Addr().Instance(key).String())
		}
		chosen := &c.False
		if v.True() {
			chosen = &c.True
		}
		more, everything, diags := b.ignored(chosen, key)
		if diags.HasErrors() {
			return nil, false, diags
		}
		paths, all = append(paths, more...), all || everything
	}
	return paths, all, nil
}

func unknownChoice(g *config.Guard) diag.List {
	return diag.List{}.Errorf(g.Range.Ptr(), "Invalid value for "+g.Name, "The condition is unknown during planning, "+
		"so it cannot be decided which changes of the existing object to ignore. Use known values, such as "+
		"variables, keys or attributes of existing objects.")
}
