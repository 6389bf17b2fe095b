package tombolo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// with returns options for a project whose only provider is p.
func with(t *testing.T, p provider.Provider) tombolo.Options {
	t.Helper()
	o := projectIn(t, note)
	o.Providers = map[string]provider.Factory{"example/note": func(context.Context) (provider.Provider, error) {
		return p, nil
	}}
	return o
}

// A project keeps its directory when the working directory of the process changes.
func TestARelativeDirectoryIsResolvedOnce(t *testing.T) {
	o := projectIn(t, simple)
	parent, name := filepath.Split(o.Dir)
	t.Chdir(parent)
	o.Dir = name
	local := tombolo.LocalStore("own.tfstate")
	project := loaded(t, o)
	run := opened(t, project, tombolo.OpenOptions{})
	appliedAll(t, run)
	run.Close(t.Context())

	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	run = opened(t, project, tombolo.OpenOptions{})
	if pl := planned(t, run, tombolo.PlanOptions{}); pl.Summary() != (plan.Summary{}) {
		t.Errorf("after a change of the working directory the plan has %+v", pl.Summary())
	}
	own := o
	own.Dir, own.Store = filepath.Join(parent, name), local
	second := opened(t, loaded(t, own), tombolo.OpenOptions{})
	appliedAll(t, second)
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("the new working directory has %v (%v)", entries, err)
	}
	if _, err := os.Stat(filepath.Join(parent, "own.tfstate")); err != nil {
		t.Error(err)
	}
	os.Remove(filepath.Join(parent, "own.tfstate"))
}

// described is a provider with a given schema, which may be invalid.
type described struct {
	empty
	schema *provider.Schema
	diags  diag.List
}

func (d described) Schema(context.Context) (*provider.Schema, diag.List) { return d.schema, d.diags }

func TestSchemasThatCannotBeUsedAreRefused(t *testing.T) {
	block := func(b *provider.Block) *provider.Schema {
		return &provider.Schema{Resources: map[string]*provider.ResourceType{"note": {Block: b}}}
	}
	attribute := func(a *provider.Attribute) *provider.Schema {
		return block(&provider.Block{Attributes: map[string]*provider.Attribute{"text": a}})
	}
	cyclic := &provider.Attribute{Optional: true, Nested: &provider.NestedObject{Nesting: provider.NestingList}}
	cyclic.Nested.Attributes = map[string]*provider.Attribute{"again": cyclic}
	for want, schema := range map[string]*provider.Schema{
		`resource type "note": the ResourceType is nil`: {Resources: map[string]*provider.ResourceType{"note": nil}},
		`resource type "note": it has no Block`:         {Resources: map[string]*provider.ResourceType{"note": {}}},
		`data source "note": it has no Block`:           {Data: map[string]*provider.ResourceType{"note": {}}},
		`the attribute "text" is nil`:                   attribute(nil),
		`"text" has neither a Type nor Nested`:          attribute(&provider.Attribute{Optional: true}),
		`"text" has both a Type and Nested`: attribute(&provider.Attribute{Type: cty.String,
			Nested: &provider.NestedObject{Nesting: provider.NestingSet}}),
		`"text" has Nested without a Nesting`: attribute(&provider.Attribute{Nested: &provider.NestedObject{}}),
		`nested too deeply`:                   attribute(cyclic),
		`the block "b" is nil`: block(&provider.Block{Blocks: map[string]*provider.NestedBlock{
			"b": nil}}),
		`the block "b" has no Nesting`: block(&provider.Block{Blocks: map[string]*provider.NestedBlock{"b": {}}}),
		`the block "b": the attribute "x" has neither`: block(&provider.Block{Blocks: map[string]*provider.NestedBlock{
			"b": {Nesting: provider.NestingList, Block: provider.Block{Attributes: map[string]*provider.Attribute{
				"x": {}}}}}}),
		`its configuration: the attribute "x" is nil`: {Provider: &provider.Block{
			Attributes: map[string]*provider.Attribute{"x": nil}}},
		`the function "f": the Function is nil`: {Functions: map[string]*provider.Function{"f": nil}},
		`the function "f": it has no Return`:    {Functions: map[string]*provider.Function{"f": {}}},
		`"id" of its identity is nil or has no`: {Resources: map[string]*provider.ResourceType{"note": {
			Block: &provider.Block{}, Identity: &provider.IdentitySchema{
				Attributes: map[string]*provider.IdentityAttribute{"id": {}}}}}},
	} {
		project := loaded(t, with(t, described{schema: schema}))
		for range 2 {
			diags := project.Validate(t.Context())
			wantError(t, want, diags, want)
			wantError(t, want, diags, "example/note")
		}
	}
	right, _ := empty{}.Schema(t.Context())
	warned := described{schema: right, diags: diag.List{nil, {Severity: diag.Warning, Summary: "Beware"}}}
	run := opened(t, loaded(t, with(t, warned)), tombolo.OpenOptions{})
	planned(t, run, tombolo.PlanOptions{})
}

