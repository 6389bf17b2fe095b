package remote_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/internal/store/remote/unreliable"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// A state that was overwritten with invalid content can be replaced with force. Open operations and results of an
// interrupted run are still known afterwards.
func TestDamagedStatesCanBeReplaced(t *testing.T) {
	for _, damage := range []string{"garbage", `{"version":4,"serial":`, `{"version":9}`, "<html></html>", "\x00\x00"} {
		for _, interrupted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%.9q %t", damage, interrupted), func(t *testing.T) {
				replaceDamaged(t, damage, interrupted)
			})
		}
	}
}

func replaceDamaged(t *testing.T, damage string, interrupted bool) {
	ctx, service := context.Background(), memory.New()
	n := unreliable.NewNetwork(1, 0)
	store := func(d remote.Driver) state.Workspace {
		return workspaceOf(remote.New(remote.Options{Driver: d, Rescue: []string{t.TempDir()},
			Pause: time.Microsecond, Beat: time.Hour, Tries: 2}))
	}
	create := func(j state.Journal, op, at string) {
		must(t, errors.Join(j.Intent(storetest.Create(op, at)), j.Result(op, storetest.Put(at, "made", "")), j.Err()))
	}
	session, err := store(unreliable.Over(service, n)).Lock(ctx, state.LockRequest{})
	must(t, err)
	j, err := session.Begin(ctx, state.RunInfo{ID: "first", Command: "apply"})
	must(t, err)
	create(j, "1", "t.a")
	must(t, j.Checkpoint(ctx))
	good := session.Snapshot().State
	want := map[string]string{"t.a": "made"}
	p, err := service.Place(state.DefaultWorkspace)
	must(t, err)
	if interrupted {
		create(j, "2", "t.b")
		must(t, j.Intent(storetest.Create("3", "t.c")))
		want["t.b"], want["t.c"] = "?", "?"
		n.Kill()
		info, err := p.Holder(ctx)
		must(t, err)
		must(t, p.ForceUnlock(ctx, info.ID))
	} else {
		must(t, j.Close(ctx))
		must(t, session.Unlock())
	}
	h, err := p.Unlocked(ctx)
	must(t, err)
	content, err := p.Read(ctx)
	must(t, err)
	_, err = h.Write(ctx, remote.Write{Data: []byte(damage), Was: content.Version})
	must(t, err)
	ws := store(service)
	if _, err := ws.Lock(ctx, state.LockRequest{}); !errors.As(err, new(*state.DecodeError)) {
		t.Fatalf("a lock on a damaged state: %v", err)
	}
	session, err = ws.Lock(ctx, state.LockRequest{Damaged: true})
	if damage == `{"version":9}` { // a newer version can read it
		if !errors.As(err, new(*state.DecodeError)) {
			t.Errorf("a state of a newer format: %v", err)
		}
		return
	}
	must(t, err)
	if st := session.Snapshot().State; st != nil {
		t.Errorf("the damaged state has %v", st)
	}
	must(t, session.Replace(ctx, good))
	must(t, session.Unlock())
	snapshot, err := ws.Read(ctx)
	must(t, err)
	if have := known(snapshot); !maps.Equal(have, want) {
		t.Errorf("there is %v, want %v", have, want)
	}
	session, err = ws.Lock(ctx, state.LockRequest{})
	must(t, err)
	if have := known(session.Snapshot()); !maps.Equal(have, want) {
		t.Errorf("under the lock there is %v, want %v", have, want)
	}
	must(t, session.Unlock())
}
