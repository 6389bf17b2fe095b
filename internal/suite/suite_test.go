package suite_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider"
)

// module is the configuration under test: two objects, and a third one in a module.
const module = `
terraform {
  required_providers {
    world = { source = "tombolo/world" }
  }
}
variable "p" { default = "p" }
variable "c" { default = 1 }
variable "behave" { default = {} }
resource "world_object" "a" {
  count  = var.c
  name   = "${var.p}-a-${count.index}"
  behave = var.behave
}
resource "world_object" "b" {
  name  = "${var.p}-b"
  value = join(",", world_object.a[*].id)
}
module "m" {
  source = "./m"
}
output "value" { value = world_object.b.value }
`

const child = `
terraform {
  required_providers {
    world = { source = "tombolo/world" }
  }
}
resource "world_object" "c" { name = "c" }
output "id" { value = world_object.c.id }
`

// A house is a directory with the module and test files, and the world with the objects of their provider.
type house struct {
	dir   string
	files []*testfile.File
	// onApply is called for every change, unless it is nil.
	onApply func(req provider.ApplyRequest)
	// onRunEnds is called at the end of every run.
	onRunEnds func()
	left      []suite.Leftover
	emptied   int
	reports   []string // the reports, one per line
	// parallelism limits the concurrent runs.
	parallelism int
}

func newHouse(t *testing.T, tests string) *house {
	t.Helper()
	h := &house{dir: t.TempDir()}
	for name, text := range map[string]string{
		"main.tf": module, "m/main.tf": child, "a.tftest.hcl": tests,
		".terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},` +
			`{"Key":"m","Source":"./m","Dir":"m"}]}`,
	} {
		path := filepath.Join(h.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, diags := testfile.Load(config.OSFiles(h.dir), "tests", flavor.Terraform)
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags.Err(), tests)
	}
	h.files = files
	return h
}

// run runs the tests. Of the reports, it keeps only the leftovers and the order of the others.
func (h *house) run(t *testing.T, ctx, abort context.Context) *suite.Result {
	t.Helper()
	load := func(ctx context.Context, w suite.Wanted) (*engine.Project, diag.List) {
		return engine.Load(ctx, engine.Options{Dir: h.dir, Abort: abort, Module: w.Run.Place(),
			RootProviders: w.Providers, Providers: map[addr.Provider]provider.Factory{
				world.Addr(): func(context.Context) (provider.Provider, error) {
					return &watched{Provider: world.New(world.Options{Dir: h.world()}), house: h}, nil
				},
			}})
	}
	cfg, diags := config.Load(t.Context(), config.Options{Dir: h.dir})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return suite.Run(ctx, suite.Options{
		Files:     h.files,
		Variables: func(*testfile.File) config.Values { return nil },
		Load:      load,
		Configs:   func(*testfile.Run) *config.Config { return cfg },
		Store: func(_ *testfile.File, key string) suite.Place {
			path := filepath.Join(h.dir, "states", "state-"+key)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Error(err)
			}
			return suite.Place{Path: path, Store: store.New(store.Options{Path: path, WorkspaceDir: path + ".d"})}
		},
		Emptied: func(*testfile.File) { h.emptied++ },
		Report:  quiet{h},
		Abort:   abort, Parallelism: h.parallelism,
	})
}

func (h *house) world() string { return filepath.Join(h.dir, "world") }

// exists returns the objects in the world.
func (h *house) exists(t *testing.T) []world.Object {
	t.Helper()
	w, err := world.Open(h.world())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	list, err := w.Exists()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// named reports whether the leftovers of a run contain an object: by its id in the state, or by its address among the
// operations with an unknown result.
func (h *house) named(o world.Object) bool {
	for _, l := range h.left {
		for _, r := range l.State.Resources() {
			for _, inst := range r.Instances {
				if inst.Current != nil && strings.Contains(string(inst.Current.Attributes), `"`+o.ID+`"`) {
					return true
				}
				for _, d := range inst.Deposed {
					if strings.Contains(string(d.Attributes), `"`+o.ID+`"`) {
						return true
					}
				}
			}
		}
		for _, f := range l.Open {
			a := strings.NewReplacer("module.m.world_object.", "", "world_object.", "", "[", "-", "]", "").
				Replace(f.Object.Instance.String())
			if o.Name == a || strings.HasSuffix(o.Name, "-"+a) {
				return true
			}
		}
	}
	return false
}

// watched is a provider that records its calls.
type watched struct {
	provider.Provider
	house *house
}

func (w *watched) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if w.house.onApply != nil {
		w.house.onApply(req)
	}
	return w.Provider.Apply(ctx, req)
}

