package tombolo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// A backend that cannot be used is not recorded: correct arguments are accepted afterwards. Another backend is accepted
// if the program requests it.
func TestFailedInstallRecordsNothing(t *testing.T) {
	o := projectIn(t, "terraform {\n  backend \"http\" {}\n}\n"+simple)
	install := func(how tombolo.InstallOptions) diag.List { return tombolo.Install(t.Context(), o, how) }
	for _, arguments := range []map[string]any{nil, {"address": "no address"}, {"address": "http://127.0.0.1:1/x",
		"retry_max": 0}} {
		if diags := install(tombolo.InstallOptions{Backend: arguments}); !diags.HasErrors() {
			t.Errorf("%v are accepted", arguments)
		}
		if entries, err := os.ReadDir(o.Dir); err != nil || len(entries) != 1 {
			t.Errorf("after %v the directory has %v (%v)", arguments, entries, err)
		}
	}
	write(t, filepath.Join(o.Dir, "main.tf"), "terraform {\n  backend \"local\" {}\n}\n"+simple)
	path := func(name string) tombolo.InstallOptions {
		return tombolo.InstallOptions{Backend: map[string]any{"path": name}}
	}
	for _, name := range []string{"one.tfstate", "one.tfstate"} {
		if diags := install(path(name)); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
	}
	wantError(t, "another place", install(path("two.tfstate")), "InstallOptions.Reconfigure")
	again := path("two.tfstate")
	again.Reconfigure = true
	if diags := install(again); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	run.Apply(t.Context(), planned(t, run, tombolo.PlanOptions{}), tombolo.ApplyOptions{})
	if _, err := os.Stat(filepath.Join(o.Dir, "two.tfstate")); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(o.Dir, "main.tf"), simple)
	_, diags := tombolo.Load(t.Context(), o)
	wantError(t, "no block any more", diags, "InstallOptions.Reconfigure")
	if diags := install(tombolo.InstallOptions{Reconfigure: true}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	loaded(t, o)
}

func TestGoValuesMayContainCtyValues(t *testing.T) {
	o := projectIn(t, `variable "v" { default = null }`)
	value := cty.ListVal([]cty.Value{cty.StringVal("n")})
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	for _, c := range []struct {
		given any
		want  string // JSON, or a part of the error
		fails bool
	}{
		{given: map[string]any{"k": value, "o": 1}, want: `{"k":["n"],"o":1}`},
		{given: map[string]cty.Value{"k": value}, want: `{"k":["n"]}`},
		{given: []any{&value, map[string]any{"k": []cty.Value{cty.True}}, nil}, want: `[["n"],{"k":[true]},null]`},
		{given: &value, want: `["n"]`},
		{given: (*cty.Value)(nil), want: `null`},
		{given: []byte("ab"), want: `"YWI="`},
		{given: time.Unix(0, 0).UTC(), want: `"1970-01-01T00:00:00Z"`},
		{given: struct {
			A int    `json:"a"`
			B string `json:"-"`
		}{1, "\xff"}, want: `{"a":1}`},
		{given: struct{ V cty.Value }{value}, want: `at .V: a struct cannot hold a cty.Value`, fails: true},
		{given: map[string]any{"x": []any{struct{ V *cty.Value }{&value}}}, want: `at .x[0].V: a struct`, fails: true},
		{given: map[int]cty.Value{1: value}, want: "cannot hold a cty.Value", fails: true},
		{given: map[string]any{"k": cty.UnknownVal(cty.String)}, want: "at .k: it is not fully known", fails: true},
		{given: map[string]any{"k": []string{"a\xffb"}}, want: `at .k[0]: the text "a\xffb" is not valid UTF-8`,
			fails: true},
		{given: map[string]int{"\xff": 1}, want: "is not valid UTF-8", fails: true},
		{given: cyclic, want: "cycle", fails: true},
	} {
		o.Variables = map[string]any{"v": c.given}
		project, diags := tombolo.Load(t.Context(), o)
		if c.fails {
			wantError(t, fmt.Sprintf("%T", c.given), diags, c.want)
			continue
		}
		if diags.HasErrors() {
			t.Errorf("%T: %v", c.given, diags.Err())
			continue
		}
		var got string
		run := opened(t, project, tombolo.OpenOptions{NoLock: true, Reading: true})
		if diags := run.Evaluate(t.Context(), "jsonencode(var.v)", &got); diags.HasErrors() || got != c.want {
			t.Errorf("%T: got %s, want %s (%v)", c.given, got, c.want, diags.Err())
		}
		project.Close()
	}
}

