package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// The namespaces of functions that function blocks define: of the module itself, and of modules that it calls
// (module::CALL::NAME).
const (
	OwnFunctions    = "local::"
	CalledFunctions = "module::"
)

// maxFunctionDepth is the maximum length of a chain of function calls.
const maxFunctionDepth = 200

// Function is a function block: a function defined in a configuration. Its result only depends on its arguments.
type Function struct {
	Name        string
	Description string
	// Parameters are those of the function in order. Those with a default come after those without one.
	Parameters []*Variable
	// Variadic, if set, takes all arguments beyond the parameters.
	Variadic *Variable
	Result   hcl.Expression
	Type     *OutputType // of the result; nil if not declared
	Range    hcl.Range   // the block's header
}

var (
	functionSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "description"}, {Name: "type"}, {Name: "result", Required: true}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "parameter", LabelNames: []string{"name"}}},
	}
	parameterSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "description"}, {Name: "type"}, {Name: "default"}, {Name: "nullable"}, {Name: "variadic"},
	}}
)

func decodeFunction(block *hcl.Block) (*Function, diag.List) {
	content, hclDiags := block.Body.Content(functionSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	f := &Function{Name: block.Labels[0], Range: block.DefRange}
	diags = diags.Extend(checkName(f.Name, block.LabelRanges[0], "Invalid function name"))
	diags = diags.Extend(decodeOptional(content.Attributes, "description", &f.Description))
	for _, b := range content.Blocks {
		diags = diags.Extend(f.addParameter(b))
	}
	if attr, ok := content.Attributes["type"]; ok {
		var more diag.List
		f.Type, more = writtenType(attr.Expr)
		diags = diags.Extend(more)
	}
	if attr, ok := content.Attributes["result"]; ok {
		f.Result = attr.Expr
		diags = diags.Extend(f.checkResult())
	} else {
		f.Result = hcl.StaticExpr(dynamicNull, block.DefRange)
	}
	return f, diags
}

// addParameter decodes a parameter block.
func (f *Function) addParameter(block *hcl.Block) diag.List {
	content, hclDiags := block.Body.Content(parameterSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	attrs := content.Attributes
	v := &variableDecl{attrs: attrs}
	v.Name, v.Range, v.Nullable, v.parameter = block.Labels[0], block.DefRange, true, true
	v.Type, v.ConstraintType = cty.DynamicPseudoType, cty.DynamicPseudoType
	variadic := false
	diags = diags.Extend(checkName(v.Name, block.LabelRanges[0], "Invalid parameter name"))
	diags = diags.Extend(decodeOptional(attrs, "description", &v.Description))
	diags = diags.Extend(decodeFlag(attrs, "nullable", &v.Nullable))
	diags = diags.Extend(decodeFlag(attrs, "variadic", &variadic))
	typed := true
	if attr, ok := attrs["type"]; ok {
		more := v.setType(attr.Expr)
		diags, typed = diags.Extend(more), !more.HasErrors()
	}
	diags = diags.Extend(v.setDefault(typed, false))
	rng := block.DefRange
	switch optional := len(f.Parameters) > 0 && !f.Parameters[len(f.Parameters)-1].Required(); {
	case f.parameter(v.Name) != nil:
		return diags.Errorf(&rng, "Duplicate parameter", "The function %q has a parameter named %q already. Rename or "+
			"remove one of the two.", f.Name, v.Name)
	case f.Variadic != nil:
		return diags.Errorf(&rng, "Invalid order of parameters", "The parameter %q takes all further arguments, so "+
			"it must be the last one.", f.Variadic.Name)
	case variadic && v.raw != cty.NilVal:
		diags = diags.Errorf(&rng, "Invalid parameter", "The parameter %q takes any number of arguments, even none, "+
			"so it cannot have a default.", v.Name)
	case optional && v.raw == cty.NilVal && !variadic:
		diags = diags.Errorf(&rng, "Invalid order of parameters", "The parameter %q has no default, but a parameter "+
			"before it has one. Move parameters with a default to the end.", v.Name)
	}
	if variadic {
		f.Variadic = v.finish()
		return diags
	}
	f.Parameters = append(f.Parameters, v.finish())
	return diags
}

// all returns all parameters, the variadic one last.
func (f *Function) all() []*Variable {
	if f.Variadic == nil {
		return f.Parameters
	}
	return append(slices.Clip(f.Parameters), f.Variadic)
}

func (f *Function) parameter(name string) *Variable {
	for _, p := range f.all() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// impure are functions whose results differ from call to call.
var impure = []string{"bcrypt", "plantimestamp", "timestamp", "uuid"}

// checkResult returns errors for an expression that depends on more than the arguments.
func (f *Function) checkResult() (diags diag.List) {
	names := make([]string, 0, len(f.Parameters))
	for _, p := range f.all() {
		names = append(names, p.Name)
	}
	for _, t := range funcs.Mentions(f.Result) {
		rng := t.SourceRange()
		name := ""
		if len(t) > 1 {
			if attr, ok := t[1].(hcl.TraverseAttr); ok {
				name = attr.Name
			}
		}
		switch {
		case t.RootName() == "param" && f.parameter(name) != nil:
		case t.RootName() == "param" && name != "":
			diags = diags.Errorf(&rng, "Reference to undeclared parameter", "The function %q has no parameter "+
				"%q.%s", f.Name, name, diag.DidYouMean(name, names))
		case f.parameter(t.RootName()) != nil:
			diags = diags.Errorf(&rng, "Invalid reference in function", "Write param.%s for the parameter of that "+
				"name.", t.RootName())
		default:
			diags = diags.Errorf(&rng, "Invalid reference in function", "The result of a function depends only on "+
				"its arguments, so it can refer only to param.NAME. Add a parameter for this value.")
		}
	}
	for _, call := range funcs.Calls(f.Result) {
		if name := strings.TrimPrefix(call.Name, "core::"); slices.Contains(impure, name) {
			diags = diags.Errorf(&call.Range, "Impure function in function", "The result of a function depends only "+
				"on its arguments, but %s returns a different value in every run. Add a parameter for this value.",
				name)
		}
	}
	return diags
}

// checkCalls reports functions of a module that call each other in a cycle, or too deeply.
func (m *Module) checkCalls() (diags diag.List) {
	done, within := map[string]int{}, []string(nil) // done holds the call depth of each function
	var visit func(f *Function) int
	visit = func(f *Function) int {
		if depth, ok := done[f.Name]; ok {
			return depth
		}
		within = append(within, f.Name)
		depth := 0
		for _, call := range funcs.Calls(f.Result) {
			name, own := strings.CutPrefix(call.Name, OwnFunctions)
			next := m.Functions[name]
			if !own || next == nil {
				continue // functions of called modules cannot call functions of this one
			}
			if at := slices.Index(within, name); at >= 0 {
				chain := append(slices.Clone(within[at:]), name)
				diags = diags.Errorf(&call.Range, "Function calls itself", "Functions cannot be recursive, but %s%s. "+
					"Use a for expression, or write a function for each level.", OwnFunctions,
					strings.Join(chain, " calls "+OwnFunctions))
				continue
			}
			if len(within) >= maxFunctionDepth {
				diags = diags.Errorf(&call.Range, "Functions nested too deep",
					"This is a chain of more than %d function calls.", maxFunctionDepth)
				continue
			}
			depth = max(depth, visit(next)+1)
		}
		within = within[:len(within)-1]
		done[f.Name] = depth
		return depth
	}
	for _, name := range slices.Sorted(maps.Keys(m.Functions)) {
		visit(m.Functions[name])
	}
	return diags
}

// callable returns the function for expressions. Its result is evaluated with the functions of table, which are those
// of its module.
//
// Its result type is dynamic: determining it would evaluate the expression twice.
func (f *Function) callable(table map[string]function.Function) function.Function {
	spec := &function.Spec{
		Description: f.Description,
		Type:        function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return f.call(args, table)
		},
	}
	var rest []string // the names of optional parameters
	for _, p := range f.all() {
		if p.Required() && p != f.Variadic {
			spec.Params = append(spec.Params, anyArgument(p.Name, p.Description))
			continue
		}
		rest = append(rest, p.Name)
	}
	if len(rest) > 0 {
		variadic := anyArgument(strings.Join(rest, ", "), "")
		spec.VarParam = &variadic
	}
	return function.New(spec)
}

func anyArgument(name, description string) function.Parameter {
	return function.Parameter{Name: name, Description: description, Type: cty.DynamicPseudoType, AllowNull: true,
		AllowUnknown: true, AllowDynamicType: true, AllowMarked: true}
}

// call evaluates the result for arguments.
func (f *Function) call(args []cty.Value, table map[string]function.Function) (cty.Value, error) {
	if len(args) > len(f.Parameters) && f.Variadic == nil {
		return cty.NilVal, fmt.Errorf("it takes at most %d arguments, but this call has %d", len(f.Parameters),
			len(args))
	}
	params := map[string]cty.Value{}
	for i, p := range f.Parameters {
		v := cty.NilVal
		if i < len(args) {
			v = args[i]
		}
		converted, err := p.convertArgument(v)
		if err != nil {
			return cty.NilVal, f.argument(i, p, err)
		}
		params[p.Name] = converted
	}
	if f.Variadic != nil {
		var rest []cty.Value
		for i := len(f.Parameters); i < len(args); i++ {
			converted, err := f.Variadic.convertArgument(args[i])
			if err != nil {
				return cty.NilVal, f.argument(i, f.Variadic, err)
			}
			rest = append(rest, converted)
		}
		params[f.Variadic.Name] = f.gathered(rest)
	}
	return f.evaluate(params, table)
}

// convertArgument is like ConvertValue, with errors that show no marked values.
func (v *Variable) convertArgument(raw cty.Value) (cty.Value, error) {
	out, err := v.ConvertValue(raw)
	if err != nil && raw != cty.NilVal && raw.ContainsMarked() && !errors.Is(err, ErrNull) {
		return out, fmt.Errorf("it cannot be converted to %s", v.ConstraintType.FriendlyNameForConstraint())
	}
	return out, err
}

// argument returns the error for an invalid argument. If the signature has one name for several parameters, it is an
// error of the whole call.
func (f *Function) argument(i int, p *Variable, err error) error {
	text := strings.TrimSuffix(err.Error(), ".")
	required := 0
	for required < len(f.Parameters) && f.Parameters[required].Required() {
		required++
	}
	if i < required || len(f.all())-required == 1 {
		return function.NewArgErrorf(i, "%s", text)
	}
	return fmt.Errorf("the argument for its parameter %q cannot be used: %s", p.Name, text)
}

// gathered returns the arguments for the variadic parameter as one value: a list, or a tuple if their types can differ.
func (f *Function) gathered(values []cty.Value) cty.Value {
	element := f.Variadic.Type
	switch {
	case element.HasDynamicTypes():
		return cty.TupleVal(values)
	case len(values) == 0:
		return cty.ListValEmpty(element)
	}
	return cty.ListVal(values)
}

// evaluate returns the result for values of the parameters. An error includes its position in the function.
func (f *Function) evaluate(params map[string]cty.Value, table map[string]function.Function) (cty.Value, error) {
	ctx := &hcl.EvalContext{Functions: table, Variables: map[string]cty.Value{}}
	if len(params) > 0 {
		ctx.Variables["param"] = cty.ObjectVal(params)
	}
	v, diags := funcs.EvaluateCalled(f.Result, ctx)
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		at := f.Result.Range()
		if d.Subject != nil {
			at = *d.Subject
		}
		return cty.NilVal, fmt.Errorf("in its result, at %s:%d: %s: %s", at.Filename, at.Start.Line, d.Summary,
			strings.TrimSuffix(d.Detail, "."))
	}
	if f.Type == nil {
		return v, nil
	}
	converted, err := f.Type.Convert(v)
	switch at := f.Result.Range(); {
	case err != nil:
		return cty.NilVal, fmt.Errorf("in its result, at %s:%d: the value does not fit the type of the function: %s",
			at.Filename, at.Start.Line, err)
	case ctyfast.TooLong(converted):
		return cty.NilVal, ctyfast.ErrTooLong
	}
	return converted, nil
}

// Check evaluates the result with unknown arguments: such an error occurs in every call.
func (f *Function) Check(table map[string]function.Function) (diags diag.List) {
	params := map[string]cty.Value{}
	for _, p := range f.Parameters {
		params[p.Name] = cty.UnknownVal(p.Type)
	}
	if f.Variadic != nil {
		params[f.Variadic.Name] = cty.UnknownVal(cty.List(f.Variadic.Type))
		if f.Variadic.Type.HasDynamicTypes() {
			params[f.Variadic.Name] = cty.DynamicVal
		}
	}
	ctx := &hcl.EvalContext{Functions: table, Variables: map[string]cty.Value{"param": cty.ObjectVal(params)}}
	v, hclDiags := funcs.EvaluateCalled(f.Result, ctx)
	if diags = diags.AppendHCL(hclDiags); diags.HasErrors() || f.Type == nil {
		return diags
	}
	if _, err := f.Type.Convert(v); err != nil {
		rng := f.Result.Range()
		return diags.Errorf(&rng, "Invalid result of function", "The value does not fit the type that the function "+
			"%q declares: %s.", f.Name, err)
	}
	return diags
}

// AddFunctions adds to a table what expressions of a module can use in addition to the functions of the language:
// functions defined in the module and in those that it calls, and the names of types. tableOf returns the table of a
// called module. A module whose declarations were not read adds nothing.
func (d *Declared) AddFunctions(table map[string]function.Function,
	tableOf func(call string) (*Declared, map[string]function.Function)) {
	if d == nil {
		return
	}
	funcs.AddTypeNames(table, d.Types)
	for name, f := range d.Functions {
		table[OwnFunctions+name] = f.callable(table)
	}
	for call := range d.module.Children {
		if of, own := tableOf(call); of != nil {
			for name, f := range of.Functions {
				table[CalledFunctions+call+"::"+name] = f.callable(own)
			}
		}
	}
}

// refuseCalls returns errors for calls of functions that other tools do not support, in a file that they read.
func refuseCalls(name string, calls []funcs.Call) (diags diag.List) {
	if IsOwn(name) {
		return nil
	}
	for _, call := range calls {
		if strings.HasPrefix(call.Name, OwnFunctions) || strings.HasPrefix(call.Name, CalledFunctions) {
			diags = diags.Errorf(&call.Range, "Unknown provider function", "There is no function %s here."+OnlyInOwn,
				call.Name, "calls of functions of modules")
		}
	}
	return diags
}
