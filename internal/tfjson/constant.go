package tfjson

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// constant returns the value of an expression without any names, or NilVal. As in Terraform, constant parts are
// returned even if others cannot be evaluated: the first of ["x", var.y], and in JSON syntax the text with its
// templates. src is the file of the expression.
func constant(e hcl.Expression, src []byte) cty.Value {
	if native, ok := e.(hclsyntax.Expression); ok {
		e = undecided(native, src)
	}
	v, _ := e.Value(nil)
	if v == cty.NilVal || !ctyfast.WhollyKnown(v) {
		return cty.NilVal
	}
	v, _ = v.UnmarkDeep()
	return v
}

// unknown is an expression that cannot be evaluated without functions.
const unknown = "unknown()"

// undecided returns an expression in which "&&" and "||" evaluate both operands. The language skips the second if the
// first decides; the document format is older than that rule.
func undecided(e hclsyntax.Expression, src []byte) hclsyntax.Expression {
	for range 100 { // each round parses the text again
		op := decided(e)
		if op == nil {
			return e
		}
		at, whole := op.Range(), e.Range()
		if at.Start.Byte < whole.Start.Byte || at.End.Byte > whole.End.Byte || whole.End.Byte > len(src) {
			return e
		}
		text := slices.Concat(src[whole.Start.Byte:at.Start.Byte], []byte(unknown), src[at.End.Byte:whole.End.Byte])
		changed, diags := hclsyntax.ParseExpression(text, "", hcl.InitialPos)
		if diags.HasErrors() {
			return e
		}
		e, src = changed, text
	}
	return e
}

// decided returns an "&&" or "||" that has a value although one of its operands has none, or nil. Operations that use
// names of an enclosing "for" are excluded, because their values differ in each round.
func decided(e hclsyntax.Expression) *hclsyntax.BinaryOpExpr {
	names := map[string]bool{}
	for _, t := range e.Variables() {
		names[t.RootName()] = true
	}
	var found *hclsyntax.BinaryOpExpr
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		op, ok := n.(*hclsyntax.BinaryOpExpr)
		if !ok || found != nil || op.Op != hclsyntax.OpLogicalAnd && op.Op != hclsyntax.OpLogicalOr {
			return nil
		}
		for _, t := range op.Variables() {
			if !names[t.RootName()] {
				return nil
			}
		}
		if known(op) && !(known(op.LHS) && known(op.RHS)) {
			found = op
		}
		return nil
	})
	return found
}

func known(e hcl.Expression) bool {
	v, _ := e.Value(nil)
	return v != cty.NilVal && v.IsKnown()
}
