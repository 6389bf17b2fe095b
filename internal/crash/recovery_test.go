//go:build unix

package crash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/faults"
)

// interruptedProject returns a project whose apply was killed at a call of the store, or nil if it has fewer calls.
func interruptedProject(t testing.TB, tmpl *testProject, n int, mode faults.Mode) *testProject {
	t.Helper()
	r := tmpl.copyTo(t)
	j := r.job
	j.Fault = fmt.Sprintf("%s:%d", mode, n)
	if !killed(t, j.command()) {
		return nil
	}
	return r
}

// The recovery of a killed run is killed as well, at its first call of the store, then at its second, and so on, until
// it succeeds. Nothing is lost meanwhile, and the result equals that of a recovery without kills.
func TestKilledAgainWhileRecovering(t *testing.T) {
	t.Parallel()
	tmpl, expected := template(t)
	random := rand.New(rand.NewPCG(uint64(seed), 2))
	moments := []int{20 + random.IntN(25), 55 + random.IntN(20), 80 + random.IntN(15)}
	if !full {
		moments = moments[seed%3:][:1]
	} else {
		moments = nil
		for n := 1; n < 130; n += 2 {
			moments = append(moments, n)
		}
	}
	modes := []faults.Mode{faults.Kill, faults.KillShort, faults.KillAfter}
	kills := 0
	for _, n := range slices.Sorted(slices.Values(moments)) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := interruptedProject(t, tmpl, n, modes[n%3])
			if r == nil {
				return
			}
			before := r.read()
			for m := 1; ; m++ {
				j := r.job
				j.RecoverOnly, j.Fault = true, fmt.Sprintf("%s:%d", modes[(n+m)%3], m)
				if !killed(t, j.command()) {
					break
				}
				kills++
				s := r.read()
				r.check(s)
				if err := sameSnapshot(before, s, false); err != nil && !anyPartial(before) {
					t.Fatalf("killed at call %d of the recovery, readers see something other than before: %s", m, err)
				}
			}
			r.aftermath(expected)
		})
	}
	t.Logf("killed %d recoveries", kills)
}

// The commands that resolve interrupted operations are killed at every call.
func TestKilledWhileResolving(t *testing.T) {
	t.Parallel()
	config, expected := objects(2, `behave = { half = "lost" }`)
	r := newTestProject(t, config)
	_ = r.job.do(t.Context(), nil)
	config, _ = objects(2, "")
	r.configure(config)
	r.mark()
	if n := len(r.read().InFlight); n != 2 {
		t.Fatalf("%d in flight", n)
	}
	for n := 1; ; n++ {
		if !full && n%9 != int(seed)%9 {
			continue
		}
		c := r.copyTo(t)
		j := c.job
		j.Adopt, j.Fault = true, fmt.Sprintf("kill:%d", n)
		was := killed(t, j.command())
		s := c.read()
		c.check(s)
		c.aftermath(expected)
		if !was || t.Failed() {
			t.Logf("killed at %d calls", n-1)
			break
		}
	}
}
