package suite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/state"
)

// attempt is one run in progress.
type attempt struct {
	file      *fileRun
	run       *testfile.Run
	module    *module // only during the run
	project   *engine.Project
	options   engine.PlanOptions
	variables map[string]cty.Value // all values of the file, for assertions
	outer     map[string]cty.Value // values for provider blocks of the file
	broken    map[string]diag.List // those of the file without a value, and why
	expected  []*expectation
	met       diag.List // the failures that were expected
	standIns  *standIns
	// unreadable holds external variables that are not declared and whose texts are not expressions.
	unreadable map[string]diag.List
	// before holds the output values of the runs that this one waited for, outputs its own.
	before  map[string]map[string]cty.Value
	outputs map[string]cty.Value
	state   *keyed
	number  int // the index of the run in the queue of the file
}

// execute executes a run block.
func (r *fileRun) execute(a *attempt, out *Outcome) {
	defer func() { r.projects.put(a.module); a.module = nil }()
	defer func() { out.Met = a.met }()
	out.Status = Error
	out.Diags = out.Diags.Extend(a.prepare())
	out.Project = a.project
	if out.Diags.HasErrors() {
		return
	}
	key := a.state
	held, diags := a.project.WithStore(key.place.Store).Open(r.ctx, engine.OpenOptions{Operation: state.OperationApply})
	if out.Diags = out.Diags.Extend(diags); diags.HasErrors() {
		return
	}
	defer func() {
		diags := held.Close(r.o.Abort)
		if out.Diags = out.Diags.Extend(diags); diags.HasErrors() {
			out.Status = Error
		}
	}()
	scope := &engine.Scope{}
	a.options.Scope, a.options.Unjudged = scope, true
	pl, diags := held.Plan(r.ctx, a.options)
	if out.Run.PlanOnly {
		out.Plan = pl
		out.Diags = out.Diags.Extend(a.expect(diags, scope.Usable()))
	} else {
		diags, planned := a.expectPlanned(diags)
		out.Diags = out.Diags.Extend(diags)
		if !planned || pl == nil {
			return
		}
		key.applied, key.order = append(key.applied, a), a.number
		_, diags = held.ApplyWith(r.ctx, pl, engine.ApplyOptions{Ephemeral: a.options.Variables,
			StandIns: a.options.StandIns, Scope: scope, Rest: "The objects of this run are destroyed next."})
		key.current, key.open = held.State(), held.Snapshot().InFlight
		out.State = key.current
		out.Diags = out.Diags.Extend(a.expect(diags, scope.Usable()))
	}
	only, missing := missed(out.Diags)
	if missing && (!only || out.Run.PlanOnly) || !missing && out.Diags.HasErrors() || !scope.Usable() {
		out.Plan, out.State = nil, nil // they are not the expected result of the run
		return
	}
	out.Status = a.evaluate(scope, out)
	if missing {
		out.Status = max(out.Status, Fail)
	}
}

// missingFailure marks the problem of a condition that held although it was expected to fail. After an apply the run
// fails, as with a failed assertion; after a plan it ends with an error.
type missingFailure struct{}

// missed reports whether conditions held that were expected to fail, and whether these are the only errors.
func missed(diags diag.List) (only, some bool) {
	only = true
	for _, d := range diags {
		if d.Severity != diag.Error {
			continue
		}
		if _, missing := d.Extra.(missingFailure); missing {
			some = true
		} else {
			only = false
		}
	}
	return only, some
}

// evaluate evaluates the assertions, and stores the output values for later runs.
func (a *attempt) evaluate(scope *engine.Scope, out *Outcome) Status {
	outputs := scope.Outputs()
	if !a.run.PlanOnly { // what is unknown inside even now, as after a run that only refreshes, is null
		for name, v := range outputs {
			if v.IsKnown() {
				outputs[name] = value.UnknownAsNull(v)
			}
		}
	}
	beside := a.extraScope(outputs)
	status := Pass
	for _, c := range a.run.Asserts {
		diags := scope.Assert(c, a.file.sourceOf(c), beside)
		out.Diags = out.Diags.Extend(diags)
		for _, d := range diags {
			switch _, failed := d.Extra.(eval.Failed); {
			case d.Severity == diag.Warning:
			case failed:
				status = max(status, Fail)
			default:
				status = Error
			}
		}
	}
	a.outputs = outputs
	return status
}

// sourceOf returns the source text of a condition and its message.
func (r *fileRun) sourceOf(c *config.Condition) []byte {
	src := r.file.Sources[r.file.Name]
	var out []byte
	for _, e := range []hcl.Expression{c.Condition, c.ErrorMessage} {
		if rng := e.Range(); rng.CanSliceBytes(src) {
			out = append(append(out, rng.SliceBytes(src)...), '\n')
		}
	}
	return out
}

