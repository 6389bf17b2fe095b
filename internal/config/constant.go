package config

import (
	"context"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// constants evaluates expressions that must be known before anything is installed: sources and versions of module calls
// may refer to const variables, local values that only use these, and paths. In OpenTofu's projects they may refer to
// all variables, and backend blocks may refer to them, too. All other references are unknown.
type constants struct {
	m         *Module
	dir       string               // base of relative paths in functions
	given     func(*Module) Values // values of the root module's variables; may be nil
	root      Values               // the result of given
	workspace string               // the selected workspace; "" if it is unknown
	variables map[string]cty.Value
	locals    map[string]cty.Value
	within    map[string]bool // local values being evaluated
	table     map[string]function.Function
	more      map[string]cty.Value // further roots of references
	problems  diag.List            // problems of used variables
}

// broken marks values of a variable with an invalid value, for which no further problems are reported.
type broken struct{}

// confidential and fleeting mark values of sensitive and ephemeral variables.
type (
	confidential struct{}
	fleeting     struct{}
)

// setConstants evaluates the const variables of a module, then the sources and versions of its calls. Variables of the
// root module get the values of o.Constants; those of other modules come from the call in their parent. A module with
// parse errors is not changed.
func (m *Module) setConstants(o Options) (diags diag.List) {
	if m.faulty {
		return nil
	}
	k := &constants{m: m, dir: o.Dir, given: o.Constants, workspace: o.Workspace, variables: map[string]cty.Value{},
		locals: map[string]cty.Value{}, within: map[string]bool{}}
	m.constants = k
	for _, v := range m.SortedVariables() {
		if v.Const {
			k.variable(v)
		}
	}
	diags = diags.Extend(k.problems)
	for _, call := range m.SortedCalls() {
		diags = diags.Extend(call.settle(m.constants))
	}
	diags = diags.Extend(m.refactor())
	m.faulty = diags.HasErrors()
	return diags
}

// variable evaluates a variable, and collects its problems.
func (k *constants) variable(v *Variable) {
	var value cty.Value
	var diags diag.List
	if k.m.Call != nil && k.m.Parent != nil {
		value, diags = k.m.argument(v)
	} else {
		if k.root == nil && k.given != nil {
			k.root = k.given(k.m)
		}
		value, diags = v.given(k.root)
	}
	if k.problems = k.problems.Extend(diags); diags.HasErrors() {
		value = cty.UnknownVal(v.Type).Mark(broken{})
	}
	if v.Sensitive {
		value = value.Mark(confidential{})
	}
	if v.Ephemeral {
		value = value.Mark(fleeting{})
	}
	k.variables[v.Name] = value
}

// given returns the value of a variable of the root module.
func (v *Variable) given(all Values) (cty.Value, diag.List) {
	one := &Module{Variables: map[string]*Variable{v.Name: v}}
	values := Values{}
	if raw, ok := all[v.Name]; ok {
		values[v.Name] = raw
	}
	out, diags := one.VariableValues(values)
	return out[v.Name], diags
}

// argument returns the value that the call of a module passes to one of its variables.
func (m *Module) argument(v *Variable) (cty.Value, diag.List) {
	var diags diag.List
	content, _, _ := m.Call.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: v.Name}}})
	attr := content.Attributes[v.Name]
	if attr == nil || m.Parent.constants == nil {
		if v.Required() {
			return cty.UnknownVal(v.Type).Mark(broken{}), nil // reported by the check of arguments
		}
		return v.Default, nil
	}
	parent := m.Parent.constants
	before := len(parent.problems)
	value, hclDiags := parent.evaluate(attr.Expr)
	m.constants.problems = m.constants.problems.Extend(parent.problems[before:])
	rng := attr.Expr.Range()
	switch {
	case value.HasMarkDeep(broken{}):
		return value, nil
	case hclDiags.HasErrors():
		return cty.UnknownVal(v.Type), diags.AppendHCL(hclDiags)
	case !v.Const && !value.IsWhollyKnown():
		return cty.UnknownVal(v.Type), nil // its use is reported as an error
	case v.Const && (value.ContainsMarked() || !value.IsWhollyKnown()):
		return cty.UnknownVal(v.Type), diags.Errorf(&rng, "Const variables must be known",
			"The variable %q of the module %s is a const variable: its value must be known before anything is "+
				"evaluated. Use a literal value, or an expression that uses only const variables.", v.Name, m.Path)
	}
	bare, marks := value.UnmarkDeep()
	converted, more := v.convertFrom(bare, &rng, fmt.Sprintf("The value for var.%s", v.Name))
	return converted.WithMarks(marks), more
}

