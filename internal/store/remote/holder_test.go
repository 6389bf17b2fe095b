package remote_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/state"
)

// probed is a service whose lock can only be examined by taking it.
type probed struct{ remote.Driver }

func (p probed) Place(name string) (remote.Place, error) {
	place, err := p.Driver.Place(name)
	return probedPlace{place}, err
}

type probedPlace struct{ remote.Place }

func (probedPlace) HolderTakesTheLock() {}

// Whoever asks for the holder of a lock learns it without a lock of its own. Services that cannot tell are not asked.
func TestTheHolderIsKnownWithoutTheLock(t *testing.T) {
	service := memory.New()
	holder := func(d remote.Driver) (*state.LockInfo, error) {
		return workspaceOf(remote.New(remote.Options{Driver: d, Rescue: []string{t.TempDir()}})).(interface {
			Holder(context.Context) (*state.LockInfo, error)
		}).Holder(t.Context())
	}
	ws := workspaceOf(remote.New(remote.Options{Driver: service, Rescue: []string{t.TempDir()}}))
	session, err := ws.Lock(t.Context(), state.LockRequest{Info: state.LockInfo{Who: "me"}})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := holder(service); err != nil || info == nil || info.Who != "me" {
		t.Errorf("a locked state is held by %+v (%v)", info, err)
	}
	if _, err := holder(probed{service}); !errors.Is(err, remote.ErrHolderUnknown) {
		t.Errorf("a service that must not be asked answers %v", err)
	}
	if err := session.Unlock(); err != nil {
		t.Fatal(err)
	}
	if info, err := holder(service); err != nil || info != nil {
		t.Errorf("a state that was unlocked is held by %+v (%v)", info, err)
	}
}