// quiet is a report that keeps only the leftovers and the order of the reports.
type quiet struct{ house *house }

func (q quiet) tell(format string, args ...any) {
	q.house.reports = append(q.house.reports, fmt.Sprintf(format, args...))
}

func (quiet) Found([]*testfile.File)                                     {}
func (quiet) FileStarts(*testfile.File)                                  {}
func (q quiet) RunStarts(_ *testfile.File, r *testfile.Run)              { q.tell("%s starts", r.Name) }
func (quiet) Running(*testfile.File, *testfile.Run, time.Duration, bool) {}
func (q quiet) TearingDown(*testfile.File)                               { q.tell("tearing down") }
func (q quiet) Destroying(_ *testfile.File, r *testfile.Run)             { q.tell("%s destroys", r.Name) }
func (q quiet) RunEnds(_ *testfile.File, o *suite.Outcome) {
	q.tell("%s: %s", o.Run.Name, o.Status)
	if q.house.onRunEnds != nil {
		q.house.onRunEnds()
	}
}
func (q quiet) Destroyed(l suite.Leftover) {
	q.tell("left by %s: %v", l.Run.Name, l.Objects())
	q.house.left = append(q.house.left, l)
}
func (quiet) FileEnds(*suite.FileResult) {}
func (quiet) Ends(*suite.Result)         {}

// problems formats all results for a failed test.
func problems(r *suite.Result, left []suite.Leftover) string {
	var b strings.Builder
	for _, f := range r.Files {
		for _, o := range f.Runs {
			fmt.Fprintf(&b, "%s: %s %v\n", o.Run.Name, o.Status, o.Diags)
		}
	}
	for _, l := range left {
		fmt.Fprintf(&b, "left by %s: %v %v\n", l.Run.Name, l.Objects(), l.Diags)
	}
	return b.String()
}

// TestMocksDoNotDeleteRealObjects has one run create real objects and another one mock them. At the end all real
// objects are destroyed, and no mocked object reaches the provider.
func TestMocksDoNotDeleteRealObjects(t *testing.T) {
	const real, mocked = "provider \"world\" {}\n", "mock_provider \"world\" {\n alias = \"m\"\n}\n"
	for _, tt := range []struct {
		name, tests string
		want        suite.Status
	}{
		{"override afterwards", real + `run "one" {}
run "two" {
  override_resource { target = world_object.a }
  override_resource { target = module.m.world_object.c }
}`, suite.Pass},
		{"override before", real + `run "one" {
  override_resource { target = world_object.a }
}
run "two" {}`, suite.Pass},
		{"replaced under an override", real + `run "one" {}
run "two" {
  plan_options { replace = [world_object.b] }
  override_resource { target = world_object.b }
}`, suite.Pass},
		{"gone under an override", real + `run "one" {
  variables { c = 2 }
}
run "two" {
  override_resource { target = world_object.a }
}`, suite.Pass},
		{"a mock afterwards", real + mocked + `run "one" { providers = { world = world } }
run "two" { providers = { world = world.m } }`, suite.Pass},
		{"a mock before", real + mocked + `run "one" { providers = { world = world.m } }
run "two" { providers = { world = world } }`, suite.Pass},
		{"a mock, more and a mock", real + mocked + `run "one" { providers = { world = world } }
run "two" {
  providers = { world = world.m }
  variables { c = 3 }
}
run "three" {
  providers = { world = world.m }
  variables { c = 2 }
}`, suite.Pass},
		{"gone under a mock", real + mocked + `run "one" {
  providers = { world = world }
  variables { c = 2 }
}
run "two" { providers = { world = world.m } }`, suite.Error},
		{"a module that is overridden", real + `run "one" {}
run "two" {
  override_module { target = module.m }
}`, suite.Pass},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, tt.tests)
			h.onApply = func(req provider.ApplyRequest) {
				if req.Prior.IsNull() {
					return
				}
				if id := req.Prior.GetAttr("id"); !id.IsNull() && len(id.AsString()) == 8 &&
					!strings.Contains(id.AsString(), "-") {
					t.Errorf("the provider was asked to change %s, which a mock has made", id.AsString())
				}
			}
			result := h.run(t, t.Context(), context.Background())
			if result.Status != tt.want {
				t.Errorf("the tests ended with %s, want %s\n%s", result.Status, tt.want, problems(result, h.left))
			}
			if list := h.exists(t); len(list) > 0 || len(h.left) > 0 {
				t.Errorf("%v is left\n%s", list, problems(result, h.left))
			}
			if h.emptied != 1 {
				t.Errorf("the states were given up %d times, want once", h.emptied)
			}
		})
	}
}

