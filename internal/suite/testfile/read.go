package testfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/plan"
)

// reader parses one file and collects its problems.
type reader struct {
	files  config.Files
	flavor flavor.Flavor
	file   *File
	diags  diag.List
	// functions are those that mock values can call; nil until they are needed.
	functions map[string]function.Function
}

func (r *reader) errorf(at hcl.Range, summary, format string, args ...any) {
	r.diags = r.diags.Errorf(&at, summary, format, args...)
}

func (r *reader) hcl(d hcl.Diagnostics) { r.diags = r.diags.AppendHCL(d) }

var fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "run", LabelNames: []string{"name"}},
	{Type: "test"},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "variables"},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "mock_provider", LabelNames: []string{"name"}},
	{Type: "override_resource"}, {Type: "override_data"}, {Type: "override_module"},
}}

func (r *reader) read(body hcl.Body) {
	content, hclDiags := body.Content(fileSchema)
	r.hcl(hclDiags)
	runs := map[string]hcl.Range{}
	providers := map[string]hcl.Range{}
	var variables *hcl.Block
	r.settings(content.Blocks)
	for _, b := range content.Blocks {
		switch b.Type {
		case "run":
			run := r.run(b)
			if first, twice := runs[run.Name]; twice {
				r.errorf(b.DefRange, `Duplicate "run" block names`,
					"A run block named %q already exists at %s. Each run in a file needs a unique name.", run.Name,
					first)
				continue
			}
			runs[run.Name] = b.DefRange
			r.file.Runs = append(r.file.Runs, run)
		case "test":
		case "variable":
			r.variable(b)
		case "variables":
			if variables != nil {
				r.twice(b, variables, "test file")
				continue
			}
			variables = b
			r.file.Variables = r.attributes(b.Body)
		case "provider", "mock_provider":
			p := r.provider(b)
			if p == nil {
				continue
			}
			if first, twice := providers[p.Addr().String()]; twice {
				r.errorf(b.DefRange, "Duplicate provider block",
					"The provider configuration %s already exists at %s. Give one of them an alias, or remove it.",
					p.Addr(), first)
				continue
			}
			providers[p.Addr().String()] = b.DefRange
			r.file.Providers = append(r.file.Providers, p)
		default:
			r.file.Overrides = r.override(r.file.Overrides, b, false)
		}
	}
	for _, name := range sortedNames(r.file.Declared) {
		if a := r.file.Variables[name]; a != nil {
			r.declaredTwice(r.file.Declared[name], a.Range)
		}
	}
}

// settings parses the test block, before the runs, which depend on it.
func (r *reader) settings(blocks hcl.Blocks) {
	var first *hcl.Block
	for _, b := range blocks.OfType("test") {
		if first != nil {
			r.twice(b, first, "test file")
			continue
		}
		first = b
		content, hclDiags := b.Body.Content(settingsSchema)
		r.hcl(hclDiags)
		if a := content.Attributes["parallel"]; a != nil {
			r.diags = r.diags.Extend(config.DecodeLiteral(a.Expr, &r.file.Parallel))
		}
	}
}

var settingsSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "parallel"}}}

// variable parses the declaration of a variable.
func (r *reader) variable(b *hcl.Block) {
	v, more := config.DecodeVariable(b)
	if r.diags = r.diags.Extend(more); v == nil {
		return
	}
	if first := r.file.Declared[v.Name]; first != nil {
		r.declaredTwice(v, first.Range)
		return
	}
	r.file.Declared[v.Name] = v
}

func (r *reader) declaredTwice(v *config.Variable, at hcl.Range) {
	r.errorf(v.Range, `Duplicate "variable" block names`, "The variable %q of this file is already set at %s. "+
		"Declare it, or set it in the variables block.", v.Name, at)
}

// twice reports a duplicate block.
func (r *reader) twice(b, first *hcl.Block, where string) {
	r.errorf(b.DefRange, fmt.Sprintf("Multiple %q blocks", b.Type),
		"This %s already has a %s block at %s. Combine them.", where, b.Type, first.DefRange)
}

// attributes returns the arguments of a block that allows any name.
func (r *reader) attributes(body hcl.Body) hcl.Attributes {
	attrs, hclDiags := body.JustAttributes()
	r.hcl(hclDiags)
	return attrs
}

var runSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "command"}, {Name: "providers"}, {Name: "expect_failures"},
		{Name: "state_key"}, {Name: "parallel"}},
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "plan_options"}, {Type: "assert"}, {Type: "variables"}, {Type: "module"},
		{Type: "override_resource"}, {Type: "override_data"}, {Type: "override_module"},
	},
}

func (r *reader) run(b *hcl.Block) *Run {
	run := &Run{Name: b.Labels[0], Range: b.DefRange, NameRange: b.LabelRanges[0]}
	run.ModulePath, run.Parallel = r.file.modulePath(run.Name), r.file.Parallel
	content, hclDiags := b.Body.Content(runSchema)
	r.hcl(hclDiags)
	if !hclsyntax.ValidIdentifier(run.Name) {
		r.errorf(run.NameRange, "Invalid run block name", "%q is not a name. A name begins with a letter or an "+
			"underscore; letters, digits, underscores and dashes may follow.", run.Name)
	}
	r.runArguments(run, content.Attributes)
	first := map[string]*hcl.Block{}
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "assert":
			c, more := config.DecodeCondition(inner)
			r.diags = r.diags.Extend(more)
			if c != nil {
				run.Asserts = append(run.Asserts, c)
			}
			continue
		case "override_resource", "override_data", "override_module":
			run.Overrides = r.override(run.Overrides, inner, false)
			continue
		}
		if first[inner.Type] != nil {
			r.twice(inner, first[inner.Type], "run block")
			continue
		}
		first[inner.Type] = inner
		switch inner.Type {
		case "variables":
			run.Variables = r.attributes(inner.Body)
		case "plan_options":
			r.planOptions(run, inner)
		case "module":
			r.module(run, inner)
		}
	}
	return run
}

