package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// actor has things and actions, and records the requests that it receives.
type actor struct {
	provider.Base
	mu      sync.Mutex
	done    []string
	invoke  func(text string) provider.InvokeActionResponse
	planned [][]byte // the planned private data of each plan
	// replaces means that a new name requires a replacement.
	replaces bool
	mode     plan.Mode
	until    context.Context // stops the apply at its end; nil means that it does not end
	objects  *state.State    // the state after the last apply
}

func (a *actor) note(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = append(a.done, what)
}

func (*actor) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{
		Resources: map[string]*provider.ResourceType{"actor_thing": {Block: &provider.Block{
			Attributes: map[string]*provider.Attribute{"name": {Type: cty.String, Required: true},
				"id": {Type: cty.String, Computed: true}}}}},
		Actions: map[string]*provider.ResourceType{"actor_say": {Block: &provider.Block{
			Attributes: map[string]*provider.Attribute{"text": {Type: cty.String, Required: true}}}}},
	}, nil
}

func (a *actor) UpgradeState(ctx context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	s, _ := a.Schema(ctx)
	return provider.DecodeStored(s.Resources[req.Type], req)
}

func (a *actor) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.planned = append(a.planned, req.PlannedPrivate)
	resp := provider.PlanResponse{Planned: req.Proposed, Private: req.PlannedPrivate}
	if req.Prior.IsNull() {
		vals := req.Proposed.AsValueMap()
		vals["id"] = cty.UnknownVal(cty.String)
		resp.Planned, resp.Private = cty.ObjectVal(vals), []byte("seed")
	} else if a.replaces {
		resp.RequiresReplace = []cty.Path{cty.GetAttrPath("name")}
	}
	return resp
}

func (a *actor) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Planned.IsNull() {
		a.note("delete " + req.Prior.GetAttr("name").AsString())
		return provider.ApplyResponse{State: req.Planned}
	}
	vals := req.Planned.AsValueMap()
	a.note("apply " + vals["name"].AsString())
	if vals["id"] = cty.StringVal("id-" + vals["name"].AsString()); !req.Prior.IsNull() {
		vals["id"] = req.Prior.GetAttr("id")
	}
	return provider.ApplyResponse{State: cty.ObjectVal(vals)}
}

func (a *actor) InvokeAction(_ context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	text := req.Config.GetAttr("text").AsString()
	a.note("say " + text)
	return a.invoke(text)
}

const actorConfig = `
terraform {
  required_providers {
    actor = { source = "tombolo/actor" }
  }
}
resource "actor_thing" "a" {
  name = "a"
}
resource "actor_thing" "b" {
  name = actor_thing.a.id
  lifecycle {
    action_trigger {
      events  = [before_create]
      actions = [action.actor_say.before]
    }
    action_trigger {
      events  = [after_create]
      actions = [action.actor_say.after]
    }
  }
}
action "actor_say" "before" {
  config {
    text = "before"
  }
}
action "actor_say" "after" {
  config {
    text = actor_thing.b.id
  }
}
`

