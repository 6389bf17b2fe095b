package funcs

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// TypeNames knows the names of types in a module. It may be asked concurrently.
type TypeNames interface {
	// Expand returns a written type with all names in it replaced by what they stand for.
	Expand(e hcl.Expression) (hcl.Expression, hcl.Diagnostics)
}

// typesName is under which a table of functions has the names of types. No expression can call it.
const typesName = "\x00\x00\x00\x00\x00\x00 names of types"

var typeNamesType = cty.Capsule("names", reflect.TypeFor[TypeNames]())

// AddTypeNames makes the names of types known to those functions of a table that take a type.
func AddTypeNames(table map[string]function.Function, names TypeNames) {
	v := cty.CapsuleVal(typeNamesType, &names)
	table[typesName] = function.New(&function.Spec{
		Type: function.StaticReturnType(typeNamesType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return v, nil },
	})
}

// typeNamesOf finds the names of types that an expression can use; nil when there are none.
func typeNamesOf(ctx *hcl.EvalContext) TypeNames {
	for ; ctx != nil; ctx = ctx.Parent() {
		if f, ok := ctx.Functions[typesName]; ok {
			if v, err := f.Call(nil); err == nil {
				return *v.EncapsulatedValue().(*TypeNames)
			}
		}
	}
	return nil
}

// callSteps is what a call of a function that is written in the language counts as, in rounds of `for` expressions.
const callSteps = 64

// EvaluateCalled is Evaluate for the result of a function that is written in the language: each call counts as some
// work. Functions that call each other twice each double it with every level.
func EvaluateCalled(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if err := workOf(ctx).spend(callSteps); err != nil {
		return cty.DynamicVal, hcl.Diagnostics{tooMuch(err, e)}
	}
	return Evaluate(e, ctx)
}

// HasWork reports whether a table of functions has a Work that bounds what calls them.
func HasWork(table map[string]function.Function) bool {
	_, ok := table[workName]
	return ok
}

// Call is the call of a function in an expression.
type Call struct {
	Name  string
	Range hcl.Range // of the name
}

// Calls returns all calls in an expression, those in the templates of JSON included.
func Calls(e hcl.Expression) []Call {
	if native, ok := e.(hclsyntax.Expression); ok {
		return callsIn(native)
	}
	var out []Call
	templates(e, func(template hclsyntax.Expression) { out = append(out, callsIn(template)...) })
	return out
}

// templates visits all templates in an expression in JSON; ok is false for other expressions.
func templates(e hcl.Expression, visit func(hclsyntax.Expression)) (ok bool) {
	if reflect.TypeOf(e) != jsonExpression {
		return false
	}
	if items, diags := hcl.ExprList(e); !diags.HasErrors() {
		for _, item := range items {
			templates(item, visit)
		}
		return true
	}
	if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
		for _, p := range pairs {
			templates(p.Key, visit)
			templates(p.Value, visit)
		}
		return true
	}
	if text, ok := meteredJSON(e).(*jsonText); ok {
		visit(text.template)
	}
	return true
}

// CallsIn returns all calls in a body of the native syntax, or in another part of a syntax tree.
func CallsIn(tree any) []Call {
	if node, ok := tree.(hclsyntax.Node); ok {
		return callsIn(node)
	}
	return nil
}

func callsIn(node hclsyntax.Node) (out []Call) {
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			out = append(out, Call{call.Name, call.NameRange})
		}
		return nil
	})
	return out
}
