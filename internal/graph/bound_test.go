package graph

import (
	"sync/atomic"
	"testing"
	"time"
)

// Never do more tasks run at the same time than there may be workers, and as many as there may be do.
func TestWorkersAreBounded(t *testing.T) {
	for workers := 1; workers <= 4; workers++ {
		r := New(workers)
		var running, most atomic.Int64
		for range 40 {
			r.Add(func(*Node) error {
				now := running.Add(1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				time.Sleep(time.Millisecond) // lets the others come
				running.Add(-1)
				return nil
			})
		}
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if most.Load() > int64(workers) {
			t.Errorf("%d tasks ran at the same time, with %d workers", most.Load(), workers)
		}
	}
}
