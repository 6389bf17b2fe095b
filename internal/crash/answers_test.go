//go:build unix

package crash

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/world"
)

// objects returns a configuration of n objects, with additional arguments for each.
func objects(n int, more string) (config string, expected map[string]int) {
	expected = map[string]int{}
	for i := range n {
		expected[fmt.Sprintf("object-%d", i)] = 1
	}
	return header +
		fmt.Sprintf("resource \"world_object\" \"a\" {\n  count = %d\n  name = \"object-${count.index}\"\n  %s\n}\n", n,
			more), expected
}

// refused checks that the next apply refuses to create objects that may exist, and creates none.
func (r *testProject) refused(why string) {
	r.t.Helper()
	before := len(r.events())
	diags := r.job.do(r.t.Context(), nil)
	if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), why) {
		r.t.Errorf("the next apply should say %q, but: %v", why, diags.Err())
	}
	if events := r.events(); len(events) > before {
		r.t.Errorf("the next apply did something: %+v", events[before:])
	}
}

// The very first apply has no state yet; its operations must be known nevertheless.
func TestKilledFirstApplyIsNotRepeated(t *testing.T) {
	config, expected := objects(3, `behave = { delay = "1h" }`)
	r := newTestProject(t, config)
	cmd := r.job.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(r.events()) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	cmd.Process.Kill()
	cmd.Wait()
	s := r.over()
	if len(s.InFlight) < len(r.events()) || s.State != nil && len(s.State.Resources()) > 0 {
		t.Fatalf("in flight %+v, state %+v", s.InFlight, s.State)
	}
	r.refused("Interrupted creation is not resolved")
	config, _ = objects(3, "")
	r.configure(config)
	r.aftermath(expected)
}

func TestCreationsWithoutResponseStayOpen(t *testing.T) {
	config, expected := objects(4, `behave = count.index < 2 ? { half = "lost" } : null`)
	r := newTestProject(t, config)
	diags := r.job.do(t.Context(), nil)
	if text := fmt.Sprint(diags.Err()); strings.Count(text, "The answer about the object") != 2 {
		t.Errorf("the apply said: %v", text)
	}
	if !hasProblem(diags, "Operation was interrupted", "tombolo recover 'world_object.a[0]' --adopt ID") {
		t.Errorf("nobody was told what to do: %v", diags)
	}
	s := r.read()
	r.check(s)
	if len(s.InFlight) != 2 || len(r.stateObjects(s.State)) != 2 {
		t.Errorf("in flight %+v, state %+v", s.InFlight, r.stateObjects(s.State))
	}
	r.refused("Interrupted creation is not resolved")
	config, _ = objects(4, "")
	r.configure(config)
	r.aftermath(expected)
}

func hasProblem(diags diag.List, summary, detail string) bool {
	for _, d := range diags {
		if d.Summary == summary && strings.Contains(d.Text(diag.Program), detail) {
			return true
		}
	}
	return false
}

// The second interrupt cancels calls. Some objects have been created by then.
func TestAbortedCallsStayOpenOrAreStored(t *testing.T) {
	t.Parallel()
	config, _ := objects(8, `behave = { delay = count.index % 2 == 0 ? "800ms" : "1h" }`)
	r := newTestProject(t, config)
	abort, cut := context.WithCancel(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for made := 0; made == 0; {
			time.Sleep(5 * time.Millisecond)
			all, err := r.world.Exists()
			if made = len(all); err != nil {
				break
			}
		}
		stop()
		cut()
	}()
	j := r.job
	project, diags := j.projectWith(nil, func(o *engine.Options) { o.Abort = abort })
	r.noErrors(diags)
	defer project.Close()
	run, diags := open(t.Context(), project)
	r.noErrors(diags)
	p, diags := run.Plan(t.Context(), engine.PlanOptions{})
	r.noErrors(diags)
	if _, diags = run.Apply(ctx, p, nil); !diags.HasErrors() {
		t.Error("an apply that was cut off passed for a whole one")
	}
	r.noErrors(run.Close(t.Context()))
	s := r.read()
	r.check(s)
	// Calls whose objects exist have returned. For the others the result is unknown, except for those that responded to
	// the first interrupt: they created nothing.
	refused := 0
	for _, e := range r.events() {
		if e.Kind == world.Failed {
			refused++
		}
	}
	known := r.stateObjects(s.State)
	if known_ := len(known) + len(s.InFlight); len(known) == 0 || known_ > r.begun() || known_+refused < r.begun() {
		t.Errorf("%d begun, %d refused, state %+v, in flight %+v", r.begun(), refused, known, s.InFlight)
	}
	config, expected := objects(8, "")
	r.configure(config)
	for name := range expected {
		expected[name] = 2 // tainted objects are replaced
	}
	r.aftermath(expected)
}

