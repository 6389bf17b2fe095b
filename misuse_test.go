package tombolo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// simple is a project that needs no provider but the built-in one.
const simple = `
variable "text" { default = "hello" }
variable "token" {
  ephemeral = true
  default   = ""
}
resource "terraform_data" "a" { input = var.text }
resource "terraform_data" "b" { input = terraform_data.a.id }
output "text" { value = terraform_data.a.output }
`

// note is a project with a provider of the calling program.
const note = `
terraform {
  required_providers {
    note = { source = "example/note" }
  }
}
resource "note" "n" {}
`

// projectIn returns options for a project with the given main.tf.
func projectIn(t *testing.T, text string) tombolo.Options {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), text)
	return tombolo.Options{Dir: dir, Environ: []string{}}
}

func loaded(t *testing.T, o tombolo.Options) *tombolo.Project {
	t.Helper()
	project, diags := tombolo.Load(t.Context(), o)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(func() { project.Close() })
	return project
}

func opened(t *testing.T, project *tombolo.Project, o tombolo.OpenOptions) *tombolo.Run {
	t.Helper()
	run, diags := project.Open(t.Context(), o)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(func() { run.Close(context.Background()) })
	return run
}

// renderers are the ways to write a plan as text, JSON, Markdown and HTML.
func renderers(p *tombolo.Project) map[string]func(io.Writer, *plan.Plan) error {
	return map[string]func(io.Writer, *plan.Plan) error{
		"text": func(w io.Writer, pl *plan.Plan) error { return p.Text(w, pl, tombolo.TextOptions{}) },
		"json": p.JSON,
		"html": func(w io.Writer, pl *plan.Plan) error { return p.HTML(w, pl, tombolo.HTMLOptions{}) },
		"markdown": func(w io.Writer, pl *plan.Plan) error {
			return p.Markdown(w, pl, tombolo.MarkdownOptions{})
		},
	}
}

func planned(t *testing.T, run *tombolo.Run, o tombolo.PlanOptions) *plan.Plan {
	t.Helper()
	pl, diags := run.Plan(t.Context(), o)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return pl
}

// wantError checks that a list has an error whose summary or detail contains a text.
func wantError(t *testing.T, what string, diags diag.List, text string) {
	t.Helper()
	if err := diags.Err(); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v, want an error that says %q", what, err, text)
	}
}

func TestLoadRefusesInvalidOptions(t *testing.T) {
	good := projectIn(t, simple)
	zero := func(context.Context) (provider.Provider, error) { return nil, nil }
	saved := planned(t, opened(t, loaded(t, projectIn(t, simple)), tombolo.OpenOptions{}), tombolo.PlanOptions{})
	for _, c := range []struct {
		change func(o *tombolo.Options)
		want   string
	}{
		{func(o *tombolo.Options) { o.Dir += "/nowhere" }, "/nowhere: no such file"},
		{func(o *tombolo.Options) { o.Dir += "/main.tf" }, "main.tf\", which is a file"},
		{func(o *tombolo.Options) { o.Workspace = "a/b" }, "Invalid workspace name"},
		{func(o *tombolo.Options) { o.Flavor = 99 }, "Options.Flavor is 99"},
		{func(o *tombolo.Options) { o.Parallelism = -1 }, "Options.Parallelism is -1"},
		{func(o *tombolo.Options) { o.Saved, o.Variables = saved, map[string]any{"text": 1} }, "saved plan"},
		{func(o *tombolo.Options) { o.Providers = map[string]provider.Factory{"a/b": nil} }, `Providers["a/b"] is nil`},
		{func(o *tombolo.Options) { o.Providers = map[string]provider.Factory{"a/b/c/d": zero} }, "not a valid"},
		{func(o *tombolo.Options) { o.Functions = map[string]function.Function{"upper": {}} }, "exists already"},
		{func(o *tombolo.Options) { o.Functions = map[string]function.Function{"a b": {}} }, "cannot call"},
		{func(o *tombolo.Options) { o.Functions = map[string]function.Function{"shout": {}} }, "function.New"},
		{func(o *tombolo.Options) { o.Variables = map[string]any{"txt": 1} }, `Did you mean "text"?`},
		{func(o *tombolo.Options) { o.Variables = map[string]any{"text": func() {}} }, "var.text set by the calling"},
		{func(o *tombolo.Options) { o.Variables = map[string]any{"text": cty.NilVal} }, "not a value"},
		{func(o *tombolo.Options) { o.Variables = map[string]any{"text": cty.UnknownVal(cty.String)} }, "fully known"},
		{func(o *tombolo.Options) { o.Variables = map[string]any{"text": cty.True.Mark(1)} }, "it has marks"},
	} {
		o := good
		c.change(&o)
		project, diags := tombolo.Load(t.Context(), o)
		if project != nil {
			project.Close()
		}
		wantError(t, c.want, diags, c.want)
	}
}

