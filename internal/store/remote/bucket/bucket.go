// Package bucket is what drivers have in common that keep a state as one object of a bucket, and its journal in others
// beside it. They add how the bucket is asked, and what the lock is.
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

// Leaving is the time limit for releasing a lock that may not have been taken.
const Leaving = 10 * time.Second

// LockTries limits how often a lock is tried again because it disappears while it is read.
const LockTries = 5

// Store is where states are. Methods may be called concurrently.
type Store interface {
	// Read returns the object with a state.
	Read(ctx context.Context, name string) (remote.Content, error)
	// Write writes it. objects.ErrUnmet: another version stands there.
	Write(ctx context.Context, name string, w remote.Write) (version string, err error)
	// Forget removes it, with what belongs to it beside the journal. That it is not there is no error.
	Forget(ctx context.Context, name string) error
	// List calls a function for the names of all objects with a prefix.
	List(ctx context.Context, prefix string, each func(name string)) error
	// Name is how messages call an object.
	Name(name string) string
}

// Place is one state, without its lock.
type Place struct {
	Store   Store
	Object  string // name of the object
	Folder  string // what the names of those of the journal begin with
	Journal *objects.Journal

	space objects.Space
}

// New returns the place of a state, whose journal is in a space.
func New(s Store, object, folder string, space objects.Space) *Place {
	return &Place{Store: s, Object: object, Folder: folder, space: space, Journal: objects.New(space, folder, 0)}
}

// String implements remote.Place.
func (p *Place) String() string { return p.Store.Name(p.Object) }

// Read implements remote.Place.
func (p *Place) Read(ctx context.Context) (remote.Content, error) { return p.Store.Read(ctx, p.Object) }

// ReadJournal implements remote.Place.
func (p *Place) ReadJournal(ctx context.Context) (remote.Journal, error) { return p.Journal.Read(ctx) }

// Hold has the writes of a held lock.
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

// Changed returns the contract's error for an unmet condition.
func Changed(err error) error {
	if errors.Is(err, objects.ErrUnmet) {
		return remote.ErrChanged
	}
	return err
}

// Found is a held lock.
type Found struct {
	Info state.LockInfo
	Raw  string // as it stands there
	Tag  string // of the object
}

// ParseLock reads what stands in a lock. When that cannot be read, nothing is known but that the lock is held.
func ParseLock(raw, tag string) *Found {
	f := &Found{Raw: raw, Tag: tag}
	if err := json.Unmarshal([]byte(raw), &f.Info); err != nil {
		f.Info = state.LockInfo{}
	}
	return f
}

// Locked returns the error for a lock that another holds; nil is one of which nothing is known.
func (f *Found) Locked() error {
	if f == nil {
		return &state.LockedError{}
	}
	info := f.Info
	return &state.LockedError{Info: &info}
}

// HandsOff returns the error of freeing a lock that changed in the meantime.
func HandsOff(err error) error {
	if errors.Is(err, objects.ErrUnmet) {
		return remote.ErrTaken
	}
	return err
}

// Lost returns the contract's error for a lock that is not held any more.
func Lost(err error) error {
	if errors.Is(err, objects.ErrUnmet) {
		return remote.ErrLost
	}
	return err
}
