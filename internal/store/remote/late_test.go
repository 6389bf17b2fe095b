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

// The service cannot be reached when a result comes, and before this machine runs again, another one has taken the
// journal over and begun its own, more than once. The operation is in flight for that one, and here its result is
// known.
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
			n.Kill() // the service is out of reach
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
