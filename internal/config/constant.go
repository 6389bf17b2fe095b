package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// constants evaluates what must be known before anything is installed: sources and versions of module calls may mention
// const variables, local values made of them, and paths. Everything else is unknown there.
type constants struct {
	m         *Module
	dir       string // where relative paths of functions start
	variables map[string]cty.Value
	locals    map[string]cty.Value
	within    map[string]bool // locals that are being evaluated
	table     map[string]function.Function
	more      map[string]cty.Value // further roots of references
}

// broken is the mark of values that come from a variable whose value was refused: nothing more is said of them.
type broken struct{}

// setConstants evaluates the const variables of a module, then the sources and versions of its calls. given returns the
// values of the root module's variables; those of another come from the call in its parent. A module that could not be
// read without errors is left alone.
func (m *Module) setConstants(dir string, given func(*Module) Values) (diags diag.List) {
	if m.faulty {
		return nil
	}
	m.constants = &constants{m: m, dir: dir, variables: map[string]cty.Value{}, locals: map[string]cty.Value{},
		within: map[string]bool{}}
	var root Values
	for _, v := range m.SortedVariables() {
		if !v.Const {
			continue
		}
		var value cty.Value
		var more diag.List
		switch {
		case m.Call != nil && m.Parent != nil:
			value, more = m.argument(v)
		default:
			if root == nil && given != nil {
				root = given(m)
			}
			value, more = v.given(root)
		}
		if diags = diags.Extend(more); more.HasErrors() {
			value = cty.UnknownVal(v.Type).Mark(broken{})
		}
		m.constants.variables[v.Name] = value
	}
	for _, call := range m.SortedCalls() {
		diags = diags.Extend(call.settle(m.constants))
	}
	m.faulty = diags.HasErrors()
	return diags
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

// argument returns the value that the caller of a module gives to one of its const variables.
func (m *Module) argument(v *Variable) (cty.Value, diag.List) {
	var diags diag.List
	content, _, _ := m.Call.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: v.Name}}})
	attr := content.Attributes[v.Name]
	if attr == nil || m.Parent.constants == nil {
		if v.Required() {
			return cty.UnknownVal(v.Type).Mark(broken{}), nil // reported where the arguments are checked
		}
		return v.Default, nil
	}
	value, hclDiags := m.Parent.constants.evaluate(attr.Expr)
	rng := attr.Expr.Range()
	switch {
	case value.HasMarkDeep(broken{}):
		return value, nil
	case hclDiags.HasErrors():
		return cty.UnknownVal(v.Type), diags.AppendHCL(hclDiags)
	case value.ContainsMarked() || !value.IsWhollyKnown():
		return cty.UnknownVal(v.Type), diags.Errorf(&rng, "Const variables must be known",
			"The variable %q of the module %s is a const variable: its value must be known before anything runs. Give "+
				"it a literal, or something that is made of const variables only.", v.Name, m.Path)
	}
	converted, more := v.convertFrom(value, &rng, fmt.Sprintf("The value for var.%s", v.Name))
	return converted, more
}

// settle evaluates the source and the version of a call if they are no literals.
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
		return diags.Errorf(&c.SourceRange, "Unsuitable module source",
			"The source of a module cannot be null. Give it a local path, a registry address or a URL.")
	}
	c.SourceRaw = value.AsString()
	return diags.Extend(c.setKind())
}

// text evaluates an expression that must give a constant text; what is the word for it. The text is unknown where
// another error is the reason.
func (k *constants) text(e hcl.Expression, what string) (cty.Value, diag.List) {
	const allowed = "The %s of a module is needed before anything is evaluated: it can refer to const variables, " +
		"local values made of them, and paths only."
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
		case !slices.Contains([]string{"var", "local", "path"}, t.RootName()):
			diags = diags.Errorf(&rng, "Invalid module "+what, allowed, what)
		case t.RootName() == "var" && k.m.Variables[name] == nil:
			diags = diags.Errorf(&rng, "Reference to undeclared input variable",
				"An input variable with the name %q has not been declared.", name)
		case t.RootName() == "local" && k.m.Locals[name] == nil:
			diags = diags.Errorf(&rng, "Reference to undeclared local value",
				"A local value with the name %q has not been declared.", name)
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
	if value.HasMarkDeep(broken{}) {
		return cty.DynamicVal, nil
	}
	if value.ContainsMarked() {
		return cty.DynamicVal, diags.Errorf(&rng, "Unknown module "+what,
			"The %s of a module cannot be derived from a sensitive or ephemeral value: it is recorded and shown.", what)
	}
	if !value.IsWhollyKnown() {
		return cty.DynamicVal, diags.Errorf(&rng, "Unknown module "+what, allowed+" If it comes from a variable, add "+
			"\"const = true\" to its block.", what)
	}
	text, err := ctyfast.Convert(value, cty.String)
	if err != nil {
		return cty.DynamicVal, diags.Errorf(&rng, "Incorrect value type",
			"The %s of a module must be a string: %s.", what, describeConversion(err))
	}
	return text, nil
}

// evaluate returns the value of an expression, unknown where it depends on more than constants.
func (k *constants) evaluate(e hcl.Expression) (cty.Value, hcl.Diagnostics) {
	roots := map[string]map[string]cty.Value{"var": {}, "local": {}}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}}
	for _, t := range funcs.Mentions(e) {
		members := roots[t.RootName()]
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
	if _, mentioned := ctx.Variables["path"]; mentioned {
		ctx.Variables["path"] = cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal(k.m.Dir),
			"root": cty.StringVal("."), "cwd": cty.DynamicVal})
	}
	if k.table == nil {
		k.table = funcs.Table(funcs.Options{BaseDir: k.dir, Pure: true})
	}
	ctx.Functions = k.table
	return funcs.Evaluate(e, ctx)
}

// member returns the value of a variable or of a local value.
func (k *constants) member(root, name string) cty.Value {
	if root == "var" {
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
			v = cty.DynamicVal // reported where local values are evaluated
		}
		delete(k.within, name)
		k.locals[name] = v
	}
	return v
}

// Evaluator returns what evaluates expressions of a root module's terraform block before anything else is evaluated:
// with these values of its variables, and the local values that are made of them. more has values for further roots of
// references. dir is where relative names of files start.
func (m *Module) Evaluator(dir string, variables map[string]cty.Value) func(e hcl.Expression,
	more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
	return func(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
		k := &constants{m: m, dir: dir, variables: variables, locals: map[string]cty.Value{}, within: map[string]bool{},
			more: more}
		return k.evaluate(e)
	}
}