// oneComputed returns a schema of one type with one computed attribute.
func oneComputed() *provider.Schema {
	return &provider.Schema{Resources: map[string]*provider.ResourceType{"note": {Block: &provider.Block{
		Attributes: map[string]*provider.Attribute{"id": {Type: cty.String, Computed: true}}}}}}
}

// answering is a provider whose plans and results are set by the test.
type answering struct {
	described
	planned, applied cty.Value
	partial          []cty.Value
	apply            func(context.Context)
}

func (a *answering) Plan(context.Context, provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: a.planned}
}

func (a *answering) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	for _, v := range a.partial {
		r.Partial(v, nil)
	}
	if a.apply != nil {
		a.apply(ctx)
	}
	return provider.ApplyResponse{State: a.applied}
}

func answers() *answering {
	id := func(v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"id": v}) }
	return &answering{described: described{schema: oneComputed()}, planned: id(cty.UnknownVal(cty.String)),
		applied: id(cty.StringVal("1"))}
}

func TestMarksInResponsesAreProviderErrors(t *testing.T) {
	p := answers()
	p.planned = cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("1").Mark("mine")})
	run := opened(t, loaded(t, with(t, p)), tombolo.OpenOptions{})
	_, diags := run.Plan(t.Context(), tombolo.PlanOptions{})
	wantError(t, "plan", diags, "the value has marks")
	wantError(t, "plan", diags, "This is a bug in the provider")

	p = answers()
	p.applied = cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("1")}).Mark("mine")
	run = opened(t, loaded(t, with(t, p)), tombolo.OpenOptions{})
	_, diags = run.Apply(t.Context(), planned(t, run, tombolo.PlanOptions{}), tombolo.ApplyOptions{})
	wantError(t, "apply", diags, "the value has marks")
	if got := len(run.Interrupted()); got != 1 {
		t.Errorf("%d operations are open", got)
	}
}

// Parts of an object that cannot be recorded are reported: otherwise their loss would go unnoticed.
func TestInvalidPartsOfAnObjectAreReported(t *testing.T) {
	for _, part := range []cty.Value{cty.NilVal, cty.True, cty.ObjectVal(map[string]cty.Value{"id": cty.True})} {
		p := answers()
		p.partial = []cty.Value{part}
		run := opened(t, loaded(t, with(t, p)), tombolo.OpenOptions{})
		_, diags := run.Apply(t.Context(), planned(t, run, tombolo.PlanOptions{}), tombolo.ApplyOptions{})
		if diags.HasErrors() || len(diags) != 1 || diags[0].Summary != "Provider recorded an invalid object" {
			t.Errorf("%#v: got %v", part, diags)
		}
	}
}

// An apply whose context ends during its last operation is complete.
func TestInterruptDuringTheLastOperation(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p := answers()
	p.apply = func(context.Context) { stop() }
	run := opened(t, loaded(t, with(t, p)), tombolo.OpenOptions{})
	counts, diags := run.Apply(ctx, planned(t, run, tombolo.PlanOptions{}), tombolo.ApplyOptions{})
	if diags.HasErrors() || counts.Added != 1 {
		t.Errorf("got %+v, %v", counts, diags.Err())
	}
	if got := len(run.State().Resources()); got != 1 || len(run.Interrupted()) > 0 {
		t.Errorf("%d objects are stored, %d operations are open", got, len(run.Interrupted()))
	}
}

// Abort ends the call, even if a provider ignores its context.
func TestAbortEndsCallsThatDoNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		abort, end := context.WithCancel(t.Context())
		ctx, stop := context.WithCancel(t.Context())
		forever := make(chan struct{})
		p := answers()
		p.apply = func(context.Context) { stop(); end(); <-forever }
		o := with(t, p)
		o.Abort, o.Store = abort, tombolo.MemoryStore()
		project, diags := tombolo.Load(t.Context(), o)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		run, diags := project.Open(t.Context(), tombolo.OpenOptions{})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		pl, diags := run.Plan(t.Context(), tombolo.PlanOptions{})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		_, diags = run.Apply(ctx, pl, tombolo.ApplyOptions{})
		wantError(t, "apply", diags, "did not return within 10s")
		if !errors.Is(diags.Err(), context.Canceled) {
			t.Error(diags.Err())
		}
		if got := len(run.Interrupted()); got != 1 {
			t.Errorf("%d operations are open", got)
		}
		if diags := run.Close(t.Context()); diags.HasErrors() {
			t.Error(diags.Err())
		}
		if err := project.Close(); err != nil {
			t.Error(err)
		}
		close(forever) // ends the abandoned goroutine before the test ends
	})
}

