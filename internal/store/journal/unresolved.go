package journal

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/state"
)

// Unresolved holds the open operations that earlier runs left in a state.
type Unresolved struct {
	InFlight []state.InFlight
	Unfolded []state.Unfolded
}

// Len returns how many operations are open.
func (l *Unresolved) Len() int { return len(l.InFlight) + len(l.Unfolded) }

// Snapshot returns a state with the open operations.
func (l *Unresolved) Snapshot(st *state.State) *state.Snapshot {
	return &state.Snapshot{State: st, InFlight: slices.Clone(l.InFlight), Unfolded: slices.Clone(l.Unfolded)}
}

// Known checks that every token names an open operation.
func (l *Unresolved) Known(tokens []string) error {
	for _, t := range tokens {
		if !slices.ContainsFunc(l.InFlight, func(f state.InFlight) bool { return f.Token() == t }) &&
			!slices.ContainsFunc(l.Unfolded, func(u state.Unfolded) bool { return u.Token() == t }) {
			return fmt.Errorf("resolve: there is no open operation %s", t)
		}
	}
	return nil
}

// ErrOpen is the error that n operations of an interrupted run in the named state, if any, are not resolved yet.
func ErrOpen(n int, where string) error {
	text := fmt.Sprintf("%d operations of an interrupted run are not resolved yet", n)
	if where != "" {
		text = fmt.Sprintf("%s has %d operations of an interrupted run that are not resolved yet", where, n)
	}
	return diag.Advised(errors.New(text), "Resolve them first with \"%s\".", diag.Run("recover"))
}

// Forget removes resolved operations.
func (l *Unresolved) Forget(tokens []string) {
	l.InFlight = slices.DeleteFunc(slices.Clone(l.InFlight), func(f state.InFlight) bool {
		return slices.Contains(tokens, f.Token())
	})
	l.Unfolded = slices.DeleteFunc(slices.Clone(l.Unfolded), func(u state.Unfolded) bool {
		return slices.Contains(tokens, u.Token())
	})
}

// Carry returns the records of the operations that stay open.
func (l *Unresolved) Carry() ([]Record, error) { return Carry(l.InFlight, l.Unfolded) }

// LastSerial is the greatest serial that a run accepts, because every snapshot increases it.
const LastSerial = math.MaxUint64 - 1<<32

// Countable returns an error if the serial of a state is too large to be increased. where names the state in the error.
func Countable(st *state.State, where string) error {
	if st == nil || st.Serial <= LastSerial {
		return nil
	}
	return diag.Advised(
		fmt.Errorf("the state %s has serial %d, which is too close to the largest possible serial", where, st.Serial),
		"Print the state with \"%s\", give it a small serial, and write it with \"%s\".", diag.Run("state", "pull"),
		diag.Run("state", "push", "-force"))
}
