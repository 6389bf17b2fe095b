package remote_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// A service deletes the lock with the workspace: checks of the lock that take place meanwhile fail, but the deletion
// does not.
func TestTheLockMayVanishWithItsWorkspace(t *testing.T) {
	ctx := context.Background()
	d := &vanishing{Driver: memory.New()}
	s := remote.New(remote.Options{Driver: d, Pause: time.Microsecond, Beat: time.Millisecond})
	ws, err := s.Workspace("blue")
	must(t, err)
	session, err := ws.Lock(ctx, state.LockRequest{})
	must(t, err)
	j, err := session.Begin(ctx, state.RunInfo{Command: "apply"})
	must(t, err)
	must(t, j.Record(storetest.Put("t.a", "blue", "")))
	must(t, errors.Join(j.Close(ctx), session.Unlock()))
	must(t, s.DeleteWorkspace(ctx, "blue"))
	if d.checks == 0 {
		t.Error("the lock was not checked during the deletion")
	}
	names, err := s.Workspaces(ctx)
	must(t, err)
	if len(names) != 1 {
		t.Errorf("the workspaces are %v", names)
	}
}

// vanishing wraps a driver: a workspace that is deleted loses its lock, too.
type vanishing struct {
	remote.Driver
	checks int
}

func (d *vanishing) Place(workspace string) (remote.Place, error) {
	p, err := d.Driver.Place(workspace)
	return &vanishingPlace{Place: p, d: d}, err
}

type vanishingPlace struct {
	remote.Place
	d *vanishing
}

func (p *vanishingPlace) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	h, err := p.Place.Lock(ctx, info)
	if err != nil {
		return nil, err
	}
	return &vanishingHold{Hold: h, d: p.d, gone: make(chan struct{}), checked: make(chan struct{})}, nil
}

type vanishingHold struct {
	remote.Hold
	d             *vanishing
	gone, checked chan struct{}
}

// Check returns ErrLost once the lock is gone, and then lets the deletion end.
func (h *vanishingHold) Check(ctx context.Context) error {
	select {
	case <-h.gone:
		h.d.checks++
		close(h.checked)
		return remote.ErrLost
	default:
		return h.Hold.Check(ctx)
	}
}

// Delete ends after a check of the lock, and after the time that the session needs to act on its result.
func (h *vanishingHold) Delete(ctx context.Context) error {
	err := errors.Join(h.Hold.Delete(ctx), h.Hold.Unlock(ctx))
	close(h.gone)
	<-h.checked
	time.Sleep(10 * time.Millisecond)
	return err
}

func (h *vanishingHold) Unlock(ctx context.Context) error {
	select {
	case <-h.gone:
		return nil
	default:
		return h.Hold.Unlock(ctx)
	}
}
