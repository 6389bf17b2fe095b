package funcs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// This file replaces operators and functions of the hcl library: ==, !=, &&, ||, try and can.

// In the hcl library, == and != are functions that use cty, whose result is random for objects with unknown parts
// (ctyfast.Equals). A plan must be deterministic.
func init() {
	hclsyntax.OpEqual.Impl = comparison(stdlib.EqualFunc, func(equal cty.Value) cty.Value { return equal })
	hclsyntax.OpNotEqual.Impl = comparison(stdlib.NotEqualFunc, cty.Value.Not)
	hclsyntax.OpLogicalOr.ShortCircuit = leftDecides(cty.True, hclsyntax.OpLogicalOr.ShortCircuit)
	hclsyntax.OpLogicalAnd.ShortCircuit = leftDecides(cty.False, hclsyntax.OpLogicalAnd.ShortCircuit)
}

type shortCircuit = func(left, right cty.Value, leftDiags, rightDiags hcl.Diagnostics) (cty.Value, hcl.Diagnostics)

// leftDecides corrects the library, which treats null as false, and drops errors of one operand because of the other.
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

// tryFunc and canFunc behave like those of HCL's tryfunc extension, which evaluates every expression twice, for the
// type and for the value: three nested calls evaluate it eight times. These have a dynamic type and evaluate once.
var tryFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "expressions", Type: customdecode.ExpressionClosureType},
	Type: func(args []cty.Value) (cty.Type, error) {
		if len(args) == 0 {
			return cty.NilType, errors.New("at least one argument is required")
		}
		return cty.DynamicPseudoType, nil
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var failures hcl.Diagnostics
		for _, arg := range args {
			v, diags := attempt(arg)
			switch {
			case diags.HasErrors():
				failures = append(failures, diags...)
			case !v.IsWhollyKnown():
				// when everything is known, the expression may fail, so that another one is chosen
				return cty.DynamicVal, nil
			default:
				return v, nil
			}
		}
		return cty.NilVal, noneSucceeded(failures)
	},
})

var canFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "expression", Type: customdecode.ExpressionClosureType}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v, diags := attempt(args[0])
		switch {
		case diags.HasErrors():
			return cty.False, nil
		case !v.IsWhollyKnown():
			return cty.UnknownVal(cty.Bool), nil
		default:
			return cty.True, nil
		}
	},
})

// attempt evaluates an argument. An argument that exceeds a limit fails like others; within a loop, the loop ends with
// its next round.
func attempt(arg cty.Value) (v cty.Value, diags hcl.Diagnostics) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exceeded:
			v, diags = cty.DynamicVal, hcl.Diagnostics{r.diagnostic}
		default:
			panic(r)
		}
	}()
	return customdecode.ExpressionClosureFromVal(arg).Value()
}

// noneSucceeded returns the reasons why the expressions failed.
func noneSucceeded(failures hcl.Diagnostics) error {
	var text strings.Builder
	text.WriteString("no expression succeeded:\n")
	for _, failure := range failures {
		if failure.Severity != hcl.DiagError {
			continue
		}
		fmt.Fprintf(&text, "- %s", failure.Summary)
		if failure.Subject != nil {
			fmt.Fprintf(&text, " (at %s)", diag.Line(*failure.Subject))
		}
		detail := failure.Detail
		if mayQuoteSecret(failure) {
			detail = "The reason is withheld because it could show a value that is sensitive or ephemeral."
		}
		fmt.Fprintf(&text, "\n  %s\n", detail)
	}
	text.WriteString("\nAt least one expression must produce a successful result")
	return errors.New(text.String())
}

// mayQuoteSecret reports whether a failure may quote a value derived from a secret: within a `for` expression in JSON,
// elements have lost their marks. The error of try is only shown with the scope around the call.
func mayQuoteSecret(failure *hcl.Diagnostic) bool {
	ctx := failure.EvalContext
	if ctx == nil || ctx.Parent() == nil || failure.Subject == nil || !strings.HasSuffix(failure.Subject.Filename,
		".json") {
		return false
	}
	for ; ctx != nil; ctx = ctx.Parent() {
		for _, v := range ctx.Variables {
			if v != cty.NilVal && ctyfast.ContainsMarked(v) {
				return true
			}
		}
	}
	return false
}
