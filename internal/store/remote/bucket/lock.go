package bucket

import (
	"context"
	"errors"

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

// Take takes a lock that is a slot, with its information as it is stored.
func Take(ctx context.Context, s Slot, id, raw string) error {
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

// Check ensures that the lock with this id is still held.
func Check(ctx context.Context, s Slot, id string) error {
	if id == "" {
		return ctx.Err()
	}
	there, err := s.Look(ctx)
	if err == nil && (there == nil || there.Info.ID != id) {
		err = objects.ErrUnmet
	}
	return Lost(err)
}

// Release frees the lock with this id.
func Release(ctx context.Context, s Slot, id string) error {
	if id == "" {
		return ctx.Err()
	}
	there, err := s.Look(ctx)
	switch {
	case err != nil:
		return err
	case there == nil || there.Info.ID != id:
		return Lost(objects.ErrUnmet)
	}
	return Lost(s.Remove(ctx, there))
}

// Force frees the lock with this id, which another took.
func Force(ctx context.Context, s Slot, id string) error {
	there, err := s.Look(ctx)
	if err == nil {
		err = there.Frees(id)
	}
	if err != nil {
		return err
	}
	return HandsOff(s.Remove(ctx, there))
}

// Holder returns who holds the lock.
func Holder(ctx context.Context, s Slot) (*state.LockInfo, error) {
	there, err := s.Look(ctx)
	return there.Holder(err)
}
