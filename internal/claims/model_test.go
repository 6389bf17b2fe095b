package claims

import (
	"fmt"
	"strconv"

	"github.com/tombolo-iac/tombolo/addr"
)

// This file is a model of runs on one state: what they read, claim, record and do, and what a store does for them, each
// statement and each call as one step. search_test.go tries all orders of these steps, with crashes at each of them.
//
// The model is harsher than a database: a run may lose its connection and continue until its next statement, and
// another run may take a living one for dead.

// The objects of the model: two alone, and two instances of a resource.
const (
	a = iota
	b
	x0
	x1
	objects
)

const maxRuns = 3

var names = [objects]string{"t.a", "t.b", "t.x[0]", "t.x[1]"}

func scopeOf(o int) Scope {
	i, diags := addr.ParseInstance(names[o])
	if diags.HasErrors() {
		panic(diags.Err())
	}
	return Instance(i)
}

// universe lists the claims that the model uses; a set of them is a mask.
var universe = func() (list []Claim) {
	for o := range objects {
		list = append(list, Claim{scopeOf(o), Read}, Claim{scopeOf(o), Write})
	}
	r, _ := addr.ParseConfigResource("t.x")
	return append(list, Claim{Config(r), Read})
}()

type mask uint16

func reading(o int) mask { return 1 << (2 * o) }
func writing(o int) mask { return 1 << (2*o + 1) }

const counting mask = 1 << (2 * objects)

var setsOf = map[mask]Set{}

func (m mask) set() Set {
	s, ok := setsOf[m]
	if !ok {
		var list []Claim
		for i, c := range universe {
			if m&(1<<i) != 0 {
				list = append(list, c)
			}
		}
		s = Of(list...)
		setsOf[m] = s
	}
	return s
}

func maskOf(s Set) (m mask) {
	for i, c := range universe {
		if s.modes[c.Scope] == c.Mode {
			m |= 1 << i
		}
	}
	return m
}

// bits is a set of objects.
type bits uint8

func (b bits) has(o int) bool { return b&(1<<o) != 0 }
func bit(o int) bits          { return 1 << o }

// task is what a run wants to do.
type task struct {
	reads  []int
	counts bool  // how many instances x has
	writes []int // in this order
	create bool  // only objects that do not exist
	value  func(v values) int8
}

type values [objects]int8

func (v values) count() (n int8) {
	for _, o := range []int{x0, x1} {
		if v[o] != 0 {
			n++
		}
	}
	return n
}

// plans returns the objects that a task changes, given their values.
func (t *task) plans(v values) (list []int) {
	for _, o := range t.writes {
		if !t.create || v[o] == 0 {
			list = append(list, o)
		}
	}
	return list
}

// rules are the rules of the protocol. Each can be broken, to show that the search notices it.
type rules struct {
	noReads    bool // what is read is not claimed
	noAbsent   bool // what does not exist is not claimed
	noResource bool // of a counted resource only the existing instances are claimed
	noCheck    bool // what was read before the claims is not compared afterwards
	noFence    bool // records are accepted under an old epoch
	lapse      bool // claims of a dead run are removed without its results
	forget     bool // open operations of a dead run are not kept
	lateExport bool // the state for other programs is written after the rows
	noDigest   bool // writes of other programs are not noticed
}

type phase uint8

// What a run does next.
const (
	plans phase = iota
	locks
	takes
	folds // the dead run that it has taken over
	resolves
	intends
	calls
	results
	ends
	exports // only with lateExport
	done
	stopped // it has noticed that it may not continue
)

// run is a run with its entry in the ledger and its journal.
type run struct {
	phase
	dead   bool // the process has ended
	locked bool // its connection holds the shared lock

	seen, fresh values // the state and the world at the time of the plan
	seenOpen    bits   // the open operations then
	at          int8   // number of the next write
	epoch       uint8
	called      bits
	taking      int8 // the run being taken over, from 1
	takeEpoch   uint8

	// The entry.
	entry, open bool
	entryEpoch  uint8
	claims      mask
	// The journal.
	intents, got bits
	result, was  values
}