// prepare loads the module under test and the other inputs of the run.
func (a *attempt) prepare() (diags diag.List) {
	diags = reviewRun(a.run, a.file.o.Configs).Extend(a.wantedProviders())
	if diags.HasErrors() {
		return diags
	}
	a.expected, _ = expectations(a.run)
	var more diag.List
	a.module, more = a.file.projects.get(a.file.ctx, a)
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	a.project = a.module.Project
	root := a.project.Config().Root
	a.options.Mode, a.options.SkipRefresh = a.run.Options.Mode, a.run.Options.SkipRefresh
	a.options.FullRefresh = true // a test compares real objects, whatever the project configures
	given, more := a.collect(root)
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	if diags = diags.Extend(a.targets()).Extend(a.malformed()); diags.HasErrors() {
		return diags
	}
	a.options.Variables, a.options.VariableRanges = given.values, given.ranges
	a.variables, a.outer, a.broken = given.all, given.outer, given.broken
	a.standIns = newStandIns(a.file.file, a.run, a.project, &a.state.origins)
	a.options.StandIns = a.standIns
	return diags
}

// targets parses the addresses in plan_options.
func (a *attempt) targets() (diags diag.List) {
	for _, t := range a.run.Options.Targets {
		target, more := addr.TargetFromTraversal(t)
		diags = diags.Extend(more)
		a.options.Targets = append(a.options.Targets, target)
	}
	for _, t := range a.run.Options.Replace {
		target, more := addr.TargetFromTraversal(t)
		if diags = diags.Extend(more); more.HasErrors() {
			continue
		}
		if target.IsModule() || target.Resource.Mode != addr.Managed {
			diags = diags.Errorf(t.SourceRange().Ptr(), "Invalid address",
				"Only instances of resources can be replaced, and %s is not one.", target)
			continue
		}
		a.options.ForceReplace = append(a.options.ForceReplace, addr.AbsResourceInstance{
			Module: target.Module, Resource: target.Resource, Key: target.Key})
	}
	return diags
}

// malformed returns the problems of references in assertions that cannot be valid.
func (a *attempt) malformed() (diags diag.List) {
	for _, c := range a.run.Asserts {
		for _, e := range []hcl.Expression{c.Condition, c.ErrorMessage} {
			for _, t := range funcs.Mentions(e) {
				_, more := addr.ParseReference(t)
				diags = diags.Extend(more)
			}
		}
	}
	return diags
}

// wantedProviders checks the providers argument of the run.
func (a *attempt) wantedProviders() (diags diag.List) {
	for _, p := range a.run.Providers {
		if a.file.providerBlock(p.InParent) == nil {
			rng := p.InParentRange // only of its name
			rng.End.Column, rng.End.Byte = rng.Start.Column+len(p.InParent.LocalName), rng.Start.Byte+
				len(p.InParent.LocalName)
			diags = diags.Errorf(&rng, "Missing provider definition for "+p.InParent.String(),
				"The file has no block for the provider configuration %s. Add one: provider %q { ... }.", p.InParent,
				p.InParent.LocalName)
		}
	}
	return diags
}

// providerBlock finds the block of a provider configuration in the file, or nil.
func (r *fileRun) providerBlock(a addr.LocalProviderConfig) *testfile.Provider {
	i := slices.IndexFunc(r.file.Providers, func(p *testfile.Provider) bool { return p.Addr() == a })
	if i < 0 {
		return nil
	}
	return r.file.Providers[i]
}

// expectation is a failure that a run expects.
type expectation struct {
	kind   string
	object string // with the keys in the source
	rng    hcl.Range
	seen   bool
}

// matches reports whether a condition belongs to the object, or to an instance of it.
func (e *expectation) matches(c eval.Checked) bool {
	return c.Kind == e.kind && (c.Object == e.object || len(c.Object) > len(e.object) &&
		c.Object[:len(e.object)] == e.object && c.Object[len(e.object)] == '[')
}

// expectations parses expect_failures.
func expectations(run *testfile.Run) (out []*expectation, diags diag.List) {
	add := func(e *expectation) {
		for _, same := range out {
			if same.kind == e.kind && same.object == e.object {
				same.rng = e.rng
				return
			}
		}
		out = append(out, e)
	}
	for _, t := range run.ExpectFailures {
		e := &expectation{rng: t.SourceRange()}
		if t.RootName() == "check" || t.RootName() == "output" {
			if step, ok := nameAt(t, 1); ok {
				e.kind, e.object = t.RootName(), t.RootName()+"."+step
				add(e)
				continue
			}
		}
		ref, more := addr.ParseReference(t)
		if diags = diags.Extend(more); more.HasErrors() {
			continue
		}
		e.rng = ref.Range
		switch {
		case ref.Kind == addr.RefVariable:
			e.kind, e.object = "var", ref.String()
		case ref.Kind == addr.RefResource && ref.Resource.Mode != addr.Ephemeral:
			e.kind, e.object = "resource", ref.String()
		default:
			diags = diags.Errorf(&e.rng, "Invalid `expect_failures` reference", "%s has no conditions that can fail. "+
				"Use an input variable, an output value, a check block, a resource or a data source.", ref)
			continue
		}
		add(e)
	}
	return out, diags
}

