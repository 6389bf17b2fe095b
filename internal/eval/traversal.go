package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/diag"
)

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
		return append(collection, hcl.TraverseIndex{Key: key, SrcRange: e.SrcRange}), diags
	}
	t, hclDiags := hcl.AbsTraversalForExpr(e)
	return t, diag.List(nil).AppendHCL(hclDiags)
}
