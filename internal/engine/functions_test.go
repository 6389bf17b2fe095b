package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// fickle is a provider with functions: tell returns its previous arguments and the number of the call; moving
// returns the number of the phase.
type fickle struct {
	provider.Base
	calls, phase *atomic.Int64
}

func (fickle) Schema(context.Context) (*provider.Schema, diag.List) {
	text := provider.FunctionParam{Name: "text", Type: cty.String}
	return &provider.Schema{
		Provider: &provider.Block{Attributes: map[string]*provider.Attribute{"x": {Type: cty.String, Optional: true}}},
		Functions: map[string]*provider.Function{
			"counting": {Params: []provider.FunctionParam{text}, Return: cty.String},
			"moving":   {Params: []provider.FunctionParam{text}, Return: cty.String},
			"steady":   {Params: []provider.FunctionParam{text}, Return: cty.String},
		}}, nil
}

func (f fickle) CallFunction(_ context.Context, name string, args []cty.Value) (cty.Value, error) {
	text := args[0].AsString()
	switch name {
	case "counting":
		text += fmt.Sprint(f.calls.Add(1))
	case "moving":
		text += fmt.Sprint(f.phase.Load())
	}
	return cty.StringVal(text), nil
}

const fickleHeader = `terraform {
  required_providers {
    world  = { source = "tombolo/world" }
    fickle = { source = "tombolo/fickle" }
  }
}
`

// fickleRun plans in one phase, and applies in the next, in the same run or from a saved plan.
func fickleRun(t *testing.T, config string, saved bool) (planned, applied diag.List, outputs map[string]string,
	made []string) {
	t.Helper()
	dir := t.TempDir()
	w, err := world.Open(filepath.Join(dir, "world"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(fickleHeader+config), 0o644); err != nil {
		t.Fatal(err)
	}
	f := fickle{calls: &atomic.Int64{}, phase: &atomic.Int64{}}
	source, err := addr.ParseProvider("tombolo/fickle")
	if err != nil {
		t.Fatal(err)
	}
	open := func(dir string) (*engine.Project, *engine.Run) {
		project, diags := engine.Load(t.Context(), engine.Options{
			Dir: dir, Providers: map[addr.Provider]provider.Factory{
				world.Addr(): world.Factory(world.Options{Dir: filepath.Join(dir, "world")}),
				source:       func(context.Context) (provider.Provider, error) { return f, nil },
			}})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		t.Cleanup(func() { project.Close() })
		run, diags := project.Open(t.Context(), engine.OpenOptions{})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return project, run
	}
	_, run := open(dir)
	defer func() { run.Close(context.Background()) }()
	p, planned := run.Plan(t.Context(), engine.PlanOptions{})
	if planned.HasErrors() {
		return planned, nil, nil, nil
	}
	f.phase.Add(1)
	if saved {
		p = throughFile(t, p)
	}
	_, applied = run.Apply(t.Context(), p, nil)
	outputs = map[string]string{}
	if st := run.State(); st != nil {
		for _, name := range st.OutputNames() {
			outputs[name] = st.Output(name).Value.AsString()
		}
		for _, r := range st.Resources() {
			made = append(made, r.Addr.String())
		}
	}
	slices.Sort(made)
	return planned, applied, outputs, made
}

// throughFile returns a plan after saving and reading it.
func throughFile(t *testing.T, p *plan.Plan) *plan.Plan {
	t.Helper()
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Decode(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProviderFunctionResultsAreChecked(t *testing.T) {
	const steady = `
resource "world_object" "steady" { name = provider::fickle::steady("s") }
output "steady" { value = provider::fickle::steady("s") }
`
	both := []string{"world_object.a", "world_object.steady"}
	for _, tt := range []struct {
		name, config string
		planFails    bool
		applyFails   bool
		made         []string
	}{
		{name: "steady", config: `resource "world_object" "a" { name = provider::fickle::steady("x") }`, made: both},
		{name: "twice in a plan", planFails: true, config: `
resource "world_object" "a" { name = provider::fickle::counting("x") }
output "o" { value = provider::fickle::counting("x") }`},
		{name: "in a resource", applyFails: true, made: both[1:],
			config: `resource "world_object" "a" { name = provider::fickle::moving("x") }`},
		{name: "in an output", applyFails: true, made: both[1:],
			config: `output "o" { value = provider::fickle::moving("x") }`},
		{name: "in a local value", applyFails: true, made: both[1:], config: `
locals { l = provider::fickle::moving("x") }
resource "world_object" "a" { name = local.l }`},
		{name: "sensitive", applyFails: true, made: both[1:],
			config: `resource "world_object" "a" { name = provider::fickle::moving(sensitive("hush-hush")) }`},
		{name: "arguments that are not known", made: both, config: `
resource "world_object" "a" { name = provider::fickle::moving(world_object.steady.id) }`},
		{name: "arguments of a provider block", made: both, config: `
provider "fickle" { x = provider::fickle::moving("x") }
resource "world_object" "a" { name = "a" }`},
	} {
		for _, saved := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, saved %v", tt.name, saved), func(t *testing.T) {
				planned, applied, outputs, made := fickleRun(t, tt.config+steady, saved)
				if planned.HasErrors() != tt.planFails || applied.HasErrors() != tt.applyFails {
					t.Fatalf("plan: %v\napply: %v", planned.Err(), applied.Err())
				}
				if tt.planFails {
					wantInconsistent(t, planned)
					return
				}
				if tt.applyFails {
					wantInconsistent(t, applied)
				}
				if diff := cmp.Diff(tt.made, made); diff != "" {
					t.Errorf("objects (-want +got):\n%s", diff)
				}
				if outputs["steady"] != "s" || outputs["o"] == "x1" {
					t.Errorf("outputs: %v", outputs)
				}
			})
		}
	}
}

func wantInconsistent(t *testing.T, diags diag.List) {
	t.Helper()
	for _, d := range diags {
		if d.Severity == diag.Error && !strings.Contains(d.Detail, "inconsistent result") ||
			strings.Contains(d.Detail, "hush-hush") {
			t.Errorf("got %s: %s", d.Summary, d.Detail)
		}
	}
}
