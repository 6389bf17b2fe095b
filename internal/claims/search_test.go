package claims

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// finding is a rule that does not hold in a state, or at the end.
type finding string

const (
	overlapping  finding = "two entries of the ledger conflict"
	uncovered    finding = "a call without a claim"
	createdTwice finding = "an object was created twice"
	lost         finding = "the result of a call is nowhere"
	notExported  finding = "the export lacks results that are in the rows"
	notSerial    finding = "the result is not that of any serial order"
	stuck        finding = "a run can never end"
)

// node is a state of the search with the step that led to it.
type node struct {
	from  int
	label string
	s     system
	back  []int // states from which a step without a fault leads here
}

// search tries all orders of steps and returns what it found, each finding with the shortest way to it.
type search struct {
	m     *model
	start values
	nodes []node
	found map[finding]int
	// parallel is the largest number of runs that had claims at the same time and were not disturbed.
	parallel int
}

func (m *model) search(start values, crashes, cuts, misjudged int8) *search {
	x := &search{m: m, start: start, found: map[finding]int{}}
	first := system{world: start, rows: start, export: start, crashes: crashes, cuts: cuts, misjudged: misjudged}
	known := map[system]int{first: 0}
	x.nodes = []node{{from: -1, s: first}}
	var goals []int
	for n := 0; n < len(x.nodes); n++ {
		s := x.nodes[n].s
		x.check(n)
		steps := m.next(s)
		if !slices.ContainsFunc(steps, func(e edge) bool { return !e.fault }) {
			x.atEnd(n)
			goals = append(goals, n)
		}
		for _, e := range steps {
			to, ok := known[e.to]
			if !ok {
				to = len(x.nodes)
				known[e.to] = to
				x.nodes = append(x.nodes, node{from: n, label: e.label, s: e.to})
			}
			if !e.fault {
				x.nodes[to].back = append(x.nodes[to].back, n)
			}
		}
	}
	x.progress(goals)
	return x
}

// report keeps the first state of each finding.
func (x *search) report(f finding, n int) {
	if _, ok := x.found[f]; !ok {
		x.found[f] = n
	}
}

// way returns the steps to a state.
func (x *search) way(n int) string {
	var steps []string
	for ; n > 0; n = x.nodes[n].from {
		steps = append(steps, x.nodes[n].label)
	}
	slices.Reverse(steps)
	return strings.Join(steps, "\n")
}

// check checks what holds in every state.
func (x *search) check(n int) {
	s, entries := &x.nodes[n].s, 0
	l := x.m.ledger(s)
	for i, e := range l.Entries {
		for _, o := range l.Entries[i+1:] {
			if len(e.Claims.Conflicts(o.Claims)) > 0 {
				x.report(overlapping, n)
			}
		}
		if !e.Open {
			entries++
		}
	}
	x.parallel = max(x.parallel, entries)
	for o := range objects {
		if s.made[o] > 1 {
			x.report(createdTwice, n)
		}
		if s.world[o] != s.rows[o] && !x.known(s, o) {
			x.report(lost, n)
		}
	}
	for i := range x.m.tasks {
		r := &s.runs[i]
		if r.phase != calls || r.dead { // the next step may be the call
			continue
		}
		if !x.covers(s, x.m.target(r, i)) {
			x.report(uncovered, n)
		}
	}
	if !s.foreign && s.export != s.rows {
		x.report(notExported, n)
	}
}

// covers reports whether an entry claims an object for writing.
func (x *search) covers(s *system, o int) bool {
	return slices.ContainsFunc(s.runs[:], func(r run) bool { return r.entry && r.claims&writing(o) != 0 })
}

// known reports whether somebody knows why an object is not as in the rows: a journal, a person who was told, or the
// export of another program.
func (x *search) known(s *system, o int) bool {
	if s.unfolded.has(o) || s.foreign && s.export[o] == s.world[o] {
		return true
	}
	if x.m.other != nil && *x.m.other == o && s.other == 2 {
		return true // it has called, and not yet written
	}
	return slices.ContainsFunc(s.runs[:], func(r run) bool {
		return r.entry && (r.intents.has(o) || r.got.has(o) && r.result[o] == s.world[o])
	})
}

