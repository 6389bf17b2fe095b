package store_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
)

// moment records what a script had requested and had acknowledged after a number of changes on the disk.
type moment struct {
	changes int
	known   *expectation
}

// TestPowerLossLosesNothing simulates a power loss after every change of a script, and checks every disk that may be
// found: uncertain changes kept, dropped, dropped one by one, or kept one by one; the last write cut at many offsets,
// followed by zeros or garbage.
func TestPowerLossLosesNothing(t *testing.T) {
	images, stride := 0, 31
	switch {
	case testing.Short():
		stride = 101
	case os.Getenv("TOMBOLO_CRASH_FULL") != "":
		stride = 1
	}
	count := 0
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			var r *faults.Recorder
			var moments []moment
			s.playMarked(mem.NewFS(), func(inner store.Files) store.Files {
				r = faults.Record(inner.(*mem.FS))
				return r
			}, func(p *player) { moments = append(moments, moment{r.Len(), p.expectation()}) })
			for n := 0; n <= r.Len(); n++ {
				known := at(moments, n)
				for _, c := range losses(r, n) {
					if count++; count%stride != 0 {
						continue
					}
					images++
					if err := known.survey(r.Disk(n, c.fates)); err != nil {
						t.Fatalf("power loss behind change %d of %d, %s: %v\n%s", n, r.Len(), c.name, err,
							contents(r, n))
					}
				}
			}
		})
	}
	t.Logf("%d disks", images)
	if stride == 1 && images < 5000 {
		t.Errorf("only %d disks", images)
	}
}

// at returns the expectation after the first n changes.
func at(moments []moment, n int) *expectation {
	known := moments[0].known
	for _, m := range moments {
		if m.changes <= n {
			known = m.known
		}
	}
	return known
}

// nextRun performs a short run after a recovery.
func nextRun(p *player) {
	if p.lock(state.LockRequest{}) && p.begin("next") {
		p.intent("next", "n", "t.next")
		p.result("n", put("t.next", "n"))
		p.close()
		p.unlock()
	}
}

type loss struct {
	name  string
	fates map[int]faults.Outcome
}

// losses lists the possible effects of a power loss after the first n changes.
func losses(r *faults.Recorder, n int) []loss {
	uncertain := r.Uncertain(n)
	drop := func(pick func(i int, c faults.Change) bool) map[int]faults.Outcome {
		fates := map[int]faults.Outcome{}
		for _, i := range uncertain {
			if pick(i, r.Change(i)) {
				fates[i] = faults.Dropped
			}
		}
		return fates
	}
	all := []loss{
		{"all kept", nil},
		{"all dropped", drop(func(int, faults.Change) bool { return true })},
		{"names dropped", drop(func(_ int, c faults.Change) bool { return !c.IsData() })},
		{"contents dropped", drop(func(_ int, c faults.Change) bool { return c.IsData() })},
	}
	for _, one := range uncertain {
		all = append(all,
			loss{fmt.Sprintf("change %d dropped", one), drop(func(i int, _ faults.Change) bool { return i == one })},
			loss{fmt.Sprintf("only change %d kept", one), drop(func(i int, _ faults.Change) bool { return i != one })})
		c := r.Change(one)
		if c.What != "write" {
			continue
		}
		step := 64
		if strings.HasSuffix(c.Name, ".journal") {
			step = 7
		}
		for cut := 0; cut < len(c.Data); cut += step {
			rest := len(c.Data) - cut
			for name, fill := range map[string][]byte{"missing": nil, "zero": make([]byte, rest),
				"garbage": bytes.Repeat([]byte{0xa5}, rest)} {
				all = append(all, loss{fmt.Sprintf("change %d cut at %d, the rest %s", one, cut, name),
					map[int]faults.Outcome{one: {Cut: cut, Fill: fill}}})
			}
		}
	}
	return all
}

func contents(r *faults.Recorder, n int) string {
	var b strings.Builder
	for i := max(0, n-15); i < n; i++ {
		c := r.Change(i)
		fmt.Fprintf(&b, "%d %s %s at %d, %d bytes\n", i, c.What, c.Name, c.Off, len(c.Data))
	}
	return b.String()
}

// TestPowerLossDuringRecoveryLosesNothing kills a run at every call, and simulates a power loss after every change of
// the recovery and of a short run after it. Writes of the killed run without a sync are still uncertain then.
func TestPowerLossDuringRecoveryLosesNothing(t *testing.T) {
	step, stride := 3, 331 // test every n-th call, and every n-th disk that a power loss may leave
	switch {
	case testing.Short():
		step, stride = 13, 997
	case os.Getenv("TOMBOLO_CRASH_FULL") != "":
		step, stride = 1, 97
	}
	count, images := 0, 0
	for _, s := range scenarios {
		calls := s.calls(t)
		for n := 1 + count%step; n <= calls; n += step {
			var r *faults.Recorder
			known := s.play(mem.NewFS(), func(inner store.Files) store.Files {
				r = faults.Record(inner.(*mem.FS))
				return faults.Wrap(r, faults.Plan{
					Call: n, Mode: []faults.Mode{faults.Kill, faults.KillShort}[n/step%2]})
			}).expectation()
			from := r.Len()
			r.DropLocks()
			recoverOn(r)
			moments := []moment{{from, known}}
			p := newPlayer(r, r, func(p *player) { moments = append(moments, moment{r.Len(), p.expectation()}) })
			p.marked()
			nextRun(p)
			for m := from; m <= r.Len(); m++ {
				known := at(moments, m)
				for _, c := range losses(r, m) {
					if count++; count%stride != 0 {
						continue
					}
					images++
					if err := known.survey(r.Disk(m, c.fates)); err != nil {
						t.Fatalf("%s, killed at call %d of %d, power loss behind change %d of the recovery, %s: %v\n%s",
							s.name, n, calls, m, c.name, err, contents(r, m))
					}
				}
			}
		}
	}
	t.Logf("%d disks of %d", images, count)
}
