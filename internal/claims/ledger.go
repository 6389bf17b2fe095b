package claims

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Entry is a run in a ledger.
type Entry struct {
	// Run is the ID of the run. It is never used again.
	Run string `json:"run"`
	// Epoch is the number under which the run may record something, or the run that has taken over.
	Epoch  uint64 `json:"epoch"`
	Claims Set    `json:"claims"`
	// Open means that the run has ended and was folded into the state: the claims are those of its operations whose
	// results are unknown.
	Open bool `json:"open,omitempty"`
	// Who, Command and Since describe the run in messages.
	Who     string    `json:"who,omitempty"`
	Command string    `json:"command,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// Ledger holds the claims of all runs of a state. The zero value is the ledger of a state without runs. Ledgers are
// immutable: each change returns a new one, which a store must put in the place of the one it was made from in one
// atomic step.
type Ledger struct {
	// Epoch is the last number that was given out.
	Epoch   uint64  `json:"epoch"`
	Entries []Entry `json:"entries,omitempty"`
}

// Conflict is an entry that prevents a run from taking its claims.
type Conflict struct {
	With     Entry
	Overlaps []Overlap
}

// ErrFenced means that a run may record nothing more, because another run has taken over.
var ErrFenced = errors.New("another run has taken over: this run was taken for dead")

// Take adds an entry with all its claims, or returns the conflicts and changes nothing. The epoch of the entry is set.
//
// over are entries of open operations that the run resolves or carries on: in the same step they are removed, and their
// claims are added to those of the run. If one of them has changed, the error is ErrFenced.
func (l Ledger) Take(e Entry, over ...Entry) (Ledger, []Conflict, error) {
	if _, ok := l.Entry(e.Run); ok {
		return l, nil, fmt.Errorf("the run %s has claims already", e.Run)
	}
	next := l
	for _, o := range over {
		have, ok := next.Entry(o.Run)
		if !ok || have.Epoch != o.Epoch || !have.Open {
			return l, nil, ErrFenced
		}
		next, _ = next.Release(o.Run, o.Epoch)
		e.Claims = e.Claims.Union(have.Claims)
	}
	if conflicts := next.Conflicts(e.Claims); len(conflicts) > 0 {
		return l, conflicts, nil
	}
	next.Epoch++
	e.Epoch = next.Epoch
	next.Entries = append(slices.Clone(next.Entries), e)
	return next, nil, nil
}

// Conflicts returns the entries that conflict with a set.
func (l Ledger) Conflicts(s Set) (list []Conflict) {
	for _, have := range l.Entries {
		if overlaps := s.Conflicts(have.Claims); len(overlaps) > 0 {
			list = append(list, Conflict{have, overlaps})
		}
	}
	return list
}

// Entry returns the entry of a run.
func (l Ledger) Entry(run string) (Entry, bool) {
	i := slices.IndexFunc(l.Entries, func(e Entry) bool { return e.Run == run })
	if i < 0 {
		return Entry{}, false
	}
	return l.Entries[i], true
}

// Owns reports whether a run may still record something under its epoch.
func (l Ledger) Owns(run string, epoch uint64) bool {
	e, ok := l.Entry(run)
	return ok && e.Epoch == epoch
}

// TakeOver returns the ledger in which a dead run has a new epoch, and that epoch: from now on only the caller can
// record something for the run. epoch is the one that the caller has seen; if it is not the current one, another run
// was faster, and the error is ErrFenced.
func (l Ledger) TakeOver(run string, epoch uint64) (Ledger, uint64, error) {
	l.Epoch++
	next, err := l.change(run, epoch, func(e *Entry) bool { e.Epoch = l.Epoch; return true })
	return next, l.Epoch, err
}

// Release removes the entry of a run whose results are all in the state.
func (l Ledger) Release(run string, epoch uint64) (Ledger, error) {
	return l.change(run, epoch, func(*Entry) bool { return false })
}

// Reduce leaves a run only the claims of its open operations, which must be among its claims. Without any, it releases
// the run.
func (l Ledger) Reduce(run string, epoch uint64, open Set) (Ledger, error) {
	if open.Len() == 0 {
		return l.Release(run, epoch)
	}
	var beyond error
	next, err := l.change(run, epoch, func(e *Entry) bool {
		for _, c := range open.All() {
			if !e.Claims.Allows(c) {
				beyond = fmt.Errorf("run %s has not claimed %s", run, c.Scope)
			}
		}
		e.Claims, e.Open = open, true
		return true
	})
	if err == nil {
		err = beyond
	}
	if err != nil {
		return l, err
	}
	return next, nil
}

// change replaces the entry of a run with a changed copy, or removes it if the function returns false.
func (l Ledger) change(run string, epoch uint64, f func(*Entry) bool) (Ledger, error) {
	if !l.Owns(run, epoch) {
		return l, ErrFenced
	}
	var entries []Entry
	for _, e := range l.Entries {
		if e.Run != run || f(&e) {
			entries = append(entries, e)
		}
	}
	l.Entries = entries
	return l, nil
}

// HeldError means that other runs have claimed what a run needs. Nothing was changed.
type HeldError struct{ Conflicts []Conflict }

// most is the number of claims that a message lists for each run.
const most = 5

// Error names each run, what it does with what, and since when.
func (e *HeldError) Error() string {
	var runs []string
	for _, c := range e.Conflicts {
		var parts []string
		for i, o := range c.Overlaps {
			if i == most {
				parts = append(parts, fmt.Sprintf("and %d more", len(c.Overlaps)-most))
				break
			}
			parts = append(parts, o.String())
		}
		runs = append(runs, c.With.String()+": "+strings.Join(parts, "; "))
	}
	return strings.Join(runs, "\n")
}

// String returns who runs what, and since when.
func (e Entry) String() string {
	who, command, since := e.Who, "a run", ""
	if who == "" {
		who = "someone without a name"
	}
	if e.Command != "" {
		command = fmt.Sprintf("%q", e.Command)
	}
	if !e.Since.IsZero() {
		since = " since " + e.Since.UTC().Format(time.DateTime+" UTC")
	}
	if e.Open {
		return fmt.Sprintf("operations of %s by %s that were interrupted (run %s)", command, who, e.Run)
	}
	return fmt.Sprintf("%s by %s%s (run %s)", command, who, since, e.Run)
}

// String returns what the other run does, and what this one would do.
func (o Overlap) String() string {
	theirs, ours := "reads", "change"
	if o.Theirs.Mode == Write {
		theirs = "changes"
	}
	if o.Ours.Mode == Read {
		ours = "read"
	}
	text := fmt.Sprintf("it %s %s, which this run would %s", theirs, o.Theirs.Scope, ours)
	if o.Ours.Scope != o.Theirs.Scope {
		text = fmt.Sprintf("it %s %s, and this run would %s %s", theirs, o.Theirs.Scope, ours, o.Ours.Scope)
	}
	return text
}