// atEnd checks a state in which nothing is left to do.
func (x *search) atEnd(n int) {
	s := &x.nodes[n].s
	for i := range x.m.tasks {
		if r := &s.runs[i]; !r.dead && r.phase != done && r.phase != stopped {
			x.report(stuck, n)
		}
	}
	if !x.serial(s) {
		x.report(notSerial, n)
	}
}

// serial reports whether the world is as if the runs, and the other program, had run one after the other in some order.
func (x *search) serial(s *system) bool {
	order := make([]int, 0, len(x.m.tasks)+1)
	for i := range x.m.tasks {
		if s.runs[i].called != 0 || s.runs[i].phase == done {
			order = append(order, i)
		}
	}
	if x.m.other != nil && s.other > 1 {
		order = append(order, -1)
	}
	return permute(order, 0, func() bool {
		v := x.start
		for _, i := range order {
			if i < 0 {
				v[*x.m.other] += 50
				continue
			}
			t, r := &x.m.tasks[i], &s.runs[i]
			planned, value := t.plans(v), t.value(v)
			var did bits
			for _, o := range planned {
				if r.called.has(o) {
					v[o] = value
					did |= bit(o)
				}
			}
			if did != r.called || r.phase == done && len(planned) != count(did) {
				return false
			}
		}
		return v == s.world
	})
}

func count(b bits) (n int) {
	for o := range objects {
		if b.has(o) {
			n++
		}
	}
	return n
}

// permute calls f with each order of list[from:] until it returns true.
func permute(list []int, from int, f func() bool) bool {
	if from == len(list) {
		return f()
	}
	for i := from; i < len(list); i++ {
		list[from], list[i] = list[i], list[from]
		if permute(list, from+1, f) {
			return true
		}
		list[from], list[i] = list[i], list[from]
	}
	return false
}

// progress checks that from each state all runs can end if no more faults happen.
func (x *search) progress(goals []int) {
	reaches := make([]bool, len(x.nodes))
	for _, n := range goals {
		reaches[n] = true
	}
	for len(goals) > 0 {
		n := goals[len(goals)-1]
		goals = goals[:len(goals)-1]
		for _, before := range x.nodes[n].back {
			if !reaches[before] {
				reaches[before] = true
				goals = append(goals, before)
			}
		}
	}
	if n := slices.Index(reaches, false); n >= 0 {
		x.report(stuck, n)
	}
}

// The tasks of the model.
func plus(from int, n int8) func(values) int8 { return func(v values) int8 { return v[from] + n } }

var (
	raiseA  = task{reads: []int{a}, writes: []int{a}, value: plus(a, 1)}
	raiseA2 = task{reads: []int{a}, writes: []int{a}, value: plus(a, 2)}
	raiseB  = task{reads: []int{b}, writes: []int{b}, value: plus(b, 3)}
	aFromB  = task{reads: []int{b}, writes: []int{a}, value: plus(b, 5)}
	bFromA  = task{reads: []int{a}, writes: []int{b}, value: plus(a, 7)}
	bFromX  = task{reads: []int{x0}, writes: []int{b}, value: plus(x0, 2)}
	xFromA  = task{reads: []int{a}, writes: []int{x0}, value: plus(a, 4)}
	bothAB  = task{reads: []int{a, b}, writes: []int{a, b}, value: func(v values) int8 { return v[a] + v[b] + 1 }}
	bothBA  = task{reads: []int{a, b}, writes: []int{b, a}, value: func(v values) int8 { return v[a] + v[b] + 2 }}
	createX = task{writes: []int{x1}, create: true, value: func(values) int8 { return 9 }}
	countX  = task{counts: true, writes: []int{a}, value: func(v values) int8 { return 20 + v.count() }}
	addX0   = task{counts: true, writes: []int{x0}, create: true, value: func(v values) int8 { return 30 + v.count() }}
	addX1   = task{counts: true, writes: []int{x1}, create: true, value: func(v values) int8 { return 30 + v.count() }}
)

type scenario struct {
	name   string
	start  values
	tasks  []task
	other  int     // an object, or -1
	faults [3]int8 // kills, lost connections, misjudged runs
	// parallel is the number of runs that have claims at the same time.
	parallel int
}

