package builtin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/provider"
)

// functions holds the functions of the provider by name.
var functions = map[string]function.Function{
	"decode_tfvars": decodeTfvarsFunc,
	"encode_expr":   encodeExprFunc,
	"encode_tfvars": encodeTfvarsFunc,
}

// signatures returns the functions in the form of the provider contract.
func signatures() map[string]*provider.Function {
	out := make(map[string]*provider.Function, len(functions))
	for name, f := range functions {
		described := &provider.Function{Return: cty.String, Summary: f.Description(), Description: f.Description()}
		if name == "decode_tfvars" {
			described.Return = cty.DynamicPseudoType
		}
		for _, p := range f.Params() {
			described.Params = append(described.Params, provider.FunctionParam{Name: p.Name, Type: p.Type,
				AllowNull: p.AllowNull, AllowUnknown: p.AllowUnknown})
		}
		out[name] = described
	}
	return out
}

// CallFunction implements provider.Provider.
func (t *terraform) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	f, found := functions[name]
	if !found {
		return t.Base.CallFunction(ctx, name, args)
	}
	return f.Call(args)
}

var encodeTfvarsFunc = function.New(&function.Spec{
	Description:  "Encodes the attributes of an object, or the elements of a map, in the syntax of a .tfvars file.",
	Params:       []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: (*cty.RefinementBuilder).NotNull,
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		vars := args[0]
		if ty := vars.Type(); !ty.IsObjectType() && !ty.IsMapType() {
			return cty.NilVal, errors.New("only an object can be encoded: its attributes become the variables")
		}
		if !vars.IsWhollyKnown() {
			return cty.UnknownVal(ty), nil
		}
		file := hclwrite.NewEmptyFile()
		for key, v := range vars.Elements() {
			name := key.AsString()
			if !hclsyntax.ValidIdentifier(name) {
				return cty.NilVal,
					fmt.Errorf("invalid variable name %q: must be a valid identifier, per the rules for names of "+
						"input variables", name)
			}
			file.Body().SetAttributeValue(name, v)
		}
		return cty.StringVal(string(file.Bytes())), nil
	},
})

var decodeTfvarsFunc = function.New(&function.Spec{
	Description: "Decodes the syntax of a .tfvars file to an object with an attribute for each definition.",
	Params:      []function.Parameter{{Name: "src", Type: cty.String}},
	Type:        function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		const name = "<decode_tfvars argument>"
		if deep := nesting.Check([]byte(args[0].AsString()), name); deep.HasErrors() {
			return cty.NilVal, deep.Err()
		}
		file, diags := hclsyntax.ParseConfig([]byte(args[0].AsString()), name, hcl.InitialPos)
		if diags.HasErrors() {
			return cty.NilVal, fmt.Errorf("invalid tfvars syntax: %w", diags)
		}
		definitions, diags := file.Body.JustAttributes()
		if diags.HasErrors() {
			return cty.NilVal, fmt.Errorf("invalid tfvars content: %w", diags)
		}
		vars := make(map[string]cty.Value, len(definitions))
		for _, name := range slices.Sorted(maps.Keys(definitions)) {
			v, diags := definitions[name].Expr.Value(nil)
			if diags.HasErrors() {
				return cty.NilVal, fmt.Errorf("invalid expression for variable %q: %w", name, diags)
			}
			vars[name] = v
		}
		return cty.ObjectVal(vars), nil
	},
})

// encodeExprFunc returns a prefix of the text even for an unknown value.
var encodeExprFunc = function.New(&function.Spec{
	Description: "Encodes a value as an expression.",
	Params: []function.Parameter{{
		Name: "value", Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowDynamicType: true,
	}},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: (*cty.RefinementBuilder).NotNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		if v.IsWhollyKnown() {
			return cty.StringVal(string(hclwrite.TokensForValue(v).Bytes())), nil
		}
		text := cty.UnknownVal(cty.String)
		if start := expressionStart(v); start != "" {
			text = text.Refine().StringPrefixFull(start).NewValue()
		}
		return text, nil
	},
})

// expressionStart returns the beginning of the expression for an unknown value. A value that may be null can become
// null, whatever its type.
func expressionStart(v cty.Value) string {
	if !v.Range().DefinitelyNotNull() {
		return ""
	}
	switch ty := v.Type(); {
	case ty.IsObjectType() || ty.IsMapType():
		return "{"
	case ty.IsTupleType() || ty.IsListType() || ty.IsSetType():
		return "["
	case ty == cty.String:
		return `"`
	default:
		return ""
	}
}
