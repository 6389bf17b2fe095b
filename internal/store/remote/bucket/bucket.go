// Package bucket is the common part of drivers that keep a state in one object of a bucket, with the journal in other
// objects. Such a driver implements the access to the bucket and the lock.
//
//	p := &place{Place: bucket.New(objects, "network.tfstate", "network.tombolo/", space)}
package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// Leaving is the time limit for releasing a lock that may not have been acquired.
const Leaving = 10 * time.Second

// LockTries limits how often locking is tried again because the lock disappears while its holder is read.
const LockTries = 5

// Store stores states. Its methods may be called concurrently.
type Store interface {
	// Read returns a state.
	Read(ctx context.Context, name string) (remote.Content, error)
	// Write replaces a state. It returns objects.ErrUnmet if another version is stored.
	Write(ctx context.Context, name string, w remote.Write) (version string, err error)
	// Forget deletes a state and its additional data, except for the journal. A missing state is not an error.
	Forget(ctx context.Context, name string) error
	// List calls each for the names of all objects with a prefix.
	List(ctx context.Context, prefix string, each func(name string)) error
	// Name returns the name of an object in messages.
	Name(name string) string
}

// Place is one state, without its lock.
type Place struct {
	Store   Store
	Object  string // name of the object
	Folder  string // prefix of the journal's objects
	Journal *objects.Journal

	space objects.Space
}

// New returns the place of a state whose journal is in a space.
func New(s Store, object, folder string, space objects.Space) *Place {
	return &Place{Store: s, Object: object, Folder: folder, space: space, Journal: objects.New(space, folder, 0)}
}

// String implements remote.Place.
func (p *Place) String() string { return p.Store.Name(p.Object) }

// Read implements remote.Place.
func (p *Place) Read(ctx context.Context) (remote.Content, error) { return p.Store.Read(ctx, p.Object) }

// ReadJournal implements remote.Place.
func (p *Place) ReadJournal(ctx context.Context) (remote.Journal, error) { return p.Journal.Read(ctx) }

// Hold implements the writes of a held lock.
type Hold struct{ Place *Place }

// Write implements remote.Hold.
func (h Hold) Write(ctx context.Context, w remote.Write) (string, error) {
	version, err := h.Place.Store.Write(ctx, h.Place.Object, w)
	return version, Changed(err)
}

// StartJournal implements remote.Hold.
func (h Hold) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	version, err := h.Place.Journal.Start(ctx, was, first)
	return version, Changed(err)
}

// Append implements remote.Hold.
func (h Hold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	return Changed(h.Place.Journal.Add(ctx, version, n, chunk))
}

// Delete implements remote.Hold. The journal is removed last: while it exists, the state can still be recovered.
func (h Hold) Delete(ctx context.Context) error {
	p := h.Place
	if err := p.Store.Forget(ctx, p.Object); err != nil {
		return err
	}
	return p.Clear(ctx)
}

// Clear removes the journal.
func (p *Place) Clear(ctx context.Context) error {
	var names []string
	if err := p.Store.List(ctx, p.Folder, func(name string) { names = append(names, name) }); err != nil {
		return err
	}
	p.Journal.Forget()
	errs := make([]error, len(names))
	objects.Each(len(names), func(i int) { errs[i] = p.space.Remove(ctx, names[i]) })
	return errors.Join(errs...)
}

// Changed translates an unmet condition to the contract's error.
func Changed(err error) error {
	if errors.Is(err, objects.ErrUnmet) {
		return remote.ErrChanged
	}
	return err
}

// Found is a held lock.
type Found struct {
	Info state.LockInfo
	Raw  string // as stored
	Tag  string // of the object
}

// ParseLock decodes a stored lock. If the text is invalid, only the fact that the lock is held is known.
func ParseLock(raw, tag string) *Found {
	f := &Found{Raw: raw, Tag: tag}
	if err := json.Unmarshal([]byte(raw), &f.Info); err != nil {
		f.Info = state.LockInfo{}
	}
	return f
}

// Locked returns the error for a lock that another run holds. f is nil if the lock disappeared before it was read.
func (f *Found) Locked() error {
	if f == nil {
		return &state.LockedError{}
	}
	info := f.Info
	return &state.LockedError{Info: &info}
}

// ReleaseError returns the error of releasing a lock that has changed in the meantime.
func ReleaseError(err error) error {
	if errors.Is(err, objects.ErrUnmet) {
		return remote.ErrTaken
	}
	return err
}

// Lost returns the contract's error for a lock that is no longer held.
func Lost(err error) error {
	if errors.Is(err, objects.ErrUnmet) {
		return remote.ErrLost
	}
	return err
}
