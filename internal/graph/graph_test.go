package graph

import (
	"context"
	"errors"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// In a random graph, every node computes 1 + the sum of its dependencies modulo a prime. The result is computed in
// advance; every node must run exactly once and never before its dependencies.
func TestRandomGraphsComputeTheirAnswer(t *testing.T) {
	for seed := range int64(60) {
		rng := rand.New(rand.NewSource(seed))
		n := 1 + rng.Intn(300)
		deps := make([][]int, n)
		want := make([]int64, n)
		for i := range n {
			want[i] = 1
			for range rng.Intn(4) {
				if i > 0 {
					d := rng.Intn(i)
					deps[i] = append(deps[i], d)
					want[i] = (want[i] + want[d]) % 1000003
				}
			}
		}
		got := make([]int64, n)
		runs := make([]atomic.Int32, n)
		r := New(1 + rng.Intn(8))
		ids := make([]ID, n)
		for i := range n {
			on := []ID{}
			for _, d := range deps[i] {
				on = append(on, ids[d])
			}
			fan := rng.Intn(3) == 0
			ids[i] = r.Add(func(node *Node) error {
				runs[i].Add(1)
				sum := int64(1)
				for _, d := range deps[i] {
					if got[d] == 0 {
						t.Errorf("seed %d: node %d ran before %d", seed, i, d)
					}
					sum = (sum + got[d]) % 1000003
				}
				if !fan {
					got[i] = sum
					return nil
				}
				var items atomic.Int64
				node.FanOut(17, func(int) error { items.Add(1); return nil }, func() error {
					if items.Load() != 17 {
						t.Errorf("seed %d: fan of node %d ran %d items", seed, i, items.Load())
					}
					got[i] = sum
					return nil
				})
				return nil
			}, on...)
		}
		if err := r.Run(context.Background()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range n {
			if got[i] != want[i] || runs[i].Load() != 1 {
				t.Fatalf("seed %d: node %d = %d after %d runs, want %d after 1", seed, i, got[i], runs[i].Load(),
					want[i])
			}
		}
	}
}

func TestNodesAddedWhileRunningAreAwaitedByBarrier(t *testing.T) {
	r := New(4)
	var sum atomic.Int64
	barrierRan := false
	var barrier ID
	expand := r.Add(func(*Node) error {
		for i := range 100 {
			child := r.Add(func(*Node) error { sum.Add(int64(i)); return nil })
			r.Depend(barrier, child)
		}
		return nil
	})
	barrier = r.Add(func(*Node) error {
		barrierRan = sum.Load() == 4950
		return nil
	}, expand)
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !barrierRan {
		t.Fatalf("the barrier ran before its children: sum %d", sum.Load())
	}
}

func TestFailureSkipsDependentsAndNamesTheCause(t *testing.T) {
	r := New(2)
	bad := r.Add(func(*Node) error { return errors.New("no") })
	child := r.Add(func(*Node) error { t.Error("ran"); return nil }, bad)
	grandchild := r.Add(func(*Node) error { t.Error("ran"); return nil }, child)
	other := r.Add(func(*Node) error { return nil })
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s, cause := r.Status(grandchild); s != Skipped || cause != bad {
		t.Errorf("grandchild: status %v, cause %d; want skipped because of %d", s, cause, bad)
	}
	if s, _ := r.Status(other); s != Done {
		t.Errorf("unrelated node: status %v, want done", s)
	}
}

func TestFanErrorFailsTheNodeAfterAllItems(t *testing.T) {
	r := New(3)
	var items atomic.Int32
	id := r.Add(func(n *Node) error {
		n.FanOut(10, func(i int) error {
			items.Add(1)
			if i == 3 {
				return errors.New("item")
			}
			return nil
		}, func() error { t.Error("then ran after an error"); return nil })
		return nil
	})
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s, _ := r.Status(id); s != Failed || items.Load() != 10 {
		t.Errorf("status %v after %d items, want failed after 10", s, items.Load())
	}
}

func TestCancelStartsNothingNewAndWaitsForWhatRuns(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := New(1)
	finished := false
	first := r.Add(func(*Node) error { cancel(); waitStopped(r); finished = true; return nil })
	second := r.Add(func(*Node) error { t.Error("ran after cancel"); return nil }, first)
	if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want canceled", err)
	}
	if s, cause := r.Status(second); !finished || s != Skipped || cause != -1 {
		t.Errorf("finished %v, second %v cause %d", finished, s, cause)
	}
}

// waitStopped waits until the runner has seen the end of its context.
func waitStopped(r *Runner) {
	for {
		r.mu.Lock()
		stopped := r.stopped
		r.mu.Unlock()
		if stopped {
			return
		}
	}
}

func TestCancelInTheMiddleOfAFanEnds(t *testing.T) {
	for range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		r := New(4)
		var items atomic.Int32
		r.Add(func(n *Node) error {
			n.FanOut(1000, func(i int) error {
				if items.Add(1) == 20 {
					cancel()
				}
				return nil
			}, nil)
			return nil
		})
		_ = r.Run(ctx) // must return; the fan may have ended before the cancellation was noticed
		cancel()
	}
}