func TestNilProvidersAreRefused(t *testing.T) {
	o := projectIn(t, note)
	for want, factory := range map[string]provider.Factory{
		"neither a provider nor an error": func(context.Context) (provider.Provider, error) { return nil, nil },
		"neither a schema nor an error": func(context.Context) (provider.Provider, error) {
			return blank{}, nil
		},
	} {
		o.Providers = map[string]provider.Factory{"example/note": factory}
		wantError(t, want, loaded(t, o).Validate(t.Context()), want)
	}
}

// blank is a provider without a schema.
type blank struct{ provider.Base }

func (blank) Schema(context.Context) (*provider.Schema, diag.List) { return nil, nil }

func (blank) Close() error { return nil }

// A panic in a provider of the calling program is raised in the goroutine of the caller, which can recover from it.
func TestPanicsOfProvidersReachTheCaller(t *testing.T) {
	o := projectIn(t, note)
	for what, factory := range map[string]provider.Factory{
		"factory": func(context.Context) (provider.Provider, error) { panic("factory") },
		"plan":    func(context.Context) (provider.Provider, error) { return wild{}, nil },
	} {
		o.Providers = map[string]provider.Factory{"example/note": factory}
		run := opened(t, loaded(t, o), tombolo.OpenOptions{})
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), what) {
					t.Errorf("%s: recovered from %v", what, v)
				}
			}()
			run.Plan(t.Context(), tombolo.PlanOptions{})
		}()
		if diags := run.Close(t.Context()); diags.HasErrors() {
			t.Errorf("%s: the lock is not given back: %v", what, diags.Err())
		}
	}
}

// wild is a provider whose plans panic.
type wild struct{ provider.Base }

func (wild) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{Resources: map[string]*provider.ResourceType{"note": {Block: &provider.Block{}}}}, nil
}

func (wild) Plan(context.Context, provider.PlanRequest) provider.PlanResponse { panic("plan") }

func (wild) Close() error { return nil }

func TestPlanRefusesInvalidOptions(t *testing.T) {
	run := opened(t, loaded(t, projectIn(t, simple)), tombolo.OpenOptions{})
	for want, o := range map[string]tombolo.PlanOptions{
		"PlanOptions.Mode is 99":      {Mode: 99},
		"\"a b\" is not an address":   {Targets: []string{"a b"}},
		"\"c d\" is not an address":   {Exclude: []string{"c d"}},
		"a resource instance is":      {Replace: []string{"module.m"}},
		"remove one of them":          {Targets: []string{"module.a"}, Exclude: []string{"module.b"}},
		"action.TYPE.NAME":            {Invoke: "terraform_data.a"},
		"leave Mode, Targets":         {Invoke: "action.x.y", Mode: plan.Destroy},
		"Set it to the address of an": {Invoke: "module.x"},
	} {
		_, diags := run.Plan(t.Context(), o)
		wantError(t, want, diags, want)
	}
}

