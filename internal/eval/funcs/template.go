package funcs

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/iteration"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// deepestTemplate limits how deeply templates may be nested, if they may be.
const deepestTemplate = 100

// addTemplates adds the functions that render templates to a table with all others. The table must not be changed after
// that.
func addTemplates(table map[string]function.Function, o Options) {
	for name, f := range templateFuncs(table, o, 1) {
		table[name] = describe(name, f)
	}
}

// templateFuncs returns the functions that render templates, for expressions at a nesting depth. Within a template they
// are not available, except in OpenTofu (opentofu/small).
func templateFuncs(table map[string]function.Function, o Options, depth int) map[string]function.Function {
	renderer := renderer{functions: sync.OnceValue(func() map[string]function.Function {
		inside := make(map[string]function.Function, 2*len(table))
		for name, f := range table {
			inside[name] = f
			inside["core::"+name] = f
		}
		nested := map[string]function.Function{"templatefile": recursiveFunc("templatefile", o.Recursive),
			"templatestring": recursiveFunc("templatestring", o.Recursive)}
		if o.Recursive && depth < deepestTemplate {
			nested = templateFuncs(table, o, depth+1)
		}
		for name, f := range nested {
			inside[name], inside["core::"+name] = f, f
		}
		if o.Work != nil {
			inside[workName] = o.Work.function()
		}
		return inside
	})}
	d := disk{baseDir: o.BaseDir, home: o.Home, work: o.Work}
	return map[string]function.Function{"templatefile": templateFileFunc(d, renderer, o.Files),
		"templatestring": templateStringFunc(renderer)}
}

// recursiveFunc replaces a function that must not be called within a template, or not at this depth.
func recursiveFunc(name string, deep bool) function.Function {
	err := fmt.Errorf("cannot recursively call %s from inside another template function", name)
	if deep {
		err = fmt.Errorf("templates call each other with %s, more than %d levels deep", name, deepestTemplate)
	}
	args := anything("args")
	return function.New(&function.Spec{
		VarParam: &args,
		Type:     func([]cty.Value) (cty.Type, error) { return cty.NilType, err },
		Impl:     func([]cty.Value, cty.Type) (cty.Value, error) { return cty.NilVal, err },
	})
}

// varsParam is the second parameter of template functions: an object or a map.
var varsParam = function.Parameter{
	Name: "vars", Type: cty.DynamicPseudoType,
	AllowUnknown: true, AllowMarked: true, AllowDynamicType: true,
}

// templateFileFunc returns a value of any type: the result of a template that is a single interpolation is its value.
func templateFileFunc(d disk, r renderer, record *FileRecord) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "path", Type: cty.String, AllowUnknown: true, AllowMarked: true},
			varsParam,
		},
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			path, marks := args[0].Unmark()
			if !path.IsKnown() {
				_, varsMarks := args[1].UnmarkDeep()
				return cty.DynamicVal.WithMarks(marks, varsMarks), nil
			}
			source, err := d.readText(path.AsString(), quoted(args[0]))
			if err != nil {
				return cty.NilVal, err
			}
			filename := path.AsString()
			if len(marks) > 0 {
				filename = "<templatefile argument>"
			}
			t, err := parseTemplate(source, filename)
			if err != nil {
				return cty.NilVal, unlessMarked(marks, err)
			}
			result, err := r.render(t, args[1], marks)
			if err != nil {
				return cty.NilVal, err
			}
			return result.WithMarks(marks), record.checkTemplate(args, source, t, result)
		},
	})
}

// checkTemplate checks the result of templatefile. If the result differs each time, such as with a call of uuid, only
// the text of the template has to be the same.
func (r *FileRecord) checkTemplate(args []cty.Value, source string, t hcl.Expression, result cty.Value) error {
	if r == nil {
		return nil
	}
	if native, ok := t.(hclsyntax.Expression); ok && callsImpure(native) {
		args, result = args[:1], cty.StringVal(source)
	}
	return r.Check("templatefile", args, result)
}

func templateStringFunc(r renderer) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "template", Type: customdecode.ExpressionClosureType},
			varsParam,
		},
		Type:         function.StaticReturnType(cty.String),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			source, err := templateSource(customdecode.ExpressionClosureFromVal(args[0]))
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			source, marks := source.Unmark()
			if !source.IsKnown() {
				_, varsMarks := args[1].UnmarkDeep()
				return cty.UnknownVal(cty.String).WithMarks(marks, varsMarks), nil
			}
			t, err := parseTemplate(source.AsString(), "<templatestring argument>")
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(0, "invalid template: %w", unlessMarked(marks, err))
			}
			result, err := r.render(t, args[1], marks)
			if err != nil {
				return cty.NilVal, err
			}
			result, err = convert.Convert(result, cty.String)
			if err != nil {
				return cty.NilVal, fmt.Errorf("invalid template result: %w", err)
			}
			if plain, _ := result.Unmark(); plain.IsKnown() && plain.IsNull() {
				return cty.NilVal, errors.New("invalid template result: a template cannot be null")
			}
			return result.WithMarks(marks), nil
		},
	})
}

