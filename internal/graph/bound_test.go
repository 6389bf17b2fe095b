package graph

import (
	"sync/atomic"
	"testing"
	"time"
)

// The number of concurrent tasks reaches the number of workers, and never exceeds it.
func TestWorkersAreBounded(t *testing.T) {
	for workers := 1; workers <= 4; workers++ {
		r := New(workers)
		var running, most atomic.Int64
		for range 40 {
			r.Add(func(*Node) error {
				now := running.Add(1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				time.Sleep(time.Millisecond) // lets other tasks start
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
