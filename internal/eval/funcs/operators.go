package funcs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// What == and != do is a function of the hcl library, which asks cty, and what that says of objects with something
// unknown in them depends on luck (ctyfast.Equals). A plan must not.
func init() {
	hclsyntax.OpEqual.Impl = comparison(stdlib.EqualFunc, func(equal cty.Value) cty.Value { return equal })
	hclsyntax.OpNotEqual.Impl = comparison(stdlib.NotEqualFunc, cty.Value.Not)
	hclsyntax.OpLogicalOr.ShortCircuit = leftDecides(cty.True, hclsyntax.OpLogicalOr.ShortCircuit)
	hclsyntax.OpLogicalAnd.ShortCircuit = leftDecides(cty.False, hclsyntax.OpLogicalAnd.ShortCircuit)
}

type shortCircuit = func(left, right cty.Value, leftDiags, rightDiags hcl.Diagnostics) (cty.Value, hcl.Diagnostics)

// leftDecides corrects the library, which reads null as false, and drops errors of one operand because of the other.
// Here the right operand is ignored only if the left one decides. With NilVal the library reports all errors.
func leftDecides(deciding cty.Value, library shortCircuit) shortCircuit {
	return func(left, right cty.Value, leftDiags, rightDiags hcl.Diagnostics) (cty.Value, hcl.Diagnostics) {
		switch {
		case leftDiags.HasErrors() || left.IsNull():
			return cty.NilVal, nil
		case left.IsKnown() && left.RawEquals(deciding):
			return deciding, leftDiags
		case rightDiags.HasErrors() || right.IsNull():
			return cty.NilVal, nil
		}
		return library(left, right, leftDiags, rightDiags)
	}
}

func comparison(library function.Function, result func(equal cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Description:  library.Description(),
		Params:       library.Params(),
		Type:         function.StaticReturnType(cty.Bool),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return result(ctyfast.Equals(args[0], args[1])), nil
		},
	})
}