// templateSource evaluates the first argument of templatestring. It must refer to a template: a template in place
// should be an ordinary template expression, or has wrong quotes.
func templateSource(closure *customdecode.ExpressionClosure) (cty.Value, error) {
	switch expr := Unmetered(closure.Expression).(type) {
	case *hclsyntax.TemplateWrapExpr:
		return cty.NilVal, errors.New("invalid template expression: templatestring renders a template from another " +
			"value; to use the expression between ${ and } as the template, remove the ${ and }")
	case *hclsyntax.TemplateExpr:
		if expr.IsStringLiteral() {
			return cty.NilVal, errors.New("invalid template expression: templatestring renders a template from " +
				"another value, not a literal; use a plain template expression instead")
		}
		return cty.NilVal, errors.New("invalid template expression: templatestring renders a template from another " +
			"value; to render an inline template, use a plain template expression")
	default:
		if !isReference(expr) {
			return cty.NilVal,
				errors.New(
					"the template must be a reference to one string that is defined elsewhere, such as a local value")
		}
	}
	v, diags := closure.Value()
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("invalid template expression: %w", diags)
	}
	plain, _ := v.Unmark()
	switch {
	case !plain.IsKnown() && plain.Type() == cty.DynamicPseudoType:
		return cty.UnknownVal(cty.String).WithSameMarks(v), nil
	case plain.Type() != cty.String || plain.IsNull():
		return cty.NilVal, errors.New("invalid template value: a string is required")
	}
	return v, nil
}

// isReference reports whether the expression is a reference to a named value or a part of it.
func isReference(expr hcl.Expression) bool {
	switch expr := Unmetered(expr).(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return true
	case *hclsyntax.RelativeTraversalExpr:
		return isReference(expr.Source)
	case *hclsyntax.IndexExpr:
		return isReference(expr.Collection)
	case *hclsyntax.SplatExpr:
		return isReference(expr.Source)
	default:
		return false
	}
}

func parseTemplate(source, filename string) (hcl.Expression, error) {
	t, diags, deep := nesting.ParseTemplate([]byte(source), filename)
	if deep.HasErrors() {
		return nil, deep.Err()
	}
	if diags.HasErrors() {
		return nil, diags
	}
	iteration.Guard(t)
	return t, nil
}

// renderer evaluates templates, with the functions that templates may call.
type renderer struct {
	functions func() map[string]function.Function
}

// render evaluates a template. sourceMarks are the marks of the template itself: if there are any, errors must not
// quote it.
func (r renderer) render(t hcl.Expression, vars cty.Value, sourceMarks cty.ValueMarks) (cty.Value, error) {
	vars, varsMarks := vars.Unmark()
	if ty := vars.Type(); ty != cty.DynamicPseudoType && !ty.IsMapType() && !ty.IsObjectType() {
		return cty.NilVal, function.NewArgErrorf(1, "invalid vars value: must be a map")
	}
	if !vars.IsKnown() {
		return cty.DynamicVal.WithMarks(varsMarks), nil
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: r.functions()}
	for key, v := range vars.Elements() {
		name := key.AsString()
		if !hclsyntax.ValidIdentifier(name) {
			if len(varsMarks) > 0 {
				return cty.NilVal, function.NewArgError(1, errWithheld)
			}
			return cty.NilVal, function.NewArgErrorf(1, "invalid template variable name %q: the name of a template "+
				"variable must begin with a letter, followed by letters, digits and underscores", name)
		}
		ctx.Variables[name] = v
	}
	for _, reference := range Mentions(t) {
		if name := reference.RootName(); !has(ctx.Variables, name) {
			err := fmt.Errorf("vars map does not contain key %q, referenced at %s", name,
				diag.Line(reference[0].SourceRange()))
			return cty.NilVal, function.NewArgError(1, unlessMarked(sourceMarks, err))
		}
	}
	result, diags := Metered(t).Value(Share(ctx))
	if diags.HasErrors() {
		for i, d := range diags {
			call, unknown := d.Extra.(hclsyntax.FunctionCallUnknownDiagExtra)
			if unknown && call.CalledFunctionNamespace() != "" {
				named := *d
				named.Detail = "templates can only call built-in functions"
				diags[i] = &named
			}
		}
		_, inside := vars.UnmarkDeep()
		return cty.NilVal, unlessMarked(cty.NewValueMarks(sourceMarks, varsMarks, inside), diags)
	}
	return result.WithMarks(varsMarks), nil
}

// unlessMarked returns an error, or withholds its text if there are marks.
func unlessMarked(marks cty.ValueMarks, err error) error {
	if len(marks) > 0 {
		return errWithheld
	}
	return err
}

func has[V any](m map[string]V, key string) bool {
	_, found := m[key]
	return found
}