// Problems of Load are shown with their source lines, although there is no project. Closing a nil project does nothing.
func TestProblemsOfLoadAreShownWithTheirLines(t *testing.T) {
	for text, want := range map[string]string{
		"output \"x\" {\n  value = [1, 2\n}\n":          "on main.tf line 3",
		"module \"m\" {\n  source = \"./nowhere\"\n}\n": "module \"m\" {",
		"variable \"needed\" {}\n":                      "variable \"needed\" {}",
	} {
		o := projectIn(t, text)
		project, diags := tombolo.Load(t.Context(), o)
		if project != nil || !diags.HasErrors() {
			t.Fatalf("%s: loaded", text)
		}
		var out strings.Builder
		if err := o.Diagnostics(&out, diags); err != nil || !strings.Contains(out.String(), want) ||
			strings.Contains(out.String(), "not available") {
			t.Errorf("%s: %v\n%s", text, err, out.String())
		}
		out.Reset()
		if err := project.Diagnostics(&out, diags); err != nil || out.Len() == 0 {
			t.Errorf("without a project: %v, %q", err, out.String())
		}
		if err := project.Close(); err != nil {
			t.Error(err)
		}
	}
	var run *tombolo.Run
	if diags := run.Close(t.Context()); diags != nil {
		t.Error(diags.Err())
	}
}

// Plan returns a plan even with errors. It can be rendered, written and counted, but not applied.
func TestPlansAreNeverNil(t *testing.T) {
	wrong := func(name string) string { return "output \"x\" {\n  value = " + name + "\n}\n" }
	for name, c := range map[string]struct {
		text string
		o    tombolo.PlanOptions
	}{
		"evaluation": {text: wrong(`tonumber(terraform_data.a.input)`) +
			"resource \"terraform_data\" \"a\" {\n  input = \"x\"\n}\n"},
		"index":   {text: wrong(`[1][3]`)},
		"count":   {text: "resource \"terraform_data\" \"a\" {\n  count = -1\n}\n"},
		"address": {text: simple, o: tombolo.PlanOptions{Targets: []string{"a b"}}},
		"mode":    {text: simple, o: tombolo.PlanOptions{Mode: 99}},
	} {
		t.Run(name, func(t *testing.T) {
			project := loaded(t, projectIn(t, c.text))
			run := opened(t, project, tombolo.OpenOptions{})
			pl, diags := run.Plan(t.Context(), c.o)
			if !diags.HasErrors() || pl == nil || !pl.Errored {
				t.Fatalf("got %+v, %v", pl, diags.Err())
			}
			if n := pl.Summary(); n.Change+n.Destroy > 0 {
				t.Errorf("it has changes: %+v", n)
			}
			for _, render := range renderers(project) {
				if err := render(io.Discard, pl); err != nil {
					t.Error(err)
				}
			}
			if err := pl.Write(io.Discard); err != nil {
				t.Error(err)
			}
			_, diags = run.Apply(t.Context(), pl, tombolo.ApplyOptions{})
			if !diags.HasErrors() {
				t.Error("it was applied")
			}
		})
	}
}