func TestPlanOmitsExclusions(t *testing.T) {
	run := opened(t, loaded(t, projectIn(t, simple)), tombolo.OpenOptions{})
	for _, excluded := range []string{"terraform_data.b", "*.b"} {
		pl := planned(t, run, tombolo.PlanOptions{Exclude: []string{excluded}})
		if len(pl.Changes) != 1 || pl.Changes[0].Object.String() != "terraform_data.a" {
			t.Errorf("without %s: planned %v", excluded, pl.Changes)
		}
	}
}

func TestApplyRefusesForeignPlans(t *testing.T) {
	project := loaded(t, projectIn(t, simple))
	run := opened(t, project, tombolo.OpenOptions{})
	other := opened(t, loaded(t, projectIn(t, `resource "terraform_data" "z" {}`)), tombolo.OpenOptions{})
	_, diags := run.Apply(t.Context(), nil, tombolo.ApplyOptions{})
	wantError(t, "nil", diags, "The plan is nil")
	_, diags = run.Apply(t.Context(), planned(t, other, tombolo.PlanOptions{}), tombolo.ApplyOptions{})
	wantError(t, "foreign", diags, "Plan of another configuration")

	pl := planned(t, run, tombolo.PlanOptions{})
	_, diags = run.Apply(t.Context(), pl, tombolo.ApplyOptions{Ephemeral: map[string]any{"text": "x"}})
	wantError(t, "ephemeral", diags, "not an ephemeral variable of the plan")
	ended, end := context.WithCancel(t.Context())
	end()
	if _, diags = run.Apply(ended, pl, tombolo.ApplyOptions{}); !errors.Is(diags.Err(), context.Canceled) {
		t.Errorf("with a context that has ended: %v", diags.Err())
	}
	if run.State() != nil {
		t.Error("an apply that never began has written a state")
	}
	counts, diags := run.Apply(t.Context(), pl, tombolo.ApplyOptions{})
	if diags.HasErrors() || counts.Added != 2 {
		t.Errorf("the plan is still good: got %v, %v", counts, diags.Err())
	}
	_, diags = run.Apply(t.Context(), pl, tombolo.ApplyOptions{})
	wantError(t, "twice", diags, "stale")
	for name, render := range renderers(project) {
		if err := render(io.Discard, nil); err == nil {
			t.Errorf("%s renders no plan", name)
		}
	}
}

func TestProjectOfASavedPlanAppliesOnlyThatPlan(t *testing.T) {
	o := projectIn(t, simple)
	given := o
	given.Variables = map[string]any{"text": "given"}
	first := opened(t, loaded(t, given), tombolo.OpenOptions{})
	made := planned(t, first, tombolo.PlanOptions{})
	first.Close(t.Context())
	var file bytes.Buffer
	if err := made.Write(&file); err != nil {
		t.Fatal(err)
	}
	saved, err := plan.Decode(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(o.Dir, "main.tf"), `resource "terraform_data" "other" {}`)
	changed := opened(t, loaded(t, o), tombolo.OpenOptions{})
	_, diags := changed.Apply(t.Context(), saved, tombolo.ApplyOptions{})
	wantError(t, "other files", diags, "Plan of another configuration")
	changed.Close(t.Context())

	o.Saved = saved
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	_, diags = run.Plan(t.Context(), tombolo.PlanOptions{})
	wantError(t, "plan", diags, "Project is for a saved plan")
	_, diags = run.Apply(t.Context(), made, tombolo.ApplyOptions{})
	wantError(t, "another", diags, "Plan is not the saved one")
	var text string
	if diags := run.Evaluate(t.Context(), "var.text", &text); diags.HasErrors() || text != "given" {
		t.Errorf("variables of the plan: got %q, %v", text, diags.Err())
	}
	if _, diags := run.Apply(t.Context(), saved, tombolo.ApplyOptions{}); diags.HasErrors() {
		t.Error(diags.Err())
	}
	if err := run.Output("text", &text); err != nil || text != "given" {
		t.Errorf("output: got %q, %v", text, err)
	}
}