func (r *reader) runArguments(run *Run, attrs hcl.Attributes) {
	if a := attrs["command"]; a != nil {
		switch hcl.ExprAsKeyword(a.Expr) {
		case "plan":
			run.PlanOnly = true
		case "apply":
		default:
			r.errorf(a.Expr.Range(), `Invalid "command" keyword`,
				"A run either plans or applies: write command = plan or command = apply, without quotes.")
		}
	}
	if a := attrs["providers"]; a != nil {
		var more diag.List
		run.HasProviders = true
		run.Providers, more = config.DecodePassedProviders(a)
		r.diags = r.diags.Extend(more)
	}
	if a := attrs["expect_failures"]; a != nil {
		var more diag.List
		run.ExpectFailures, more = config.DecodeReferences(a)
		r.diags = r.diags.Extend(more)
	}
	if a := attrs["state_key"]; a != nil {
		r.diags = r.diags.Extend(config.DecodeLiteral(a.Expr, &run.StateKey))
	}
	if a := attrs["parallel"]; a != nil {
		r.diags = r.diags.Extend(config.DecodeLiteral(a.Expr, &run.Parallel))
	}
}

var planSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "mode"}, {Name: "refresh"}, {Name: "replace"},
	{Name: "target"}}}

func (r *reader) planOptions(run *Run, b *hcl.Block) {
	content, hclDiags := b.Body.Content(planSchema)
	r.hcl(hclDiags)
	if a := content.Attributes["mode"]; a != nil {
		switch hcl.ExprAsKeyword(a.Expr) {
		case "refresh-only":
			run.Options.Mode = plan.RefreshOnly
		case "normal":
		default:
			r.errorf(a.Expr.Range(), `Invalid "mode" keyword`,
				"The mode of a plan is normal or refresh-only, without quotes.")
		}
	}
	if a := content.Attributes["refresh"]; a != nil {
		refresh := true
		more := config.DecodeLiteral(a.Expr, &refresh)
		r.diags = r.diags.Extend(more)
		run.Options.SkipRefresh = !refresh && !more.HasErrors()
		if run.Options.SkipRefresh && run.Options.Mode == plan.RefreshOnly {
			r.errorf(a.Range, "Incompatible plan options", "A plan with mode = refresh-only only refreshes, so "+
				"refresh cannot be false. Remove one of the two.")
		}
	}
	for _, list := range []struct {
		name string
		to   *[]hcl.Traversal
	}{{"replace", &run.Options.Replace}, {"target", &run.Options.Targets}} {
		if a := content.Attributes[list.name]; a != nil {
			var more diag.List
			*list.to, more = config.DecodeReferences(a)
			r.diags = r.diags.Extend(more)
		}
	}
}

var moduleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source", Required: true},
	{Name: "version"}}}

func (r *reader) module(run *Run, b *hcl.Block) {
	content, hclDiags := b.Body.Content(moduleSchema)
	r.hcl(hclDiags)
	source := content.Attributes["source"]
	if source == nil {
		return
	}
	call, more := config.NewModuleCall(run.Name, source, content.Attributes["version"], b.DefRange, r.flavor)
	r.diags = r.diags.Extend(more)
	run.Module = call
	if call.Kind == config.SourceRemote && !more.HasErrors() {
		r.errorf(source.Range, "Invalid module source address", "The module of a run must be a local directory or "+
			"come from a registry, but %q is neither. Write a module that calls it, and run that.", call.SourceRaw)
		call.Kind = 0
	}
}

// object returns the attributes of an object that can call functions, but has no references.
func (r *reader) object(a *hcl.Attribute, block, argument string) map[string]cty.Value {
	if r.functions == nil {
		r.functions = funcs.Table(funcs.Options{})
	}
	v, hclDiags := a.Expr.Value(&hcl.EvalContext{Functions: r.functions})
	r.diags = r.diags.Extend(WithoutNamespaces(diag.List(nil).AppendHCL(hclDiags)))
	switch {
	case hclDiags.HasErrors():
		return nil
	case v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType():
		r.errorf(a.Range, "Invalid "+argument+" attribute",
			"The argument %q of a %s block is an object: %[1]s = { name = value }.", argument, block)
		return nil
	}
	return v.AsValueMap()
}

// atPlan parses override_during; otherwise is the default.
func (r *reader) atPlan(attrs hcl.Attributes, otherwise bool) bool {
	a := attrs["override_during"]
	if a == nil {
		return otherwise
	}
	switch hcl.ExprAsKeyword(a.Expr) {
	case "plan":
		return true
	case "apply":
		return false
	}
	var text string // JSON has no other form of a keyword
	if _, native := a.Expr.(hclsyntax.Expression); !native {
		if v, d := a.Expr.Value(nil); !d.HasErrors() && !v.IsNull() && v.IsKnown() && v.Type() == cty.String {
			text = v.AsString()
		}
	}
	if text != "plan" && text != "apply" {
		r.errorf(a.Range, "Invalid override_during value",
			"Write override_during = plan or override_during = apply, without quotes.")
	}
	return text == "plan"
}

func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// asText returns the value of a literal string.
func asText(a *hcl.Attribute) (string, diag.List) {
	v, hclDiags := a.Expr.Value(nil)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return "", diags
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil || v.IsNull() || !v.IsKnown() {
		return "", diags.Errorf(a.Expr.Range().Ptr(), "Unsuitable value type",
			"The argument %q must be a string in double quotes.", a.Name)
	}
	return strings.TrimSpace(v.AsString()), diags
}
