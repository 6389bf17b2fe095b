// Package claims decides which runs may work on one state at the same time.
//
// A run claims what it reads and what it writes, all at once and before it changes anything. Two claims conflict if
// they overlap and one of them is for writing. A Ledger holds the claims of all runs of a state; its entries never
// conflict. Its changes are pure functions: a store keeps the ledger and makes each change one atomic step.
//
// An object that a run creates is claimed before it exists, and a run that depends on how many instances a resource has
// claims the resource, so that no other run adds one. A run that finds that it needs more than it has claimed ends and
// plans again: claims are never widened.
//
// The claims of a run that died stay. Another run takes over: this raises the epoch of the entry, after which the dead
// run, should it still be working, can record nothing. Then it folds the results of the dead run into the state and
// keeps the claims of operations whose results are unknown, until they are resolved.
//
//	next, conflicts, err := ledger.Take(claims.Entry{Run: id, Claims: set})
//	if len(conflicts) > 0 {
//		return &claims.HeldError{Conflicts: conflicts}
//	}
package claims

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Mode is how a run uses what it claims.
type Mode uint8

// The modes. A run that writes also reads.
const (
	Read Mode = 1 + iota
	Write
)

// Set holds the claims of a run: the mode of each scope. The zero value claims nothing. Sets are immutable.
type Set struct{ modes map[Scope]Mode }

// Claim is one element of a set.
type Claim struct {
	Scope Scope
	Mode  Mode
}

// Of returns a set with these claims. For a scope that is claimed twice, the stronger mode counts.
func Of(list ...Claim) Set {
	s := Set{make(map[Scope]Mode, len(list))}
	for _, c := range list {
		if c.Scope != (Scope{}) {
			s.modes[c.Scope] = max(s.modes[c.Scope], c.Mode)
		}
	}
	return s
}

// Whole returns the claims of a run that may change anything.
func Whole() Set { return Of(Claim{Everything(), Write}) }

// Len returns the number of claims.
func (s Set) Len() int { return len(s.modes) }

// All returns the claims, sorted by scope.
func (s Set) All() []Claim {
	list := make([]Claim, 0, len(s.modes))
	for scope, mode := range s.modes {
		list = append(list, Claim{scope, mode})
	}
	slices.SortFunc(list, func(a, b Claim) int {
		if c := strings.Compare(a.Scope.text, b.Scope.text); c != 0 {
			return c
		}
		return strings.Compare(string(a.Scope.kind), string(b.Scope.kind))
	})
	return list
}

// Union returns a set with the claims of both.
func (s Set) Union(o Set) Set { return Of(append(s.All(), o.All()...)...) }

// Allows reports whether a run with these claims may use a scope in this mode: whether one claim contains the scope.
func (s Set) Allows(c Claim) bool {
	if s.modes[c.Scope] >= c.Mode {
		return true
	}
	for scope, mode := range s.modes {
		if mode >= c.Mode && !scope.single() && scope.Contains(c.Scope) {
			return true
		}
	}
	return false
}

// Overlap is a pair of claims of two sets that conflict.
type Overlap struct{ Ours, Theirs Claim }

// Conflicts returns the claims of two sets that overlap, if at least one of each pair is for writing, sorted by ours.
// It returns at most one pair for each of our claims.
func (s Set) Conflicts(o Set) (list []Overlap) {
	if len(s.modes) == 0 || len(o.modes) == 0 {
		return nil
	}
	x := indexOf(o)
	for _, ours := range s.All() {
		if theirs, ok := x.conflict(ours); ok {
			list = append(list, Overlap{ours, theirs})
		}
	}
	return list
}

// index finds overlapping claims without comparing each pair: claims of single instances by their text, others by their
// resource.
type index struct {
	single map[Scope]Claim    // of one instance or output
	by     map[string][]Claim // all claims of a resource, by its address without keys
	wild   map[string][]Claim // those of more than one instance
	broad  []Claim            // claims of modules and everything
	all    []Claim
}

func indexOf(s Set) *index {
	x := &index{single: map[Scope]Claim{}, by: map[string][]Claim{}, wild: map[string][]Claim{}, all: s.All()}
	for _, c := range x.all {
		config := c.Scope.config()
		if c.Scope.single() {
			x.single[c.Scope] = c
		} else if config != "" {
			x.wild[config] = append(x.wild[config], c)
		} else {
			x.broad = append(x.broad, c)
		}
		if config != "" {
			x.by[config] = append(x.by[config], c)
		}
	}
	return x
}

// conflict returns a claim of the index that conflicts with this one.
func (x *index) conflict(c Claim) (Claim, bool) {
	config := c.Scope.config()
	lists := [][]Claim{x.all}
	if c.Scope.single() {
		if found, ok := x.single[c.Scope]; ok && (found.Mode == Write || c.Mode == Write) {
			return found, true
		}
		lists = [][]Claim{x.broad, x.wild[config]}
	} else if config != "" {
		lists = [][]Claim{x.broad, x.by[config]}
	}
	for _, list := range lists {
		for _, theirs := range list {
			if (theirs.Mode == Write || c.Mode == Write) && c.Scope.Overlaps(theirs.Scope) {
				return theirs, true
			}
		}
	}
	return Claim{}, false
}

// stored is the form in which sets are kept.
type stored struct {
	Write []Scope `json:"write,omitempty"`
	Read  []Scope `json:"read,omitempty"`
}

// MarshalJSON returns the stored form: lists of scopes, sorted.
func (s Set) MarshalJSON() ([]byte, error) {
	var out stored
	for _, c := range s.All() {
		if c.Mode == Write {
			out.Write = append(out.Write, c.Scope)
		} else {
			out.Read = append(out.Read, c.Scope)
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the stored form. Unknown members are an error, because they may be claims.
func (s *Set) UnmarshalJSON(b []byte) error {
	var members map[string][]Scope
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	var list []Claim
	for name, scopes := range members {
		mode, ok := map[string]Mode{"write": Write, "read": Read}[name]
		if !ok {
			return fmt.Errorf("claims of the kind %q are unknown to this version of the program", name)
		}
		for _, scope := range scopes {
			list = append(list, Claim{scope, mode})
		}
	}
	*s = Of(list...)
	return nil
}

// Equal reports whether two sets have the same claims.
func (s Set) Equal(o Set) bool { return maps.Equal(s.modes, o.modes) }