func TestOutputsMayBeNullAndSensitive(t *testing.T) {
	o := projectIn(t, `
output "none" { value = null }
output "secret" {
  value     = "tops3cret"
  sensitive = true
}
output "parts" { value = [1, nonsensitive("x")] }
`)
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	text := new(string)
	if err := run.Output("none", &text); err == nil || !strings.Contains(err.Error(), "was not applied yet") {
		t.Errorf("before the apply: %v", err)
	}
	if len(run.Outputs()) != 0 {
		t.Errorf("there are %v", run.Outputs())
	}
	appliedAll(t, run)
	if err := run.Output("none", &text); err != nil || text != nil {
		t.Errorf("got %v, %v", text, err)
	}
	if err := run.Output("nobody", &text); err == nil || !strings.Contains(err.Error(), "has an output") {
		t.Error(err)
	}
	got := run.Outputs()
	if len(got) != 2 || strings.Contains(fmt.Sprintf("%v %+v %#v", got, got, got), "tops3cret") {
		t.Errorf("outputs: %v", got)
	}
	var value plan.Value
	for _, into := range []any{nil, "text", (*string)(nil), *new(int)} {
		if err := run.Output("secret", into); err == nil || !strings.Contains(err.Error(), "must be a pointer") {
			t.Errorf("into %T: %v", into, err)
		}
	}
	if err := run.Output("secret", &value); err != nil || value.String() != "(sensitive value)" {
		t.Errorf("got %v, %v", value, err)
	}
	if diags := run.Evaluate(t.Context(), `{a = sensitive("tops3cret"), b = 1}`, &value); diags.HasErrors() ||
		value.String() != "{a = (sensitive value), b = 1}" {
		t.Errorf("got %v, %v", value, diags.Err())
	}
	if err := value.Decode(&struct{ A *string }{text}); err != nil {
		t.Error(err)
	}
}

// A workspace is only created if the program requests it, not because of a typing mistake.
func TestWorkspacesAreMadeOnPurpose(t *testing.T) {
	o := projectIn(t, simple)
	o.Workspace = "production"
	project := loaded(t, o)
	_, diags := project.Open(t.Context(), tombolo.OpenOptions{})
	wantError(t, "open", diags, "OpenOptions.CreateWorkspace")
	if names, err := project.Store().Workspaces(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("there are %v (%v)", names, err)
	}
	run := opened(t, project, tombolo.OpenOptions{CreateWorkspace: true})
	appliedAll(t, run)
	run.Close(t.Context())
	opened(t, project, tombolo.OpenOptions{}).Close(t.Context())
	o.Workspace = "prodution"
	_, diags = loaded(t, o).Open(t.Context(), tombolo.OpenOptions{})
	wantError(t, "typing mistake", diags, `Did you mean "production"?`)
	o.Workspace = "default"
	opened(t, loaded(t, o), tombolo.OpenOptions{})
}

func TestProvidersHaveOneFactory(t *testing.T) {
	o := projectIn(t, note)
	factory := schema.Factory(func() *schema.Provider { return &schema.Provider{} })
	for range 5 {
		o.Providers = map[string]provider.Factory{"example/note": factory, "EXAMPLE/note": factory,
			"registry.terraform.io/example/note": factory}
		_, diags := tombolo.Load(t.Context(), o)
		wantError(t, "spellings", diags, `"EXAMPLE/note" and "example/note", which are both`)
	}
	o.Providers = map[string]provider.Factory{"note": factory}
	_, diags := tombolo.Load(t.Context(), o)
	wantError(t, "another source", diags, "registry.terraform.io/hashicorp/note, which nothing requires")
	wantError(t, "another source", diags, "under that source in Options.Providers")
}

// A failing test double does not end the process.
func TestCallbacksThatEndTheirGoroutineAreReported(t *testing.T) {
	o := projectIn(t, note)
	for what, p := range map[string]provider.Factory{
		"factory": func(context.Context) (provider.Provider, error) { runtime.Goexit(); return nil, nil },
		"schema":  func(context.Context) (provider.Provider, error) { return exits{at: "schema"}, nil },
		"plan":    func(context.Context) (provider.Provider, error) { return exits{at: "plan"}, nil },
	} {
		o.Providers = map[string]provider.Factory{"example/note": p}
		run := opened(t, loaded(t, o), tombolo.OpenOptions{})
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "runtime.Goexit") {
					t.Errorf("%s: recovered from %v", what, v)
				}
			}()
			run.Plan(t.Context(), tombolo.PlanOptions{})
		}()
		run.Close(t.Context())
	}
	o = projectIn(t, `output "x" { value = quit() }`)
	o.Functions = map[string]function.Function{"quit": function.New(&function.Spec{
		Type: function.StaticReturnType(cty.String),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { runtime.Goexit(); return cty.NilVal, nil },
	})}
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "runtime.Goexit") {
			t.Errorf("function: recovered from %v", v)
		}
	}()
	run.Plan(t.Context(), tombolo.PlanOptions{})
}

type exits struct {
	empty
	at string
}

