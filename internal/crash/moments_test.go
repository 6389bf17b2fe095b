//go:build unix

package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/state"
)

// crowd returns a configuration of 200 objects, or its previous version. The change from that involves updates,
// replacements in both orders, deletions and creations.
func crowd(before bool, delay string) (config string, expected map[string]int) {
	size := map[string]int{"plain": 80, "chained": 40, "updated": 30, "replaced": 15, "safely": 15, "gone": 0}
	version := "v2"
	if before {
		size["plain"], size["chained"], size["gone"], version = 20, 0, 20, "v1"
	}
	config = fmt.Sprintf("terraform {\n  required_providers {\n    world = { source = \"tombolo/world\" }\n  }\n}\n"+
		"provider \"world\" {\n  delay = %q\n  seed = %d\n}\n", delay, seed)
	block := func(kind, name, more string) {
		config += fmt.Sprintf("resource \"world_object\" %q {\n  count = %d\n  name  = \"%s\"\n  %s\n}\n", kind,
			size[kind], name, more)
	}
	block("plain", "plain-${count.index}", "tags = { kind = \"plain\" }")
	block("chained", "chained-${count.index}", "value = world_object.plain[count.index].id")
	block("updated", "updated-${count.index}", fmt.Sprintf("value = %q", version))
	block("replaced", "replaced-${count.index}-"+version, "")
	block("safely", "safely-${count.index}-"+version, "lifecycle {\n    create_before_destroy = true\n  }")
	block("gone", "gone-${count.index}", "")
	expected = map[string]int{}
	for kind, n := range size {
		for i := range n {
			name := fmt.Sprintf("%s-%d", kind, i)
			if kind == "replaced" || kind == "safely" {
				name += "-" + version
			}
			expected[name] = 1
		}
	}
	return config, expected
}

// reader reads the state continuously, as other commands may, and reports errors.
func (r *testProject) reader() (stop func() (reads int)) {
	ws, err := r.job.store(nil).Workspace(state.DefaultWorkspace)
	if err != nil {
		r.t.Fatal(err)
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	reads := 0
	var serial uint64
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			case <-time.After(2 * time.Millisecond):
			}
			s, err := ws.Read(r.t.Context())
			if err != nil {
				r.t.Errorf("a reader failed after %d reads: %s", reads, err)
				return
			}
			reads++
			if s.State != nil && s.State.Serial < serial {
				r.t.Errorf("a reader saw serial %d after serial %d", s.State.Serial, serial)
			} else if s.State != nil {
				serial = s.State.Serial
			}
		}
	})
	return func() int {
		close(quit)
		wg.Wait()
		return reads
	}
}

// TestKilledAtRandomMoments kills some applies and destroys; TOMBOLO_CRASH_KILLS=n sets their number.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	kills := 12
	switch {
	case full:
		kills = 200
	case testing.Short():
		kills = 4
	}
	if n, err := strconv.Atoi(os.Getenv("TOMBOLO_CRASH_KILLS")); err == nil {
		kills = n
	}
	const delay = "30ms"
	first, _ := crowd(true, "0s")
	second, expected := crowd(false, delay)
	quick, _ := crowd(false, "0s")
	empty := newTestProject(t, second)
	some := newTestProject(t, first)
	some.noErrors(some.job.do(t.Context(), nil))
	some.configure(second)

	// The duration of a run without faults determines the moments.
	trial := some.copyTo(t)
	started := time.Now()
	if killed(t, trial.job.command()) {
		t.Fatal("killed by somebody else")
	}
	length := time.Since(started)
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	var hit, reads, inFlight int
	var mu sync.Mutex
	for i := range kills {
		moment := time.Duration(random.Float64() * float64(length))
		from := some
		if i%3 == 0 {
			from = empty
		}
		t.Run(fmt.Sprintf("%d after %s", i, moment.Round(time.Millisecond)), func(t *testing.T) {
			r := from.copyTo(t)
			stop := r.reader()
			j := r.job
			j.Destroy = i%4 == 1 && from == some
			cmd := j.command()
			was := killedAfter(t, cmd, moment)
			n := stop()
			open := len(r.read().InFlight)
			mu.Lock()
			reads += n
			if inFlight += open; was {
				hit++
			}
			mu.Unlock()
			r.configure(quick)
			if j.Destroy {
				r.afterDestroy()
			} else {
				r.aftermath(expected)
			}
		})
	}
	t.Logf("a run takes %s; killed %d of %d times with %d operations in flight, %d reads meanwhile",
		length.Round(time.Millisecond), hit, kills, inFlight, reads)
}