// system is everything that a step can change.
type system struct {
	world, rows, export values
	foreign             bool // another program wrote the export
	exclusive           bool // another program holds the lock
	other               uint8
	otherValue          int8
	runs                [maxRuns]run
	epoch               uint8
	made                values // how often each object was created
	unfolded            bits

	crashes, cuts, misjudged int8 // how many may still happen
}

type model struct {
	rules
	tasks []task
	other *int // the object that another program changes, or nil
}

// ledger returns the ledger that the entries form.
func (m *model) ledger(s *system) (l Ledger) {
	l.Epoch = uint64(s.epoch)
	for i := range m.tasks {
		if r := &s.runs[i]; r.entry {
			l.Entries = append(l.Entries, Entry{Run: strconv.Itoa(i), Epoch: uint64(r.entryEpoch), Open: r.open,
				Claims: r.claims.set()})
		}
	}
	return l
}

// store puts a ledger in the place of the one that it was made from.
func (m *model) store(s *system, l Ledger) {
	s.epoch = uint8(l.Epoch)
	for i := range m.tasks {
		r := &s.runs[i]
		e, ok := l.Entry(strconv.Itoa(i))
		r.entry, r.open, r.entryEpoch, r.claims = ok, e.Open, uint8(e.Epoch), maskOf(e.Claims)
		if !ok {
			r.intents, r.got, r.result, r.was = 0, 0, values{}, values{}
		}
	}
}

// overlay returns the state that a reader sees: the rows with the results of all journals, and the open operations of
// dead runs.
func (m *model) overlay(s *system) (v values, open bits) {
	v = s.rows
	if s.foreign {
		v = s.export
	}
	for i := range m.tasks {
		r := &s.runs[i]
		for o := range objects {
			if r.entry && r.got.has(o) && v[o] == r.was[o] {
				v[o] = r.result[o]
			}
		}
		if r.entry && (r.open || !r.locked) {
			open |= r.intents
		}
	}
	return v, open
}

// wants returns the claims of a task.
func (m *model) wants(t *task, v values) (c mask) {
	for _, o := range t.writes {
		if !m.noAbsent || v[o] != 0 {
			c |= writing(o)
		}
	}
	if m.noReads {
		return c
	}
	for _, o := range t.reads {
		if c&writing(o) == 0 {
			c |= reading(o)
		}
	}
	if t.counts && m.noResource {
		for _, o := range []int{x0, x1} {
			if v[o] != 0 {
				c |= reading(o)
			}
		}
	} else if t.counts {
		c |= counting
	}
	return c
}

// uses returns the objects that a task depends on.
func (t *task) uses() (u bits) {
	for _, list := range [][]int{t.reads, t.writes} {
		for _, o := range list {
			u |= bit(o)
		}
	}
	if t.counts {
		u |= bit(x0) | bit(x1)
	}
	return u
}

// inCall reports whether a process is about to perform an operation on one of the objects: it cannot be stopped.
func (m *model) inCall(s *system, which bits) bool {
	for i := range m.tasks {
		r := &s.runs[i]
		if r.phase == calls && !r.dead && which.has(m.target(r, i)) {
			return true
		}
	}
	return false
}

func (m *model) target(r *run, i int) int { return m.tasks[i].plans(r.fresh)[r.at] }

// edge is a possible step.
type edge struct {
	label string
	fault bool
	to    system
}

// next returns all possible steps.
func (m *model) next(s system) (list []edge) {
	for i := range m.tasks {
		r := &s.runs[i]
		if r.dead || r.phase == done || r.phase == stopped {
			continue
		}
		list = append(list, m.step(s, i)...)
		if s.crashes > 0 {
			c := s
			c.crashes--
			c.runs[i].dead, c.runs[i].locked = true, false
			list = append(list, edge{fmt.Sprint(i, " is killed"), true, c})
		}
		if s.cuts > 0 && r.locked {
			c := s
			c.cuts--
			c.runs[i].locked = false
			list = append(list, edge{fmt.Sprint(i, " loses its connection"), true, c})
		}
	}
	list = append(list, m.foreignSteps(s)...)
	for i := range list {
		list[i].to.forget()
	}
	return list
}

