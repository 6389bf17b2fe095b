package view

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// asserts is implemented by the Extra of a diagnostic about an assertion that does not hold: of a comparison in it both
// sides are worth seeing.
type asserts interface{ AssertsCondition() bool }

// sidesOf returns the difference of the sides of each comparison that makes an assertion false; empty if it is not one
// of a == b, or of several of these with && between them.
func (o Options) sidesOf(d *diag.Diagnostic) string {
	if a, ok := d.Extra.(asserts); !ok || !a.AssertsCondition() || d.Expression == nil {
		return ""
	}
	var b strings.Builder
	for _, e := range comparisons(d.Expression) {
		b.WriteString(o.difference(e, d))
	}
	return b.String()
}

// comparisons returns the parts a == b of an expression that must all be true for it to be true.
func comparisons(e hcl.Expression) []*hclsyntax.BinaryOpExpr {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return comparisons(e.Expression)
	case *hclsyntax.BinaryOpExpr:
		switch e.Op {
		case hclsyntax.OpEqual:
			return []*hclsyntax.BinaryOpExpr{e}
		case hclsyntax.OpLogicalAnd:
			return append(comparisons(e.LHS), comparisons(e.RHS)...)
		}
	}
	return nil
}

// difference returns what a comparison that is false looks like: its sides as a change from the left one to the right
// one. Nothing of a side is shown that is not public.
func (o Options) difference(e *hclsyntax.BinaryOpExpr, d *diag.Diagnostic) string {
	left, problems := e.LHS.Value(d.EvalContext)
	right, more := e.RHS.Value(d.EvalContext)
	if problems.HasErrors() || more.HasErrors() || !left.IsWhollyKnown() || !right.IsWhollyKnown() {
		return ""
	}
	for _, side := range []cty.Value{left, right} {
		if value.HasDeepSensitive(side) || value.HasDeepEphemeral(side) {
			return "" // the operands are named as such above
		}
	}
	left, _ = left.UnmarkDeep()
	right, _ = right.UnmarkDeep()
	if ctyfast.RawEquals(left, right) {
		return ""
	}
	r := renderer{style: style{o.Color}, brief: o.brief(), hide: o.hidingIn(d)}
	n := compareDynamic(sides{before: left, after: right})
	if n.op == same {
		return wrap("The sides of == look the same, but the left one is "+left.Type().FriendlyName()+
			" and the right one is "+right.Type().FriendlyName()+". Values of different types are never equal.",
			o.width()-1) + "\n"
	}
	r.WriteString("The sides of == differ, from left to right:\n")
	if n.kind == scalar || n.kind == retyped {
		r.pad(4)
	} else {
		r.lead(1, update)
	}
	r.value(n, 1, how{quietNull: true})
	return r.String() + "\n"
}

// hidingIn returns what hides secrets in the values of a diagnostic.
func (o Options) hidingIn(d *diag.Diagnostic) func(string) (string, bool) {
	known := o.concealing()
	if d.Redact == nil || o.ShowSensitive {
		return known
	}
	return func(text string) (string, bool) {
		if shown := d.Redact(text); shown != text {
			return shown, false
		}
		if known == nil {
			return text, false
		}
		return known(text)
	}
}
