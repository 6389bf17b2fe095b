package funcs

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

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
	if template, ok := templateIn(e); ok {
		visit(template)
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
