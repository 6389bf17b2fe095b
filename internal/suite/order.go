package suite

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

// ordered returns the runs of a file in the order in which they are executed. That is the order of the file, except for
// parallel runs: such a run waits for the runs that it refers to, wherever they are.
func ordered(f *testfile.File) (out []*testfile.Run) {
	after := make(map[*testfile.Run][]*testfile.Run, len(f.Runs))
	for i, run := range f.Runs {
		after[run] = waitsFor(f, i)
	}
	left := slices.Clone(f.Runs)
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(run *testfile.Run) bool {
			return !slices.ContainsFunc(after[run], func(other *testfile.Run) bool {
				return slices.Contains(left, other)
			})
		})
		next = max(next, 0) // they wait for each other: the first one reports the missing value
		out = append(out, left[next])
		left = slices.Delete(left, next, next+1)
	}
	return out
}

// waitsFor returns the runs that have to end before another one: all runs before it or, if it may run in parallel, the
// last one before it that may not, those before it with its state, and those that it refers to.
func waitsFor(f *testfile.File, i int) (out []*testfile.Run) {
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
	named := map[string]bool{}
	seen := map[string]bool{}
	for _, attr := range run.Variables {
		mentioned(f, attr.Expr, named, seen)
	}
	for _, c := range run.Asserts {
		mentioned(f, c.Condition, named, seen)
		mentioned(f, c.ErrorMessage, named, seen)
	}
	for _, other := range f.Runs {
		if named[other.Name] && other != run {
			out = append(out, other)
		}
	}
	return out
}

// mentioned notes the runs that an expression refers to, itself or by variables of the file.
func mentioned(f *testfile.File, e hcl.Expression, runs, seen map[string]bool) {
	if e == nil {
		return
	}
	for _, t := range e.Variables() {
		name, named := nameOf(t, 1)
		switch {
		case named && t.RootName() == "run":
			runs[name] = true
		case named && t.RootName() == "var" && f.Variables[name] != nil && !seen[name]:
			seen[name] = true
			mentioned(f, f.Variables[name].Expr, runs, seen)
		}
	}
}

// stateKey names the state that a run works on.
func stateKey(run *testfile.Run) string {
	if run.StateKey == "" && run.Module != nil {
		return run.Module.Source
	}
	return run.StateKey
}
