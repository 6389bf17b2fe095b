package stack

import (
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
)

// order sorts the units, or returns an error for a cycle.
func (s *Stack) order() (diags diag.List) {
	const (
		begun = 1
		done  = 2
	)
	status := map[*Unit]int{}
	var list, path []*Unit
	var visit func(u *Unit) bool
	visit = func(u *Unit) bool {
		switch status[u] {
		case done:
			return true
		case begun:
			diags = diags.Extend(cycle(path, u))
			return false
		}
		status[u] = begun
		path = append(path, u)
		for _, e := range u.Edges {
			if !visit(e.To) {
				return false
			}
		}
		path = path[:len(path)-1]
		status[u] = done
		list = append(list, u)
		return true
	}
	for _, u := range s.sorted() {
		if !visit(u) {
			return diags
		}
	}
	s.Units = list
	return nil
}

// cycle describes a cycle that ends with a unit of the path.
func cycle(path []*Unit, last *Unit) (diags diag.List) {
	from := 0
	for i, u := range path {
		if u == last {
			from = i
		}
	}
	var b strings.Builder
	for i, u := range path[from:] {
		to := last
		if from+i+1 < len(path) {
			to = path[from+i+1]
		}
		for _, e := range u.Edges {
			if e.To == to {
				b.WriteString("\n  " + u.Name + " needs " + to.Name + " (" + e.Kind() + ")")
			}
		}
	}
	at := last.Range
	return diags.Errorf(&at, "Units depend on each other", "These units form a cycle, so none of them can be the "+
		"first:%s\nRemove one of these dependencies.", b.String())
}

// closure returns a set of units with all that next leads to.
func closure(from []*Unit, next func(u *Unit) []*Unit) map[*Unit]bool {
	set := map[*Unit]bool{}
	for stack := append([]*Unit(nil), from...); len(stack) > 0; {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !set[u] {
			set[u] = true
			stack = append(stack, next(u)...)
		}
	}
	return set
}

// needs returns the direct dependencies of a unit.
func needs(u *Unit) (list []*Unit) {
	for _, e := range u.Edges {
		list = append(list, e.To)
	}
	return list
}

// Dependents returns the units that depend directly on each unit.
func (s *Stack) Dependents() map[*Unit][]*Unit {
	out := map[*Unit][]*Unit{}
	for _, u := range s.Units {
		for _, e := range u.Edges {
			out[e.To] = append(out[e.To], u)
		}
	}
	return out
}
