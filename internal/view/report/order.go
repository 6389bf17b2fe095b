package report

import (
	"slices"

	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
)

// step is a part of an apply: all changes of one kind to one resource block.
type step struct {
	Kind    string `json:"k"` // write, destroy, dispose
	Block   string `json:"b"`
	Objects []int  `json:"o"`
}

var kinds = map[plan.StepKind]string{plan.Write: "write", plan.DestroyStep: "destroy", plan.Dispose: "dispose"}

// order returns the steps of a plan by the earliest time at which each can begin: the steps of a list depend on one in
// the list before. The plan's edges cover only deletions; writes also depend on the writes of their dependencies.
func order(p *plan.Plan, at map[*plan.Change]int, d *document, c *closures) [][]step {
	n := len(p.Steps)
	joins := len(c.nodes) // one for the writes of each node, after the steps
	after := make([][]int, n+joins)
	edge := func(from, to int) { after[from] = append(after[from], to) }
	direct := c.direct(func(int) bool { return true })
	objects := make([][]int, n)
	for i, s := range p.Steps {
		for _, change := range s.Changes {
			if o := at[p.Changes[change]]; d.Objects[o].Fate != "" {
				objects[i] = append(objects[i], o)
			}
		}
		for _, before := range s.After {
			edge(before, i)
		}
		own, known := c.at[s.Resource.Config()]
		if s.Kind != plan.Write || !known {
			continue
		}
		edge(i, n+own)
		for _, dep := range direct[own] {
			edge(n+dep, i)
		}
	}
	for node := range joins { // a node without steps passes on its dependencies
		for _, dep := range direct[node] {
			edge(n+dep, n+node)
		}
	}
	ranks := waves(after, func(i int) bool { return i < n && len(objects[i]) > 0 })
	var out [][]step
	for i, s := range p.Steps {
		if len(objects[i]) == 0 || kinds[s.Kind] == "" {
			continue
		}
		for len(out) <= ranks[i] {
			out = append(out, nil)
		}
		out[ranks[i]] = append(out[ranks[i]], step{kinds[s.Kind], view.CleanLine(s.Resource.String()), objects[i]})
	}
	return slices.DeleteFunc(out, func(steps []step) bool { return len(steps) == 0 })
}

// waves returns for each node the maximum number of counted nodes on a path before it.
func waves(after [][]int, counts func(int) bool) []int {
	ranks := longest(after)
	sorted := make([]int, len(after))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return ranks[a] - ranks[b] })
	out := make([]int, len(after))
	for _, i := range sorted {
		next := out[i]
		if counts(i) {
			next++
		}
		for _, to := range after[i] {
			if ranks[to] > ranks[i] {
				out[to] = max(out[to], next)
			}
		}
	}
	return out
}
