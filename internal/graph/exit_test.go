package graph

import (
	"math/rand"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tombolo-iac/tombolo/diag"
)

// A task that ends its goroutine, like FailNow of package testing, ends the run with a panic that Run's caller can
// recover from, in any part of the task and whatever else runs.
func TestTasksThatEndTheirGoroutineEndTheRun(t *testing.T) {
	for seed := range int64(200) {
		rng := rand.New(rand.NewSource(seed))
		n := 1 + rng.Intn(30)
		at, how := rng.Intn(n), rng.Intn(3)
		r := New(1 + rng.Intn(8))
		var running atomic.Int32
		begin := func() func() { running.Add(1); return func() { running.Add(-1) } }
		ids := []ID{}
		for i := range n {
			deps := []ID{}
			for range rng.Intn(3) {
				if i > 0 {
					deps = append(deps, ids[rng.Intn(i)])
				}
			}
			items := rng.Intn(5)
			if i == at && how == 1 {
				items++
			}
			exits := func(here int) {
				if i == at && how == here {
					runtime.Goexit()
				}
			}
			ids = append(ids, r.Add(func(node *Node) error {
				defer begin()()
				exits(0)
				node.FanOut(items, func(int) error { defer begin()(); exits(1); return nil }, func() error {
					defer begin()()
					exits(2)
					return nil
				})
				return nil
			}, deps...))
		}
		func() {
			defer func() {
				p, ok := recover().(*diag.PanicError)
				if !ok || !strings.Contains(p.Error(), "runtime.Goexit") {
					t.Errorf("seed %d: recovered from %v", seed, p)
				}
			}()
			_ = r.Run(t.Context())
			t.Errorf("seed %d: the run ended well", seed)
		}()
		if left := running.Load(); left != 0 {
			t.Errorf("seed %d: %d tasks run still", seed, left)
		}
		if s, _ := r.Status(ids[at]); s != Failed {
			t.Errorf("seed %d: the node is %v", seed, s)
		}
	}
}
