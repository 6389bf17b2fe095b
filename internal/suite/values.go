package suite

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

// globals returns the external variables. Texts are parsed by the type of the declaration in the file, or of that in
// the module; without a declaration they are expressions.
func (a *attempt) globals(root *config.Module) (map[string]cty.Value, diag.List) {
	var diags diag.List
	declared, others := config.Values{}, map[string]cty.Value{}
	for name, raw := range a.file.given {
		own := a.file.file.Declared[name]
		switch {
		case own != nil:
			values, more := (&config.Module{Variables: map[string]*config.Variable{name: own}}).VariableValues(
				config.Values{name: raw})
			diags = diags.Extend(more)
			others[name] = values[name]
		case root.Variables[name] != nil:
			declared[name] = raw
		case raw.Value != cty.NilVal:
			others[name] = raw.Value
		default: // without a declaration, the text is an expression
			v, more := (&config.Variable{Name: name, ParsingMode: config.ParseHCL}).ParseText(raw.Text)
			if more.HasErrors() {
				a.unreadable[name] = unreadable(name, more)
				continue
			}
			others[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) { // the file may set those that are missing
		_, more := (&config.Module{Variables: map[string]*config.Variable{name: root.Variables[name]}}).VariableValues(
			config.Values{name: declared[name]})
		diags = diags.Extend(more)
	}
	for name, v := range root.RawValues(declared) {
		others[name] = v
	}
	return others, diags
}

// unreadable returns a hint about a text that is not an expression. It may be a secret, so it is not shown.
func unreadable(name string, why diag.List) (diags diag.List) {
	for _, d := range why {
		if d.Severity != diag.Error {
			continue
		}
		return diags.Errorf(d.Subject, d.Summary,
			"Nothing declares the variable %q, so its value is read as an expression, but it is not valid. Declare "+
				"the variable with a variable block %[1]q in the test file, or put strings into double quotes.", name)
	}
	return diags
}

// place is the position of an expression, which determines its valid references.
type place uint8

const (
	inFile place = iota + 1
	inRun
	inProvider
)

// scope returns the evaluation context for expressions of the file.
func (a *attempt) scope(variables map[string]cty.Value) *hcl.EvalContext {
	runs := map[string]cty.Value{}
	for name, values := range a.before {
		runs[name] = cty.ObjectVal(values)
	}
	return &hcl.EvalContext{
		Variables: map[string]cty.Value{"var": cty.ObjectVal(variables), "run": cty.ObjectVal(runs)},
		Functions: funcs.Table(funcs.Options{}),
	}
}

// value evaluates an expression of the file.
func (a *attempt) value(e hcl.Expression, ctx *hcl.EvalContext, at place) (cty.Value, diag.List) {
	if diags := a.references(e, ctx, at); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v, hclDiags := e.Value(ctx)
	return v, testfile.WithoutNamespaces(diag.List(nil).AppendHCL(hclDiags))
}

// references returns the problems of an expression's references.
func (a *attempt) references(e hcl.Expression, ctx *hcl.EvalContext, at place) (diags diag.List) {
	for _, t := range funcs.Mentions(e) {
		diags = diags.Extend(a.reference(t, ctx, at))
	}
	return diags
}

// reference returns the problem of a reference in the file.
func (a *attempt) reference(t hcl.Traversal, ctx *hcl.EvalContext, at place) (diags diag.List) {
	rng, diags := shortRange(t)
	if diags.HasErrors() {
		return diags
	}
	name, named := nameOf(t, 1)
	switch {
	case t.RootName() == "var" && named:
		if why := a.broken[name]; at == inProvider && why != nil {
			return why
		}
		if why := a.unreadable[name]; why != nil {
			return why
		}
		if !ctx.Variables["var"].Type().HasAttribute(name) {
			return diags.Errorf(&rng, "Reference to unavailable variable", "The variable %q is not available here. "+
				"Available are those of the file, and those set by options, variable files and the environment.", name)
		}
		return nil
	case t.RootName() == "run" && named:
		return a.runReference(t, name)
	}
	what := map[place]string{
		inFile: "the variables of the file can only refer to earlier runs, to each other, and to variables set by " +
			"options, variable files and the environment",
		inRun: "the variables of a run can only refer to earlier runs, and to variables that are set in the file or " +
			"outside of it",
		inProvider: "provider blocks of the file can only refer to earlier runs and variables",
	}
	return diags.Errorf(&rng, "Invalid reference", "There is no %s here: %s.", t.RootName(), what[at])
}

// shortRange returns the range of a reference's name, without the rest.
func shortRange(t hcl.Traversal) (hcl.Range, diag.List) {
	ref, diags := addr.ParseReference(t)
	return ref.Range, diags
}

// runReference returns the problem of a reference to an output value of a run.
func (a *attempt) runReference(t hcl.Traversal, name string) (diags diag.List) {
	rng, _ := shortRange(t)
	outputs, done := a.before[name]
	if !done {
		for _, run := range a.file.file.Runs {
			if run.Name == name {
				return diags.Errorf(&rng, "Reference to unavailable run block",
					"The run %q has not been executed yet. A run can refer only to earlier runs in its file.",
					name)
			}
		}
		return diags.Errorf(&rng, "Reference to unknown run block", "The file has no run %q.%s", name,
			diag.DidYouMean(name, a.file.runNames()))
	}
	// Evaluation reports problems in the rest of the reference.
	if v, more := t[2:].TraverseRel(cty.ObjectVal(outputs)); !more.HasErrors() && !v.IsKnown() {
		return diags.Errorf(&rng, "Reference to unknown value",
			"This part of the output values of the run %q is not known. If the run only plans, use "+
				"\"command = apply\", or override the value with \"override_during = plan\". If it has targets, "+
				"what is not among them has no value.", name)
	}
	return nil
}

func (r *fileRun) runNames() (names []string) {
	for _, run := range r.file.Runs {
		names = append(names, run.Name)
	}
	return names
}
