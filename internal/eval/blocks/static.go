package blocks

import (
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// StaticTraversal checks a path within an object of a schema as far as types allow.
func StaticTraversal(t hcl.Traversal, block *provider.Block) diag.List {
	if len(t) == 0 {
		return nil
	}
	attr, ok := t[0].(hcl.TraverseAttr)
	if !ok {
		rng := t[0].SourceRange()
		return diag.List(nil).Errorf(&rng, "Invalid index operation",
			"This is a single object, not a collection: write a dot and the name of an attribute after it.")
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
		diag.DidYouMean(attr.Name, names)).Meant(attr.Name, names)
}

// deprecated warns about the use of a deprecated attribute.
func deprecated(t hcl.TraverseAttr, a *provider.Attribute) diag.List {
	instead := "See the documentation of the provider for a replacement."
	if a.DeprecationMessage != "" {
		instead = a.DeprecationMessage
	}
	return diag.List(nil).Warnf(&t.SrcRange, "Deprecated attribute", "The attribute %q is deprecated. %s", t.Name,
		instead)
}

// staticBlocks checks a path into nested blocks with one name.
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
			"elements of a set have no keys. Use a \"for\" expression with an \"if\" clause to select elements.", name)
	case nb.Nesting == provider.NestingList && !isIndex:
		return diag.List(nil).Errorf(&rng, "Invalid operation", "Blocks of type %q form a list of objects: select "+
			"one with its index, such as .%[1]s[0], or all with .%[1]s[*].", name)
	}
	// Whether the index exists is found during evaluation; that may not be an error, such as within "try".
	return StaticTraversal(t[1:], &nb.Block)
}
