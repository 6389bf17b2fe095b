package engine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// applySaved applies a plan after saving and reading it.
func (s *scene) applySaved(p *plan.Plan) diag.List {
	s.t.Helper()
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		s.t.Fatal(err)
	}
	p, err := plan.Decode(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		s.t.Fatal(err)
	}
	project, diags := engine.Load(s.t.Context(), engine.Options{Dir: s.dir, Config: p.Config,
		Providers: map[addr.Provider]provider.Factory{
			world.Addr(): world.Factory(world.Options{Dir: filepath.Join(s.dir, "world")})}})
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(s.t.Context(), engine.OpenOptions{})
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	defer run.Close(s.t.Context())
	_, more := run.Apply(s.t.Context(), p, nil)
	return diags.Extend(more)
}

// A plan that was saved before an operation was interrupted does not consider it, whatever the plan changes: it may
// have another address for the object, or destroy its dependencies.
func TestSavedPlanIsStaleAfterAnInterruptedOperation(t *testing.T) {
	const base = "resource \"world_object\" \"base\" { name = \"base\" }\n"
	const made = `
resource "world_object" "new" {
  name   = "new"
  value  = world_object.base.id
  behave = { half = "lost" }
}
`
	changed := "resource \"world_object\" \"base\" {\n  name  = \"base\"\n  value = \"v2\"\n}\n"
	options := engine.PlanOptions{}
	for name, c := range map[string]struct {
		before, interrupted, saved string
		options                    engine.PlanOptions
	}{
		"same name":         {base, base + made, base + made, options},
		"moved":             {base, base + made, base + renamed(made), options},
		"named otherwise":   {base, base + made, base + strings.Replace(made, `"new"`, `"other"`, 1), options},
		"counted":           {base, base + made, base + strings.Replace(made, "{", "{\n  count = 2", 1), options},
		"without its block": {base, base + made, "", options},
		"destroy":           {base, base + made, base, engine.PlanOptions{Mode: plan.Destroy}},
		"something else":    {base, base + made, changed, options},
		"refresh only":      {base, base + made, base, engine.PlanOptions{Mode: plan.RefreshOnly}},
		"no state":          {"", strings.Replace(made, "world_object.base.id", `"x"`, 1), base, options},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if c.before != "" {
				s.apply(c.before)
			}
			saved, _, diags := s.run(c.saved, true, c.options)
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			if _, _, diags := s.run(c.interrupted, false, engine.PlanOptions{}); !diags.HasErrors() {
				t.Fatal("nothing was interrupted")
			}
			from := s.mark()
			got := summaries(s.applySaved(saved))
			if !slices.Contains(got, "error world_object.new Interrupted creation is not resolved") {
				t.Errorf("got %q", got)
			}
			if done := s.happened(from); len(done) > 0 {
				t.Errorf("it did %v", done)
			}
			// A plan that was made later does not touch the object, and can be applied until the state changes.
			if err := os.RemoveAll(filepath.Join(s.dir, "main.tf")); err != nil {
				t.Fatal(err)
			}
			later, _, diags := s.run(c.interrupted+"resource \"world_object\" \"free\" { name = \"free\" }\n", true,
				engine.PlanOptions{})
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			s.applySaved(later)
			if done := s.happened(from); !slices.Equal(done, []string{"CREATED free"}) {
				t.Errorf("the later plan did %v", done)
			}
		})
	}
}

// renamed renames the block.
func renamed(block string) string {
	return strings.Replace(block, `"new"`, `"other"`, 1) +
		"moved {\n  from = world_object.new\n  to   = world_object.other\n}\n"
}
