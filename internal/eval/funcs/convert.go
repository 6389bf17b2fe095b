package funcs

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// conversionFunc returns a function that converts its argument to one type, such as tostring. Marks are kept where the
// result has the marked parts.
func conversionFunc(want cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{
			Name: "v", Type: cty.DynamicPseudoType,
			AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
		}},
		Type: func(args []cty.Value) (cty.Type, error) {
			if _, err := ctyfast.Convert(args[0], want); err != nil && convert.GetConversionUnsafe(args[0].Type(),
				want) == nil {
				return cty.NilType, cannotConvert(args[0].Type().FriendlyName(), want)
			}
			return want, nil // other errors are about the value
		},
		Impl: func(args []cty.Value, want cty.Type) (cty.Value, error) {
			converted, err := ctyfast.Convert(args[0], want)
			if errors.Is(err, ctyfast.ErrManyDigits) {
				return cty.NilVal, function.NewArgError(0, err)
			}
			if err != nil {
				// the value rather than its type is wrong here
				return cty.NilVal, explainConversion(args[0], want)
			}
			if ctyfast.TooLong(converted) {
				return cty.NilVal, function.NewArgError(0, ctyfast.ErrTooLong)
			}
			return converted, nil
		},
	})
}

func cannotConvert(what string, want cty.Type) error {
	return function.NewArgErrorf(0, "cannot convert %s to %s", what, want.FriendlyNameForConstraint())
}

func explainConversion(arg cty.Value, want cty.Type) error {
	name := arg.Type().FriendlyName()
	switch {
	case value.HasDeepSensitive(arg):
		return cannotConvert("this sensitive "+name, want)
	case value.HasDeepEphemeral(arg):
		return cannotConvert("this ephemeral "+name, want)
	case arg.ContainsMarked(): // an element of a secret value
		return cannotConvert("this sensitive "+name, want)
	case arg.Type() != cty.String || arg.IsNull():
		return cannotConvert(name, want)
	}
	switch want {
	case cty.Bool:
		return function.NewArgErrorf(0, `cannot convert %s to bool; only the strings "true" or "false" are allowed`,
			quoted(arg))
	case cty.Number:
		return function.NewArgErrorf(0,
			"cannot convert %s to number; given string must be a decimal representation of a number", quoted(arg))
	default:
		return cannotConvert(name, want)
	}
}

// retiredFunc replaces a function of old language versions. Its error names the replacement.
func retiredFunc(name, instead string) function.Function {
	message := fmt.Sprintf(
		"the %q function was deprecated in Terraform v0.12 and is no longer available; write %s instead", name, instead)
	err := errors.New(message)
	return function.New(&function.Spec{
		VarParam: &function.Parameter{
			Name: "vals", Type: cty.DynamicPseudoType,
			AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
		},
		Type: func([]cty.Value) (cty.Type, error) { return cty.NilType, err },
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.NilVal, err },
	})
}

// constraint is a written type with the defaults of its optional attributes, or nil defaults.
type constraint struct {
	want     cty.Type
	defaults *typeexpr.Defaults
}

// constraintType is the type of an argument that is a type rather than a value. It refers to itself: its values are
// created where it is decoded.
var constraintType cty.Type

func init() {
	constraintType = cty.CapsuleWithOps("type", reflect.TypeFor[constraint](), &cty.CapsuleOps{
		ExtensionData: func(key any) any {
			if key != customdecode.CustomExpressionDecoder {
				return nil
			}
			return customdecode.CustomExpressionDecoderFunc(decodeConstraint)
		},
	})
}

func decodeConstraint(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if names := typeNamesOf(ctx); names != nil {
		written, diags := names.Expand(e)
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		e = written
	}
	want, defaults, diags := typeexpr.TypeConstraintWithDefaults(e)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return cty.CapsuleVal(constraintType, &constraint{want, defaults}), diags
}

// convertFunc returns the function convert, which converts a value to a type, like a variable.
func convertFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
			{Name: "type", Type: constraintType},
		},
		Type: func(args []cty.Value) (cty.Type, error) {
			if !args[1].IsKnown() {
				return cty.DynamicPseudoType, nil
			}
			v, err := converted(args)
			if err != nil {
				return cty.NilType, err
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return converted(args) },
	})
}

