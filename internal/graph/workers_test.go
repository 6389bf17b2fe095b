package graph

import (
	"context"
	"sync"
	"testing"
	"time"
)

// One worker already waits when a fan needs more: it must not be woken up for all of them.
func TestFanUsesAllWorkers(t *testing.T) {
	for range 200 {
		const items = 4
		r := New(items)
		var once sync.Once
		idle := make(chan struct{})
		// Two tasks end at about the same time: one worker waits while the other starts the fan.
		a := r.Add(func(*Node) error { once.Do(func() { close(idle) }); return nil })
		b := r.Add(func(*Node) error { <-idle; time.Sleep(100 * time.Microsecond); return nil })
		var together sync.WaitGroup
		together.Add(items)
		r.Add(func(n *Node) error {
			n.FanOut(items, func(int) error { together.Done(); together.Wait(); return nil }, nil)
			return nil
		}, a, b)
		done := make(chan struct{})
		go func() { defer close(done); _ = r.Run(context.Background()) }()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("a fan of %d items on %d workers does not run them all at once", items, items)
		}
	}
}
