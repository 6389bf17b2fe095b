// Package remote keeps states in a service that several machines reach: a database, a bucket, a server. A Driver moves
// bytes and holds locks there; the store over it has everything else, the same for all services: the journal, its
// recovery, the rules for conflicts, and the watch over the lock.
//
// What is promised rests on three conditional writes. The state is replaced only while it is the one that was read. A
// journal is begun only while the one that was read is still the last. A chunk is added to a journal only under the
// next free number. So a run that has lost its lock, knowingly or not, can write nothing once another has begun: the
// state is only written after a checkpoint was added to the journal.
//
// A Kind describes a type of backend. Driver, Place and Hold are below the store what state.Store, state.Workspace and
// state.Session are above it: an opened backend, one state in it, and its lock with the writes that it allows.
package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/state"
)

// Driver stores the states of one backend as bytes, one state for each workspace. Methods may be called concurrently.
// It retries requests if the service requires that, and stops when its context ends.
type Driver interface {
	// Workspaces lists the workspaces that exist, in any order; the default workspace need not be among them.
	Workspaces(ctx context.Context) ([]string, error)
	// Place returns where the state of a workspace is kept. The name is usable as a part of a URL. Place sends no
	// requests.
	Place(workspace string) (Place, error)
	// Close closes connections. Nothing may be used afterwards.
	Close() error
}

// Naming is a Driver whose workspaces need not include the default one.
type Naming interface {
	// Named reports whether there is no default workspace: each one was made under its own name. only is the name
	// of the one that there is, if the settings say so.
	Named() (only string, yes bool)
}

// Place stores one state, with its lock and its journal. It holds no resources. Methods may be called concurrently.
type Place interface {
	// String is the place as messages name it. It has no secrets.
	String() string
	// Read returns the state.
	Read(ctx context.Context) (Content, error)
	// ReadJournal returns the journal. In a backend that has no room for one it is ErrNoJournal.
	ReadJournal(ctx context.Context) (Journal, error)
	// Lock takes the lock. It tries once: a lock of another is a *state.LockedError, with the known details of the
	// holder. It creates nothing that a later Read or Workspaces shows, unless the service needs it.
	Lock(ctx context.Context, info state.LockInfo) (Hold, error)
	// Unlocked returns a hold without the lock (-lock=false). The conditional writes hold there too.
	Unlocked(ctx context.Context) (Hold, error)
	// Holder returns the holder of the lock; nil if it is free. Unknown details are empty.
	Holder(ctx context.Context) (*state.LockInfo, error)
	// ForceUnlock releases the lock with this ID, which another run holds, or returns the reason why that is not
	// possible.
	ForceUnlock(ctx context.Context, id string) error
}

// Distinct is a Place whose String does not distinguish it from all others. Files on this machine are named after
// Distinct's result.
type Distinct interface {
	// Distinct is the same for the same state, at all times, and another for each other. It is not shown.
	Distinct() string
}

// Hold is a held lock, with the writes that it allows. Check and the writes may be called concurrently; the
// same kind of write is called once at a time.
//
// An error that is neither ErrChanged nor ErrLost leaves open whether the write has happened: the store looks.
type Hold interface {
	// Write replaces the whole state while its version is still the given one, "" for none, and returns the new
	// version. It is durable when it returns. ErrChanged: the stored version is another one. UnfinishedError: the state
	// may be stored without its additional data.
	Write(ctx context.Context, w Write) (version string, err error)
	// StartJournal replaces the whole journal while its version is still the given one, and returns the new version:
	// the first chunk of a new journal, or none at all, which ends the old one. A version never comes again.
	// ErrChanged: the journal is another one.
	StartJournal(ctx context.Context, was string, first []byte) (version string, err error)
	// Append adds the chunk with the number n, counted from 0 with the first, to the journal of this version. It is
	// durable when it returns. ErrChanged: the journal is another one, or has a chunk with that number.
	Append(ctx context.Context, version string, n int, chunk []byte) error
	// Check renews the lock, if locks have to be renewed, and checks that it is still held. ErrLost: it is not. With
	// any other error it is not known.
	Check(ctx context.Context) error
	// Delete removes the state, the journal and whatever else belongs to the workspace, except for the lock. What is
	// not there is no error.
	Delete(ctx context.Context) error
	// Unlock frees the lock. ErrLost: it was not held any more.
	Unlock(ctx context.Context) error
}

// Named is a Hold whose lock got its id from the service. It replaces the one in the information, wherever
// the lock is shown, and in its holder's journal.
type Named interface {
	// ID is "" without the lock.
	ID() string
}

// Content is a state as it is stored.
type Content struct {
	// Data is nil when nothing is stored.
	Data []byte
	// Version identifies this content; "" when nothing is stored. Different contents have different versions.
	Version string
}

// Journal is a journal as it is stored: its chunks, one behind the other, are what was appended.
type Journal struct {
	// Version is that of StartJournal; "" where there never was one.
	Version string
	// Chunks is empty when there is no journal now.
	Chunks [][]byte
}

// Write is a state to be stored.
type Write struct {
	Data []byte
	// Was is the version that it replaces; "" when nothing is stored.
	Was string
	// Lineage and Serial are those in Data, for use without decoding it.
	Lineage string
	Serial  uint64
	// Revision describes what made it, for stores that keep a history.
	Revision history.Revision
	// Document returns the state as "show -json" prints it, for services that show it to people; nil where it is not
	// known. Document is nil where states are encrypted, or their schemas unknown.
	Document func() []byte
}

// AnotherLock is the error of ForceUnlock where the lock has another id.
func AnotherLock(id, holder string) error {
	return fmt.Errorf("lock id %q does not match the id of the existing lock, %q", id, holder)
}

// Errors that drivers return in addition to those of their services.
var (
	// ErrChanged means that the content to be replaced has changed. Nothing was written.
	ErrChanged = errors.New("another run has changed it")
	// ErrLost means that the lock is not held any more.
	ErrLost = errors.New("the lock is no longer held")
	// ErrNotLocked means that there is no lock to free.
	ErrNotLocked = errors.New("the state is not locked")
	// ErrTaken means that a lock to be freed is not the one any more that was looked at.
	ErrTaken = errors.New("another run has just taken the lock. Check who holds it")
	// ErrNoJournal means that a backend has no room for a journal. It is kept on this machine then.
	ErrNoJournal = errors.New("the backend does not keep a journal")
	// ErrNoWorkspaces means that a backend has one state and no more.
	ErrNoWorkspaces = state.ErrNoWorkspaces
)

// UnfinishedError means that a state may have been written without its additional data. Repeating the write completes
// it, even if the data is stored already.
type UnfinishedError struct{ Err error }

// Error implements error.
func (e *UnfinishedError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *UnfinishedError) Unwrap() error { return e.Err }