// forget removes what a run knew that has ended: states that differ only in that are the same.
func (s *system) forget() {
	for i := range s.runs {
		if r := &s.runs[i]; r.dead || r.phase == done || r.phase == stopped {
			r.seen, r.fresh, r.seenOpen, r.at, r.epoch, r.taking, r.takeEpoch = values{}, values{}, 0, 0, 0, 0, 0
			if r.dead && r.phase != done {
				r.phase = stopped
			}
		}
	}
}

// foreignSteps are those of a program that knows only the lock and the export: it adds 50 to an object.
func (m *model) foreignSteps(s system) (list []edge) {
	if m.other == nil {
		return nil
	}
	o := *m.other
	switch s.other {
	case 0:
		for i := range m.tasks {
			if s.runs[i].locked {
				return nil
			}
		}
		s.exclusive = true
	case 1:
		s.otherValue = s.export[o] + 50
		s.world[o] = s.otherValue
	case 2:
		s.export[o] = s.otherValue
		s.foreign = !m.noDigest
	case 3:
		s.exclusive = false
	default:
		return nil
	}
	s.other++
	return []edge{{fmt.Sprint("the other program does ", s.other), false, s}}
}

// step returns the possible next steps of a run: usually one.
func (m *model) step(s system, i int) []edge {
	r, t := &s.runs[i], &m.tasks[i]
	one := func(label string) []edge { return []edge{{fmt.Sprint(i, " ", label), false, s}} }
	switch r.phase {
	case plans:
		seen, open := m.overlay(&s)
		if m.inCall(&s, open&t.uses()) {
			return nil // whoever resolves an operation waits until it has ended
		}
		r.seen, r.fresh, r.seenOpen, r.phase = seen, s.world, open&t.uses(), locks
		return one("plans")
	case locks:
		if s.exclusive {
			return nil
		}
		r.locked, r.phase = true, takes
		return one("locks")
	case takes:
		return m.take(s, i)
	case folds:
		return m.fold(s, i)
	case calls:
		o := m.target(r, i)
		if r.fresh[o] == 0 {
			s.made[o]++
		}
		s.world[o] = t.value(r.fresh)
		r.called |= bit(o)
		r.phase = results
		return one("calls")
	}
	if !m.owns(&s, i) { // all others are statements
		r.locked, r.phase = false, stopped
		return one("stops")
	}
	return m.record(s, i, one)
}

// owns reports whether the store accepts records of a run.
func (m *model) owns(s *system, i int) bool {
	r := &s.runs[i]
	return r.locked && (m.noFence || m.ledger(s).Owns(strconv.Itoa(i), uint64(r.epoch)))
}

// record is a step that adds records of a run that owns its entry.
func (m *model) record(s system, i int, one func(string) []edge) []edge {
	r, t := &s.runs[i], &m.tasks[i]
	writes := t.plans(r.fresh)
	proceed := func() {
		if r.phase = ends; int(r.at) < len(writes) {
			r.phase = intends
		}
	}
	switch r.phase {
	case resolves: // open operations of other runs: the plan has read the objects
		for o := range objects {
			if r.intents.has(o) && t.uses().has(o) {
				r.intents &^= bit(o)
				r.got |= bit(o)
				r.result[o], r.was[o] = r.fresh[o], s.rows[o]
			}
		}
		proceed()
		s.runs[i] = *r
		return []edge{{fmt.Sprint(i, " resolves"), false, s}}
	case intends:
		o := writes[r.at]
		r.intents |= bit(o)
		r.phase = calls
		return []edge{{fmt.Sprint(i, " intends"), false, s}}
	case results:
		o := writes[r.at]
		r.intents &^= bit(o)
		if !r.got.has(o) {
			r.was[o] = s.rows[o]
		}
		r.got |= bit(o)
		r.result[o] = s.world[o]
		r.at++
		proceed()
		return []edge{{fmt.Sprint(i, " records a result"), false, s}}
	case exports:
		s.export = s.rows
		r.phase, r.locked = done, false
		return []edge{{fmt.Sprint(i, " exports"), false, s}}
	}
	m.settle(&s, i, uint64(r.epoch))
	if r = &s.runs[i]; m.lateExport {
		r.entry, r.entryEpoch, r.phase = true, r.epoch, exports
		return []edge{{fmt.Sprint(i, " ends"), false, s}}
	}
	r.phase, r.locked = done, false
	return []edge{{fmt.Sprint(i, " ends"), false, s}}
}

