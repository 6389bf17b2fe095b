// Package remote keeps states in a service that several machines reach: a database, a bucket, a server. A Driver moves
// bytes and holds locks there. The store on top implements everything else, in the same way for all services: the
// journal, recovery, the rules for conflicts, and the renewal of the lock.
//
// The guarantees rest on three conditional writes. The state is replaced only while it is the version that was read. A
// journal is begun only while the one that was read is the last. A chunk is added to a journal only with the next free
// number. So a run that has lost its lock, knowingly or not, cannot write after another run has begun: the state is
// only written after a checkpoint was added to the journal.
//
// A Kind describes a type of backend. Driver, Place and Hold correspond to state.Store, state.Workspace and
// state.Session, one level below: an opened backend, one state in it, and its lock with the writes that the lock
// allows.
package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/state"
)

// Driver stores the states of one backend as bytes, one state for each workspace. Its methods may be called
// concurrently. It retries requests if the service requires that, and stops when the context ends.
type Driver interface {
	// Workspaces lists the workspaces that exist, in any order; the default workspace need not be among them.
	Workspaces(ctx context.Context) ([]string, error)
	// Place returns the place of a workspace's state. The name must be usable as a part of a URL. Place sends no
	// requests.
	Place(workspace string) (Place, error)
	// Close closes connections. The driver must not be used afterwards.
	Close() error
}

// Naming is a Driver whose workspaces need not include the default one.
type Naming interface {
	// Named reports whether there is no default workspace, because each workspace was created under its own name. only
	// is the name of the single workspace, if the settings select one.
	Named() (only string, yes bool)
}

// Place stores one state, with its lock and its journal. It holds no resources. Its methods may be called concurrently.
type Place interface {
	// String returns the name of the place in messages. It contains no secrets.
	String() string
	// Read returns the state.
	Read(ctx context.Context) (Content, error)
	// ReadJournal returns the journal, or ErrNoJournal if the backend cannot store one.
	ReadJournal(ctx context.Context) (Journal, error)
	// Lock acquires the lock. It tries once: if another run holds the lock, it returns a *state.LockedError with the
	// known details of the holder. It creates nothing that a later Read or Workspaces shows, unless the service
	// requires that.
	Lock(ctx context.Context, info state.LockInfo) (Hold, error)
	// Unlocked returns a hold without the lock (-lock=false). Its writes are conditional as well.
	Unlocked(ctx context.Context) (Hold, error)
	// Holder returns the holder of the lock, or nil if it is free. Unknown details are empty.
	Holder(ctx context.Context) (*state.LockInfo, error)
	// ForceUnlock releases the lock with this ID, which another run holds, or returns the reason why it cannot.
	ForceUnlock(ctx context.Context, id string) error
}

// Distinct is a Place whose String is not unique. Files on this machine are named after the result of Distinct.
type Distinct interface {
	// Distinct returns a text that always identifies the same state and no other. It is not shown.
	Distinct() string
}

// Probing is a Place whose Holder takes the lock for a moment, because the service has no other query for it.
type Probing interface{ HolderTakesTheLock() }

// Hold is a held lock, with the writes that it allows. Check and the writes may be called concurrently, but each kind
// of write only once at a time.
//
// If a write returns an error other than ErrChanged and ErrLost, it may have happened: the store checks that.
type Hold interface {
	// Write replaces the state if its version is w.Was, and returns the new version. The state is durable when Write
	// returns. Errors: ErrChanged if the stored version is another one; UnfinishedError if the state may be stored
	// without its additional data.
	Write(ctx context.Context, w Write) (version string, err error)
	// StartJournal replaces the journal if its version is was, and returns the new version. first is the first chunk of
	// the new journal; without one, the journal ends. A version is never used again. It returns ErrChanged if the
	// journal has another version.
	StartJournal(ctx context.Context, was string, first []byte) (version string, err error)
	// Append adds chunk n, counted from 0, to the journal of this version. The chunk is durable when Append returns. It
	// returns ErrChanged if the journal has another version or already has a chunk n.
	Append(ctx context.Context, version string, n int, chunk []byte) error
	// Check renews the lock, if locks must be renewed, and checks that it is still held. It returns ErrLost if it is
	// not. With any other error that is unknown.
	Check(ctx context.Context) error
	// Delete removes the state, the journal and all other data of the workspace. It may also remove the lock, which it
	// checks first: it returns ErrLost if the lock is no longer held. Missing data is not an error.
	Delete(ctx context.Context) error
	// Unlock releases the lock. It returns ErrLost if the lock was no longer held.
	Unlock(ctx context.Context) error
}

// Named is a Hold whose service assigns the ID of the lock. That ID replaces the one in the lock information, wherever
// the lock is shown, and in the holder's journal.
type Named interface {
	// ID returns the ID, or "" without the lock.
	ID() string
}

// Content is a stored state.
type Content struct {
	// Data is nil if no state is stored.
	Data []byte
	// Version identifies this content; it is "" if no state is stored. Different contents have different versions.
	Version string
}

// Journal is a stored journal: its chunks, concatenated, are the appended data.
type Journal struct {
	// Version is the result of StartJournal, or "" if there never was a journal.
	Version string
	// Chunks is empty if there is no current journal.
	Chunks [][]byte
}

// Write is a state to be stored.
type Write struct {
	Data []byte
	// Was is the version to be replaced, or "" if no state is stored.
	Was string
	// Lineage and Serial are those in Data, so that it need not be decoded.
	Lineage string
	Serial  uint64
	// Revision describes the run that wrote the state, for stores that keep a history.
	Revision history.Revision
	// Document returns the state as "show -json" prints it, for services that display it. It is nil if states are
	// encrypted or if their schemas are unknown. It may return nil.
	Document func() []byte
}

// AnotherLock returns the error of ForceUnlock if the lock has another ID.
func AnotherLock(id, holder string) error {
	return fmt.Errorf("lock id %q does not match the id of the existing lock, %q", id, holder)
}

// Errors that drivers return in addition to those of their services.
var (
	// ErrChanged means that the content to be replaced has changed. Nothing was written.
	ErrChanged = errors.New("another run has changed it")
	// ErrLost means that the lock is no longer held.
	ErrLost = errors.New("the lock is no longer held")
	// ErrNotLocked means that there is no lock to release.
	ErrNotLocked = errors.New("the state is not locked")
	// ErrTaken means that a lock to be released is no longer the one that was read.
	ErrTaken = errors.New("another run has just taken the lock. Check who holds it")
	// ErrNoJournal means that a backend cannot store a journal. The journal is then kept on this machine.
	ErrNoJournal = errors.New("the backend does not keep a journal")
	// ErrHolderUnknown means that a backend cannot tell who holds a lock without taking it.
	ErrHolderUnknown = errors.New("the backend cannot tell who holds the lock without taking it")
	// ErrNoWorkspaces means that a backend supports only one state.
	ErrNoWorkspaces = state.ErrNoWorkspaces
)

// UnfinishedError means that a state may have been written without its additional data. Repeating the write completes
// it, even if the data is already stored.
type UnfinishedError struct{ Err error }

// Error implements error.
func (e *UnfinishedError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *UnfinishedError) Unwrap() error { return e.Err }
