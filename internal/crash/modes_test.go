//go:build unix

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/patience"
	"github.com/tombolo-iac/tombolo/internal/world"
)

// mode is a way to plan and apply that must not affect which objects exist in the end, and what the state is.
type mode struct {
	name string
	// shy means that some counts are unknown until their dependencies are applied. Without the mode they are literals.
	shy bool
	set func(r *testProject, w desired, random *rand.Rand)
}

var modes = []mode{
	{name: "minimal refresh", set: func(r *testProject, _ desired, _ *rand.Rand) { r.job.Minimal = true }},
	{name: "refresh policy", set: func(r *testProject, _ desired, random *rand.Rand) {
		r.job.Refresh = randomPolicy(random)
	}},
	{name: "plan without a lock", set: func(r *testProject, _ desired, _ *rand.Rand) { r.job.Beside = true }},
	{name: "waves", set: waves},
	{name: "limits", set: limits},
	{name: "optional import", set: optionalImports},
	{name: "deferral of nothing", set: func(r *testProject, _ desired, _ *rand.Rand) { r.job.Rounds = true }},
	{name: "rounds", shy: true, set: func(r *testProject, _ desired, _ *rand.Rand) { r.job.Rounds = true }},
	{name: "rounds with others", shy: true},
}

func init() { modes[len(modes)-1].set = withOthers } // which refers to modes

// withOthers sets rounds, and some of the other modes.
func withOthers(r *testProject, w desired, random *rand.Rand) {
	r.job.Rounds = true
	for _, m := range modes[:6] {
		if random.IntN(2) == 0 {
			m.set(r, w, random)
		}
	}
}

// waves limits changes at a time. Objects that are destroyed before they are created again cannot be limited.
func waves(r *testProject, w desired, random *rand.Rand) {
	r.job.Waves = nil
	for _, t := range w.things {
		wave := engine.Wave{Objects: addr.Target{Pattern: fmt.Sprintf("world_object.t%d*", t.id)},
			Stop: random.IntN(2) == 0}
		if t.cbd {
			wave.AtOnce = 1 + random.IntN(2)
		}
		r.job.Waves = append(r.job.Waves, wave)
	}
}

// limits limits the calls of the provider and of its type.
func limits(r *testProject, _ desired, random *rand.Rand) {
	r.job.Patience = patience.Policy{world.Addr(): {
		Limit: patience.Limit{AtOnce: 1 + random.IntN(3)},
		Types: map[string]patience.Rules{"world_object": {Limit: patience.Limit{AtOnce: 1 + random.IntN(2),
			PerSecond: 2000}}},
	}}
}