// settle evaluates the source and the version of a call if they are not literals.
func (c *ModuleCall) settle(k *constants) (diags diag.List) {
	if c.versionExpr != nil {
		value, more := k.text(c.versionExpr, "version")
		if diags = diags.Extend(more); more.HasErrors() {
			c.Kind = 0
			return diags
		}
		if value.IsKnown() && !value.IsNull() {
			if c.Version, more = parseConstraint(value.AsString(), c.versionExpr.Range()); more.HasErrors() {
				c.Kind = 0
				return diags.Extend(more)
			}
		}
	}
	if c.sourceExpr == nil {
		return diags
	}
	value, more := k.text(c.sourceExpr, "source")
	if diags = diags.Extend(more); more.HasErrors() {
		return diags
	}
	switch {
	case !value.IsKnown():
		return diags
	case value.IsNull():
		return diags.Errorf(&c.SourceRange, k.headlines("module source").null,
			"The source of a module cannot be null. Use a local path, a registry address or a URL.")
	}
	c.SourceRaw = value.AsString()
	return diags.Extend(c.setKind())
}

// text evaluates an argument of a module call that must be a constant string. The result is unknown if another error
// was already reported.
func (k *constants) text(e hcl.Expression, argument string) (cty.Value, diag.List) {
	value, diags := k.known(e, "module "+argument, argument+" of a module")
	if diags.HasErrors() || !value.IsKnown() {
		return cty.DynamicVal, diags
	}
	rng := e.Range()
	text, err := ctyfast.Convert(value, cty.String)
	if err != nil {
		return cty.DynamicVal, diags.Errorf(&rng, "Incorrect value type",
			"The %s of a module must be a string: %s.", argument, describeConversion(err))
	}
	return text, nil
}

// Early evaluates an argument of the backend block. In OpenTofu's projects it can refer to variables, local values
// derived from them, paths and the workspace. The result is unknown if another error was already reported.
func (m *Module) Early(e hcl.Expression, argument string) (cty.Value, diag.List) {
	if m.constants == nil {
		return cty.DynamicVal, nil // the module has parse errors
	}
	return m.constants.known(e, "backend argument", "argument "+argument+" of the backend")
}

// EarlyVariables reports whether the arguments of the backend block may have references.
func (m *Module) EarlyVariables() bool { return m.flavor.EarlyVariables() }

// DeprecatesRootOutputs reports whether output values of the root module may be deprecated.
func (m *Module) DeprecatesRootOutputs() bool { return m.flavor.DeprecatesRootOutputs() }

// MovesCalls reports whether the instance of a call moves without a moved block if count is added or removed.
func (m *Module) MovesCalls() bool { return m.flavor.MovesCalls() }

// PlansForgotten reports whether documents include forgotten objects in the planned values.
func (m *Module) PlansForgotten() bool { return m.flavor.PlansForgotten() }

// known evaluates an expression whose value must be known and not secret. title and what describe it in messages.
func (k *constants) known(e hcl.Expression, title, what string) (cty.Value, diag.List) {
	h := k.headlines(title)
	before := len(k.problems)
	var diags diag.List
	for _, t := range funcs.Mentions(e) {
		rng := t.SourceRange()
		name := ""
		if len(t) > 1 {
			if attr, ok := t[1].(hcl.TraverseAttr); ok {
				name = attr.Name
			}
		}
		switch {
		case !k.refersTo(t):
			diags = diags.Errorf(&rng, h.elsewhere, "%s", k.allowed(what))
		case t.RootName() == "var" && k.m.Variables[name] == nil:
			diags = diags.Errorf(&rng, h.noVariable, "An input variable with the name %q has not been declared.", name)
		case t.RootName() == "local" && k.m.Locals[name] == nil:
			diags = diags.Errorf(&rng, h.noLocal, "A local value with the name %q has not been declared.", name)
		}
	}
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	rng := e.Range()
	value, hclDiags := k.evaluate(e)
	if hclDiags.HasErrors() {
		return cty.DynamicVal, diags.AppendHCL(hclDiags)
	}
	diags = diags.Extend(k.problems[before:])
	const secret = "The %s cannot be derived from %s value: it is recorded and shown."
	switch {
	case value.HasMarkDeep(broken{}):
		return cty.DynamicVal, diags
	case value.HasMarkDeep(fleeting{}):
		return cty.DynamicVal, diags.Errorf(&rng, h.ephemeral, secret, what, "an ephemeral")
	case value.ContainsMarked():
		return cty.DynamicVal, diags.Errorf(&rng, h.sensitive, secret, what, "a sensitive")
	case value.IsWhollyKnown():
		return value, diags
	case !k.m.flavor.EarlyVariables():
		return cty.DynamicVal, diags.Errorf(&rng, h.unknown, "%s If it comes from a variable, add \"const = true\" to "+
			"its block.", k.allowed(what))
	}
	return cty.DynamicVal, diags.Errorf(&rng, h.unknown, "%s", k.allowed(what))
}

