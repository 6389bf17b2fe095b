package linking

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// checkAttribute reports a wrong instance key or attribute before evaluation, if it is literal.
func (l *linker) checkAttribute(ref addr.Reference, target *Slot, undeclared problemAt) diag.List {
	r := target.Resource
	repeated := r.Count != nil || r.ForEach != nil
	var diags diag.List
	if ref.HasKey && !repeated {
		diags = undeclared("Unexpected resource instance key",
			"%s has neither \"count\" nor \"for_each\", so it is a single object without a key. Remove the brackets.",
			ref.Resource)
	}
	if repeated && !ref.HasKey && len(ref.Remaining) > 0 {
		attr, ok := ref.Remaining[0].(hcl.TraverseAttr)
		if !ok {
			return diags
		}
		argument, key, all := "count", "count.index", fmt.Sprintf("%s[*].%s", ref.Resource, attr.Name)
		if r.ForEach != nil {
			argument, key, all = "for_each", "each.key", fmt.Sprintf("{ for k, v in %s : k => v.%s }", ref.Resource,
				attr.Name)
		}
		diags = undeclared("Missing resource instance key", "%s has %q, so it has several instances. Select one. In "+
			"a block with the same %[2]s, write:\n    %[3]s[%[4]s]\nor, for all instances:\n    %s",
			ref.Resource, argument, ref.Resource, key, all)
	}
	return diags.Extend(blocks.StaticTraversal(ref.Remaining, target.Type.Block))
}

// redundantIgnores warns about ignore_changes of attributes that only the provider sets: there are no configured
// changes to ignore.
func redundantIgnores(s *Slot) (diags diag.List) {
	if s.Type == nil {
		return nil
	}
	for _, t := range s.Resource.Ignored.EveryPath() {
		path, err := value.TraversalPath(t)
		if err != nil || blocks.StaticTraversal(t, s.Type.Block).HasErrors() {
			continue // reported by the validation of the block
		}
		if a := attributeAtEnd(s.Type.Block, path); a != nil && a.Computed && !a.Optional {
			diags = diags.Warnf(&s.Resource.TypeRange, "Redundant ignore_changes element",
				"Only the provider sets %s, so it has no configured changes to ignore. Remove it from "+
					"ignore_changes.", value.FormatPath(path))
		}
	}
	return diags
}

// attributeAtEnd returns the attribute at a path, or nil if the path is within the value of one.
func attributeAtEnd(b *provider.Block, path cty.Path) *provider.Attribute {
	last, ok := path[len(path)-1].(cty.GetAttrStep)
	if !ok {
		return nil
	}
	a := b.AttributeAt(path)
	if a == nil || len(path) > 1 && a == b.AttributeAt(path[:len(path)-1]) || len(path) == 1 &&
		b.Attributes[last.Name] != a {
		return nil
	}
	return a
}