// optionalImports adds import blocks for objects that do not exist, so that they are created.
func optionalImports(r *testProject, w desired, random *rand.Rand) {
	r.t.Helper()
	var b strings.Builder
	for _, t := range w.things {
		if t.count == 0 || w.shy || random.IntN(2) == 0 {
			continue
		}
		key := "0"
		if t.keyed {
			key = `"0"`
		}
		fmt.Fprintf(&b, "import {\n  to = world_object.t%d[%s]\n  id = \"absent-%[1]d\"\n  optional = true\n}\n", t.id,
			key)
	}
	if err := os.WriteFile(filepath.Join(r.job.Dir, "imports.tombolo"), []byte(b.String()), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// TestModesEndInTheSameState applies series of random configurations with each mode and without, from states that
// failed runs have left. Objects and states are equal in the end. TOMBOLO_MODES_ROUNDS=n sets the number of series for
// each mode; each has three configurations.
func TestModesEndInTheSameState(t *testing.T) {
	t.Parallel()
	rounds, deadline := repetitions(60)
	done := 0
	for n := 0; n < rounds && (done == 0 || time.Now().Before(deadline)) && !t.Failed(); n++ {
		for i, m := range modes {
			if done++; t.Failed() {
				break
			}
			t.Run(fmt.Sprint(m.name, " ", n), func(t *testing.T) {
				withMode(t, m, rand.New(rand.NewPCG(uint64(seed), uint64(n*len(modes)+i))))
			})
		}
	}
	t.Logf("%d series, %d further rounds, seed %d", done, furtherRounds.Load(), seed)
	if done > 2*len(modes) && furtherRounds.Load() == 0 {
		t.Error("no apply had more than one round")
	}
}

// repetitions returns how often a random test is repeated, and until when.
func repetitions(all int) (int, time.Time) {
	if n, err := strconv.Atoi(os.Getenv("TOMBOLO_MODES_ROUNDS")); err == nil {
		return n, time.Now().Add(24 * time.Hour)
	}
	if full {
		return all, time.Now().Add(24 * time.Hour)
	}
	return 1 << 30, time.Now().Add(4 * time.Second)
}

// shyly returns the configuration with unknown counts.
func (w desired) shyly() desired {
	w.shy = true
	return w
}

func withMode(t *testing.T, m mode, random *rand.Rand) {
	w := randomDesired(random)
	w.drift = 0
	plain := newTestProject(t, w.config(false))
	plain.job.do(context.Background(), nil) // some operations fail
	with := plain.copyTo(t)
	for step := range 3 {
		if step > 0 {
			w = w.changed(random)
			w.drift = 0
		}
		wanted := w
		wanted.shy = m.shy
		m.set(with, wanted, random)
		plain.configure(w.config(true))
		with.configure(wanted.config(true))
		when := fmt.Sprintf("%s, step %d", m.name, step)
		for _, r := range []*testProject{plain, with} {
			r.noErrors(r.job.do(context.Background(), nil))
			r.exact(when)
			r.asDesired(w)
		}
		if diff := cmp.Diff(plain.summary(), with.summary()); diff != "" {
			t.Errorf("%s (-without +with):\n%s\n%s", when, diff, wanted.config(true))
		}
	}
	with.settled()
	from := len(with.events())
	with.destroy()
	with.removedInOrder(w, from)
}

// TestKilledInRoundsEndsInTheSameState kills applies in rounds at random calls of the store, in a round or between two,
// several times. After the open operations were resolved, the next apply ends as one without rounds and kills.
func TestKilledInRoundsEndsInTheSameState(t *testing.T) {
	t.Parallel()
	rounds, deadline := repetitions(150)
	kills, done := 0, 0
	for n := 0; n < rounds && (done == 0 || time.Now().Before(deadline)) && !t.Failed(); n++ {
		done++
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			kills += killedInRounds(t, rand.New(rand.NewPCG(uint64(seed), uint64(n))))
		})
	}
	t.Logf("%d configurations, %d kills, seed %d", done, kills, seed)
}

func killedInRounds(t *testing.T, random *rand.Rand) (kills int) {
	w := randomDesired(random)
	plain := newTestProject(t, w.config(true))
	with := newTestProject(t, w.shyly().config(true))
	for step := range 2 {
		if step > 0 {
			w = w.changed(random)
			plain.configure(w.config(true))
			with.configure(w.shyly().config(true))
		}
		plain.noErrors(plain.job.do(context.Background(), nil))
		for range 1 + random.IntN(3) {
			j := with.job
			j.Rounds, j.Fault = true, fmt.Sprintf("kill:%d", 1+random.IntN(80))
			if killed(t, j.command()) {
				kills++
			}
			j = with.job
			j.Adopt = true
			with.noErrors(j.do(context.Background(), nil))
		}
		if random.IntN(4) == 0 { // whatever the rounds have left can be destroyed
			with.destroy()
		}
		with.job.Rounds = true
		with.noErrors(with.job.do(context.Background(), nil))
		with.exact(fmt.Sprint("step ", step))
		with.asDesired(w)
		if diff := cmp.Diff(plain.summary(), with.summary()); diff != "" {
			t.Errorf("step %d (-at once +in rounds):\n%s\n%s", step, diff, w.shyly().config(true))
		}
	}
	return kills
}