// emptyAnswers is a store that returns zero values.
type emptyAnswers struct {
	state.Store
	workspace bool
}

type nothingWorkspace struct{ state.Workspace }

func (n emptyAnswers) Workspace(string) (state.Workspace, error) {
	if n.workspace {
		return nil, nil
	}
	return nothingWorkspace{}, nil
}

func (nothingWorkspace) Lock(context.Context, state.LockRequest) (state.Session, error) {
	return nil, nil
}

func TestEmptyStoreResponsesAreReported(t *testing.T) {
	o := projectIn(t, simple)
	for _, workspace := range []bool{true, false} {
		o.Store = emptyAnswers{tombolo.MemoryStore(), workspace}
		_, diags := loaded(t, o).Open(t.Context(), tombolo.OpenOptions{})
		wantError(t, "open", diags, "bug in the store")
	}
}

// A run refuses a second concurrent call, even one made by a sink. The first call and the run are not affected.
func TestRunRefusesConcurrentCalls(t *testing.T) {
	o := projectIn(t, simple)
	var run *tombolo.Run
	var refused []diag.List
	o.Events = event.Func(func(e event.Event) {
		if _, ok := e.(event.OperationStart); ok && len(refused) == 0 {
			_, planning := run.Plan(t.Context(), tombolo.PlanOptions{})
			_, applying := run.Apply(t.Context(), nil, tombolo.ApplyOptions{})
			_, querying := run.Query(t.Context(), tombolo.QueryOptions{})
			refused = []diag.List{planning, applying, querying, run.Evaluate(t.Context(), "1", new(int)),
				run.Import(t.Context(), "terraform_data.a", "1"),
				run.Recover(t.Context(), "terraform_data.a", tombolo.Recovery{Retry: true}), run.Close(t.Context())}
		}
	})
	o.Parallelism = 1
	run = opened(t, loaded(t, o), tombolo.OpenOptions{})
	appliedAll(t, run)
	if len(refused) != 7 {
		t.Fatalf("%d calls", len(refused))
	}
	for _, diags := range refused {
		wantError(t, "second call", diags, "Run is in use")
	}
	if err := run.Output("text", new(string)); err != nil {
		t.Error(err)
	}
}

// A plan that was changed is refused and leaves no journal.
func TestModifiedPlansAreRefused(t *testing.T) {
	other, diags := addr.ParseInstance("terraform_data.nobody")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	run := opened(t, loaded(t, projectIn(t, simple)), tombolo.OpenOptions{})
	for want, change := range map[string]func(*plan.Plan){
		"change at the index 0 is nil":  func(pl *plan.Plan) { pl.Changes[0] = nil },
		"has change 99, which does not": func(pl *plan.Plan) { pl.Steps[0].Changes = []int{99} },
		"waits for step -1, which does": func(pl *plan.Plan) { pl.Steps[0].After = []int{-1} },
		"is of unknown kind 77":         func(pl *plan.Plan) { pl.Steps[0].Kind = 77 },
		"steps wait for each other": func(pl *plan.Plan) {
			pl.Steps[0].After, pl.Steps[1].After = []int{1}, []int{0}
		},
		"not in the configuration":       func(pl *plan.Plan) { pl.Steps[0].Resource = other.AbsResource() },
		"the output at the index 0 is n": func(pl *plan.Plan) { pl.Outputs[0] = nil },
	} {
		pl := planned(t, run, tombolo.PlanOptions{})
		change(pl)
		_, diags := run.Apply(t.Context(), pl, tombolo.ApplyOptions{})
		wantError(t, want, diags, want)
		wantError(t, want, diags, "Make a new plan")
	}
	appliedAll(t, run)
}