// TestLeftoversAreReported runs random test files with mocks, refusals and interrupts. Every object that exists in the
// world at the end must be reported, its state kept, and the tests must have failed. TOMBOLO_SUITE_SEEDS runs more.
func TestLeftoversAreReported(t *testing.T) {
	seeds, err := strconv.ParseUint(cmp.Or(os.Getenv("TOMBOLO_SUITE_SEEDS"), "60"), 10, 32)
	if err != nil {
		t.Fatal("TOMBOLO_SUITE_SEEDS is not a number")
	}
	kept := 0
	for seed := range seeds {
		g := &generator{r: rand.New(rand.NewPCG(seed, 0x6c656674))}
		tests := g.file()
		h := newHouse(t, tests)
		ctx, stop := context.WithCancel(t.Context())
		abort, cut := context.WithCancel(context.Background())
		var calls atomic.Int32
		first, second := g.at(30, 8), g.at(15, 8)
		h.onApply = func(provider.ApplyRequest) {
			switch n := int(calls.Add(1)); n {
			case second:
				stop()
				cut()
			case first:
				stop()
			}
		}
		result := h.run(t, ctx, abort)
		stop()
		cut()
		list := h.exists(t)
		for _, o := range list {
			if !h.named(o) {
				t.Errorf("seed %d: nobody says that %s (%s) is left\n%s\n%s", seed, o.Name, o.ID, tests,
					problems(result, h.left))
			}
		}
		if len(list) > 0 {
			kept++
		}
		if len(list) > 0 && (result.Status != suite.Error || h.emptied > 0) {
			t.Errorf("seed %d: objects are left, but the tests ended with %s, and states were given up %d times\n%s",
				seed, result.Status, h.emptied, tests)
		}
		if n := result.Count(suite.Skip); n > 0 && result.Status <= suite.Pass {
			t.Errorf("seed %d: %d runs were skipped, and the tests ended with %s\n%s", seed, n, result.Status, tests)
		}
		if len(list) > 0 && !g.refuses && second == 0 {
			t.Errorf("seed %d: %v is left although nothing refused\n%s\n%s", seed, list, tests,
				problems(result, h.left))
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d left something", kept, seeds)
}

// TestRunsSkippedByAnInterruptAreNotSuccessful interrupts between two runs, so that no run fails because of it.
func TestRunsSkippedByAnInterruptAreNotSuccessful(t *testing.T) {
	h := newHouse(t, "provider \"world\" {}\nrun \"one\" {}\nrun \"two\" {}\n")
	ctx, stop := context.WithCancel(t.Context())
	h.onRunEnds = stop
	result := h.run(t, ctx, context.Background())
	if result.Count(suite.Pass) != 1 || result.Count(suite.Skip) != 1 || result.Status != suite.Error {
		t.Errorf("status %s\n%s", result.Status, problems(result, h.left))
	}
}

// TestProtectedObjectsOfTestsAreDestroyed has blocks that protect or forget their objects.
func TestProtectedObjectsOfTestsAreDestroyed(t *testing.T) {
	for _, keeps := range []string{"prevent_destroy = true", "destroy = false"} {
		h := newHouse(t, "provider \"world\" {}\nrun \"one\" {}\nrun \"two\" { state_key = \"k\" }\n")
		text := "resource \"world_object\" \"b\" {\n lifecycle {\n " + keeps + "\n }\n}\n"
		if err := os.WriteFile(filepath.Join(h.dir, "keep_override.tf"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		result := h.run(t, t.Context(), context.Background())
		if list := h.exists(t); result.Status != suite.Pass || len(list) > 0 {
			t.Errorf("%s: status %s, %v are left\n%s", keeps, result.Status, list, problems(result, h.left))
		}
	}
}

// A generator generates test files.
type generator struct {
	r       *rand.Rand
	b       strings.Builder
	refuses bool // deleting an object fails
}

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// at returns a random number from 1 to most, or 0.
func (g *generator) at(percent, most int) int {
	if !g.chance(percent) {
		return 0
	}
	return 1 + g.r.IntN(most)
}

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.b, format+"\n", args...) }

func (g *generator) file() string {
	g.line("provider \"world\" {}\nmock_provider \"world\" {\n  alias = \"m\"\n}")
	if g.chance(20) {
		g.line("override_resource {\n  target = world_object.b\n}")
	}
	for n := range 1 + g.r.IntN(4) {
		g.run(n)
	}
	return g.b.String()
}

func (g *generator) run(n int) {
	g.line("run \"r%d\" {", n)
	defer g.line("}")
	if g.chance(10) {
		g.line("command = plan")
	}
	if g.chance(50) {
		g.line("state_key = \"k%d\"", g.r.IntN(3))
	}
	if g.chance(60) {
		g.line("parallel = true")
	}
	of := "world"
	if g.chance(30) {
		of = "world.m"
	}
	g.line("providers = { world = %s }", of)
	if g.chance(15) {
		g.line("plan_options {\n  replace = [world_object.b]\n}")
	}
	for _, target := range []string{"world_object.a", "world_object.a[0]", "world_object.b",
		"module.m.world_object.c"} {
		if g.chance(15) {
			g.line("override_resource {\n  target = %s\n}", target)
		}
	}
	if g.chance(10) {
		g.line("override_module {\n  target = module.m\n}")
	}
	g.line("variables {\n  c = %d", g.r.IntN(4))
	switch {
	case g.chance(20):
		g.line("  p = \"q\"")
	case g.chance(25): // of an earlier run, a later one, or itself
		g.line("  p = run.r%d.value", g.r.IntN(4))
	}
	if g.chance(35) {
		behave := []string{`fail = "create"`, `fail = "update"`, `fail = "delete:1"`, `fail = "delete"`,
			`half = "error"`,
			`fail = "read"`}[g.r.IntN(6)]
		g.refuses = g.refuses || strings.Contains(behave, "delete") || strings.Contains(behave, "read")
		g.line("  behave = { %s }", behave)
	}
	g.line("}")
}

// TestInterruptedCreationKeepsItsState aborts the only creation. The object is not in the state yet, but the journal
// must be kept.
func TestInterruptedCreationKeepsItsState(t *testing.T) {
	h := newHouse(t, `provider "world" {}
run "one" {
  plan_options { target = [world_object.b] }
  variables { c = 0 }
}`)
	ctx, stop := context.WithCancel(t.Context())
	abort, cut := context.WithCancel(context.Background())
	h.onApply = func(provider.ApplyRequest) { stop(); cut() }
	result := h.run(t, ctx, abort)
	if result.Status != suite.Error || h.emptied != 0 || len(h.left) != 1 || len(h.left[0].Objects()) != 1 {
		t.Errorf("status %s, states given up %d times, left:\n%s", result.Status, h.emptied, problems(result, h.left))
	}
}
