package suite

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

// A queue holds the runs of a file in the order of their reports. after holds the indexes of the runs that each waits
// for, which are smaller than its own.
type queue struct {
	runs  []*testfile.Run
	after [][]int
}

// ordered returns the runs of a file in the order of the file, except for parallel runs: such a run waits for the runs
// that it refers to, wherever they are.
func ordered(f *testfile.File, of Configs) (q queue) {
	after := make(map[*testfile.Run][]*testfile.Run, len(f.Runs))
	for i, run := range f.Runs {
		after[run] = waitsFor(f, i, of)
	}
	left := slices.Clone(f.Runs)
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(run *testfile.Run) bool {
			return !slices.ContainsFunc(after[run], func(other *testfile.Run) bool {
				return slices.Contains(left, other)
			})
		})
		next = max(next, 0) // a cycle: the first one reports the missing value
		q.runs = append(q.runs, left[next])
		left = slices.Delete(left, next, next+1)
	}
	q.after = make([][]int, len(q.runs))
	for i, run := range q.runs {
		for j, before := range q.runs[:i] { // in a cycle, one has become the first
			if slices.Contains(after[run], before) || slices.Contains(after[before], run) {
				q.after[i] = append(q.after[i], j)
			}
		}
	}
	return q
}

// all returns the indexes of the runs that a run waits for, transitively.
func (q queue) all(i int) (out []int) {
	found := make([]bool, i)
	for _, j := range q.after[i] {
		found[j] = true
	}
	for j := i - 1; j >= 0; j-- {
		if found[j] {
			out = append(out, j)
			for _, k := range q.after[j] {
				found[k] = true
			}
		}
	}
	return out
}

// waitsFor returns the runs that must end before another one: all runs before it or, if it may run in parallel, the
// last run before it that may not, earlier ones with its state, and those that it refers to.
func waitsFor(f *testfile.File, i int, of Configs) (out []*testfile.Run) {
	run, before := f.Runs[i], f.Runs[:i]
	if !run.Parallel {
		return slices.Clone(before)
	}
	barrier := false
	for _, other := range slices.Backward(before) {
		if !barrier && !other.Parallel || stateKey(other) == stateKey(run) {
			out = append(out, other)
		}
		barrier = barrier || !other.Parallel
	}
	m := mentioned{file: f, runs: map[string]bool{}, seen: map[string]bool{}}
	for _, attr := range run.Variables {
		m.expression(attr.Expr)
	}
	for _, c := range run.Asserts {
		m.expression(c.Condition)
		m.expression(c.ErrorMessage)
	}
	for _, p := range chosen(f, run) {
		if cfg := of(run); p.mock == nil && cfg != nil && cfg.Uses()[cfg.Root.ProviderFor(p.as.LocalName)] {
			m.expression(p.block.ForEach)
			m.body(p.block.Body)
		}
	}
	for _, other := range f.Runs {
		if m.runs[other.Name] && other != run {
			out = append(out, other)
		}
	}
	return out
}

// mentioned is the set of runs that expressions refer to, directly or through variables of the file.
type mentioned struct {
	file       *testfile.File
	runs, seen map[string]bool
}

func (m mentioned) expression(e hcl.Expression) {
	if e == nil {
		return
	}
	for _, t := range e.Variables() {
		m.reference(t)
	}
}

func (m mentioned) reference(t hcl.Traversal) {
	name, named := nameOf(t, 1)
	switch {
	case named && t.RootName() == "run":
		m.runs[name] = true
	case named && t.RootName() == "var" && m.file.Variables[name] != nil && !m.seen[name]:
		m.seen[name] = true
		m.expression(m.file.Variables[name].Expr)
	}
}

// body adds the runs to which any expression of a block refers.
func (m mentioned) body(b hcl.Body) {
	if native, ok := b.(*hclsyntax.Body); ok {
		_ = hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics {
			if e, ok := n.(*hclsyntax.ScopeTraversalExpr); ok {
				m.reference(e.Traversal)
			}
			return nil
		})
		return
	}
	attrs, _ := b.JustAttributes() // decoding the block reports the problems
	for _, attr := range attrs {
		m.expression(attr.Expr)
	}
}

// stateKey returns the name of the state of a run.
func stateKey(run *testfile.Run) string {
	if run.StateKey == "" && run.Module != nil {
		return run.Module.Source
	}
	return run.StateKey
}
