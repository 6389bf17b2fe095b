package remote_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/internal/store/remote/unreliable"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// The service is unreachable, and the disk with the results fails: the next folder is used. In all cases the next run
// can begin, and finds every operation and every acknowledged result.
func TestDiskFailuresWhileTheServiceIsUnreachableLoseNothing(t *testing.T) {
	ctx := context.Background()
	for _, mode := range []faults.Mode{faults.Full, faults.ENOSPC, faults.EIO} {
		for n := 1; ; n++ {
			service, disk, net := memory.New(), mem.NewFS(), unreliable.NewNetwork(1, 0)
			for _, folder := range []string{"one", "two"} {
				must(t, disk.MkdirAll(folder, 0o700))
			}
			files := faults.Wrap(disk, faults.Plan{Call: n, Mode: mode})
			options := remote.Options{Driver: unreliable.Over(service, net), Files: files, Rescue: []string{
				"one", "two"},
				Pause: time.Microsecond, Beat: time.Hour, Tries: 2}
			first, err := workspaceOf(remote.New(options)).Lock(ctx, state.LockRequest{})
			if err == nil {
				reports := map[string]bool{}
				j, err := first.Begin(ctx, state.RunInfo{ID: "first", Command: "apply"})
				must(t, err)
				must(t, errors.Join(j.Intent(storetest.Create("1", "t.a")), j.Intent(storetest.Create("2", "t.b"))))
				net.Kill()
				reports["t.a"] = j.Result("1", storetest.Put("t.a", "made", "")) == nil
				reports["t.b"] = j.Result("2", storetest.Put("t.b", "made", "")) == nil
				err = errors.Join(j.Close(ctx), first.Unlock())
				kept := errors.As(err, new(*state.SavedError))
				options.Driver, options.Files = service, disk
				p, err := service.Place(state.DefaultWorkspace)
				must(t, err)
				info, err := p.Holder(ctx)
				must(t, err)
				must(t, p.ForceUnlock(ctx, info.ID))
				second, err := workspaceOf(remote.New(options)).Lock(ctx, state.LockRequest{})
				if err != nil {
					t.Fatalf("%s at %d: %v", mode, n, err)
				}
				have := known(second.Snapshot())
				for at, reported := range reports {
					if have[at] == "" || reported && kept && have[at] != "made" {
						t.Errorf("%s at %d: %s is known as %q (reported %t, kept %t)", mode, n, at, have[at], reported,
							kept)
					}
				}
				must(t, second.Unlock())
			}
			if files.Calls() < n {
				break
			}
		}
	}
}
