package journal

import (
	"fmt"
	"math"
	"slices"

	"github.com/tombolo-iac/tombolo/state"
)

// Left is what runs have left open in a state.
type Left struct {
	InFlight []state.InFlight
	Unfolded []state.Unfolded
}

// Len returns how many operations are open.
func (l *Left) Len() int { return len(l.InFlight) + len(l.Unfolded) }

// Snapshot returns a state with what is open in it.
func (l *Left) Snapshot(st *state.State) *state.Snapshot {
	return &state.Snapshot{State: st, InFlight: slices.Clone(l.InFlight), Unfolded: slices.Clone(l.Unfolded)}
}

// Known ensures that every token names something open.
func (l *Left) Known(tokens []string) error {
	for _, t := range tokens {
		if !slices.ContainsFunc(l.InFlight, func(f state.InFlight) bool { return f.Token() == t }) &&
			!slices.ContainsFunc(l.Unfolded, func(u state.Unfolded) bool { return u.Token() == t }) {
			return fmt.Errorf("resolve: no open operation is called %s", t)
		}
	}
	return nil
}

// Forget removes what was settled.
func (l *Left) Forget(tokens []string) {
	l.InFlight = slices.DeleteFunc(slices.Clone(l.InFlight), func(f state.InFlight) bool {
		return slices.Contains(tokens, f.Token())
	})
	l.Unfolded = slices.DeleteFunc(slices.Clone(l.Unfolded), func(u state.Unfolded) bool {
		return slices.Contains(tokens, u.Token())
	})
}

// Carry makes the records of what stays open.
func (l *Left) Carry() ([]Record, error) { return Carry(l.InFlight, l.Unfolded) }

// LastSerial is the greatest serial of a state that is continued: every snapshot takes one more.
const LastSerial = math.MaxUint64 - 1<<32

// Countable refuses a state on which no run can count on. Where says what it is called.
func Countable(st *state.State, where string) error {
	if st == nil || st.Serial <= LastSerial {
		return nil
	}
	return fmt.Errorf("the state %s has serial %d, which is too close to the largest possible serial. Pull the "+
		"state, give it a small serial, and write it with state push -force", where, st.Serial)
}
