package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// For the other programs, the ID of a lock is the generation of its object, whatever its content. Tombolo's locks also
// have their own ID, by which a run recognizes its lock; both IDs release it.

// metaLock is the metadata entry with the ID of a lock of Tombolo.
const metaLock = "tombolo-lock"

// lockTries limits how often locking is tried again because the lock disappears while its holder is read.
const lockTries = 5

// releaseTimeout is the time limit for releasing a lock that may not have been acquired.
const releaseTimeout = 10 * time.Second

// Lock implements remote.Place.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	info.Path = p.bucket.url(p.lock)
	body, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		generation, err := p.bucket.put(ctx, p.lock, body, map[string]string{metaLock: info.ID}, "", plain)
		if err == nil {
			return &hold{p: p, generation: generation}, nil
		}
		if !errors.Is(err, objects.ErrUnmet) {
			return nil, errors.Join(err, p.leave(ctx, info.ID))
		}
		there, err := p.holder(ctx)
		if err != nil {
			return nil, err
		}
		if there != nil {
			return nil, &state.LockedError{Info: &there.info}
		}
		if try == lockTries {
			return nil, &state.LockedError{}
		}
	}
}

// leave releases a lock whose request got no response, even if the caller's context has ended.
func (p *place) leave(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	there, err := p.bucket.describe(ctx, p.lock)
	if err != nil || there == nil || there.Metadata[metaLock] != id {
		return nil // the release fails for the same reason as the lock, or another run holds it
	}
	_, err = p.bucket.remove(ctx, p.lock, there.Generation)
	return err
}

// found is a held lock.
type found struct {
	info       state.LockInfo
	generation string
}

// holder returns the lock holder, or nil if the lock is free.
func (p *place) holder(ctx context.Context) (*found, error) {
	for try := 1; ; try++ {
		there, err := p.bucket.describe(ctx, p.lock)
		if err != nil || there == nil {
			return nil, err
		}
		o, err := p.bucket.get(ctx, p.lock, there.Generation, plain)
		if err != nil {
			return nil, err
		}
		if o == nil && try < lockTries {
			continue // the lock was just released
		}
		f := &found{generation: there.Generation}
		if o == nil || json.Unmarshal(o.data, &f.info) != nil {
			f.info = state.LockInfo{} // its holder is unknown
		}
		if f.info.ID = f.generation; there.Metadata[metaLock] != "" {
			f.info.ID = there.Metadata[metaLock]
		}
		f.info.Path = p.bucket.url(p.lock) + "#" + f.generation
		return f, nil
	}
}

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	there, err := p.holder(ctx)
	if err != nil || there == nil {
		return nil, err
	}
	return &there.info, nil
}

// ForceUnlock implements remote.Place.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	there, err := p.holder(ctx)
	switch {
	case err != nil:
		return err
	case there == nil:
		return remote.ErrNotLocked
	case id != there.info.ID && id != there.generation:
		return remote.AnotherLock(id, there.info.ID)
	}
	_, err = p.bucket.remove(ctx, p.lock, there.generation)
	if errors.Is(err, objects.ErrUnmet) {
		return remote.ErrTaken
	}
	return err
}