func (e exits) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	if e.at == "schema" {
		runtime.Goexit()
	}
	return e.empty.Schema(ctx)
}

func (e exits) Plan(context.Context, provider.PlanRequest) provider.PlanResponse {
	runtime.Goexit()
	return provider.PlanResponse{}
}

// explodes is a provider whose creations panic after they created the object.
type explodes struct{ empty }

func (explodes) Apply(context.Context, provider.ApplyRequest) provider.ApplyResponse { panic("apply") }

func TestARunCanBeUsedAfterAPanicOfApply(t *testing.T) {
	o := projectIn(t, note)
	o.Providers = map[string]provider.Factory{"example/note": func(context.Context) (provider.Provider, error) {
		return explodes{}, nil
	}}
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	pl := planned(t, run, tombolo.PlanOptions{})
	func() {
		defer func() {
			if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "apply") {
				t.Errorf("recovered from %v", v)
			}
		}()
		run.Apply(t.Context(), pl, tombolo.ApplyOptions{})
	}()
	left := planned(t, run, tombolo.PlanOptions{})
	if len(run.Interrupted()) != 1 {
		t.Errorf("%d operations are open", len(run.Interrupted()))
	}
	if diags := run.Recover(t.Context(), "note.n", tombolo.Recovery{Retry: true}); diags.HasErrors() {
		t.Error(diags.Err())
	}
	_, diags := run.Apply(t.Context(), left, tombolo.ApplyOptions{})
	wantError(t, "the plan that left it alone", diags, "Saved plan is stale")
	if diags := run.Close(t.Context()); diags.HasErrors() {
		t.Error(diags.Err())
	}
}

// Users of a program provide expressions: no expression may crash it.
func TestEvaluateAcceptsArbitraryExpressions(t *testing.T) {
	project := loaded(t, projectIn(t, simple))
	run := opened(t, project, tombolo.OpenOptions{})
	var got any
	for _, open := range []string{"(", "[", "{a=", "!", "-", "${"} {
		text := strings.Repeat(open, 200_000)
		if diags := run.Evaluate(t.Context(), text, &got); !diags.HasErrors() {
			t.Errorf("%.3s... is a value", text)
		}
	}
	diags := run.Evaluate(t.Context(), "[\n  1,\n  nothing.there,\n]", &got)
	var out bytes.Buffer
	if err := project.Diagnostics(&out, diags); err != nil || !strings.Contains(out.String(), "nothing.there,") {
		t.Errorf("%v\n%s", err, out.String())
	}
	diags = run.Evaluate(t.Context(), "terraform_data.a.id", &got)
	wantError(t, "unknown", diags, "Value is not known")
}

// A program applies plans that defer something until nothing is deferred. An output that is deferred has no value.
func TestPlansThatDeferAreAppliedInRounds(t *testing.T) {
	project := loaded(t, projectIn(t, `
resource "terraform_data" "a" {
  input = ["x", "y"]
}
resource "terraform_data" "b" {
  for_each = toset(terraform_data.a.output)
  input    = each.key
}
output "b" {
  value = keys(terraform_data.b)
}
`))
	run := opened(t, project, tombolo.OpenOptions{})
	_, diags := run.Plan(t.Context(), tombolo.PlanOptions{})
	wantError(t, "without permission", diags, "Invalid for_each argument")
	for round := 1; ; round++ {
		p, diags := run.Plan(t.Context(), tombolo.PlanOptions{AllowDeferral: true})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if _, diags = run.Apply(t.Context(), p, tombolo.ApplyOptions{}); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		var keys []string
		err := run.Output("b", &keys)
		if len(p.Deferred) == 0 {
			if err != nil || round != 2 || !slices.Equal(keys, []string{"x", "y"}) {
				t.Errorf("round %d: %v, %v", round, keys, err)
			}
			return
		}
		if err == nil {
			t.Errorf("round %d: a deferred output is %v", round, keys)
		}
	}
}

