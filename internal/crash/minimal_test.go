//go:build unix

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// TestMinimalRefreshEndsInTheSameState applies random configurations, from states that failed runs have left, in two
// copies of a project: one reads every object, the other only those that change. Objects and states are equal in the
// end. If objects were changed outside of the engine, they are equal after both have read everything.
func TestMinimalRefreshEndsInTheSameState(t *testing.T) {
	t.Parallel()
	rounds, deadline := 1<<30, time.Now().Add(4*time.Second)
	if full {
		rounds, deadline = 200, time.Now().Add(24*time.Hour)
	}
	done := 0
	for n := 0; n < rounds && (done == 0 || time.Now().Before(deadline)) && !t.Failed(); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) { bothWays(t, rand.New(rand.NewPCG(uint64(seed), uint64(n)))) })
		done++
	}
	t.Logf("%d rounds, seed %d", done, seed)
}

func bothWays(t *testing.T, random *rand.Rand) {
	w := randomDesired(random)
	w.drift = 0
	whole := newTestProject(t, w.config(false))
	whole.job.do(context.Background(), nil) // some operations fail
	for step := range 3 {
		w = w.changed(random)
		w.drift = 0
		disturbed := step == 2
		if disturbed {
			whole.disturb(random)
		}
		minimal, ruled := whole.copyTo(t), whole.copyTo(t)
		minimal.job.Minimal = true
		ruled.job.Refresh = randomPolicy(random)
		if disturbed { // objects that are not read must be unchanged
			ruled.job.Refresh.Never = nil
		}
		for _, r := range []*testProject{whole, minimal, ruled} {
			r.configure(w.config(true))
			r.noErrors(r.job.do(context.Background(), nil))
			if disturbed {
				r.job.Minimal, r.job.Refresh = false, engine.RefreshPolicy{}
				r.noErrors(r.job.do(context.Background(), nil))
			}
			r.exact(fmt.Sprintf("step %d, minimal %t, policy %+v", step, r == minimal, r.job.Refresh))
			r.asDesired(w)
		}
		if diff := cmp.Diff(whole.summary(), minimal.summary()); diff != "" {
			t.Errorf("step %d (-all read +minimal):\n%s\n%s", step, diff, w.config(true))
		}
		if diff := cmp.Diff(whole.summary(), ruled.summary()); diff != "" {
			t.Errorf("step %d, policy %+v (-all read +policy):\n%s\n%s", step, ruled.job.Refresh, diff, w.config(true))
		}
	}
}

// randomPolicy returns a policy that a project may have.
func randomPolicy(random *rand.Rand) (p engine.RefreshPolicy) {
	p.Minimal = random.IntN(3) > 0
	p.MaxAge = []time.Duration{0, time.Nanosecond, time.Hour}[random.IntN(3)]
	for _, pattern := range []string{"*.*", "**.*.*[0]", "module.*.*.*"} {
		if random.IntN(3) == 0 {
			p.Never = append(p.Never, addr.Target{Pattern: pattern})
		}
	}
	return p
}

// summary returns the existing objects and the state as text, with the names of objects instead of their generated IDs.
func (r *testProject) summary() string {
	r.t.Helper()
	all, err := r.world.Exists()
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, o := range all {
		names = append(names, o.ID, "id of "+o.Name)
	}
	named := strings.NewReplacer(names...)
	var lines []string
	for _, o := range all {
		value := ""
		if o.Value != nil {
			value = *o.Value
		}
		lines = append(lines, named.Replace(fmt.Sprintf("%s exists: %s, %s, %v", o.Name, value, o.Size, o.Tags)))
	}
	for _, res := range r.read().State.Resources() {
		for _, key := range res.Keys() {
			o := res.Instances[key].Current
			lines = append(lines, named.Replace(fmt.Sprintf("%s%v is stored: %v, depends on %v, first %t", res.Addr,
				key, o.Status, o.Dependencies, o.CreateBeforeDestroy)))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
