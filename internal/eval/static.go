package eval

import (
	"fmt"
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// checkAttribute reports a wrong instance key or attribute before anything runs, where the reference says literally
// which one it means.
func (l *linker) checkAttribute(ref addr.Reference, target *Slot, undeclared problemAt) diag.List {
	r := target.Resource
	repeated := r.Count != nil || r.ForEach != nil
	var diags diag.List
	if ref.HasKey && !repeated {
		diags = undeclared("Unexpected resource instance key", `%s has neither "count" nor "for_each", so it is one `+
			`object and takes no key. Remove what stands in brackets.`, ref.Resource)
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
		diags = undeclared("Missing resource instance key", "%s has %q, so it is many objects. Say which one is "+
			"meant; in a block with the same %[2]s that is:\n    %[3]s[%[4]s]\nand for those of all instances:\n    %s",
			ref.Resource, argument, ref.Resource, key, all)
	}
	return diags.Extend(StaticTraversal(ref.Remaining, target.Type.Block))
}

// StaticTraversal checks a path into an object of a schema as far as the types alone tell.
func StaticTraversal(t hcl.Traversal, block *provider.Block) diag.List {
	if len(t) == 0 {
		return nil
	}
	attr, ok := t[0].(hcl.TraverseAttr)
	if !ok {
		rng := t[0].SourceRange()
		return diag.List(nil).Errorf(&rng, "Invalid index operation",
			"This is one object, not a collection of objects: follow it with a dot and the name of an attribute.")
	}
	if a := block.Attributes[attr.Name]; a != nil {
		var diags diag.List
		if a.Deprecated {
			diags = deprecated(attr, a)
		}
		if len(t) == 1 {
			return diags
		}
		_, hclDiags := t[1:].TraverseRel(cty.UnknownVal(a.ImpliedType()))
		return diags.AppendHCL(hclDiags)
	}
	if nb := block.Blocks[attr.Name]; nb != nil {
		return staticBlocks(attr.Name, t[1:], nb)
	}
	names := make([]string, 0, len(block.Attributes)+len(block.Blocks))
	for n := range block.Attributes {
		names = append(names, n)
	}
	for n := range block.Blocks {
		names = append(names, n)
	}
	sort.Strings(names)
	rng := attr.SrcRange
	return diag.List(nil).Errorf(&rng, "Unsupported attribute",
		"Neither an argument nor a block nor an attribute of this object is named %q.%s", attr.Name,
		diag.DidYouMean(attr.Name, names))
}

// deprecated warns of the use of an attribute that its provider is going to give up.
func deprecated(t hcl.TraverseAttr, a *provider.Attribute) diag.List {
	instead := "The documentation of the provider says what to use instead."
	if a.DeprecationMessage != "" {
		instead = a.DeprecationMessage
	}
	return diag.List(nil).Warnf(&t.SrcRange, "Deprecated attribute", "The attribute %q is deprecated. %s", t.Name,
		instead)
}

// staticBlocks checks a path that leads into nested blocks of one name.
func staticBlocks(name string, t hcl.Traversal, nb *provider.NestedBlock) diag.List {
	if len(t) == 0 {
		return nil
	}
	if nb.Nesting == provider.NestingSingle || nb.Nesting == provider.NestingGroup {
		return StaticTraversal(t, &nb.Block)
	}
	if _, splat := t[0].(hcl.TraverseSplat); splat {
		return nil
	}
	rng := t[0].SourceRange()
	_, isIndex := t[0].(hcl.TraverseIndex)
	switch {
	case nb.Nesting == provider.NestingSet:
		return diag.List(nil).Errorf(&rng, "Cannot index a set value", "Blocks of type %q form a set, and the "+
			"elements of a set have no keys. Use a \"for\" expression with an \"if\" clause to find those that are "+
			"wanted.", name)
	case nb.Nesting == provider.NestingList && !isIndex:
		return diag.List(nil).Errorf(&rng, "Invalid operation", "Blocks of type %q form a list of objects: say which "+
			"one is meant by a number, like .%[1]s[0], or write .%[1]s[*] for all of them.", name)
	}
	// Whether there is a block with that index, and whether that matters, evaluation tells: a "try" may stand around
	// it.
	return StaticTraversal(t[1:], &nb.Block)
}

// staticTraversal turns an expression such as a.b[each.key].c into a traversal: indices may mention count and each.
func staticTraversal(e hcl.Expression, ctx *hcl.EvalContext) (hcl.Traversal, diag.List) {
	switch e := e.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		source, diags := staticTraversal(e.Source, ctx)
		return append(source, e.Traversal...), diags
	case *hclsyntax.IndexExpr:
		collection, diags := staticTraversal(e.Collection, ctx)
		key, hclDiags := e.Key.Value(ctx)
		diags = diags.AppendHCL(hclDiags)
		if diags.HasErrors() {
			return nil, diags
		}
		return append(collection, hcl.TraverseIndex{Key: key, SrcRange: e.Key.Range()}), diags
	}
	t, hclDiags := hcl.AbsTraversalForExpr(e)
	return t, diag.List(nil).AppendHCL(hclDiags)
}

// redundantIgnores warns of ignore_changes that name what the provider alone decides: there is nothing in the
// configuration to ignore.
func redundantIgnores(s *Slot) (diags diag.List) {
	if s.Type == nil {
		return nil
	}
	for _, t := range s.Resource.IgnoreChanges {
		path, err := value.TraversalPath(t)
		if err != nil || StaticTraversal(t, s.Type.Block).HasErrors() {
			continue // reported where the block is validated
		}
		if a := attributeAtEnd(s.Type.Block, path); a != nil && a.Computed && !a.Optional {
			diags = diags.Warnf(&s.Resource.TypeRange, "Redundant ignore_changes element",
				"The provider alone decides what %s is, so there is no argument whose changes could be ignored. "+
					"Leave it out of ignore_changes.", value.FormatPath(path))
		}
	}
	return diags
}

// attributeAtEnd returns the attribute that a path leads to, or nil where it leads into the value of one.
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
