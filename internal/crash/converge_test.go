//go:build unix

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/world"
)

// A thing is one resource block of a random configuration.
type thing struct {
	id    int
	deps  []int
	name  int // the number changes with each new object
	value int
	count int
	keyed bool
	cbd   bool
	half  bool
	// shy means that in a shy wish the number of instances is known only after the first dependency was applied.
	shy bool
}

// desired is a random configuration: things that refer to things with smaller numbers.
type desired struct {
	things []thing
	seed   int
	shy    bool
	// Rates of faults, while the world is not calm.
	fail, half, drift float64
}

func randomDesired(r *rand.Rand) desired {
	w := desired{seed: r.IntN(1 << 30), fail: r.Float64() * 0.4, half: r.Float64() * 0.3, drift: r.Float64() * 0.4}
	for i := range 2 + r.IntN(6) {
		t := thing{id: i, name: r.IntN(2), value: r.IntN(3), count: r.IntN(4), keyed: r.IntN(2) == 0,
			cbd: r.IntN(3) == 0, half: r.IntN(12) == 0}
		for d := range i {
			if r.IntN(3) == 0 {
				t.deps = append(t.deps, d)
			}
		}
		t.shy = r.IntN(2) == 0
		w.things = append(w.things, t)
	}
	return w
}

// changed returns a configuration that has something in common with this one: things are changed, removed, and gain or
// lose dependencies.
func (w desired) changed(r *rand.Rand) desired {
	next := randomDesired(r)
	for i, t := range next.things {
		same := slices.IndexFunc(w.things, func(old thing) bool { return old.id == t.id })
		if same >= 0 && r.IntN(2) == 0 {
			next.things[i] = w.things[same]
			next.things[i].value = r.IntN(3)
		}
	}
	if len(next.things) > 2 && r.IntN(2) == 0 {
		gone := r.IntN(len(next.things))
		next.things = slices.Delete(next.things, gone, gone+1)
	}
	there := map[int]bool{}
	for _, t := range next.things {
		there[t.id] = true
	}
	for i := range next.things {
		next.things[i].deps = slices.DeleteFunc(slices.Clone(next.things[i].deps), func(d int) bool {
			return !there[d]
		})
	}
	return next
}