// apply plans and applies in a folder, and returns the operations in flight before and after.
func (a *actor) apply(t *testing.T, dir string) (p *plan.Plan, before, after []state.InFlight, diags diag.List) {
	t.Helper()
	source, err := addr.ParseProvider("tombolo/actor")
	if err != nil {
		t.Fatal(err)
	}
	project, diags := engine.Load(t.Context(), engine.Options{Dir: dir, Providers: map[addr.Provider]provider.Factory{
		source: func(context.Context) (provider.Provider, error) { return a, nil }}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(t.Context(), engine.OpenOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer run.Close(t.Context())
	before = run.Snapshot().InFlight
	p, more := run.Plan(t.Context(), engine.PlanOptions{Mode: a.mode})
	if diags = diags.Extend(more); diags.HasErrors() {
		return p, before, nil, diags
	}
	until := t.Context()
	if a.until != nil {
		until = a.until
	}
	_, more = run.Apply(until, p, nil)
	a.objects = run.State()
	return p, before, run.Snapshot().InFlight, diags.Extend(more)
}

func actorFolder(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(actorConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The next run reports, once, that a run was killed in the middle of an action. The action is not invoked again.
func TestKilledActionIsReported(t *testing.T) {
	for _, middle := range []string{"before", "id-id-a"} {
		dir, killed := actorFolder(t), filepath.Join(t.TempDir(), "killed")
		a := &actor{}
		a.invoke = func(text string) provider.InvokeActionResponse {
			if text == middle { // the files that a kill would leave at this time
				if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
					t.Error(err)
				}
			}
			return provider.InvokeActionResponse{}
		}
		_, _, left, diags := a.apply(t, dir)
		want := []string{"apply a", "say before", "apply id-a", "say id-id-a"}
		if diags.HasErrors() || len(left) > 0 || !slices.Equal(a.done, want) {
			t.Fatalf("done %q, in flight %v, %v", a.done, left, diags)
		}
		a.done = nil
		a.invoke = func(string) provider.InvokeActionResponse { return provider.InvokeActionResponse{} }
		_, open, left, diags := a.apply(t, killed)
		if len(open) != 1 || open[0].Action != state.ActionInvoke || len(left) > 0 || diags.HasErrors() {
			t.Errorf("%s: in flight %v, then %v: %v", middle, open, left, diags)
		}
		reports := 0
		for _, d := range diags {
			if d.Severity == diag.Warning && strings.Contains(d.Detail, "was being invoked") {
				reports++
			}
		}
		if reports == 0 {
			t.Errorf("%s: nobody is told: %v", middle, diags)
		}
		if middle != "before" && len(a.done) > 0 {
			t.Errorf("done again: %q", a.done)
		}
	}
}

// An action whose response is lost stays in flight.
func TestALostActionStaysInFlight(t *testing.T) {
	dir, a := actorFolder(t), &actor{}
	a.invoke = func(text string) provider.InvokeActionResponse {
		if text == "before" {
			return provider.InvokeActionResponse{}
		}
		return provider.InvokeActionResponse{Lost: true, Diagnostics: diag.List{}.Errorf(nil, "It died", "No answer.")}
	}
	_, _, left, diags := a.apply(t, dir)
	if !diags.HasErrors() || len(left) != 1 || left[0].Object.String() != "action.actor_say.after" {
		t.Errorf("in flight %v, %v", left, diags)
	}
}

// A provider that is called again for a plan receives the private data of its first response.
func TestThePlanOfAnApplyGetsThePlannedPrivateData(t *testing.T) {
	dir, a := actorFolder(t), &actor{}
	a.invoke = func(string) provider.InvokeActionResponse { return provider.InvokeActionResponse{} }
	if _, _, _, diags := a.apply(t, dir); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	again := 0
	for _, private := range a.planned {
		if string(private) == "seed" {
			again++
		}
	}
	if again != 1 { // only b depends on an unknown value
		t.Errorf("planned private data of the plans: %q", a.planned)
	}
}

// Actions in a saved plan are read unchanged.
func TestActionsOfASavedPlan(t *testing.T) {
	dir, a := actorFolder(t), &actor{}
	a.invoke = func(string) provider.InvokeActionResponse { return provider.InvokeActionResponse{} }
	p, _, _, diags := a.apply(t, dir)
	if diags.HasErrors() || len(p.Invocations) != 2 || p.Summary().Invoke != 2 {
		t.Fatalf("%v, %v", p.Invocations, diags)
	}
	var file strings.Builder
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	back, err := plan.Decode(strings.NewReader(file.String()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range back.Invocations {
		want := p.Invocations[i]
		if got.Action != want.Action || got.Provider != want.Provider || *got.Trigger != *want.Trigger ||
			!got.Config.Value.RawEquals(want.Config.Value) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
