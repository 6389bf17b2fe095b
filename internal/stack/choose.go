package stack

import (
	"path"
	"strings"

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
}

// Choose returns the chosen units in their order. A pattern that matches no unit is an error.
func (s *Stack) Choose(c Choice) ([]*Unit, diag.List) {
	first, diags := s.match("pattern", c.Patterns)
	without, more := s.match("pattern of -exclude", c.Except)
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
func (s *Stack) match(what string, patterns []string) (map[*Unit]bool, diag.List) {
	set := map[*Unit]bool{}
	var diags diag.List
	for _, p := range patterns {
		found := false
		for _, u := range s.Units {
			ok, err := p == u.Name, error(nil) // a name may have characters of patterns
			if !ok {
				ok, err = matchName(p, u.Name)
			}
			if err != nil {
				diags = diags.Errorf(nil, "Invalid pattern", "The %s %q is not valid: a \"[\" is not closed, or a "+
					"backslash is at its end.", what, p)
				break
			}
			if ok {
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
			diags = diags.Errorf(nil, "No units match", "The %s %q matches no unit.%s The command \"stack list\" "+
				"shows all units.", what, p, diag.DidYouMean(p, names))
		}
	}
	return set, diags
}

// matchName matches part by part; ** stands for any number of parts.
func matchName(pattern, name string) (bool, error) {
	return matchParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchParts(pattern, name []string) (bool, error) {
	if len(pattern) == 0 {
		return len(name) == 0, nil
	}
	if pattern[0] == "**" {
		for i := 0; i <= len(name); i++ {
			if ok, err := matchParts(pattern[1:], name[i:]); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}
	if len(name) == 0 {
		_, err := path.Match(pattern[0], "")
		return false, err
	}
	ok, err := path.Match(pattern[0], name[0])
	if !ok || err != nil {
		return false, err
	}
	return matchParts(pattern[1:], name[1:])
}
