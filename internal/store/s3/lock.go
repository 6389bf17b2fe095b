package s3

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// lockTries limits how often locking is tried again because the lock disappears while its holder is read.
const lockTries = 5

// Lock implements remote.Place. If both locks are configured, it acquires the object before the item of the table, as
// other programs do.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	body, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	if p.d.s.lockFile {
		err = p.takeFile(ctx, body)
	}
	if err == nil && p.d.table != nil {
		err = p.takeItem(ctx, string(body))
	}
	if err != nil {
		return nil, errors.Join(err, p.leave(ctx, info.ID))
	}
	return &hold{p: p, id: info.ID}, nil
}

// releaseTimeout limits the release of a lock that was only partly acquired.
const releaseTimeout = 10 * time.Second

// leave releases a lock that was only partly acquired: one of two, or one whose response was lost. It continues if the
// caller's context has ended.
func (p *place) leave(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	file, entry, err := p.holders(ctx)
	if err != nil {
		return nil // the release fails for the same reason as the lock, which was already reported
	}
	if entry != nil && entry.info.ID == id {
		err = p.d.table.unlock(ctx, p.item(), entry.raw)
	}
	if file != nil && file.info.ID == id {
		err = errors.Join(err, p.d.bucket.remove(ctx, p.lockKey(), file.etag))
	}
	return err
}

// takeFile creates the lock object.
func (p *place) takeFile(ctx context.Context, body []byte) error {
	if err := p.ready(ctx); err != nil {
		return err
	}
	if p.d.bucket.conditions.ignored(condition{absent: true}) {
		return fmt.Errorf("%s cannot be locked by an object: the service ignores the condition If-None-Match, so two "+
			"runs could hold the lock. Use dynamodb_table instead of use_lockfile, or another service", p)
	}
	for try := 1; ; try++ {
		_, err := p.d.bucket.put(ctx, p.lockKey(), body, about{tags: p.d.bucket.s.lockTags}, condition{absent: true})
		if !errors.Is(err, errUnmet) {
			return err
		}
		there, err := p.file(ctx)
		if err != nil {
			return err
		}
		if there == nil && try == lockTries {
			return &state.LockedError{Err: fmt.Errorf("%s cannot be locked: the service reports both that the object "+
				"%s exists and that it does not. Unless another run keeps taking and releasing the lock, the service "+
				"treats the marker of a deleted version as an object. With such a service, use a bucket without "+
				"versioning, or dynamodb_table instead of use_lockfile", p, p.d.bucket.name(p.lockKey()))}
		}
		if there != nil {
			return there.locked()
		}
	}
}

// takeItem creates the lock item.
func (p *place) takeItem(ctx context.Context, info string) error {
	for try := 1; ; try++ {
		err := p.d.table.lock(ctx, p.item(), info)
		if !errors.Is(err, errUnmet) {
			return err
		}
		there, err := p.entry(ctx)
		if err != nil {
			return err
		}
		if there != nil || try == lockTries {
			return there.locked()
		}
	}
}

// found is a held lock.
type found struct {
	info state.LockInfo
	raw  string // as stored
	etag string // of the object
}

func parseLock(raw, etag string) *found {
	f := &found{raw: raw, etag: etag}
	if err := json.Unmarshal([]byte(raw), &f.info); err != nil {
		f.info = state.LockInfo{} // its holder is unknown
	}
	return f
}

func (f *found) locked() error {
	if f == nil {
		return &state.LockedError{}
	}
	info := f.info
	return &state.LockedError{Info: &info}
}

// file returns the holder of the lock object, or nil if it is free.
func (p *place) file(ctx context.Context) (*found, error) {
	o, err := p.d.bucket.get(ctx, p.lockKey())
	if err != nil || o == nil {
		return nil, err
	}
	return parseLock(string(o.data), o.etag), nil
}

// entry returns the holder of the lock item, or nil if it is free.
func (p *place) entry(ctx context.Context) (*found, error) {
	raw, err := p.d.table.text(ctx, p.item(), itemInfo)
	if err != nil || raw == "" {
		return nil, err
	}
	return parseLock(raw, ""), nil
}

// holders returns the holders of both locks. Each is nil if there is no such lock or if it is free.
func (p *place) holders(ctx context.Context) (file, entry *found, err error) {
	var errs [2]error
	var wg sync.WaitGroup
	if p.d.table != nil {
		wg.Go(func() { entry, errs[1] = p.entry(ctx) })
	}
	if p.d.s.lockFile {
		file, errs[0] = p.file(ctx)
	}
	wg.Wait()
	return file, entry, errors.Join(errs[:]...)
}

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	file, entry, err := p.holders(ctx)
	switch {
	case err != nil:
		return nil, err
	case file != nil:
		return &file.info, nil
	case entry != nil:
		return &entry.info, nil
	}
	return nil, nil
}

// ForceUnlock implements remote.Place. A lock with another id is kept.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	file, entry, err := p.holders(ctx)
	if err != nil {
		return err
	}
	released := false
	var other *found
	if entry != nil && entry.info.ID == id {
		if err := handsOff(p.d.table.unlock(ctx, p.item(), entry.raw)); err != nil {
			return err
		}
		released = true
	} else if entry != nil {
		other = entry
	}
	if file != nil && file.info.ID == id {
		if err := handsOff(p.d.bucket.remove(ctx, p.lockKey(), file.etag)); err != nil {
			return err
		}
		released = true
	} else if file != nil {
		other = file
	}
	switch {
	case released:
		return nil
	case other == nil && !p.d.s.lockFile && p.d.table == nil:
		return errors.New("the state has no lock, because neither use_lockfile nor dynamodb_table is set")
	case other == nil:
		return remote.ErrNotLocked
	}
	return remote.AnotherLock(id, other.info.ID)
}

func handsOff(err error) error {
	if errors.Is(err, errUnmet) {
		return remote.ErrTaken
	}
	return err
}
