// Package balance summarizes an apply: which changes were done, failed or were not attempted, and how long they took.
//
//	var l balance.Ledger
//	l.Send(e)                  // each event of the run
//	b := l.Of(plan, nil)       // at its end
//
// A Ledger is safe for concurrent use. It stores a few bytes for each operation of the run.
package balance

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/plan"
)

// Ledger records the events of a run. The zero value is empty and ready to use.
type Ledger struct {
	mu      sync.Mutex
	fates   map[key]outcome
	slowest []Timed
	from    time.Time // the start of the first operation
}

type operation struct {
	object addr.Object
	action plan.Action
}

// key stands for an operation, which is several times as large: two hashes with different seeds.
type key [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func (o operation) key() key {
	return key{maphash.Comparable(seeds[0], o), maphash.Comparable(seeds[1], o)}
}

type outcome uint8

const (
	began outcome = iota + 1
	done
	failed
)

// Timed is an operation and its duration.
type Timed struct {
	Object  addr.Object
	Action  plan.Action
	Elapsed time.Duration
}

// mostTimed is how many of the slowest operations are kept.
const mostTimed = 5

// Send records an event. Events of planning, and events that are not operations, are ignored.
func (l *Ledger) Send(e event.Event) {
	switch e := e.(type) {
	case event.OperationStart:
		if !e.Planning {
			l.start(e)
		}
	case event.OperationDone:
		if !e.Planning {
			l.end(e)
		}
	}
}

func (l *Ledger) start(e event.OperationStart) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fates == nil {
		l.fates = map[key]outcome{}
	}
	l.fates[operation{e.Object, e.Action}.key()] = began
	if l.from.IsZero() || e.Started.Before(l.from) {
		l.from = e.Started
	}
}

func (l *Ledger) end(e event.OperationDone) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fates == nil {
		l.fates = map[key]outcome{}
	}
	l.fates[operation{e.Object, e.Action}.key()] = done
	if e.Failed {
		l.fates[operation{e.Object, e.Action}.key()] = failed
	}
	t := Timed{e.Object, e.Action, e.Elapsed}
	at, _ := slices.BinarySearchFunc(l.slowest, t, func(a, b Timed) int {
		return cmp.Or(cmp.Compare(b.Elapsed, a.Elapsed), -1) // after those that took as long
	})
	if at < mostTimed {
		l.slowest = slices.Insert(l.slowest, at, t)
		l.slowest = l.slowest[:min(len(l.slowest), mostTimed)]
	}
}

// Balance is the outcome of a plan. The lists are in the order of the plan's changes.
type Balance struct {
	// Done are the changes whose operations all succeeded.
	Done []*plan.Change
	// Broken are the objects whose operations all succeeded, but not the checks after them.
	Broken []addr.Object
	// Failed are the objects with a failed operation.
	Failed []addr.Object
	// Open are the objects with an operation that began, and whose outcome is not known.
	Open []addr.Object
	// Half are the replacements of which one operation succeeded and the other was not attempted.
	Half []addr.Object
	// Untried are the objects with planned operations, none of which was attempted.
	Untried []addr.Object
	// Cause maps each object that could not proceed to a failed, open or broken object that it depends on.
	Cause map[addr.Object]addr.Object
	// From is when the first operation began, or zero if none did.
	From time.Time
	// Slowest are the operations that took the longest, in descending order: at most five.
	Slowest []Timed
}

// Of returns the balance of a plan. If p is nil, it has only the durations. wrong reports whether there is an error
// about an object; nil means that there is none about objects whose operations succeeded.
func (l *Ledger) Of(p *plan.Plan, wrong func(addr.Object) bool) Balance {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := Balance{From: l.from, Slowest: slices.Clone(l.slowest)}
	if p == nil {
		return b
	}
	stuck := map[int]bool{} // the changes that block others
	for i, c := range p.Changes {
		wanted := operationsOf(c)
		if len(wanted) == 0 {
			continue
		}
		var ended int
		bad, open := false, false
		for _, o := range wanted {
			switch l.fates[o.key()] {
			case done:
				ended++
			case failed:
				bad = true
			case began:
				open = true
			}
		}
		whole := ended == len(wanted)
		broken := whole && wrong != nil && wrong(c.Object)
		stuck[i] = bad || open || broken
		switch {
		case broken:
			b.Broken = append(b.Broken, c.Object)
		case bad:
			b.Failed = append(b.Failed, c.Object)
		case open:
			b.Open = append(b.Open, c.Object)
		case whole:
			b.Done = append(b.Done, c)
		case ended == 0:
			b.Untried = append(b.Untried, c.Object)
		default:
			b.Half = append(b.Half, c.Object)
		}
	}
	b.Cause = causes(p, stuck)
	return b
}

// causes returns, for each object that is blocked by a stuck one, such an object: the nearest along the steps of the
// plan, which order removals, or else the first that it depends on.
func causes(p *plan.Plan, stuck map[int]bool) map[addr.Object]addr.Object {
	out := map[addr.Object]addr.Object{}
	next := make([][]int, len(p.Steps)) // the steps that depend on each
	cause := make([]int, len(p.Steps))  // the stuck change before each, plus one
	var queue []int
	for i, s := range p.Steps {
		for _, before := range s.After {
			next[before] = append(next[before], i)
		}
		if at := slices.IndexFunc(s.Changes, func(c int) bool { return stuck[c] }); at >= 0 {
			cause[i] = s.Changes[at] + 1
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		step := queue[0]
		queue = queue[1:]
		for _, i := range next[step] {
			if cause[i] == 0 {
				cause[i] = cause[step]
				queue = append(queue, i)
			}
		}
	}
	for i, s := range p.Steps {
		for _, c := range s.Changes {
			if cause[i] > 0 && !stuck[c] {
				out[p.Changes[c].Object] = p.Changes[cause[i]-1].Object
			}
		}
	}
	first := map[addr.ConfigResource]addr.Object{}
	for i, c := range p.Changes {
		if _, known := first[c.Object.Instance.Config()]; stuck[i] && !known {
			first[c.Object.Instance.Config()] = c.Object
		}
	}
	for i, c := range p.Changes {
		for _, d := range c.Dependencies {
			if _, known := out[c.Object]; known || stuck[i] {
				break
			}
			if cause, ok := first[d]; ok {
				out[c.Object] = cause
			}
		}
	}
	return out
}

// operationsOf returns the operations of a change, as events name them. Removals from the state and moves have none.
func operationsOf(c *plan.Change) []operation {
	if c.Object.Instance.Resource.Mode != addr.Managed {
		return nil
	}
	old := c.Object
	switch c.Action {
	case plan.Create, plan.Update, plan.Delete:
		return []operation{{c.Object, c.Action}}
	case plan.DeleteThenCreate:
		return []operation{{old, plan.Delete}, {c.Object, plan.Create}}
	case plan.CreateThenDelete:
		old.Deposed = c.DeposedKey
		return []operation{{c.Object, plan.Create}, {old, plan.Delete}}
	case plan.ForgetThenCreate:
		return []operation{{c.Object, plan.Create}}
	}
	return nil
}
