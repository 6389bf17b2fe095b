//go:build unix

package team

import (
	"strings"
	"testing"
)

// The lock of an active run is removed, and another run begins. The first one reports that, once, and the next run on
// that machine has its results.
func TestStolenLocksAreReported(t *testing.T) {
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			s.begin(t)
			t.Parallel()
			h := s.of(t)
			one, two := h.member(t, "one", ours), h.member(t, "two", ours)
			const names = `-var=names=["c"]`
			c := one.start("apply", "-auto-approve", "-no-color", "-var=wait=1")
			waitFor(t, func() bool { return one.has("started") })
			id := lockID.FindStringSubmatch(two.fails("plan", "-no-color"))
			if id == nil {
				t.Fatal("the lock has no id")
			}
			two.run("force-unlock", "-force", id[1])
			two.run("apply", "-auto-approve", "-no-color", names)
			one.touch("go")
			out := strings.Join(strings.Fields(c.endsSoon(t)), " ")
			for _, wrong := range []string{"Error releasing", "recorded in the state", "free space", " of of "} {
				if strings.Contains(out, wrong) {
					t.Errorf("%q is said:\n%s", wrong, out)
				}
			}
			if !strings.Contains(out, "it recovers them") {
				t.Errorf("it is not said what to do:\n%s", out)
			}
			one.run("apply", "-auto-approve", "-no-color", names, "-var=wait=1")
			one.idle(names, "-var=wait=1")
			two.idle(names, "-var=wait=1")
		})
	}
}
