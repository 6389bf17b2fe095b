//go:build unix

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/state"
)

// hooked returns a hook for these events, which runs a script in the folder of the project.
func hooked(script string, events ...hook.Event) []hook.Hook {
	return []hook.Hook{{Name: "h", Command: []string{"sh", "-c", script}, Events: events,
		Actions: []string{"create", "update", "delete", "read"}}}
}

// Hooks kill the engine that runs them, each once. A hook before an operation runs again because the operation has not
// begun; one after it runs again because the journal requires that, even if the object is gone.
func TestKilledByItsHooks(t *testing.T) {
	t.Parallel()
	r := newTestProject(t, header+`
resource "world_object" "a" { name = "a" }
resource "world_object" "b" {
  name = "b-${world_object.a.id}"
}
`)
	const script = `doc=$(cat); what=$(echo "$doc" | sed 's/.*"address":"\([^"]*\)".*"action":"\([^"]*\)".*/\2-\1/')
at=$TOMBOLO_EVENT-$what; echo "$doc" >>log
[ -e $at ] || { touch $at; kill -9 $PPID; sleep 5; }`
	r.job.Hooks = hooked(script, hook.BeforeObject, hook.AfterObject)
	kill := func(creations ...string) *state.Snapshot {
		t.Helper()
		if !killed(t, r.job.command()) {
			t.Fatal("no hook killed the engine")
		}
		s := r.over()
		for _, name := range creations {
			if n, err := r.world.Creations(name); n != 1 || err != nil {
				t.Fatalf("%s was created %d times (%v)", name, n, err)
			}
		}
		return s
	}
	if s := kill(); len(s.InFlight) > 0 {
		t.Fatalf("in flight before anything was begun: %+v", s.InFlight)
	}
	open := func(s *state.Snapshot, at string) {
		t.Helper()
		if len(s.InFlight) != 1 || s.InFlight[0].Action != state.ActionHook || s.InFlight[0].Object.String() != at {
			t.Fatalf("in flight: %+v, want the hooks after %s", s.InFlight, at)
		}
	}
	open(kill("a"), "world_object.a")
	// From here on the hooks of a run again, and those of b kill.
	for range 2 {
		kill("a")
	}
	open(r.over(), "world_object.b")
	r.noErrors(r.job.do(t.Context(), nil))
	if s := r.read(); len(s.InFlight) > 0 {
		t.Errorf("still in flight: %+v", s.InFlight)
	}
	log := r.log()
	for _, address := range []string{"world_object.a", "world_object.b"} {
		if !slices.ContainsFunc(log, func(d hook.Document) bool {
			return d.Again && d.Outcome == hook.Unknown && d.Object.Address == address && d.Event == hook.AfterObject
		}) {
			t.Errorf("the hooks after %s did not run again: %+v", address, log)
		}
	}
	r.job.Destroy = true
	for range 4 {
		kill()
	}
	r.noErrors(r.job.do(t.Context(), nil))
	if s := r.read(); len(s.InFlight) > 0 || len(s.State.Resources()) > 0 {
		t.Errorf("left are %+v and %+v", s.InFlight, s.State.Resources())
	}
}

// log returns the documents that hooks have written to the file log.
func (r *testProject) log() (list []hook.Document) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.job.Dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var d hook.Document
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			r.t.Fatalf("%s: %s", err, line)
		}
		list = append(list, d)
	}
	return list
}

// TestHooksThatAgreeChangeNothing applies random configurations in two copies of a project, one with a hook for every
// event: plans, operations, objects and states are equal.
func TestHooksThatAgreeChangeNothing(t *testing.T) {
	t.Parallel()
	rounds, deadline := 1<<30, time.Now().Add(4*time.Second)
	if full {
		rounds, deadline = 200, time.Now().Add(24*time.Hour)
	}
	done := 0
	for n := 0; n < rounds && (done == 0 || time.Now().Before(deadline)) && !t.Failed(); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) { withAndWithout(t, rand.New(rand.NewPCG(uint64(seed), uint64(n)))) })
		done++
	}
	t.Logf("%d rounds, seed %d", done, seed)
}

func withAndWithout(t *testing.T, random *rand.Rand) {
	w := randomDesired(random)
	whole := newTestProject(t, w.config(false))
	whole.job.do(context.Background(), nil) // some operations fail
	for step := range 2 {
		w = w.changed(random)
		whole.configure(w.config(true))
		with := whole.copyTo(t)
		with.job.Hooks = hooked("doc=$(cat); echo \"$doc\" >>log", hook.BeforePlan, hook.AfterPlan, hook.BeforeApply,
			hook.AfterApply, hook.BeforeObject, hook.AfterObject)
		if diff := cmp.Diff(whole.planned(), with.planned()); diff != "" {
			t.Errorf("step %d, plans (-without +with hooks):\n%s", step, diff)
		}
		with.noErrors(with.job.do(context.Background(), nil))
		begun := whole.begun()
		whole.noErrors(whole.job.do(context.Background(), nil))
		if diff := cmp.Diff(whole.summary(), with.summary()); diff != "" {
			t.Errorf("step %d (-without +with hooks):\n%s\n%s", step, diff, w.config(true))
		}
		with.exact(fmt.Sprintf("step %d", step))
		with.aroundEach(whole.begun() - begun)
	}
}

// aroundEach checks that a number of operations on managed objects had a hook before and one after each.
func (r *testProject) aroundEach(operations int) {
	r.t.Helper()
	open, seen := map[string]bool{}, 0
	for _, d := range r.log() {
		if d.Object == nil || d.Object.Action == "read" {
			continue
		}
		at := d.Object.Action + " " + d.Object.Address + d.Object.Deposed
		switch {
		case d.Event == hook.BeforeObject && !open[at]:
			open[at] = true
			seen++
		case d.Event == hook.AfterObject && open[at] && d.Outcome == hook.OK:
			delete(open, at)
		default:
			r.t.Errorf("out of turn: %s of %s, outcome %s", d.Event, at, d.Outcome)
		}
	}
	if len(open) > 0 {
		r.t.Errorf("no hook ran after %v", open)
	}
	if seen < operations {
		r.t.Errorf("hooks ran around %d operations, and there were %d", seen, operations)
	}
}

// planned returns the document of a plan, without its time.
func (r *testProject) planned() map[string]any {
	r.t.Helper()
	project, diags := r.job.project(nil)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	defer project.Close()
	run, diags := open(r.t.Context(), project)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	defer run.Close(r.t.Context())
	p, diags := run.Plan(r.t.Context(), engine.PlanOptions{})
	r.noErrors(diags)
	var b bytes.Buffer
	if err := tfjson.Plan(&b, p, p.Prior(), project.Config(), project.Schemas(p.Base, p.Changes...)); err != nil {
		r.t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		r.t.Fatal(err)
	}
	delete(out, "timestamp")
	return out
}
