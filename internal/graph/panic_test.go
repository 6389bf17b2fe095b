package graph

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/diag"
)

// TestTaskPanicsBecomePanicsOfRun panics in every part of a task, with other work before, during and after it.
func TestTaskPanicsBecomePanicsOfRun(t *testing.T) {
	broken := errors.New("broken")
	for name, task := range map[string]Task{
		"a task": func(*Node) error { panic(broken) },
		"an item": func(n *Node) error {
			n.FanOut(20, func(i int) error {
				if i == 7 {
					panic(broken)
				}
				return nil
			}, func() error { t.Error("the end of a fan that has panicked"); return nil })
			return nil
		},
		"every item": func(n *Node) error {
			n.FanOut(20, func(int) error { panic(broken) }, nil)
			return nil
		},
		"the end of a fan": func(n *Node) error {
			n.FanOut(20, func(int) error { return nil }, func() error { panic(broken) })
			return nil
		},
		"the end of an empty fan": func(n *Node) error {
			n.FanOut(0, nil, func() error { panic(broken) })
			return nil
		},
		"a task with a fan": func(n *Node) error {
			n.FanOut(20, func(int) error { t.Error("an item of a task that has panicked"); return nil }, nil)
			panic(broken)
		},
	} {
		for _, workers := range []int{1, 4} {
			t.Run(name, func(t *testing.T) {
				r := New(workers)
				begun, release := make(chan struct{}), make(chan struct{})
				var beside ID
				if workers > 1 {
					beside = r.Add(func(*Node) error { close(begun); <-release; return nil })
				} else {
					close(begun)
				}
				first := r.Add(func(*Node) error { <-begun; return nil })
				id := r.Add(func(n *Node) error {
					defer close(release) // concurrent work ends after or during the panic
					return task(n)
				}, first)
				after := r.Add(func(*Node) error { t.Error("it depends on what has panicked"); return nil }, id)
				p := runPanics(t, r)
				if !errors.Is(p, broken) || !strings.HasSuffix(p.Error(), "): broken") {
					t.Errorf("got %v", p)
				}
				if !strings.Contains(string(p.Stack), "panic_test.go") {
					t.Errorf("the stack does not lead to the task:\n%s", p.Stack)
				}
				if s, _ := r.Status(after); s != Skipped {
					t.Errorf("what depends on it: status %v", s)
				}
				if s, _ := r.Status(beside); s != Done {
					t.Errorf("what ran beside it: status %v", s)
				}
			})
		}
	}
}

func runPanics(t *testing.T, r *Runner) (p *diag.PanicError) {
	t.Helper()
	defer func() {
		var ok bool
		if p, ok = recover().(*diag.PanicError); !ok {
			t.Fatal("Run did not panic")
		}
	}()
	t.Fatal(r.Run(context.Background()))
	return nil
}