// settle is the transaction that moves the results of a journal into the rows, exports them, and reduces the entry to
// open operations.
func (m *model) settle(s *system, i int, epoch uint64) bool {
	r := &s.runs[i]
	if m.noFence && r.entry {
		epoch = uint64(r.entryEpoch)
	}
	var left mask
	for o := range objects {
		if r.intents.has(o) && !m.forget {
			left |= writing(o)
		}
	}
	l, err := m.ledger(s).Reduce(strconv.Itoa(i), epoch, left.set())
	if err != nil {
		return false
	}
	for o := range objects {
		switch {
		case !r.got.has(o):
		case s.rows[o] == r.was[o]:
			s.rows[o] = r.result[o]
		case s.rows[o] != r.result[o]:
			s.unfolded |= bit(o)
		}
	}
	r.got, r.result, r.was = 0, values{}, values{}
	if m.forget {
		r.intents = 0
	}
	if !m.lateExport {
		s.export = s.rows
	}
	m.store(s, l)
	return true
}

// take is the atomic step in which a run compares what it has read and takes its claims, or what it does about
// conflicts.
func (m *model) take(s system, i int) (list []edge) {
	r, t := &s.runs[i], &m.tasks[i]
	one := func(label string) []edge { return []edge{{fmt.Sprint(i, " ", label), false, s}} }
	if !r.locked {
		r.phase = stopped
		return one("stops")
	}
	if s.foreign { // the state of another program is read into the rows first
		s.rows, s.foreign = s.export, false
		return one("imports")
	}
	again := func() { *r = run{called: r.called, locked: false} }
	wants := m.wants(t, r.seen)
	l := m.ledger(&s)
	var over []Entry
	for _, c := range l.Conflicts(wants.set()) {
		j, _ := strconv.Atoi(c.With.Run)
		switch them := &s.runs[j]; {
		case c.With.Open:
			over = append(over, c.With)
		case !them.locked, s.misjudged > 0:
			if them.locked {
				s.misjudged--
			}
			if m.lapse {
				next, _ := l.Release(c.With.Run, c.With.Epoch)
				m.store(&s, next)
				return one("drops the claims of " + c.With.Run)
			}
			next, epoch, err := l.TakeOver(c.With.Run, c.With.Epoch)
			if err != nil {
				panic(err)
			}
			m.store(&s, next)
			r.taking, r.takeEpoch, r.phase = int8(j)+1, uint8(epoch), folds
			return one("takes over " + c.With.Run)
		default: // it plans again when the other run has ended
			again()
			return one("is refused")
		}
	}
	seen, open := m.overlay(&s)
	for o := range objects {
		if t.uses().has(o) && !m.noCheck && (seen[o] != r.seen[o] || open.has(o) != r.seenOpen.has(o)) {
			again()
			return one("finds changes")
		}
	}
	return append(list, m.taken(s, i, wants, over)...)
}

// taken adds the entry of a run, with the journals of those whose open operations it carries on.
func (m *model) taken(s system, i int, wants mask, over []Entry) []edge {
	r := &s.runs[i]
	next, conflicts, err := m.ledger(&s).Take(Entry{Run: strconv.Itoa(i), Claims: wants.set()}, over...)
	if err != nil || len(conflicts) > 0 {
		panic(fmt.Sprint("claims that do not conflict were refused: ", conflicts, err))
	}
	var intents bits
	for _, o := range over {
		j, _ := strconv.Atoi(o.Run)
		intents |= s.runs[j].intents
	}
	m.store(&s, next)
	r.intents, r.epoch, r.phase = intents, r.entryEpoch, resolves
	return []edge{{fmt.Sprint(i, " takes its claims"), false, s}}
}

// fold moves the results of a dead run into the rows.
func (m *model) fold(s system, i int) []edge {
	r := &s.runs[i]
	if !r.locked {
		r.phase = stopped
		return []edge{{fmt.Sprint(i, " stops"), false, s}}
	}
	m.settle(&s, int(r.taking-1), uint64(r.takeEpoch)) // false if another run was faster
	r = &s.runs[i]
	called := r.called
	*r = run{called: called} // it plans again, with the results
	return []edge{{fmt.Sprint(i, " folds"), false, s}}
}
