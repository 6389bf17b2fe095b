package store_test

import (
	"context"
	"maps"
	"testing"

	"github.com/tombolo-iac/tombolo/state"
)

// Whoever asks for the holder of a lock learns it without a lock of its own, and changes no file. The information that
// a dead process left does not count.
func TestTheHolderIsKnownWithoutTheLock(t *testing.T) {
	disk, ws := onMem(t)
	holder := func() *state.LockInfo {
		t.Helper()
		before := disk.Contents()
		info, err := ws.(interface {
			Holder(context.Context) (*state.LockInfo, error)
		}).Holder(ctx)
		must(t, err)
		if !maps.Equal(before, disk.Contents()) {
			t.Error("the question has changed files")
		}
		return info
	}
	if info := holder(); info != nil {
		t.Errorf("a state that does not exist is held by %+v", info)
	}
	session, err := ws.Lock(ctx, state.LockRequest{Info: state.LockInfo{Who: "me", Operation: state.OperationApply}})
	must(t, err)
	if info := holder(); info == nil || info.Who != "me" || info.Operation != state.OperationApply || info.ID == "" {
		t.Errorf("a locked state is held by %+v", info)
	}
	left := disk.Clone()
	must(t, session.Unlock())
	if info := holder(); info != nil {
		t.Errorf("a state that was unlocked is held by %+v", info)
	}
	disk = left
	if ws, err = storeOn(left).Workspace("default"); err != nil {
		t.Fatal(err)
	}
	if info := holder(); info != nil {
		t.Errorf("a state whose holder has died is held by %+v", info)
	}
}
