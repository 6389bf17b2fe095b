package stack_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// waits calls a function when a unit begins to wait for its lock.
type waits struct {
	mu   sync.Mutex
	call func(u *stack.Unit)
	list []string
}

func (w *waits) Phase(*stack.Unit, stack.Phase, string) {}

func (w *waits) Sink(u *stack.Unit) event.Sink {
	return event.Func(func(e event.Event) {
		if _, ok := e.(event.LockWaiting); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.list = append(w.list, u.Name)
			w.call(u)
		}
	})
}

// lock takes the lock of the state of a unit at once.
func lock(ctx context.Context, t *testing.T, s *stack.Stack, base *engine.Surroundings, u *stack.Unit) (state.Session,
	error) {
	t.Helper()
	us := s.Surroundings(base, u)
	root, diags := us.RootModule(ctx)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	st, diags := us.StoreOf(ctx, root.Root, engine.StateFiles{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	ws, diags := us.Selected(st)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return ws.Lock(ctx, state.LockRequest{Info: state.LockInfo{Operation: state.OperationApply}})
}

// TestRunsWaitOnlyWithLocksOfEarlierUnits lets a run meet locks of random units that another holder has. Whenever the
// run waits, no later unit is locked by it, so that two runs cannot wait for each other. In the end all is applied.
func TestRunsWaitOnlyWithLocksOfEarlierUnits(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s, base := randomStack(t, rand.New(rand.NewPCG(seed, 3)))
			rng := rand.New(rand.NewPCG(seed, 4))
			destroy := seed%3 == 2
			if destroy {
				finish(t, ctx, stack.NewRun(options(s, base, &waits{}, false)))
			}
			held := map[*stack.Unit]state.Session{}
			for _, u := range s.Units {
				if rng.IntN(3) == 0 {
					session, err := lock(ctx, t, s, base, u)
					if err != nil {
						t.Fatal(err)
					}
					held[u] = session
				}
			}
			first := len(held)
			w := &waits{}
			w.call = func(u *stack.Unit) {
				for _, later := range s.Units[slices.Index(s.Units, u)+1:] {
					if held[later] != nil {
						continue
					}
					session, err := lock(ctx, t, s, base, later)
					if err != nil {
						t.Errorf("the run waits for %s and holds the lock of %s: %s", u.Name, later.Name, err)
						continue
					}
					if rng.IntN(3) == 0 {
						held[later] = session // another run has taken it
					} else if err := session.Unlock(); err != nil {
						t.Error(err)
					}
				}
				if err := held[u].Unlock(); err != nil {
					t.Error(err)
				}
				delete(held, u)
			}
			finish(t, ctx, stack.NewRun(options(s, base, w, destroy)))
			if first > 0 && len(w.list) == 0 {
				t.Errorf("%d units were locked, and the run never waited", first)
			}
			for _, u := range s.Units {
				snapshot, diags := s.Stored(ctx, base, u)
				if diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				if n := len(snapshot.State.Resources()); (n == 0) != destroy {
					t.Errorf("%s has %d resources", u.Name, n)
				}
			}
		})
	}
}

func options(s *stack.Stack, base *engine.Surroundings, w stack.Watcher, destroy bool) stack.Options {
	o := stack.Options{Stack: s, Units: s.Units, Base: base, Keep: true, Watcher: w,
		Open: engine.OpenOptions{Operation: state.OperationApply, Timeout: 24 * time.Hour}}
	if destroy {
		o.Plan.Mode = plan.Destroy
	}
	return o
}

// finish plans and applies until nothing waits.
func finish(t *testing.T, ctx context.Context, r *stack.Run) {
	t.Helper()
	for {
		r.Plan(ctx)
		if !r.Applyable() {
			break
		}
		r.Apply(ctx)
		if !r.Pending() {
			break
		}
	}
	for _, u := range r.Results() {
		if u.Phase != stack.Applied && u.Phase != stack.Unchanged {
			t.Errorf("%s is %s: %s %v", u.Unit.Name, u.Phase, u.Reason, u.Problems.Err())
		}
	}
	if diags := r.Close(ctx); diags.HasErrors() {
		t.Error(diags.Err())
	}
}

// randomStack writes units that use known and unknown outputs of earlier ones.
func randomStack(t *testing.T, rng *rand.Rand) (*stack.Stack, *engine.Surroundings) {
	t.Helper()
	contents := map[string]string{}
	var project strings.Builder
	project.WriteString("stack {\n  units_at_once = 3\n}\n")
	for u := range 4 + rng.IntN(6) {
		value := "\"known\""
		if rng.IntN(3) == 0 {
			value = "terraform_data.it.id"
		}
		contents[fmt.Sprintf("u%d/main.tf", u)] = "variable \"given\" {}\nresource \"terraform_data\" \"it\" {\n" +
			"  input = var.given\n}\noutput \"value\" {\n  value = " + value + "\n}\n"
		fmt.Fprintf(&project, "unit \"u%d\" {\n  source = \"u%[1]d\"\n  variables = { given = [", u)
		for d := range u {
			if rng.IntN(3) == 0 {
				fmt.Fprintf(&project, "unit.u%d.outputs.value, ", d)
			}
		}
		project.WriteString("] }\n}\n")
	}
	contents[projectfile.Name] = project.String()
	s, err := load(files(t, contents))
	if err != nil {
		t.Fatal(err)
	}
	return s, &engine.Surroundings{Environ: []string{"HOME=" + t.TempDir()}}
}