func TestContradictoryOptionsAreRefused(t *testing.T) {
	project := loaded(t, projectIn(t, simple))
	run := opened(t, project, tombolo.OpenOptions{})
	for _, o := range []tombolo.PlanOptions{
		{SkipRefresh: true, Mode: plan.RefreshOnly}, {SkipRefresh: true, MinimalRefresh: true},
		{AllowDeferral: true, ForbidDeferral: true},
		{FullRefresh: true, SkipRefresh: true}, {FullRefresh: true, MinimalRefresh: true},
		{MinimalRefresh: true, Mode: plan.Destroy}, {Mode: plan.Destroy, Replace: []string{"terraform_data.a"}},
	} {
		_, diags := run.Plan(t.Context(), o)
		wantError(t, fmt.Sprintf("%+v", o), diags, "Invalid combination of options")
	}
	run.Close(t.Context())
	_, diags := project.Open(t.Context(), tombolo.OpenOptions{Timeout: -1})
	wantError(t, "timeout", diags, "OpenOptions.Timeout")
	ended, end := context.WithCancel(t.Context())
	end()
	if _, diags := project.Open(ended, tombolo.OpenOptions{}); !errors.Is(diags.Err(), context.Canceled) {
		t.Errorf("with a context that has ended: %v", diags.Err())
	}
	opened(t, project, tombolo.OpenOptions{}) // checks that the lock is free
	o := projectIn(t, simple)
	o.Variables = map[string]any{"": 3}
	_, diags = tombolo.Load(t.Context(), o)
	wantError(t, "variable", diags, "Options.Variables has an entry without a name")
	o.Variables, o.VarFiles = nil, []string{""}
	_, diags = tombolo.Load(t.Context(), o)
	wantError(t, "file", diags, "Options.VarFiles has an entry without a name")
	var none context.Context
	for what, misuse := range map[string]func(){
		"empty path":  func() { tombolo.LocalStore("") },
		"nil context": func() { project.Validate(none) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: passed", what)
				}
			}()
			misuse()
		}()
	}
}

// The reason why a context ended is among the errors, even if a provider reports only the cancellation.
func TestErrorsIncludeTheContextCause(t *testing.T) {
	o, _ := counted(t, func(ctx context.Context, _ *schema.ResourceData) diag.Diagnostics {
		<-ctx.Done()
		return diag.Errorf("no answer")
	})
	run := opened(t, loaded(t, o), tombolo.OpenOptions{})
	pl := planned(t, run, tombolo.PlanOptions{})
	ctx, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	_, diags := run.Apply(ctx, pl, tombolo.ApplyOptions{})
	if err := diags.Err(); !errors.Is(err, context.Canceled) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// Advice names calls and options of the library.
func TestAdviceIsInTermsOfTheLibrary(t *testing.T) {
	o := projectIn(t, "terraform {\n  required_providers {\n    note = { source = \"example/note\" }\n  }\n}\n")
	_, diags := tombolo.Load(t.Context(), o)
	wantError(t, "providers", diags, "tombolo.Install")
	o = projectIn(t, "variable \"x\" {}\n")
	_, diags = tombolo.Load(t.Context(), o)
	wantError(t, "variables", diags, "Options.Variables or Options.VarFiles")
	project := loaded(t, projectIn(t, simple))
	run := opened(t, project, tombolo.OpenOptions{})
	_, diags = project.Open(t.Context(), tombolo.OpenOptions{})
	wantError(t, "lock", diags, "OpenOptions.Timeout")
	run.Close(t.Context())

	o, _ = counted(t, func(context.Context, *schema.ResourceData) diag.Diagnostics { panic("lost") })
	run = opened(t, loaded(t, o), tombolo.OpenOptions{})
	_, diags = run.Apply(t.Context(), planned(t, run, tombolo.PlanOptions{}), tombolo.ApplyOptions{})
	var all strings.Builder
	for _, d := range diags {
		all.WriteString(d.Error())
	}
	for _, want := range []string{`Run.Recover(ctx, "note.n", tombolo.Recovery{Adopt: ID})`, "{Retry: true}",
		"{Forget: true}"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%s does not say %q", all.String(), want)
		}
	}
	if reflect.ValueOf(diags).Len() == 0 || strings.Contains(all.String(), "tombolo recover") {
		t.Error(all.String())
	}
}

// appliedAll plans and applies everything.
func appliedAll(t *testing.T, run *tombolo.Run) {
	t.Helper()
	pl := planned(t, run, tombolo.PlanOptions{})
	if _, diags := run.Apply(t.Context(), pl, tombolo.ApplyOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
}