func TestClosedProjectsAndRunsReturnErrors(t *testing.T) {
	project := loaded(t, projectIn(t, simple))
	run := opened(t, project, tombolo.OpenOptions{})
	pl := planned(t, run, tombolo.PlanOptions{})
	if _, diags := run.Apply(t.Context(), pl, tombolo.ApplyOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for range 2 {
		if diags := run.Close(t.Context()); len(diags) > 0 {
			t.Error(diags.Err())
		}
	}
	var text string
	if err := run.Output("text", &text); err != nil || text != "hello" {
		t.Errorf("outputs stay: got %q, %v", text, err)
	}
	uses := func(want string) {
		_, planning := run.Plan(t.Context(), tombolo.PlanOptions{})
		_, applying := run.Apply(t.Context(), pl, tombolo.ApplyOptions{})
		_, querying := run.Query(t.Context(), tombolo.QueryOptions{})
		wantError(t, "plan", planning, want)
		wantError(t, "apply", applying, want)
		wantError(t, "query", querying, want)
		wantError(t, "evaluate", run.Evaluate(t.Context(), "1", &text), want)
		wantError(t, "import", run.Import(t.Context(), "terraform_data.a", "id"), want)
		wantError(t, "recover", run.Recover(t.Context(), "terraform_data.a", tombolo.Recovery{Retry: true}), want)
	}
	uses("Run is closed")
	run = opened(t, project, tombolo.OpenOptions{})
	for range 2 {
		if err := project.Close(); err != nil {
			t.Error(err)
		}
	}
	uses("Project is closed")
	_, diags := project.Open(t.Context(), tombolo.OpenOptions{})
	wantError(t, "open", diags, "Project is closed")
	wantError(t, "validate", project.Validate(t.Context()), "Project is closed")
	if err := project.Text(io.Discard, pl, tombolo.TextOptions{}); err == nil {
		t.Error("a closed project renders a plan")
	}
}

func TestRunsForReadingWriteNothing(t *testing.T) {
	o := projectIn(t, simple)
	o.Store = tombolo.MemoryStore() // without an earlier journal
	project := loaded(t, o)
	opened(t, project, tombolo.OpenOptions{})
	_, diags := project.Open(t.Context(), tombolo.OpenOptions{})
	if locked := (*state.LockedError)(nil); !errors.As(diags.Err(), &locked) || locked.Info.ID == "" {
		t.Errorf("who holds the lock is not told: %v", diags.Err())
	}
	reader := opened(t, project, tombolo.OpenOptions{NoLock: true, Reading: true})
	pl := planned(t, reader, tombolo.PlanOptions{})
	_, diags = reader.Apply(t.Context(), pl, tombolo.ApplyOptions{})
	wantError(t, "apply", diags, "Run is read-only")
	wantError(t, "import", reader.Import(t.Context(), "terraform_data.a", "id"), "Run is read-only")
	wantError(t, "recover", reader.Recover(t.Context(), "terraform_data.a", tombolo.Recovery{Retry: true}), "Reading")
}

// Concurrent calls of a project return the same answers and have no data races.
func TestProjectsAreForConcurrentUse(t *testing.T) {
	o := projectIn(t, simple)
	o.Events = event.Discard
	project := loaded(t, o)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if diags := project.Validate(t.Context()); diags.HasErrors() {
				t.Error(diags.Err())
			}
			if schema, diags := project.Schema("terraform.io/builtin/terraform"); schema == nil {
				t.Error(diags.Err())
			}
			run, diags := project.Open(t.Context(), tombolo.OpenOptions{NoLock: true, Reading: true})
			if diags.HasErrors() {
				t.Error(diags.Err())
				return
			}
			defer run.Close(t.Context())
			pl, diags := run.Plan(t.Context(), tombolo.PlanOptions{})
			if diags.HasErrors() {
				t.Error(diags.Err())
				return
			}
			if err := project.Text(io.Discard, pl, tombolo.TextOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Sources of modules may refer to const variables, which the program can set, too.
func TestConstVariablesHaveTheValuesOfTheProgram(t *testing.T) {
	o := projectIn(t, `
variable "dir" {
  type  = string
  const = true
}
module "m" { source = var.dir }
output "x" { value = module.m.x }
`)
	write(t, filepath.Join(o.Dir, "sub", "main.tf"), `output "x" { value = 42 }`)
	write(t, filepath.Join(o.Dir, "values"), `dir = "./sub"`)
	byFile := o
	byFile.VarFiles = []string{"values"}
	o.Variables = map[string]any{"dir": "./sub"}
	for _, o := range []tombolo.Options{o, byFile} {
		if diags := tombolo.Install(t.Context(), o, tombolo.InstallOptions{}); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		var x int
		run := opened(t, loaded(t, o), tombolo.OpenOptions{})
		if diags := run.Evaluate(t.Context(), "module.m.x", &x); diags.HasErrors() || x != 42 {
			t.Errorf("got %d, %v", x, diags.Err())
		}
		run.Close(t.Context())
	}
}

func TestInstallTakesArgumentsOfTheBackend(t *testing.T) {
	o := projectIn(t, "terraform {\n  backend \"local\" {}\n}\n"+simple)
	install := func(backend map[string]any) diag.List {
		return tombolo.Install(t.Context(), o, tombolo.InstallOptions{Backend: backend})
	}
	wantError(t, "name", install(map[string]any{"pth": "x"}), `Did you mean "path"?`)
	wantError(t, "type", install(map[string]any{"path": []int{1}}), "wrong type")
	for range 2 {
		if diags := install(map[string]any{"path": "elsewhere.tfstate"}); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
	}
	wantError(t, "other", install(map[string]any{"path": "x"}), "Backend configuration changed")
	if diags := install(nil); diags.HasErrors() {
		t.Error(diags.Err())
	}
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	pl := planned(t, run, tombolo.PlanOptions{})
	if _, diags := run.Apply(t.Context(), pl, tombolo.ApplyOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	store := tombolo.LocalStore(filepath.Join(o.Dir, "elsewhere.tfstate"))
	ws, err := store.Workspace(state.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	if snapshot, err := ws.Read(t.Context()); err != nil || snapshot.State.Output("text") == nil {
		t.Errorf("the state is not where the arguments say: %v", err)
	}
	o = projectIn(t, simple)
	wantError(t, "no block", install(map[string]any{"path": "x"}), "has no backend block")
}

func TestDeniedPlansAreNotAppliedByEmbeddersEither(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh, which Windows does not have")
	}
	o := projectIn(t, simple)
	o.Environ = []string{"PATH=" + os.Getenv("PATH")}
	write(t, filepath.Join(o.Dir, "tombolo.hcl"), `policy "no" {
  command = ["sh", "./policy.sh"]
}
`)
	verdict := filepath.Join(o.Dir, "policy.sh")
	write(t, verdict, `cat >/dev/null; echo '{"deny": ["Not today."]}'`)
	project, diags := tombolo.Load(t.Context(), o)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(t.Context(), tombolo.OpenOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer run.Close(t.Context())
	p, diags := run.Plan(t.Context(), tombolo.PlanOptions{})
	wantError(t, "a plan that is denied", diags, "Not today.")
	_, diags = run.Apply(t.Context(), p, tombolo.ApplyOptions{})
	wantError(t, "its apply", diags, "Not today.")
	write(t, verdict, `cat >/dev/null; echo '{"deny": []}'`)
	if _, diags = run.Apply(t.Context(), p, tombolo.ApplyOptions{}); diags.HasErrors() {
		t.Error(diags.Err())
	}
}
