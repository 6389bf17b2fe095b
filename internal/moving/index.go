package moving

import (
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/graph"
)

// token is one step of an address pattern.
type token struct {
	name string
	key  addr.Key
	any  bool // matches every key
}

// tokens returns the pattern of an end: all instances of the declaring module, then its own steps.
func (e end) tokens() []token {
	var out []token
	for _, c := range e.decl.Calls() {
		out = append(out, token{name: "module." + c, any: true})
	}
	for i, s := range e.steps {
		out = append(out, token{name: "module." + s.Call, key: s.Key, any: e.whole && e.isModule() &&
			i == len(e.steps)-1})
	}
	if !e.isModule() {
		out = append(out, token{name: e.resource.String(), key: e.key, any: e.whole})
	}
	return out
}

// index finds the statements that affect an address, so that ordering n statements takes linear and not quadratic time.
type index struct{ from, to *branch }

// branch is a node in a tree of patterns.
type branch struct {
	here []int // statements whose pattern ends here
	next map[string]*fork
}

// fork distinguishes the keys of one name.
type fork struct {
	any   *branch
	exact map[addr.Key]*branch
}

func newIndex(statements []*statement) *index {
	x := &index{from: &branch{}, to: &branch{}}
	for i, s := range statements {
		x.add(i, s)
	}
	return x
}

func (x *index) add(i int, s *statement) {
	x.from.add(s.from.tokens(), i)
	x.to.add(s.to.tokens(), i)
}

func (b *branch) add(tokens []token, i int) {
	for _, t := range tokens {
		if b.next == nil {
			b.next = map[string]*fork{}
		}
		f := b.next[t.name]
		if f == nil {
			f = &fork{exact: map[addr.Key]*branch{}}
			b.next[t.name] = f
		}
		if t.any {
			if f.any == nil {
				f.any = &branch{}
			}
			b = f.any
			continue
		}
		if f.exact[t.key] == nil {
			f.exact[t.key] = &branch{}
		}
		b = f.exact[t.key]
	}
	b.here = append(b.here, i)
}

// match visits the patterns that overlap with one: those for the same object and, with inside set, those that contain
// it. All instances contain one instance.
func (b *branch) match(tokens []token, visit func(i int, inside bool)) {
	b.matchFrom(tokens, false, visit)
}

// matchFrom is like match, after the first tokens; wider means that a pattern matches all instances where the last
// token has one.
func (b *branch) matchFrom(tokens []token, wider bool, visit func(i int, inside bool)) {
	for _, i := range b.here {
		visit(i, wider || len(tokens) > 0)
	}
	if len(tokens) == 0 {
		return
	}
	t := tokens[0]
	f := b.next[t.name]
	if f == nil {
		return
	}
	if f.any != nil {
		f.any.matchFrom(tokens[1:], !t.any, visit)
	}
	if !t.any {
		if e := f.exact[t.key]; e != nil {
			e.matchFrom(tokens[1:], false, visit)
		}
		return
	}
	for _, e := range f.exact {
		e.matchFrom(tokens[1:], false, visit)
	}
}

// mentions reports whether a statement refers to the resource of an end, with any key.
func (x *index) mentions(e end) bool {
	tokens := e.tokens()
	tokens[len(tokens)-1].any = true
	found := false
	for _, b := range []*branch{x.from, x.to} {
		b.match(tokens, func(_ int, inside bool) { found = found || !inside })
	}
	return found
}

// order sorts the statements: chains are in order, moves within a module come before those of the module, and moves
// within its new address after that. Statements that depend on each other are returned as cycles.
func (x *index) order(statements []*statement) ([]int, [][]*statement) {
	after := make([][]int, len(statements)) // predecessors of each
	wait := func(later, earlier int) {
		if later != earlier {
			after[later] = append(after[later], earlier)
		}
	}
	for i, s := range statements {
		from, to := s.from.tokens(), s.to.tokens()
		arriving := map[int]bool{} // statements that move a module to an address that contains those of s
		x.to.match(from, func(j int, inside bool) {
			wait(i, j)
			arriving[j] = inside
		})
		x.to.match(to, func(j int, inside bool) {
			if inside {
				wait(i, j)
			}
		})
		// Moves within a module come before the move of the module, unless there is the same statement for the new
		// address: a statement of the module itself applies in all its instances, even after one of them has moved.
		inner := func(j int, inside bool) {
			if inside && !arriving[j] {
				wait(j, i)
			}
		}
		x.from.match(from, inner)
		x.from.match(to, inner)
	}
	var cycles [][]*statement
	for _, group := range graph.Cycles(len(statements), func(i int) []int { return after[i] }) {
		slices.Sort(group)
		var list []*statement
		for _, i := range group {
			list = append(list, statements[i])
		}
		cycles = append(cycles, list)
	}
	if len(cycles) > 0 {
		return nil, cycles
	}
	return sorted(after), nil
}

// sorted returns an order in which each comes after its predecessors; there must be no cycles.
func sorted(after [][]int) []int {
	type frame struct{ i, next int }
	out := make([]int, 0, len(after))
	seen := make([]bool, len(after))
	for start := range after {
		if seen[start] {
			continue
		}
		seen[start] = true
		stack := []frame{{i: start}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next == len(after[f.i]) {
				out = append(out, f.i)
				stack = stack[:len(stack)-1]
				continue
			}
			j := after[f.i][f.next]
			f.next++
			if !seen[j] {
				seen[j] = true
				stack = append(stack, frame{i: j})
			}
		}
	}
	return out
}
