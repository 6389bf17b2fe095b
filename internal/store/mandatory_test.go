package store_test

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
)

// TestRunsSucceedWhereLocksAreMandatory plays every scenario where, as on Windows, only the open file that has the lock
// of a state can read or write it.
func TestRunsSucceedWhereLocksAreMandatory(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			disk := mem.NewFS()
			disk.Mandatory = true
			p := s.play(disk, func(inner store.Files) store.Files { return inner })
			if p.failed {
				t.Fatal("the script fails")
			}
			if err := p.expectation().survey(disk.Clone()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReadersOfALockedStateGetAnErrorWhereLocksAreMandatory: they cannot know the state, and must not report an empty
// one.
func TestReadersOfALockedStateGetAnErrorWhereLocksAreMandatory(t *testing.T) {
	disk := mem.NewFS()
	disk.Mandatory = true
	disk.MkdirAll("dir", 0o755)
	ws, err := storeOn(disk).Workspace("default")
	must(t, err)
	seedOn(t, ws, put("t.a", "1"))
	other, err := storeOn(disk).Workspace("default")
	must(t, err)
	s := lockOn(t, ws)
	if got, err := other.Read(ctx); err == nil {
		t.Errorf("while another has the lock, the state is %+v", got.State)
	}
	if _, err := other.Lock(ctx, state.LockRequest{}); err == nil {
		t.Error("two have the lock")
	}
	must(t, s.Unlock())
	if got, err := other.Read(ctx); err != nil || got.State == nil {
		t.Errorf("after it: %+v, %v", got.State, err)
	}
}