// allowed returns, as part of a sentence, which references an early expression may have.
func (k *constants) allowed(what string) string {
	means := "const variables, local values that use only these, and paths"
	if k.m.flavor.EarlyVariables() {
		means = "variables, local values that use only these, paths, and terraform.workspace"
	}
	return fmt.Sprintf("The %s is needed before anything is evaluated: it can refer to %s only.", what, means)
}

// refersTo reports whether the object of a reference can be evaluated early.
func (k *constants) refersTo(t hcl.Traversal) bool {
	switch t.RootName() {
	case "var", "local", "path":
		return true
	case "terraform", "tofu":
		return k.m.flavor.EarlyVariables()
	}
	return k.more[t.RootName()] != cty.NilVal
}

// headlines holds titles of problems of early expressions.
type headlines struct{ elsewhere, unknown, null, sensitive, ephemeral, noVariable, noLocal string }

// headlines returns the titles of the tool that the project is written for.
func (k *constants) headlines(title string) headlines {
	if k.m.flavor.EarlyVariables() {
		return headlines{"Dynamic value in static context", "Unable to compute static value", "Unsuitable value type",
			"Sensitive value not allowed", "Ephemeral value not allowed", "Undefined variable", "Undefined local"}
	}
	return headlines{"Invalid " + title, "Unknown " + title, "Unsuitable " + title, "Unknown " + title,
		"Unknown " + title, "Reference to undeclared input variable", "Reference to undeclared local value"}
}

// evaluate returns the value of an expression, which is unknown if it depends on more than constants.
func (k *constants) evaluate(e hcl.Expression) (cty.Value, hcl.Diagnostics) {
	roots := map[string]map[string]cty.Value{"var": {}, "local": {}}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}}
	for _, t := range funcs.Mentions(e) {
		members := roots[t.RootName()]
		if rng := t.SourceRange(); k.m.flavor.EarlyVariables() && k.more == nil && !k.refersTo(t) {
			k.problems = k.problems.Errorf(&rng, k.headlines("").elsewhere, "This value is needed before anything is "+
				"evaluated, when %s is not known yet.", t.RootName())
		}
		if members == nil {
			if ctx.Variables[t.RootName()] = cty.DynamicVal; k.more[t.RootName()] != cty.NilVal {
				ctx.Variables[t.RootName()] = k.more[t.RootName()]
			}
			continue
		}
		if len(t) < 2 {
			continue
		}
		if attr, ok := t[1].(hcl.TraverseAttr); ok {
			members[attr.Name] = k.member(t.RootName(), attr.Name)
		}
	}
	for name, members := range roots {
		if len(members) > 0 {
			ctx.Variables[name] = cty.ObjectVal(members)
		}
	}
	fixed := map[string]cty.Value{"path": cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal(k.m.Dir),
		"root": cty.StringVal("."), "cwd": cty.DynamicVal})}
	if k.workspace != "" {
		fixed["terraform"] = cty.ObjectVal(map[string]cty.Value{"workspace": cty.StringVal(k.workspace)})
		fixed["tofu"] = fixed["terraform"]
	}
	for name, value := range fixed {
		if _, mentioned := ctx.Variables[name]; mentioned {
			ctx.Variables[name] = value
		}
	}
	if k.table == nil {
		k.table = funcs.Table(funcs.Options{BaseDir: k.dir, Pure: true, Work: funcs.NewWork(context.Background()),
			Recursive: k.m.flavor.NestsTemplates()})
		k.m.declared.AddFunctions(k.table, func(string) (*Declared, map[string]function.Function) { return nil, nil })
	}
	ctx.Functions = k.table
	return funcs.Evaluate(e, ctx)
}

// member returns the value of a variable or of a local value.
func (k *constants) member(root, name string) cty.Value {
	if root == "var" {
		if v := k.m.Variables[name]; v != nil && k.variables[name] == cty.NilVal && k.m.flavor.EarlyVariables() {
			k.variable(v)
		}
		if v, ok := k.variables[name]; ok {
			return v
		}
		return cty.DynamicVal
	}
	l := k.m.Locals[name]
	if l == nil || k.within[name] {
		return cty.DynamicVal
	}
	v, ok := k.locals[name]
	if !ok {
		k.within[name] = true
		var diags hcl.Diagnostics
		if v, diags = k.evaluate(l.Expr); diags.HasErrors() {
			v = cty.DynamicVal // reported by the evaluation of local values
		}
		delete(k.within, name)
		k.locals[name] = v
	}
	return v
}

// Evaluator returns the evaluator for expressions of a root module's terraform block with the given values of its
// variables and local values derived from them. more holds values of further names. dir is the base of relative file
// names.
func (m *Module) Evaluator(dir string, variables map[string]cty.Value) func(e hcl.Expression,
	more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
	return func(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
		k := &constants{m: m, dir: dir, variables: variables, locals: map[string]cty.Value{}, within: map[string]bool{},
			more: more}
		return k.evaluate(e)
	}
}
