// Package ownstore guards a run against faults in a store of the calling program. It converts these to errors that name
// the store's method: a panic, the end of its goroutine, an empty result, and a call that does not return when it is
// cancelled. So a run can still record the operations under way, and release the lock.
//
//	st := ownstore.Guard(o.Store, o.Abort)
//
// Stores of this module need no guard, and are returned as they are.
package ownstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tombolo-iac/tombolo/internal/callback"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
)

// grace is how long a call may take to return once its context has ended. It is longer than for a provider, because a
// store may be writing important data. Partial results are recorded within a provider call, and must end before it
// does.
const (
	grace        = 30 * time.Second
	partialGrace = 5 * time.Second
)

// Guard returns a store whose methods always return. When abort ends, calls without a context end, too.
func Guard(s state.Store, abort context.Context) state.Store {
	if _, ours := s.(*store.Local); ours || s == nil {
		return s
	}
	if abort == nil {
		abort = context.Background()
	}
	return &guarded{inner: s, calls: calls{abort, grace}}
}

// Unwrap returns the session of the calling program's store.
func Unwrap(s state.Session) state.Session {
	if g, ok := s.(*session); ok {
		return g.inner
	}
	return s
}

// calls are calls of a store. abort cancels them all.
type calls struct {
	abort context.Context
	grace time.Duration
}

// call calls a method with a result. The error names the method unless the store returned it. late receives a result
// that comes too late.
func call[R any](c calls, ctx context.Context, method string, f func() (R, error), late func(R)) (R, error) {
	type answer struct {
		value R
		err   error
	}
	until, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.abort, cancel)()
	got, err := callback.Await(until, c.grace, func() (a answer) {
		a.value, a.err = f()
		return a
	}, func(a answer) {
		if late != nil && a.err == nil {
			late(a.value)
		}
	})
	if err != nil {
		return got.value, c.faulty(method, err)
	}
	return got.value, got.err
}

// do calls a method that only returns an error.
func (c calls) do(ctx context.Context, method string, f func() error) error {
	_, err := call(c, ctx, method, func() (struct{}, error) { return struct{}{}, f() }, nil)
	return err
}

// get calls a method that only returns a value.
func get[R any](c calls, method string, f func() R) (R, error) {
	return call(c, context.Background(), method, func() (R, error) { return f(), nil }, nil)
}

// faulty returns the error for a call that did not return properly.
func (c calls) faulty(method string, err error) error {
	if err == callback.ErrLost {
		return fmt.Errorf("%s of the store did not return within %s after it was cancelled, so the run no longer "+
			"waits for it: %w. Its outcome is not known", method, c.grace, context.Canceled)
	}
	return fmt.Errorf("%s of the store failed: %w. This is a bug in the store", method, err)
}

// noResult returns the error for a method that returned neither a result nor an error.
func noResult(method string) error {
	return fmt.Errorf("%s of the store returned nil, and no error. This is a bug in the store", method)
}

type guarded struct {
	calls
	inner state.Store
}

// Workspaces implements state.Store.
func (g *guarded) Workspaces(ctx context.Context) ([]string, error) {
	return call(g.calls, ctx, "Workspaces", func() ([]string, error) { return g.inner.Workspaces(ctx) }, nil)
}

// Workspace implements state.Store.
func (g *guarded) Workspace(name string) (state.Workspace, error) {
	w, err := call(g.calls, context.Background(), "Workspace",
		func() (state.Workspace, error) { return g.inner.Workspace(name) }, nil)
	if err == nil && w == nil {
		err = noResult("Workspace")
	}
	if err != nil {
		return nil, err
	}
	ours := &workspace{calls: g.calls, inner: w, name: name}
	if at, ok := w.(spoolPlace); ok { // a workspace of this module needs no guard
		return spooling{ours, at}, nil
	}
	return ours, nil
}

// DeleteWorkspace implements state.Store.
func (g *guarded) DeleteWorkspace(ctx context.Context, name string) error {
	return g.do(ctx, "DeleteWorkspace", func() error { return g.inner.DeleteWorkspace(ctx, name) })
}

type workspace struct {
	calls
	inner state.Workspace
	name  string
}

// spoolPlace is a workspace with a spool for responses of programs.
type spoolPlace interface {
	Answers() (string, *encryption.Cipher)
}

// spooling is a guarded workspace with a spool for responses of programs.
type spooling struct {
	*workspace
	at spoolPlace
}

// Answers returns the folder for responses of programs, or "" if there is none, and their cipher.
func (s spooling) Answers() (string, *encryption.Cipher) {
	type place struct {
		dir    string
		cipher *encryption.Cipher
	}
	// Without a folder, responses are not stored beside the state.
	p, _ := get(s.calls, "Workspace.Answers", func() (p place) {
		p.dir, p.cipher = s.at.Answers()
		return p
	})
	return p.dir, p.cipher
}

// Name implements state.Workspace.
func (w *workspace) Name() string { return w.name }

// Read implements state.Workspace.
func (w *workspace) Read(ctx context.Context) (*state.Snapshot, error) {
	snap, err := call(w.calls, ctx, "Workspace.Read", func() (*state.Snapshot, error) { return w.inner.Read(ctx) }, nil)
	if err == nil && snap == nil {
		err = noResult("Workspace.Read")
	}
	return snap, err
}

// Lock implements state.Workspace. A lock that is acquired after the call was abandoned is released.
func (w *workspace) Lock(ctx context.Context, req state.LockRequest) (state.Session, error) {
	inner, err := call(w.calls, ctx, "Workspace.Lock", func() (state.Session, error) { return w.inner.Lock(ctx, req) },
		func(s state.Session) {
			if s != nil {
				_ = s.Unlock() // the caller no longer waits for the error
			}
		})
	if err == nil && inner == nil {
		err = noResult("Workspace.Lock")
	}
	if err != nil {
		return nil, err
	}
	s := &session{calls: w.calls, inner: inner}
	if err := s.begin(); err != nil {
		if unlocked := s.Unlock(); unlocked != err {
			err = errors.Join(err, unlocked)
		}
		return nil, err
	}
	return s, nil
}

// ForceUnlock implements state.Workspace.
func (w *workspace) ForceUnlock(ctx context.Context, id string) error {
	return w.do(ctx, "Workspace.ForceUnlock", func() error { return w.inner.ForceUnlock(ctx, id) })
}
