package remote_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/internal/store/remote/unreliable"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// The service is unreachable when a result is recorded, and before this machine runs again, another one has taken over
// the journal and begun its own, more than once. For that machine the operation is in flight; here its result is known.
func TestResultsOfAReplacedJournalAreFolded(t *testing.T) {
	for name, settled := range map[string]bool{"in flight still": false, "settled by a person": true} {
		t.Run(name, func(t *testing.T) {
			ctx, service := context.Background(), memory.New()
			here, there := t.TempDir(), t.TempDir()
			n := unreliable.NewNetwork(1, 0)
			store := func(folder string, d remote.Driver) state.Workspace {
				return workspaceOf(remote.New(remote.Options{Driver: d, Rescue: []string{folder},
					Pause: time.Microsecond, Beat: time.Hour, Tries: 2}))
			}
			first, err := store(here, unreliable.Over(service, n)).Lock(ctx, state.LockRequest{})
			must(t, err)
			j, err := first.Begin(ctx, state.RunInfo{ID: "first", Command: "apply"})
			must(t, err)
			must(t, errors.Join(j.Intent(storetest.Create("1", "t.a")), j.Intent(storetest.Create("2", "t.b"))))
			n.Kill() // the service is unreachable
			_ = j.Result("1", storetest.Put("t.a", "made", ""))
			_ = j.Close(ctx)
			_ = first.Unlock()
			p, err := service.Place(state.DefaultWorkspace)
			must(t, err)
			info, err := p.Holder(ctx)
			must(t, err)
			must(t, p.ForceUnlock(ctx, info.ID))
			for _, at := range []string{"t.x", "t.y"} {
				second, err := store(there, service).Lock(ctx, state.LockRequest{})
				must(t, err)
				if open := second.Snapshot().InFlight; len(open) != 2 {
					t.Fatalf("the other machine has %v in flight", open)
				}
				j, err := second.Begin(ctx, state.RunInfo{Command: "apply"})
				must(t, err)
				must(t, errors.Join(j.Intent(storetest.Create("1", at)), j.Result("1", storetest.Put(at, "x", ""))))
				must(t, j.Close(ctx))
				if settled && at == "t.y" {
					must(t, second.Resolve(ctx, []string{second.Snapshot().InFlight[0].Token()}))
				}
				must(t, second.Unlock())
			}
			want := map[string]string{"t.x": "x", "t.y": "x", "t.b": "?", "t.a": "made"}
			files := 0
			if settled {
				delete(want, "t.a")
				files = 1
			}
			for _, when := range []string{"read", "lock", "elsewhere"} {
				var snapshot *state.Snapshot
				switch when {
				case "read":
					snapshot, err = store(here, service).Read(ctx)
					must(t, err)
				case "lock":
					session, err := store(here, service).Lock(ctx, state.LockRequest{})
					must(t, err)
					snapshot = session.Snapshot()
					must(t, session.Unlock())
				default:
					snapshot, err = store(there, service).Read(ctx)
					must(t, err)
				}
				if got := known(snapshot); !maps.Equal(got, want) {
					t.Errorf("%s: there is %v, want %v", when, got, want)
				}
			}
			if left, _ := os.ReadDir(here); len(left) != files {
				t.Errorf("%d files are left, want %d", len(left), files)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The journal is removed during a run, with its tables, its object or its workspace. The next run on the machine
// reports the results so far, which can no longer be taken over, until a person has checked them.
func TestResultsOfARemovedJournalAreKnown(t *testing.T) {
	ctx, service, folder := context.Background(), memory.New(), t.TempDir()
	ws := workspaceOf(remote.New(remote.Options{Driver: service, Rescue: []string{folder}, Pause: time.Microsecond,
		Beat: time.Hour, Tries: 2}))
	lock := func(want map[string]string) state.Session {
		t.Helper()
		session, err := ws.Lock(ctx, state.LockRequest{})
		must(t, err)
		if got := known(session.Snapshot()); !maps.Equal(got, want) {
			t.Errorf("there is %v, want %v", got, want)
		}
		return session
	}
	first := lock(map[string]string{})
	j, err := first.Begin(ctx, state.RunInfo{ID: "first", Command: "apply"})
	must(t, err)
	must(t, j.Intent(storetest.Create("1", "t.a")))
	p, err := service.Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Unlocked(ctx)
	must(t, err)
	must(t, h.Delete(ctx))
	_ = j.Result("1", storetest.Put("t.a", "made", ""))
	if err := j.Intent(storetest.Create("2", "t.b")); err == nil {
		t.Error("a run without a journal begins something")
	}
	_ = j.Close(ctx)
	_ = first.Unlock()
	want := map[string]string{"t.a": "?"}
	snapshot, err := ws.Read(ctx)
	must(t, err)
	if got := known(snapshot); !maps.Equal(got, want) {
		t.Errorf("a reader sees %v, want %v", got, want)
	}
	must(t, lock(want).Unlock())
	second := lock(want)
	j, err = second.Begin(ctx, state.RunInfo{ID: "second", Command: "apply"})
	must(t, err)
	must(t, errors.Join(j.Intent(storetest.Create("1", "t.x")), j.Result("1", storetest.Put("t.x", "x", ""))))
	must(t, j.Close(ctx))
	must(t, second.Unlock())
	want["t.x"] = "x"
	third := lock(want)
	must(t, third.Resolve(ctx, []string{third.Snapshot().Unfolded[0].Token()}, storetest.Put("t.a", "made", "")))
	must(t, third.Unlock())
	want["t.a"] = "made"
	must(t, lock(want).Unlock())
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}
