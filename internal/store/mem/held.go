package mem

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
)

// Held returns a store whose default workspace is locked from the start by a holder that never releases the lock: the
// setting lock_id of the backend "inmem", with which tools test their handling of locks.
func Held(info state.LockInfo) state.Store {
	info.Who, info.Version, info.Created = store.UserAndHost(), state.LanguageVersion, time.Now().UTC()
	return &heldStore{Store: New(), info: &info}
}

type heldStore struct {
	state.Store

	mu   sync.Mutex
	info *state.LockInfo // nil after a forced unlock; guarded by mu
}

// Workspace implements state.Store.
func (s *heldStore) Workspace(name string) (state.Workspace, error) {
	ws, err := s.Store.Workspace(name)
	if err != nil || name != state.DefaultWorkspace {
		return ws, err
	}
	return &heldWorkspace{Workspace: ws, store: s}, nil
}

func (s *heldStore) holder() *state.LockInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

type heldWorkspace struct {
	state.Workspace
	store *heldStore
}

// Lock implements state.Workspace.
func (w *heldWorkspace) Lock(ctx context.Context, req state.LockRequest) (state.Session, error) {
	if info := w.store.holder(); info != nil && !req.Unlocked {
		return nil, &state.LockedError{Info: info, Err: errors.New("state locked")}
	}
	return w.Workspace.Lock(ctx, req)
}

// ForceUnlock implements state.Workspace.
func (w *heldWorkspace) ForceUnlock(ctx context.Context, id string) error {
	info := w.store.holder()
	switch {
	case info == nil:
		return w.Workspace.ForceUnlock(ctx, id)
	case info.ID != id:
		return errors.New("invalid lock id: the lock has the id " + info.ID)
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.info = nil
	return nil
}
