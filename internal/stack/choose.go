package stack

import (
	"path"

	"github.com/tombolo-iac/tombolo/diag"
)

// Choice selects units of a stack. The zero value selects all.
type Choice struct {
	// Patterns are names or patterns of names; none means all. Except are those of units to leave out.
	Patterns, Except []string
	// Changed, unless it is nil, also limits the choice to the units for which it is true.
	Changed map[*Unit]bool
	// Dependents and Dependencies add the units that depend on the chosen ones, and those that they depend on. Except
	// applies after that.
	Dependents, Dependencies bool
	// Hint explains a pattern that matches nothing, or returns ""; it may be nil.
	Hint func(pattern string) string
}

// Choose returns the chosen units in their order. A pattern that matches no unit is an error.
func (s *Stack) Choose(c Choice) ([]*Unit, diag.List) {
	first, diags := s.match("pattern", c.Patterns, c.Hint)
	without, more := s.match("pattern of -exclude", c.Except, nil)
	if diags = diags.Extend(more); diags.HasErrors() {
		return nil, diags
	}
	var chosen []*Unit
	for _, u := range s.Units {
		if (len(c.Patterns) == 0 || first[u]) && (c.Changed == nil || c.Changed[u]) {
			chosen = append(chosen, u)
		}
	}
	set := closure(chosen, func(*Unit) []*Unit { return nil })
	add := func(next func(u *Unit) []*Unit) {
		for u := range closure(chosen, next) {
			set[u] = true
		}
	}
	if c.Dependents {
		dependents := s.Dependents()
		add(func(u *Unit) []*Unit { return dependents[u] })
	}
	if c.Dependencies {
		for u := range set {
			chosen = append(chosen, u) // those of dependents, too
		}
		add(needs)
	}
	var list []*Unit
	for _, u := range s.Units {
		if set[u] && !without[u] {
			list = append(list, u)
		}
	}
	return list, nil
}

// match returns the units that match patterns.
func (s *Stack) match(what string, patterns []string, hint func(string) string) (map[*Unit]bool, diag.List) {
	set := map[*Unit]bool{}
	var diags diag.List
	for _, p := range patterns {
		_, exact := s.byName[p] // a name may have characters of patterns
		if _, err := path.Match(p, ""); err != nil && !exact {
			diags = diags.Errorf(nil, "Invalid pattern", "The %s %q is not valid: a \"[\" is not closed, or a "+
				"backslash is at its end.", what, p)
			continue
		}
		found := false
		for _, u := range s.Units {
			if p == u.Name || matches(p, u.Name) {
				set[u], found = true, true
			}
		}
		for _, u := range s.groups[p] {
			set[u], found = true, true
		}
		if !found && !diags.HasErrors() {
			var names []string
			for _, u := range s.Units {
				names = append(names, u.Name)
			}
			more := ""
			if hint != nil {
				more = hint(p)
			}
			diags = diags.Errorf(nil, "No units match", "The %s %q matches no unit.%s%s The command \"stack list\" "+
				"shows all units.", what, p, diag.DidYouMean(p, names), more)
		}
	}
	return set, diags
}
