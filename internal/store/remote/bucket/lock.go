package bucket

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// Slot is where one thing can be at a time: an object of a name, a row of a table. It is put where nothing is, and
// removed while it is what was seen.
type Slot interface {
	// Look returns what is there; nil when nothing is.
	Look(ctx context.Context) (*Found, error)
	// Put puts it where nothing is. objects.ErrUnmet: something is there. What is there already because an answer was
	// lost is what was put.
	Put(ctx context.Context, raw string) error
	// Remove removes it while it is what was found. objects.ErrUnmet: it is not any more.
	Remove(ctx context.Context, f *Found) error
}

// take takes a lock that is a slot, with its information as it is stored.
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

// leave releases a lock whose request got no answer. It continues if the caller's context has ended.
func leave(ctx context.Context, s Slot, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Leaving)
	defer cancel()
	there, err := s.Look(ctx)
	if err != nil || there == nil || there.Info.ID != id {
		return nil // it could not be taken for the same reason, or is that of another
	}
	return s.Remove(ctx, there)
}

// Locked is a state whose lock is a slot.
type Locked struct {
	*Place
	Slot Slot   // nil: there is no lock
	None string // why there is none, for who wants to free it
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
	return HandsOff(l.Slot.Remove(ctx, there))
}

// mine returns the lock, while it is the one that was taken.
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
