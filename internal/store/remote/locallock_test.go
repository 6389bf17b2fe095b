package remote_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// A run whose journal is on this machine is not taken for an interrupted one, whatever its lock: a second run in the
// folder is refused until the first has ended. A run that was killed is recovered.
func TestLocalJournalsBelongToOneRun(t *testing.T) {
	folder, service := t.TempDir(), homeless{memory.New()}
	open := func(folder string) state.Workspace {
		return workspaceOf(remote.New(remote.Options{Driver: service, Rescue: []string{folder}}))
	}
	free := state.LockRequest{Unlocked: true}
	one, err := open(folder).Lock(t.Context(), free)
	if err != nil {
		t.Fatal(err)
	}
	j, err := one.Begin(t.Context(), state.RunInfo{ID: "one", Command: "apply"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Intent(storetest.Create("1", "t.a")); err != nil {
		t.Fatal(err)
	}
	for _, request := range []state.LockRequest{free, {}} {
		var locked *state.LockedError
		if _, err := open(folder).Lock(t.Context(), request); !errors.As(err, &locked) {
			t.Errorf("a second run is refused with %v", err)
		}
	}
	if err := errors.Join(j.Result("1", storetest.Put("t.a", "a", "")), j.Err()); err != nil {
		t.Errorf("the first run was disturbed: %v", err)
	}
	killed := t.TempDir() // a copy of its files, which no process has open
	if err := os.CopyFS(killed, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	two, err := open(killed).Lock(t.Context(), free)
	if err != nil {
		t.Fatal(err)
	}
	if got := storetest.IDs(two.Snapshot().State); len(got) != 1 || got[0] != "t.a=a" {
		t.Errorf("after the first run was killed there is %v", got)
	}
	if err := two.Unlock(); err != nil {
		t.Error(err)
	}
	_ = one.Unlock() // its journal was taken over
	left, err := filepath.Glob(filepath.Join(killed, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
}

// homeless is a driver that cannot store a journal.
type homeless struct{ remote.Driver }

func (h homeless) Place(name string) (remote.Place, error) {
	p, err := h.Driver.Place(name)
	return homelessPlace{p}, err
}

type homelessPlace struct{ remote.Place }

func (homelessPlace) ReadJournal(context.Context) (remote.Journal, error) {
	return remote.Journal{}, remote.ErrNoJournal
}

// A process that was stopped, or whose machine slept, checks its lock before it begins an operation: another run may
// have got the lock and may already have ended, so that nothing in the folder shows it.
func TestLocksAreCheckedAfterSleep(t *testing.T) {
	for name, slept := range map[string]time.Duration{"slept": 5 * time.Hour, "a moment": time.Second} {
		t.Run(name, func(t *testing.T) {
			ctx, service := context.Background(), homeless{memory.New()}
			var asleep atomic.Int64
			open := func() state.Workspace {
				return workspaceOf(remote.New(remote.Options{Driver: service, Rescue: []string{t.TempDir()},
					Beat: time.Hour, Now: func() time.Time { return time.Now().Add(time.Duration(asleep.Load())) }}))
			}
			first, err := open().Lock(ctx, state.LockRequest{})
			must(t, err)
			j, err := first.Begin(ctx, state.RunInfo{ID: "first", Command: "apply"})
			must(t, err)
			must(t, errors.Join(j.Intent(storetest.Create("1", "t.a")), j.Result("1", storetest.Put("t.a", "a", ""))))
			must(t, j.Intent(storetest.Create("2", "t.b")))
			p, err := service.Place(state.DefaultWorkspace)
			must(t, err)
			info, err := p.Holder(ctx)
			must(t, err)
			must(t, p.ForceUnlock(ctx, info.ID))
			second, err := open().Lock(ctx, state.LockRequest{})
			must(t, err)
			must(t, second.Unlock())
			asleep.Store(int64(slept))
			err = errors.Join(j.Result("2", storetest.Put("t.b", "b", "")), j.Err())
			next := j.Intent(storetest.Create("3", "t.c"))
			if lost := errors.Is(next, remote.ErrLost); lost != (slept > time.Hour) {
				t.Errorf("the next operation: %v (%v)", next, err)
			}
			if slept > time.Hour && first.Context().Err() == nil {
				t.Error("the run goes on")
			}
			_ = j.Close(ctx)
			_ = first.Unlock()
		})
	}
}