func TestLongChainRuns(t *testing.T) {
	r := New(2)
	count := 0
	prev := r.Add(func(*Node) error { count++; return nil })
	for range 100_000 {
		prev = r.Add(func(*Node) error { count++; return nil }, prev)
	}
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if count != 100_001 {
		t.Errorf("ran %d nodes, want 100001", count)
	}
}

func TestCyclesNamesEveryMember(t *testing.T) {
	edges := map[int][]int{0: {1}, 1: {2}, 2: {0}, 3: {2}, 4: {4}, 5: {6}, 6: {}}
	got := Cycles(7, func(i int) []int { return edges[i] })
	for _, g := range got {
		slices.Sort(g)
	}
	if len(got) != 2 || !slices.Equal(got[0], []int{0, 1, 2}) || !slices.Equal(got[1], []int{4}) {
		t.Errorf("got %v, want [[0 1 2] [4]]", got)
	}
}

func TestCyclesOfAVeryLongRing(t *testing.T) {
	const n = 200_000
	got := Cycles(n, func(i int) []int { return []int{(i + 1) % n} })
	if len(got) != 1 || len(got[0]) != n {
		t.Errorf("got %d groups", len(got))
	}
}

func BenchmarkRunner(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		r := New(4)
		prev := r.Add(func(*Node) error { return nil })
		for range 10_000 {
			prev = r.Add(func(*Node) error { return nil }, prev)
		}
		if err := r.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestGatesPrecedeDependents adds gates to random graphs: there are no cycles, and dependents of a node
// begin after its gate, unless the gate depends on them.
func TestGatesPrecedeDependents(t *testing.T) {
	for seed := range int64(200) {
		random := rand.New(rand.NewSource(seed))
		r := New(4)
		var mu sync.Mutex
		order := map[ID]int{}
		task := func(n *Node) error {
			mu.Lock()
			defer mu.Unlock()
			order[n.ID()] = len(order)
			return nil
		}
		needs := map[ID][]ID{}
		add := func(deps ...ID) ID {
			id := r.Add(task, deps...)
			needs[id] = deps
			return id
		}
		const plain = 30
		for i := range plain {
			var deps []ID
			for range random.Intn(4) {
				if i > 0 {
					deps = append(deps, ID(random.Intn(i)))
				}
			}
			add(deps...)
		}
		var gates []Gate
		for range 5 {
			behind := ID(random.Intn(plain))
			gates = append(gates, Gate{Behind: behind, Node: add(behind, ID(random.Intn(plain)))})
		}
		r.AddGates(gates)
		if err := r.Run(t.Context()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(order) != len(needs) {
			t.Fatalf("seed %d: %d of %d nodes have run", seed, len(order), len(needs))
		}
		for id, deps := range needs {
			for _, d := range deps {
				if order[d] > order[id] {
					t.Errorf("seed %d: %d ran before %d, which it needs", seed, id, d)
				}
			}
		}
		// The first gate is added to the original graph.
		needed := map[ID]bool{}
		var mark func(id ID)
		mark = func(id ID) {
			needed[id] = true
			for _, d := range needs[id] {
				mark(d)
			}
		}
		mark(gates[0].Node)
		for id, deps := range needs {
			if slices.Contains(deps, gates[0].Behind) && !needed[id] && order[id] < order[gates[0].Node] {
				t.Errorf("seed %d: %d did not wait for the gate of %d", seed, id, gates[0].Behind)
			}
		}
	}
}
