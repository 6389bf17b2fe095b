package bucket

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// Slot is a place for one item, such as the name of an object or a row of a table. An item can only be created if the
// slot is empty, and only removed if it is the one that was read.
type Slot interface {
	// Look returns the item, or nil if the slot is empty.
	Look(ctx context.Context) (*Found, error)
	// Put creates the item. It returns objects.ErrUnmet if the slot is not empty, unless it contains this very item
	// because a response was lost.
	Put(ctx context.Context, raw string) error
	// Remove removes the item that was found. It returns objects.ErrUnmet if that is no longer there.
	Remove(ctx context.Context, f *Found) error
}

// take acquires a lock by storing its encoded information in the slot.
func take(ctx context.Context, s Slot, id, raw string) error {
	for try := 1; ; try++ {
		err := s.Put(ctx, raw)
		if err == nil {
			return nil
		}
		if !errors.Is(err, objects.ErrUnmet) {
			return errors.Join(err, leave(ctx, s, id))
		}
		there, err := s.Look(ctx)
		if err != nil {
			return err
		}
		if there != nil || try == LockTries {
			return there.Locked()
		}
	}
}

// leave releases a lock whose request got no response, even if the caller's context has ended.
func leave(ctx context.Context, s Slot, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Leaving)
	defer cancel()
	there, err := s.Look(ctx)
	if err != nil || there == nil || there.Info.ID != id {
		return nil // the release fails for the same reason as the lock, or another run holds it
	}
	return s.Remove(ctx, there)
}

// Locked is a state with a lock in a slot.
type Locked struct {
	*Place
	Slot Slot   // nil if there is no lock
	None string // why there is no lock, for errors
}

// held is a held lock. Without an id, the state is not locked.
type held struct {
	Hold
	slot Slot
	id   string
}

// Unlocked implements remote.Place.
func (l *Locked) Unlocked(context.Context) (remote.Hold, error) { return l.hold(""), nil }

func (l *Locked) hold(id string) *held { return &held{Hold{l.Place}, l.Slot, id} }

// Lock implements remote.Place.
func (l *Locked) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	if l.Slot == nil {
		return l.hold(""), nil
	}
	body, err := json.Marshal(info)
	if err == nil {
		err = take(ctx, l.Slot, info.ID, string(body))
	}
	if err != nil {
		return nil, err
	}
	return l.hold(info.ID), nil
}

// Holder implements remote.Place.
func (l *Locked) Holder(ctx context.Context) (*state.LockInfo, error) {
	if l.Slot == nil {
		return nil, nil
	}
	there, err := l.Slot.Look(ctx)
	if err != nil || there == nil {
		return nil, err
	}
	return &there.Info, nil
}

// ForceUnlock implements remote.Place.
func (l *Locked) ForceUnlock(ctx context.Context, id string) error {
	if l.Slot == nil {
		return errors.New(l.None)
	}
	there, err := l.Slot.Look(ctx)
	switch {
	case err != nil:
		return err
	case there == nil:
		return remote.ErrNotLocked
	case there.Info.ID != id:
		return remote.AnotherLock(id, there.Info.ID)
	}
	return ReleaseError(l.Slot.Remove(ctx, there))
}

// mine returns the lock if it is still the acquired one.
func (h *held) mine(ctx context.Context) (*Found, error) {
	there, err := h.slot.Look(ctx)
	if err == nil && (there == nil || there.Info.ID != h.id) {
		err = remote.ErrLost
	}
	return there, err
}

// Check implements remote.Hold.
func (h *held) Check(ctx context.Context) error {
	if h.id == "" {
		return ctx.Err()
	}
	_, err := h.mine(ctx)
	return err
}

// Unlock implements remote.Hold.
func (h *held) Unlock(ctx context.Context) error {
	if h.id == "" {
		return ctx.Err()
	}
	there, err := h.mine(ctx)
	if err != nil {
		return err
	}
	return Lost(h.slot.Remove(ctx, there))
}