func nameAt(t hcl.Traversal, i int) (string, bool) {
	if len(t) <= i {
		return "", false
	}
	a, ok := t[i].(hcl.TraverseAttr)
	return a.Name, ok && len(t) == i+1
}

// find returns the expectation that a diagnostic fulfills, or nil.
func (a *attempt) find(d *diag.Diagnostic) *expectation {
	c, ok := eval.Condition(d)
	if !ok {
		return nil
	}
	for _, e := range a.expected {
		if e.matches(c) {
			return e
		}
	}
	return nil
}

// expect removes expected failures and converts other failures of checks to errors. If complain is set, it adds an
// error for each missing failure.
func (a *attempt) expect(diags diag.List, complain bool) (out diag.List) {
	for _, d := range diags.Sorted() {
		if e := a.find(d); e != nil {
			e.seen = true
			a.met = append(a.met, d)
			continue
		}
		out = append(out, failing(d))
	}
	if !complain {
		return out
	}
	for _, e := range a.expected {
		if !e.seen {
			out = append(out, &diag.Diagnostic{Severity: diag.Error, Summary: "Missing expected failure",
				Subject: e.rng.Ptr(), Extra: missingFailure{},
				Detail: fmt.Sprintf("The conditions of %s were expected to fail, but did not.", e.object)})
		}
	}
	return out
}

// failing converts the warning of a check block to an error: in a test, it is a failure.
func failing(d *diag.Diagnostic) *diag.Diagnostic {
	if c, ok := eval.Condition(d); !ok || c.Kind != "check" || d.Severity != diag.Warning {
		return d
	}
	failed := *d
	failed.Severity = diag.Error
	return &failed
}

// expectPlanned handles the problems of the plan of a run that applies. Expected failures must come from the apply, so
// one that prevents the plan is reported.
func (a *attempt) expectPlanned(diags diag.List) (out diag.List, planned bool) {
	if !diags.HasErrors() {
		return slices.DeleteFunc(slices.Clone(diags), engine.OfCheckBlock), true // checks are evaluated again
	}
	for _, d := range diags.Sorted() {
		if e := a.find(d); e != nil && d.Severity == diag.Error {
			var at *hcl.Range // objects and variables are handled below
			if e.kind == "output" || e.kind == "check" {
				at = &e.rng
			}
			out = append(out, &diag.Diagnostic{Severity: diag.Warning, Summary: "Expected failure while planning",
				Subject: at,
				Detail: fmt.Sprintf("A condition of %s failed during planning, as expected, so the run could not "+
					"apply. To expect failures of plans, write \"command = plan\".",
					e.object)})
		}
		out = append(out, d)
	}
	return out, false
}

// given holds the variables of a run.
type given struct {
	values map[string]cty.Value // those that the module declares
	ranges map[string]hcl.Range
	all    map[string]cty.Value // and all others
	// all values that do not come from the run itself, for provider blocks of the file
	outer map[string]cty.Value
	// broken holds variables of the file that the run does not use and that have no value, with their problems.
	broken map[string]diag.List
}

func (g *given) set(name string, v cty.Value, rng hcl.Range, root *config.Module) (diags diag.List) {
	g.all[name] = v
	declared := root.Variables[name]
	if declared == nil {
		return nil
	}
	alone := config.Module{Variables: map[string]*config.Variable{name: declared}}
	if _, diags = alone.VariableValues(config.Values{
		name: {Origin: config.FromNamedFile, Value: v, Range: rng}}); diags.HasErrors() {
		return diags
	}
	g.values[name] = v
	delete(g.ranges, name)
	if rng.Filename != "" {
		g.ranges[name] = rng
	}
	return nil
}

