//go:build unix

package remote_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// Another user of the machine puts a rescue file into the folder for temporary files: it is ignored and does not
// prevent runs. In a folder of the user's own it counts.
func TestRescueFilesOfOtherUsersAreIgnored(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs the rights to give files away: it runs as root")
	}
	for _, public := range []bool{true, false} {
		for _, damaged := range []bool{true, false} {
			t.Run(fmt.Sprintf("public %t, damaged %t", public, damaged), func(t *testing.T) {
				service, folder := memory.New(), t.TempDir()
				ws := workspaceOf(remote.New(remote.Options{Driver: service, Rescue: []string{folder},
					Pause: time.Microsecond, Beat: time.Hour, Tries: 2}))
				orphan(t, service, ws)
				names, err := filepath.Glob(filepath.Join(folder, "*"))
				must(t, err)
				if len(names) != 1 {
					t.Fatalf("there are %v", names)
				}
				if damaged {
					text, err := os.ReadFile(names[0])
					must(t, err)
					must(t, os.WriteFile(names[0], text[:len(text)-1], 0o600))
				}
				must(t, os.Chown(names[0], 65534, 65534))
				if public {
					must(t, os.Chmod(folder, 0o777|os.ModeSticky))
				}
				s, err := ws.Lock(t.Context(), state.LockRequest{})
				must(t, err)
				want := 0
				if !public && !damaged {
					want = 1
				}
				if got := len(s.Snapshot().Unfolded); got != want {
					t.Errorf("%d results are known, want %d", got, want)
				}
				must(t, s.Unlock())
			})
		}
	}
}

// orphan leaves a rescue file whose journal was removed.
func orphan(t *testing.T, service remote.Driver, ws state.Workspace) {
	t.Helper()
	ctx := context.Background()
	s, err := ws.Lock(ctx, state.LockRequest{})
	must(t, err)
	j, err := s.Begin(ctx, state.RunInfo{ID: "first", Command: "apply"})
	must(t, err)
	must(t, j.Intent(storetest.Create("1", "t.a")))
	p, err := service.Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Unlocked(ctx)
	must(t, err)
	must(t, h.Delete(ctx))
	_ = j.Result("1", storetest.Put("t.a", "made", ""))
	_ = j.Close(ctx)
	_ = s.Unlock()
}
