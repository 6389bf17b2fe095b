package store_test

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// If the disk is full when an interrupted run is recovered, the recovery fails, whichever call meets the full disk.
// Nothing is lost, and no empty file remains.
func TestFullDiskDuringRecoveryIsReportedAndLosesNothing(t *testing.T) {
	left := mem.NewFS()
	ws, err := storeOn(left).Workspace("default")
	must(t, err)
	seedOn(t, ws, put("t.a", "1"))
	s := lockOn(t, ws)
	j := beginOn(t, s, "r")
	must(t, j.Intent(storetest.Create("1", "t.b")))
	must(t, j.Result("1", put("t.b", "2")))
	_ = s.Unlock()
	refused := 0
	for _, mode := range []faults.Mode{faults.Full, faults.ENOSPC, faults.EIO} {
		for n := 1; ; n++ {
			disk := left.Clone()
			files := faults.Wrap(disk, faults.Plan{Call: n, Mode: mode})
			ws, err := storeOn(files).Workspace("default")
			must(t, err)
			s, err := ws.Lock(ctx, state.LockRequest{})
			if err == nil {
				_ = s.Unlock()
			} else if failed := (*state.RecoverError)(nil); errors.As(err, &failed) {
				refused++
			} else if strings.Contains(err.Error(), "recover") {
				t.Errorf("%s at %d: %v", mode, n, err)
			}
			for name, text := range disk.Contents() {
				if text == "" && strings.HasSuffix(name, ".journal") {
					t.Errorf("%s at %d: %s is empty", mode, n, name)
				}
			}
			disk.DropLocks()
			calm, err := storeOn(disk).Workspace("default")
			must(t, err)
			s = lockOn(t, calm)
			same(t, "objects", storetest.IDs(s.Snapshot().State), []string{"t.a=1", "t.b=2"})
			must(t, s.Unlock())
			if files.Calls() < n {
				break
			}
		}
	}
	if refused == 0 {
		t.Error("no recovery met the full disk")
	}
}

// tight is a full disk on which files can still be created, but not written.
type tight struct {
	store.Files
	writes *int // number of writes that succeed
}

type tightFile struct {
	store.File
	writes *int
}

func (d tight) Open(name string, flag int, perm fs.FileMode) (store.File, error) {
	f, err := d.Files.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return tightFile{f, d.writes}, nil
}

func (f tightFile) WriteAt(b []byte, at int64) (int, error) {
	if *f.writes--; *f.writes < 0 {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(b, at)
}

// If nothing can be saved in the rescue folder either, no empty file remains there.
func TestNoEmptyRescueFileRemains(t *testing.T) {
	for n := range 20 {
		disk, writes := mem.NewFS(), n
		ws, err := store.New(store.Options{Path: statePath, Rescue: []string{"dir"},
			Files: tight{disk, &writes}}).Workspace("default")
		must(t, err)
		if s, err := ws.Lock(ctx, state.LockRequest{}); err == nil {
			if j, err := s.Begin(ctx, state.RunInfo{ID: "r"}); err == nil {
				for _, op := range []string{"1", "2", "3"} {
					_ = errors.Join(j.Intent(storetest.Create(op, "t.o"+op)), j.Result(op, put("t.o"+op, "x")))
				}
				_ = j.Close(ctx)
			}
			_ = s.Unlock()
		}
		for name, text := range disk.Contents() {
			if text == "" && strings.HasSuffix(name, ".journal") && name != statePath+".journal" {
				t.Errorf("full after %d writes: %s is empty", n, name)
			}
		}
	}
}