func converted(args []cty.Value) (cty.Value, error) {
	v, to := args[0], args[1].EncapsulatedValue().(*constraint)
	if to.defaults != nil && v.IsKnown() && !v.IsNull() {
		v = to.defaults.Apply(v)
	}
	out, err := ctyfast.Convert(v, to.want)
	switch {
	case err != nil && convert.GetConversionUnsafe(v.Type(), to.want) == nil:
		return cty.NilVal, function.NewArgErrorf(0, "%s", convert.MismatchMessage(v.Type(), to.want))
	case err != nil:
		return cty.NilVal, function.NewArgError(0, err)
	case ctyfast.TooLong(out):
		return cty.NilVal, function.NewArgError(0, ctyfast.ErrTooLong)
	}
	return out, nil
}

// Mentions returns the references of an expression, without the keywords and type names in calls of convert, which look
// like references. In JSON the position of a single word is not known, so it counts as a type there; if it is not, the
// evaluation reports an unknown variable.
func Mentions(e hcl.Expression) []hcl.Traversal {
	list := e.Variables()
	if !slices.ContainsFunc(list, isType) {
		return list
	}
	native, ok := e.(hclsyntax.Expression)
	if !ok {
		if !slices.ContainsFunc(list, isTypeWord) && !slices.ContainsFunc(Calls(e), isConvert) {
			return list
		}
		return mentionsInJSON(e, list)
	}
	var types []hcl.Range
	hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if ok && isConvert(Call{Name: call.Name}) && len(call.Args) > 1 {
			types = append(types, call.Args[1].Range())
		}
		return nil
	})
	return slices.DeleteFunc(list, func(t hcl.Traversal) bool {
		return isType(t) && slices.ContainsFunc(types, t.SourceRange().Overlaps)
	})
}

// mentionsInJSON is Mentions for a JSON expression with a call of convert.
func mentionsInJSON(e hcl.Expression, list []hcl.Traversal) []hcl.Traversal {
	var out []hcl.Traversal
	if !templates(e, func(template hclsyntax.Expression) { out = append(out, Mentions(template)...) }) {
		out = list
	}
	return slices.DeleteFunc(out, isTypeWord)
}

func isConvert(call Call) bool { return call.Name == "convert" || call.Name == "core::convert" }

// typesAsWritten returns the arguments of a call, with the type argument of convert unchanged: it uses the names of
// functions, such as list, but calls none.
func typesAsWritten(call *hclsyntax.FunctionCallExpr, args []hclsyntax.Expression) []hclsyntax.Expression {
	if isConvert(Call{Name: call.Name}) {
		copy(args[1:], call.Args[1:])
	}
	return args
}

// isType reports whether a reference may be a keyword or a name of a type.
func isType(t hcl.Traversal) bool {
	return isTypeWord(t) || len(t) > 1 && slices.Contains([]string{"type", "module", "resource", "data", "ephemeral"},
		t.RootName())
}

// isTypeWord reports whether a reference is a single keyword of a type.
func isTypeWord(t hcl.Traversal) bool {
	return len(t) == 1 && slices.Contains([]string{"any", "bool", "number", "string"}, t.RootName())
}

// TypeNames resolves the names of types in a module. It may be used concurrently.
type TypeNames interface {
	// Expand returns a type expression with all type names replaced by their definitions.
	Expand(e hcl.Expression) (hcl.Expression, hcl.Diagnostics)
}

// typesName is the key of the TypeNames in a function table. No expression can call it.
const typesName = "\x00\x00\x00\x00\x00\x00 names of types"

var typeNamesType = cty.Capsule("names", reflect.TypeFor[TypeNames]())

// AddTypeNames adds the names of types to the functions of a table that accept a type.
func AddTypeNames(table map[string]function.Function, names TypeNames) {
	v := cty.CapsuleVal(typeNamesType, &names)
	table[typesName] = function.New(&function.Spec{
		Type: function.StaticReturnType(typeNamesType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return v, nil },
	})
}

// typeNamesOf returns the names of types that an expression can use, or nil if there are none.
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

// Call is the call of a function in an expression.
type Call struct {
	Name  string
	Range hcl.Range // range of the name
}

// Calls returns all calls in an expression, including those in JSON templates.
func Calls(e hcl.Expression) []Call {
	if native, ok := e.(hclsyntax.Expression); ok {
		return callsIn(native)
	}
	var out []Call
	templates(e, func(template hclsyntax.Expression) { out = append(out, callsIn(template)...) })
	return out
}

// templates visits all templates in a JSON expression; ok is false for other expressions.
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
