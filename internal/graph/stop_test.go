package graph

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
)

// quiet is a context that ends without notification, as if the runtime had not delivered it yet.
type quiet struct {
	context.Context
	ended atomic.Bool
}

func (q *quiet) Err() error {
	if q.ended.Load() {
		return context.Canceled
	}
	return nil
}

func TestWorkersCheckTheContext(t *testing.T) {
	for name, second := range map[string]func(r *Runner, a ID) ID{
		"a node": func(r *Runner, a ID) ID {
			return r.Add(func(*Node) error { t.Error("it began after the end"); return nil }, a)
		},
		"a fan": func(r *Runner, a ID) ID {
			return r.Add(func(n *Node) error {
				n.FanOut(3, func(int) error { t.Error("an item began after the end"); return nil }, nil)
				return nil
			}, a)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := &quiet{Context: context.Background()}
			r := New(1)
			a := r.Add(func(*Node) error { ctx.ended.Store(true); return nil })
			b := second(r, a)
			if err := r.Run(ctx); err != context.Canceled {
				t.Errorf("got %v", err)
			}
			if s, _ := r.Status(a); s != Done {
				t.Errorf("what ran: status %v", s)
			}
			if s, _ := r.Status(b); s != Skipped {
				t.Errorf("what was to come: status %v", s)
			}
		})
	}
}

func TestRunIsStoppedIfItsLastTasksWereCancelled(t *testing.T) {
	for name, task := range map[string]func(ctx *quiet) Task{
		"a task": func(ctx *quiet) Task {
			return func(*Node) error { ctx.ended.Store(true); return context.Canceled }
		},
		"an item of a fan": func(ctx *quiet) Task {
			return func(n *Node) error {
				n.FanOut(2, func(i int) error {
					if i == 0 {
						return nil
					}
					ctx.ended.Store(true)
					return context.Canceled
				}, nil)
				return nil
			}
		},
		"the end of a fan": func(ctx *quiet) Task {
			return func(n *Node) error {
				n.FanOut(2, func(int) error { return nil }, func() error {
					ctx.ended.Store(true)
					return context.Canceled
				})
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := &quiet{Context: context.Background()}
			r := New(2)
			id := r.Add(task(ctx))
			if err := r.Run(ctx); err != context.Canceled {
				t.Errorf("got %v: nobody learns that something was left undone", err)
			}
			if s, _ := r.Status(id); s != Failed || r.open != 0 {
				t.Errorf("status %v, %d open", s, r.open)
			}
		})
	}
}

// The run may be stopped after a task has called Fan and before it has returned.
func TestTaskWithAFanEndsOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := New(2)
	id := r.Add(func(n *Node) error {
		n.FanOut(3, func(int) error { t.Error("an item ran"); return nil }, nil)
		cancel()
		for stopped := false; !stopped; runtime.Gosched() {
			r.mu.Lock()
			stopped = r.stopped
			r.mu.Unlock()
		}
		return nil
	})
	after := r.Add(func(*Node) error { t.Error("it ran"); return nil }, id)
	if err := r.Run(ctx); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if s, _ := r.Status(id); s != Failed || r.open != 0 {
		t.Errorf("status %v, %d nodes open", s, r.open)
	}
	if s, _ := r.Status(after); s != Skipped {
		t.Errorf("what waits for it: status %v", s)
	}
}

func TestNodesAddedAfterTheEndAreSkipped(t *testing.T) {
	ctx := &quiet{Context: context.Background()}
	r := New(1)
	var added, second ID
	ok := r.Add(func(*Node) error { return nil })
	r.Add(func(*Node) error {
		ctx.ended.Store(true)
		r.mu.Lock()
		r.stop() // like the function registered for the end of the context
		r.mu.Unlock()
		added = r.Add(func(*Node) error { t.Error("it began after the end"); return nil }, ok)
		second = r.Add(func(*Node) error { t.Error("what waits for it began"); return nil }, added)
		return nil
	}, ok)
	if err := r.Run(ctx); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	for _, id := range []ID{added, second} {
		if s, cause := r.Status(id); s != Skipped || cause != -1 {
			t.Errorf("status %v, cause %d", s, cause)
		}
	}
	if r.open != 0 {
		t.Errorf("%d nodes open", r.open)
	}
}
