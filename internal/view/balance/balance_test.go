package balance_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/view/balance"
	"github.com/tombolo-iac/tombolo/plan"
)

func object(i int, mode addr.Mode) addr.Object {
	return addr.Object{Instance: addr.AbsResource{
		Resource: addr.Resource{Mode: mode, Type: "t_x", Name: "a"}}.Instance(addr.IntKey(i))}
}

// halves returns the operations of a change as the engine reports them.
func halves(c *plan.Change) []event.OperationStart {
	old := c.Object
	if c.Action == plan.CreateThenDelete {
		old.Deposed = c.DeposedKey
	}
	create := event.OperationStart{Object: c.Object, Action: plan.Create}
	remove := event.OperationStart{Object: old, Action: plan.Delete}
	switch c.Action {
	case plan.Create, plan.Update, plan.Delete, plan.Read:
		return []event.OperationStart{{Object: c.Object, Action: c.Action}}
	case plan.DeleteThenCreate:
		return []event.OperationStart{remove, create}
	case plan.CreateThenDelete:
		return []event.OperationStart{create, remove}
	case plan.ForgetThenCreate:
		return []event.OperationStart{create}
	}
	return nil
}

// Each change of a plan is done, failed, half done or untried, according to its operations, and is counted exactly
// once.
func TestBalanceListsEachChangeOnce(t *testing.T) {
	actions := []plan.Action{plan.NoOp, plan.Create, plan.Read, plan.Update, plan.Delete, plan.DeleteThenCreate,
		plan.CreateThenDelete, plan.Forget, plan.ForgetThenCreate}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		var l balance.Ledger
		var finished, failed, open, half, untried []addr.Object
		p := &plan.Plan{}
		var run sync.WaitGroup
		for i := range r.IntN(30) {
			mode, action := addr.Managed, actions[r.IntN(len(actions))]
			if action == plan.Read {
				mode = addr.Data
			}
			c := &plan.Change{Object: object(i, mode), Action: action, DeposedKey: "12345678"}
			p.Changes = append(p.Changes, c)
			steps := halves(c)
			count := r.IntN(len(steps) + 1) // the number of operations that end
			bad := count > 0 && r.IntN(3) == 0
			lost := count > 0 && !bad && r.IntN(4) == 0 // the last one has no outcome
			run.Go(func() {
				for n, s := range steps[:count] {
					l.Send(s)
					if lost && n == count-1 {
						break
					}
					l.Send(event.OperationDone{Object: s.Object, Action: s.Action, Failed: bad && n == count-1})
				}
			})
			switch {
			case mode != addr.Managed || len(steps) == 0:
			case bad:
				failed = append(failed, c.Object)
			case lost:
				open = append(open, c.Object)
			case count == 0:
				untried = append(untried, c.Object)
			case count < len(steps):
				half = append(half, c.Object)
			default:
				finished = append(finished, c.Object)
			}
		}
		run.Wait()
		got := l.Of(p, nil)
		var ended []addr.Object
		for _, c := range got.Done {
			ended = append(ended, c.Object)
		}
		for what, pair := range map[string][2][]addr.Object{"done": {finished, ended}, "open": {open, got.Open},
			"failed": {failed, got.Failed}, "half": {half, got.Half},
			"untried": {untried, got.Untried}} {
			if !slices.Equal(pair[0], pair[1]) {
				t.Fatalf("seed %d: %s: want %v, got %v", seed, what, pair[0], pair[1])
			}
		}
	}
}

// Each untried object is mapped to a failed object that it depends on, by the steps or by its dependencies. Those that
// depend on no failed object are not.
func TestBalanceNamesCausesOfUntriedChanges(t *testing.T) {
	change := func(name string, depends ...string) *plan.Change {
		at := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t_x", Name: name}}
		c := &plan.Change{Object: addr.Object{Instance: at.Instance(addr.NoKey)}, Action: plan.Create}
		for _, d := range depends {
			c.Dependencies = append(c.Dependencies,
				addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t_x", Name: d}}.Config())
		}
		return c
	}
	p := &plan.Plan{Changes: []*plan.Change{change("bad"), change("near", "bad"), change("far", "near", "bad"),
		change("alone"), change("ordered"), change("last")},
		Steps: []plan.Step{{Changes: []int{0}}, {Changes: []int{4}, After: []int{0}}, {After: []int{1}},
			{Changes: []int{5}, After: []int{2}}, {Changes: []int{3}}}}
	var l balance.Ledger
	bad := p.Changes[0]
	l.Send(event.OperationStart{Object: bad.Object, Action: plan.Create})
	l.Send(event.OperationDone{Object: bad.Object, Action: plan.Create, Failed: true})
	b := l.Of(p, nil)
	for i, want := range []bool{false, true, true, false, true, true} {
		if cause, got := b.Cause[p.Changes[i].Object]; got != want || got && cause != bad.Object {
			t.Errorf("%s waited for %v: %v, want %v", p.Changes[i].Object, cause, got, want)
		}
	}
}

func TestTheSlowestAreKept(t *testing.T) {
	var l balance.Ledger
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	order := rand.New(rand.NewPCG(1, 1)).Perm(50)
	for _, i := range order {
		l.Send(event.OperationStart{Object: object(i, addr.Managed), Action: plan.Create,
			Started: began.Add(time.Duration(i) * time.Second)})
		l.Send(event.OperationDone{Object: object(i, addr.Managed), Action: plan.Create,
			Elapsed: time.Duration(i) * time.Second})
	}
	l.Send(event.OperationStart{Object: object(99, addr.Data), Planning: true})
	b := l.Of(nil, nil)
	if len(b.Slowest) != 5 || b.Slowest[0].Elapsed != 49*time.Second || b.Slowest[4].Elapsed != 45*time.Second {
		t.Errorf("got %v", b.Slowest)
	}
	if !b.From.Equal(began) {
		t.Errorf("began %v, want %v", b.From, began)
	}
}
