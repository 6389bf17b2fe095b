package journal

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tombolo-iac/tombolo/state"
)

// Replacing returns the state that a session writes when its caller replaces base with st. It has the lineage of base,
// unless st has one, and no new serial yet. The result same reports that the content does not change. Without force, st
// must fit.
func Replacing(base, st *state.State, force bool) (c state.State, same bool, err error) {
	if !force {
		if err := state.Fits(base, st); err != nil {
			return c, false, err
		}
	}
	c = *st
	if c.Lineage == "" && base != nil {
		c.Lineage = base.Lineage
	}
	same = base != nil && c.SameContent(base)
	if c.Serial > LastSerial && !same {
		return c, false, fmt.Errorf("write the state: its serial %d is too large to be increased. Give the state a "+
			"smaller serial", c.Serial)
	}
	return c, same, nil
}

// Resolve resolves open operations: through the journal of the run if one is open, otherwise with alone. usable returns
// why the session cannot be used, if so. usable, running and alone are called with the lock held.
func (l *Unresolved) Resolve(lock sync.Locker, running func() *Open, usable func() error, tokens []string,
	edits []state.Edit, alone func(ResolveRecord, []state.Edit) error) error {
	raw, err := state.EncodeEdits(edits)
	if err != nil {
		return fmt.Errorf("resolve: %w", err)
	}
	record := ResolveRecord{Tokens: tokens, Edits: raw}
	lock.Lock()
	if err := errors.Join(l.Known(tokens), usable()); err != nil {
		lock.Unlock()
		return err
	}
	j := running()
	if j == nil {
		defer lock.Unlock()
		if err := alone(record, edits); err != nil {
			return fmt.Errorf("resolve: %w", err)
		}
		return nil
	}
	lock.Unlock() // the journal may need it to write a snapshot
	if err := j.Resolve(record, edits); err != nil {
		return fmt.Errorf("resolve: %w", err)
	}
	lock.Lock()
	defer lock.Unlock()
	l.Forget(tokens)
	return nil
}

// Folded returns a state with edits applied, and whether they change it.
func Folded(base *state.State, edits []state.Edit) (*state.State, bool) {
	b := base.Builder()
	b.Fold(edits...)
	st := b.State()
	return st, !st.SameContent(base)
}
