package mem_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
)

func TestHeldStoreIsLockedUntilForceUnlock(t *testing.T) {
	ctx := context.Background()
	open := func(st state.Store, name string) state.Workspace {
		ws, err := st.Workspace(name)
		if err != nil {
			t.Fatal(err)
		}
		return ws
	}
	unlocked := func(ws state.Workspace, req state.LockRequest) {
		t.Helper()
		session, err := ws.Lock(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	st := mem.Held(state.LockInfo{ID: "abc", Operation: "test"})
	ws := open(st, state.DefaultWorkspace)
	var locked *state.LockedError
	if _, err := ws.Lock(ctx, state.LockRequest{}); !errors.As(err, &locked) || locked.Info.ID != "abc" ||
		locked.Info.Who == "" || locked.Info.Created.IsZero() {
		t.Errorf("got %v, want the holder", err)
	}
	unlocked(ws, state.LockRequest{Unlocked: true})
	unlocked(open(st, "other"), state.LockRequest{})
	if snapshot, err := ws.Read(ctx); err != nil || snapshot.State != nil {
		t.Errorf("reading needs no lock: got %v, %v", snapshot, err)
	}
	if err := ws.ForceUnlock(ctx, "abd"); err == nil {
		t.Error("another id breaks the lock")
	}
	if err := ws.ForceUnlock(ctx, "abc"); err != nil {
		t.Error(err)
	}
	unlocked(open(st, state.DefaultWorkspace), state.LockRequest{})
	if err := ws.ForceUnlock(ctx, "abc"); err == nil {
		t.Error("a lock can be broken twice")
	}
}