// config returns the configuration of the configuration; calm omits the faults.
func (w desired) config(calm bool) string {
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers {\n    world = { source = \"tombolo/world\" }\n  }\n}\n")
	fail, half, drift := w.fail, w.half, w.drift
	if calm {
		fail, half, drift = 0, 0, 0
	}
	fmt.Fprintf(&b, "provider \"world\" {\n  delay = \"1ms\"\n  seed = %d\n  fail_rate = %f\n  half_rate = %f\n  "+
		"drift_rate = %f\n}\n", w.seed, fail, half, drift)
	for _, t := range w.things {
		refs := []string{fmt.Sprint("v", t.value)}
		for _, d := range t.deps {
			refs = append(refs, "${"+idsOf(d)+"}")
		}
		number := fmt.Sprint(t.count)
		if w.shy && t.shy && len(t.deps) > 0 {
			number += " + 0 * length(" + idsOf(t.deps[0]) + ")"
		}
		repeat, key := "count = "+number, "count.index"
		if t.keyed {
			repeat, key = fmt.Sprintf("for_each = toset([for n in range(%s) : tostring(n)])", number), "each.key"
		}
		fmt.Fprintf(&b, "resource \"world_object\" \"t%d\" {\n  %s\n  name = \"t%d-${%s}-%d\"\n  value = \"%s\"\n",
			t.id, repeat, t.id, key, t.name, strings.Join(refs, " "))
		if t.half && !calm {
			b.WriteString("  behave = { half = \"error\" }\n")
		}
		if t.cbd {
			b.WriteString("  lifecycle {\n    create_before_destroy = true\n  }\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// idsOf returns an expression of the ids of a thing, as text.
func idsOf(thing int) string {
	return fmt.Sprintf("join(\",\", [for o in values({ for k, o in world_object.t%d : k => o }) : o.id])", thing)
}

// blockOf returns the number of an object's thing.
func blockOf(name string) int {
	n, _ := strconv.Atoi(strings.SplitN(strings.TrimPrefix(name, "t"), "-", 2)[0])
	return n
}

// ordered checks that a run wrote each thing after the things to which it refers, if it wrote both.
func (r *testProject) ordered(w desired, from int) {
	r.t.Helper()
	events := r.events()[from:]
	for _, t := range w.things {
		first := slices.IndexFunc(events, func(e world.Event) bool {
			return e.Kind == world.Begin && (e.Op == "create" || e.Op == "update") && blockOf(e.Name) == t.id
		})
		if first < 0 {
			continue
		}
		for i, e := range events[first:] {
			if (e.Op == "create" || e.Op == "update") && slices.Contains(t.deps, blockOf(e.Name)) {
				r.t.Errorf("%s %s of %s comes after the first write of t%d, which depends on it (event %d)", e.Kind,
					e.Op, e.Name, t.id, from+first+i)
			}
		}
	}
}

// removedInOrder checks that a destroy removed dependents first. The configuration is the one from which the state was
// made.
func (r *testProject) removedInOrder(w desired, from int) {
	r.t.Helper()
	events := r.events()[from:]
	for _, t := range w.things {
		for _, d := range t.deps {
			last, first := -1, len(events)
			for i, e := range events {
				if e.Kind == world.Deleted && blockOf(e.Name) == t.id {
					last = i
				}
				if e.Kind == world.Begin && e.Op == "delete" && blockOf(e.Name) == d {
					first = min(first, i)
				}
			}
			if last > first {
				r.t.Errorf("t%d was still being destroyed when the destruction of t%d began, on which it depends", t.id,
					d)
			}
		}
	}
}

// exact checks that the state equals the world: the same objects, at the revision that was last read, and no operation
// in flight.
func (r *testProject) exact(when string) {
	r.t.Helper()
	s := r.read()
	known := r.stateObjects(s.State)
	all, err := r.world.Exists()
	if err != nil {
		r.t.Fatal(err)
	}
	if len(s.InFlight)+len(s.Unfolded) > 0 {
		r.t.Errorf("%s: in flight: %+v, unfolded: %+v", when, s.InFlight, s.Unfolded)
	}
	for _, o := range all {
		k, ok := known[o.ID]
		if !ok {
			r.t.Errorf("%s: LOST: %s exists, and the state does not know it", when, o.ID)
		} else if k.revision != o.Revision {
			r.t.Errorf("%s: the state has %s at revision %d, it is %d", when, o.ID, k.revision, o.Revision)
		}
		delete(known, o.ID)
	}
	for id, k := range known {
		r.t.Errorf("%s: GHOST: the state has %s at %s, which does not exist", when, id, k.at)
	}
}

// TestAnyConfigurationConverges applies random configurations in a world that fails, creates objects partly, and
// drifts. After each run the state equals the world, and writes follow the order of the dependencies. When the world is
// calm, one run creates the configuration, the next finds no changes, and a destroy leaves nothing. The test runs for
// some seconds, or for 200 rounds in full mode; TOMBOLO_CONVERGE_ROUNDS=n sets the number of rounds.
func TestAnyConfigurationConverges(t *testing.T) {
	t.Parallel()
	rounds, deadline := 1<<30, time.Now().Add(4*time.Second)
	if full {
		rounds, deadline = 200, time.Now().Add(24*time.Hour)
	}
	if n, err := strconv.Atoi(os.Getenv("TOMBOLO_CONVERGE_ROUNDS")); err == nil {
		rounds, deadline = n, time.Now().Add(24*time.Hour)
	}
	done := 0
	for n := 0; n < rounds && time.Now().Before(deadline) && !t.Failed(); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) { converge(t, rand.New(rand.NewPCG(uint64(seed), uint64(n)))) })
		done++
	}
	t.Logf("%d rounds, seed %d", done, seed)
}

func converge(t *testing.T, random *rand.Rand) {
	convergeBy(t, random, func(r *testProject) (problems []string) {
		for _, d := range r.job.do(context.Background(), nil) {
			problems = append(problems, d.Error())
		}
		return problems
	})
}

// convergeBy applies the versions of a random configuration with run, which performs a run and returns its problems.
func convergeBy(t *testing.T, random *rand.Rand, run func(*testProject) []string) {
	w := randomDesired(random)
	r := newTestProject(t, w.config(false))
	var lines []string
	defer func() {
		if t.Failed() {
			t.Logf("what happened:\n%s", strings.Join(lines, "\n"))
		}
	}()
	for step := range 3 {
		if step > 0 {
			w = w.changed(random)
		}
		for try := range 1 + random.IntN(3) {
			w.seed++ // other faults, otherwise the same calls fail again
			r.configure(w.config(false))
			lines = append(lines, fmt.Sprintf("--- step %d, try %d, from event %d\n%s", step, try, len(r.events()),
				w.config(false)))
			from := len(r.events())
			for _, problem := range run(r) {
				lines = append(lines, problem)
				if !strings.Contains(problem, "The world refused") {
					t.Errorf("step %d, try %d: %s", step, try, problem)
				}
			}
			r.exact(fmt.Sprintf("step %d, try %d", step, try))
			r.ordered(w, from)
			r.disturb(random)
		}
	}
	r.configure(w.config(true))
	lines = append(lines, "--- calm\n"+w.config(true))
	from := len(r.events())
	if problems := run(r); len(problems) > 0 {
		t.Errorf("calm: %s", problems)
	}
	r.exact("calm")
	r.ordered(w, from)
	r.asDesired(w)
	r.settled()
	from = len(r.events())
	r.destroy()
	r.removedInOrder(w, from)
}

// disturb changes something outside of the engine.
func (r *testProject) disturb(random *rand.Rand) {
	r.t.Helper()
	all, err := r.world.Exists()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		switch random.IntN(12) {
		case 0:
			err = r.world.Remove(o.ID)
		case 1:
			err = r.world.Change(o.ID, func(o *world.Object) {
				other := "disturbed"
				o.Value = &other
			})
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// asDesired checks that the existing objects are those of the configuration.
func (r *testProject) asDesired(w desired) {
	r.t.Helper()
	want := map[string]bool{}
	for _, t := range w.things {
		for i := range t.count {
			want[fmt.Sprintf("t%d-%d-%d", t.id, i, t.name)] = true
		}
	}
	all, err := r.world.Exists()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if !want[o.Name] {
			r.t.Errorf("%s exists, which nobody wants any more", o.ID)
		}
		delete(want, o.Name)
	}
	for name := range want {
		r.t.Errorf("%s is wanted, but does not exist", name)
	}
}
