package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
)

// An object that moves to an interrupted address is not planned, and not destroyed; nor is it confused with the
// interrupted one.
func TestMovesToInterruptedCreationsWait(t *testing.T) {
	s := newScene(t)
	const first = `
resource "world_object" "base" { name = "base" }
resource "world_object" "old" {
  name = "old"
}
resource "world_object" "new" {
  name   = "new"
  value  = world_object.base.id
  behave = { half = "lost" }
}
`
	if _, _, diags := s.run(first, false, engine.PlanOptions{}); !diags.HasErrors() {
		t.Fatal("nothing was interrupted")
	}
	const second = `
moved {
  from = world_object.old
  to   = world_object.new
}
resource "world_object" "new" {
  name = "old"
}
`
	from := s.mark()
	for range 2 {
		p, _, diags := s.run(second, false, engine.PlanOptions{})
		if !diags.HasErrors() || p == nil {
			t.Fatal("the interrupted creation was taken for settled")
		}
		left := map[string]string{}
		for _, l := range p.LeftOut {
			left[l.Address] = l.Why()
		}
		want := map[string]string{"world_object.new": "left unchanged", "world_object.old": "kept for world_object.new",
			"world_object.base": "kept for world_object.new"}
		if !maps.Equal(left, want) {
			t.Errorf("left out %v", left)
		}
	}
	if got := s.happened(from); len(got) > 0 {
		t.Errorf("it did %v", got)
	}
}

// A replacement would destroy a needed object, so there is no plan until the creation is resolved, with or without its
// block.
func TestDependenciesOfInterruptedCreationsAreNotReplaced(t *testing.T) {
	const base = "resource \"world_object\" \"base\" { name = \"base\" }\n"
	const lost = `
resource "world_object" "new" {
  name   = "new"
  value  = world_object.base.id
  behave = { half = "lost" }
}
`
	replaced, problems := addr.ParseInstance("world_object.base")
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	options := engine.PlanOptions{ForceReplace: []addr.AbsResourceInstance{replaced}}
	for name, second := range map[string]string{"with its block": base + lost, "without": base} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if _, _, diags := s.run(base+lost, false, engine.PlanOptions{}); !diags.HasErrors() {
				t.Fatal("nothing was interrupted")
			}
			from := s.mark()
			_, _, diags := s.run(second, false, options)
			if !slices.Contains(summaries(diags),
				"error world_object.base Replacement blocked by an interrupted creation") {
				t.Errorf("got %q", summaries(diags))
			}
			if got := s.happened(from); len(got) > 0 {
				t.Errorf("it did %v", got)
			}
			s.adoptAll()
			if _, _, diags := s.run(second, false, options); diags.HasErrors() {
				t.Errorf("once it is settled: %v", diags.Err())
			}
		})
	}
}

func TestDestroyKeepsDependenciesOfInterruptedCreations(t *testing.T) {
	for seed := range 20 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			tangle := newTangle(rand.New(rand.NewPCG(uint64(seed), 8)))
			for _, k := range tangle.nodes {
				k.leave, k.isNew, k.moved = false, false, false // the same configuration twice
				k.now = k.before
			}
			tangle.out, tangle.moved = -1, false
			s := tangle.interrupt(t)
			root, _ := tangle.text(true)
			from := s.mark()
			p, _, diags := s.run(root, false, engine.PlanOptions{Mode: plan.Destroy})
			if p == nil || diags.HasErrors() != tangle.interrupted() {
				t.Fatalf("errors: %v\n%s", diags.Err(), root)
			}
			got := s.happened(from)
			slices.Sort(got)
			if want := tangle.wanted(true); !slices.Equal(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s\nleft out: %v\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"),
					p.LeftOut, root)
			}
		})
	}
}

// file writes a file of the configuration.
func (s *scene) file(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// outputs returns the stored output values that are strings.
func (s *scene) outputs() map[string]string {
	s.t.Helper()
	_, st, diags := s.run("", true, engine.PlanOptions{Mode: plan.RefreshOnly, SkipRefresh: true})
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	out := map[string]string{}
	for _, name := range st.OutputNames() {
		out[name] = st.Output(name).Value.AsString()
	}
	return out
}

const heldConfig = `
resource "world_object" "a" {
  name   = "a"
  behave = { %s }
}
resource "world_object" "b" {
  name  = "b"
  value = world_object.a.id
}
resource "world_object" "free" {
  name  = "free"
  value = %q
}
output "a" { value = world_object.a.id }
output "free" { value = world_object.free.value }
`

// interruptedScene leaves the creation of a in flight.
func interruptedScene(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	if _, _, diags := s.run(fmt.Sprintf(heldConfig, `half = "lost"`, "old"), false,
		engine.PlanOptions{}); !diags.HasErrors() {
		t.Fatal("nothing was interrupted")
	}
	return s
}

func summaries(diags diag.List) (list []string) {
	for _, d := range diags {
		list = append(list, fmt.Sprintf("%s %s %s", d.Severity, d.Address, d.Summary))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestPlanListsOmissions(t *testing.T) {
	s := interruptedScene(t)
	p, _, diags := s.run(fmt.Sprintf(heldConfig, "", "new"), true, engine.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	left := map[string]string{}
	for _, l := range p.LeftOut {
		left[l.Address] = l.Why()
	}
	want := map[string]string{"world_object.a": "left unchanged", "world_object.b": "depends on world_object.a",
		"output.a": "depends on world_object.a"}
	if !maps.Equal(left, want) || p.Complete {
		t.Errorf("left out %v, complete %v", left, p.Complete)
	}
	if got := summaries(diags); !slices.ContainsFunc(got, func(s string) bool {
		return strings.Contains(s, "Plan leaves out")
	}) {
		t.Errorf("got %q", got)
	}
}

func TestRefreshOnlyIgnoresInterruptedCreations(t *testing.T) {
	s := interruptedScene(t)
	objects, err := s.world.Exists()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.Name == "free" {
			if err := s.world.Remove(o.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, st, diags := s.run(fmt.Sprintf(heldConfig, "", "new"), false, engine.PlanOptions{Mode: plan.RefreshOnly})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if len(st.Resources()) > 0 || st.Output("free") != nil && !st.Output("free").Value.IsNull() {
		t.Errorf("what is gone is still there: %v", st.Resources())
	}
}