// begin has all objects except x[1].
var begin = values{1, 2, 3, 0}

var scenarios = []scenario{
	{"two runs change different objects", begin, []task{raiseA, raiseB}, -1, [3]int8{1, 1, 1}, 2},
	{"two runs change the same object", begin, []task{raiseA, raiseA2}, -1, [3]int8{1, 1, 1}, 1},
	{"each run reads what the other changes", begin, []task{aFromB, bFromA}, -1, [3]int8{1, 1, 1}, 1},
	{"two runs create the same object", begin, []task{createX, createX}, -1, [3]int8{2, 1, 1}, 1},
	{"each run counts what the other creates", values{1, 2, 0, 0}, []task{addX0, addX1}, -1, [3]int8{1, 1, 1}, 1},
	{"two runs change two objects in different orders", begin, []task{bothAB, bothBA}, -1, [3]int8{1, 1, 1}, 1},
	{"both runs die", begin, []task{raiseA, aFromB}, -1, [3]int8{2, 2, 0}, 1},
	{"another program changes what the runs read", begin, []task{aFromB, raiseB}, b, [3]int8{}, 1},
	{"another program writes while two runs work", begin, []task{raiseA, createX}, b, [3]int8{}, 2},
	{"three runs in a ring", begin, []task{aFromB, bFromX, xFromA}, -1, [3]int8{}, 1},
	{"three runs on one object", begin, []task{raiseA, raiseA2, bothAB}, -1, [3]int8{}, 1},
	{"a reader and two writers", begin, []task{countX, createX, raiseB}, -1, [3]int8{1, 0, 0}, 2},
}

func (c scenario) model(r rules) *model {
	m := &model{rules: r, tasks: c.tasks}
	if c.other >= 0 {
		m.other = &c.other
	}
	return m
}

// TestNoOrderOfStepsBreaksTheRules tries all orders of the steps of a few runs, with faults at every step.
func TestNoOrderOfStepsBreaksTheRules(t *testing.T) {
	total := 0
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			if c.faults == [3]int8{} && c.other < 0 && os.Getenv("TOMBOLO_CLAIMS_FULL") != "" {
				c.faults = [3]int8{1, 1, 0} // millions of states
			}
			x := c.model(rules{}).search(c.start, c.faults[0], c.faults[1], c.faults[2])
			total += len(x.nodes)
			for f, n := range x.found {
				t.Errorf("%s:\n%s\nstate: %+v", f, x.way(n), x.nodes[n].s)
			}
			if x.parallel != c.parallel {
				t.Errorf("%d runs had claims at the same time, want %d", x.parallel, c.parallel)
			}
			t.Log(len(x.nodes), "states")
		})
	}
	t.Log(total, "states")
}

// TestBrokenRulesAreFound breaks one rule at a time: the search must find what goes wrong.
func TestBrokenRulesAreFound(t *testing.T) {
	for _, c := range []struct {
		name     string
		broken   rules
		scenario string
		want     finding
	}{
		{"reads are not claimed", rules{noReads: true}, "each run reads what the other changes", notSerial},
		{"absent objects are not claimed", rules{noAbsent: true}, "two runs create the same object", createdTwice},
		{"counted resources are not claimed", rules{noResource: true}, "each run counts what the other creates",
			notSerial},
		{"reads are not compared", rules{noCheck: true}, "two runs change the same object", notSerial},
		{"epochs are not checked", rules{noFence: true}, "two runs create the same object", createdTwice},
		{"claims lapse", rules{lapse: true}, "two runs create the same object", createdTwice},
		{"open operations are forgotten", rules{forget: true}, "two runs create the same object", lost},
		{"the export is late", rules{lateExport: true}, "two runs change different objects", notExported},
		{"foreign writes are not noticed", rules{noDigest: true}, "another program writes while two runs work", lost},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == c.scenario })
			s := scenarios[i]
			x := s.model(c.broken).search(s.start, s.faults[0], s.faults[1], s.faults[2])
			if n, ok := x.found[c.want]; !ok {
				t.Errorf("the search found only %v", x.found)
			} else {
				t.Log(fmt.Sprint(c.want, ":\n", x.way(n)))
			}
		})
	}
}