func TestPartlyCreatedObjectsAreReplaced(t *testing.T) {
	config, expected := objects(3, `behave = { half = "error" }`)
	r := newTestProject(t, config)
	if diags := r.job.do(t.Context(), nil); !diags.HasErrors() {
		t.Fatal("no error")
	}
	s := r.read()
	r.check(s)
	if known := r.stateObjects(s.State); len(known) != 3 || len(s.InFlight) != 0 {
		t.Errorf("state %+v, in flight %+v", known, s.InFlight)
	}
	config, _ = objects(3, "")
	r.configure(config)
	for name := range expected {
		expected[name] = 2
	}
	r.aftermath(expected)
}

// With random faults of every kind, each run ends with equal state and world.
func TestRandomFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	before, after, expected := everything()
	trouble := func(config string, n int64) string {
		return strings.Replace(config, "seed  = 5",
			fmt.Sprintf("seed = %d\n  fail_rate = 0.3\n  half_rate = 0.2\n  drift_rate = 0.3", n), 1)
	}
	rounds := 4
	if full {
		rounds = 60
	}
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			expected := maps.Clone(expected)
			r := newTestProject(t, trouble(before, seed+int64(i)))
			for n, config := range []string{before, before, after, after, after} {
				r.configure(trouble(config, seed+int64(100*i+n)))
				_ = r.job.do(t.Context(), nil)
				s := r.read()
				r.check(s)
				if len(s.InFlight) > 0 {
					t.Errorf("in flight: %+v", s.InFlight)
				}
			}
			r.configure(after)
			for name := range expected {
				expected[name] = 100
			}
			// Objects of the first version may never have been created.
			for name := range expected {
				if n, _ := r.world.Creations(name); n == 0 && !strings.HasSuffix(name, "v2") {
					delete(expected, name)
				}
			}
			r.mark()
			r.resolve()
			r.finish(expected)
		})
	}
}

// An operation that waits for a slot of -parallelism has not begun: an interrupt prevents it, and a kill leaves no
// trace of it.
func TestInterruptPreventsQueuedOperations(t *testing.T) {
	t.Parallel()
	config, expected := objects(12, `behave = { delay = "2s", deaf = "yes" }`)
	r := newTestProject(t, config)
	r.job.Parallelism = 2
	project, diags := r.job.project(nil)
	r.noErrors(diags)
	defer project.Close()
	run, diags := open(t.Context(), project)
	r.noErrors(diags)
	p, diags := run.Plan(t.Context(), engine.PlanOptions{})
	r.noErrors(diags)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for len(r.events()) < 2 {
			time.Sleep(5 * time.Millisecond)
		}
		if open := r.read().InFlight; len(open) > 2 {
			t.Errorf("two operations run, and %d have an intent", len(open))
		}
		stop()
	}()
	_, diags = run.Apply(ctx, p, nil)
	if !hasProblem(diags, "Apply was interrupted", "") {
		t.Errorf("the apply said: %v", diags.Err())
	}
	r.noErrors(run.Close(t.Context()))
	s := r.read()
	r.check(s)
	if known := r.stateObjects(s.State); len(known) != 2 || len(s.InFlight) != 0 {
		t.Errorf("state %+v, in flight %+v", known, s.InFlight)
	}
	config, _ = objects(12, "")
	r.configure(config)
	r.aftermath(expected)
}