// collect sets the variables of the run: external ones, then those of the file, then its own.
func (a *attempt) collect(root *config.Module) (g given, diags diag.List) {
	g = given{values: map[string]cty.Value{}, ranges: map[string]hcl.Range{}, all: map[string]cty.Value{},
		outer: map[string]cty.Value{}, broken: map[string]diag.List{}}
	global, diags := a.globals(root)
	if more := a.providerReferences(global); more.HasErrors() {
		return g, diags.Extend(more)
	}
	for _, name := range slices.Sorted(maps.Keys(global)) {
		diags = diags.Extend(g.set(name, global[name], a.file.given[name].Range, root))
	}
	for _, name := range slices.Sorted(maps.Keys(a.unreadable)) {
		if a.asserts(name) { // a reference elsewhere reports it
			diags = diags.Extend(a.unreadable[name])
		}
	}
	diags = diags.Extend(a.undeclared(root))
	if more := a.wrongReferences(global, root); more.HasErrors() {
		return g, diags.Extend(more)
	}
	ofFile := a.fileValues(global)
	for _, name := range ofFile.names() {
		v, why := ofFile.values[name], ofFile.broken[name]
		missing := a.file.file.Variables[name] == nil && why.HasErrors() // declared, and not set
		switch asked := a.asks(name, root); {
		case !why.HasErrors() && asked:
			diags = diags.Extend(g.set(name, v, ofFile.rangeOf(name), root))
		case !why.HasErrors():
			g.outer[name] = v
		case asked || missing:
			diags = diags.Extend(why)
		default:
			g.broken[name] = why
		}
	}
	maps.Copy(g.outer, g.all)
	ctx := a.scope(g.all)
	for _, name := range slices.Sorted(maps.Keys(a.run.Variables)) {
		attr := a.run.Variables[name]
		v, more := a.value(attr.Expr, ctx, inRun)
		if diags = diags.Extend(more); !more.HasErrors() {
			diags = diags.Extend(g.set(name, v, attr.Expr.Range(), root))
		}
	}
	if diags.HasErrors() {
		return g, diags
	}
	for _, v := range root.SortedVariables() {
		if _, ok := g.values[v.Name]; !ok && v.Required() {
			diags = diags.Errorf(&v.Range, "No value for required variable", "The module of the run %q has the "+
				"variable %q, which has no default and is not set. Set it in a variables block of the run or the "+
				"file, or with -var or -var-file.", a.run.Name, v.Name)
		}
	}
	return g, diags
}

// asks reports whether the run needs a variable of the file: one of its own variables refers to it, or the run does not
// set it and the module or an assertion uses it. References of provider blocks are not considered here: see reference.
func (a *attempt) asks(name string, root *config.Module) bool {
	if mentions(a.run.Variables, name) {
		return true
	}
	return a.run.Variables[name] == nil && (root.Variables[name] != nil || a.asserts(name))
}

// asserts reports whether an assertion of the run refers to a variable.
func (a *attempt) asserts(variable string) bool {
	for _, c := range a.run.Asserts {
		for _, t := range append(c.Condition.Variables(), c.ErrorMessage.Variables()...) {
			if name, ok := nameOf(t, 1); ok && t.RootName() == "var" && name == variable {
				return true
			}
		}
	}
	return false
}

// undeclared warns of variables of the run that neither the module nor an assertion uses, which are probably
// misspelled.
func (a *attempt) undeclared(root *config.Module) (diags diag.List) {
	for _, name := range slices.Sorted(maps.Keys(a.run.Variables)) {
		if root.Variables[name] == nil && !a.asserts(name) {
			rng := a.run.Variables[name].Expr.Range()
			diags = diags.Warnf(&rng, "Value for undeclared variable", "The run %q sets %q, but its module does not "+
				"declare that variable, and no assertion uses it.", a.run.Name, name)
		}
	}
	return diags
}

// wrongReferences checks the references of the variables before any of them is evaluated.
func (a *attempt) wrongReferences(global map[string]cty.Value, root *config.Module) (diags diag.List) {
	ctx := a.names(global)
	for _, name := range slices.Sorted(maps.Keys(a.run.Variables)) {
		diags = diags.Extend(a.references(a.run.Variables[name].Expr, ctx, inRun))
	}
	for _, name := range slices.Sorted(maps.Keys(a.file.file.Variables)) {
		if a.asks(name, root) {
			diags = diags.Extend(a.references(a.file.file.Variables[name].Expr, ctx, inFile))
		}
	}
	return diags
}

// names returns a scope with the names of the variables of the file and of external ones, without values.
func (a *attempt) names(global map[string]cty.Value) *hcl.EvalContext {
	all := maps.Clone(global)
	for name := range a.file.file.Variables {
		all[name] = cty.DynamicVal
	}
	for name := range a.file.file.Declared {
		all[name] = cty.DynamicVal
	}
	return (&attempt{}).scope(all)
}

// mentions reports whether expressions refer to a variable.
func mentions(attrs hcl.Attributes, name string) bool {
	for _, attr := range attrs {
		for _, t := range attr.Expr.Variables() {
			if step, ok := nameOf(t, 1); ok && t.RootName() == "var" && step == name {
				return true
			}
		}
	}
	return false
}

func nameOf(t hcl.Traversal, i int) (string, bool) {
	if len(t) <= i {
		return "", false
	}
	a, ok := t[i].(hcl.TraverseAttr)
	return a.Name, ok
}