// Printing options, states and outputs shows no secrets.
func TestPrintingOptionsAndStatesShowsNoValues(t *testing.T) {
	const secret = "tops3cret"
	o := projectIn(t, `
variable "v" { sensitive = true }
resource "terraform_data" "a" { input = var.v }
output "v" {
  value     = var.v
  sensitive = true
}
`)
	o.Variables = map[string]any{"v": secret}
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	appliedAll(t, run)
	var log bytes.Buffer
	for _, v := range []any{o, &o, tombolo.InstallOptions{Backend: map[string]any{"k": secret}},
		tombolo.ApplyOptions{Ephemeral: map[string]any{"k": secret}}, run.State(), *run.State(),
		run.State().Output("v"), *run.State().Output("v"), run.Outputs()} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(format, v); strings.Contains(text, secret) {
				t.Errorf("%T as %s: %s", v, format, text)
			}
		}
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
	}
	if strings.Contains(log.String(), secret) {
		t.Error(log.String())
	}
	if text := fmt.Sprint(o); !strings.Contains(text, "Variables: [v]") {
		t.Error(text)
	}
}

// Errors of the calling program's functions are wrapped in the problem, and panics are values of one type.
func TestCallbackErrorsAreWrapped(t *testing.T) {
	refused := errors.New("refused")
	o := projectIn(t, `output "x" { value = ask() }`)
	o.Functions = map[string]function.Function{"ask": function.New(&function.Spec{
		Type: function.StaticReturnType(cty.String),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.NilVal, fmt.Errorf("ask: %w", refused) },
	})}
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	if _, diags := run.Plan(t.Context(), tombolo.PlanOptions{}); !errors.Is(diags.Err(), refused) {
		t.Errorf("got %v", diags.Err())
	}
	for what, factory := range map[string]provider.Factory{
		"factory": func(context.Context) (provider.Provider, error) { panic("factory") },
		"Schema":  func(context.Context) (provider.Provider, error) { return crashing{at: "Schema"}, nil },
		"plan":    func(context.Context) (provider.Provider, error) { return wild{}, nil },
	} {
		o := projectIn(t, note)
		o.Providers = map[string]provider.Factory{"example/note": factory}
		run := opened(t, loaded(t, o), tombolo.OpenOptions{})
		func() {
			defer func() {
				p, ok := recover().(*diag.PanicError)
				if !ok || p.Value != what || p.Provider != "example/note" ||
					!strings.Contains(string(p.Stack), "_test.go") || !strings.Contains(p.Error(), "_test.go") {
					t.Errorf("%s: recovered from %v", what, p)
				}
			}()
			run.Plan(t.Context(), tombolo.PlanOptions{})
		}()
	}
}

func TestMarkdownIsBoundedAndNamesFailedChecks(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "resource \"terraform_data\" \"r%d\" { input = %q }\n", i, strings.Repeat("long ", 10))
	}
	text.WriteString(`
check "c" {
  assert {
    condition     = terraform_data.r1.input == ""
    error_message = "one is not two"
  }
}
`)
	project := loaded(t, projectIn(t, text.String()))
	pl := planned(t, opened(t, project, tombolo.OpenOptions{}), tombolo.PlanOptions{})
	for _, limit := range []int{0, 1000, 3000} {
		var out bytes.Buffer
		if err := project.Markdown(&out, pl, tombolo.MarkdownOptions{Limit: limit}); err != nil {
			t.Fatal(err)
		}
		if limit > 0 && out.Len() > limit || !strings.Contains(out.String(), "- `check.c`: one is not two\n") {
			t.Errorf("limit %d: %d bytes:\n%s", limit, out.Len(), out.String())
		}
	}
	for _, limit := range []int{-1, 10} {
		if err := project.Markdown(&bytes.Buffer{}, pl, tombolo.MarkdownOptions{Limit: limit}); err == nil {
			t.Errorf("the limit %d is accepted", limit)
		}
	}
	if err := project.Text(&bytes.Buffer{}, pl, tombolo.TextOptions{Width: -1}); err == nil {
		t.Error("a negative width is accepted")
	}
	var plain, colored bytes.Buffer
	if err := errors.Join(project.Text(&plain, pl, tombolo.TextOptions{}),
		project.Text(&colored, pl, tombolo.TextOptions{Color: true, Width: 40})); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(plain.Bytes(), []byte("\x1b[")) || !bytes.Contains(colored.Bytes(), []byte("\x1b[")) {
		t.Error("colors are not as they were chosen")
	}
	if !slices.ContainsFunc(pl.Checks, func(c state.CheckResult) bool { return c.Status == "fail" }) ||
		!json.Valid(renderedJSON(t, project, pl)) {
		t.Error("the check does not fail")
	}
}

func renderedJSON(t *testing.T, p *tombolo.Project, pl *plan.Plan) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := p.JSON(&out, pl); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
