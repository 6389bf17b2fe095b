package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
)

// frugal wraps the system's files and limits how far they may be read.
type frugal struct {
	store.Files
	t *testing.T
}

func (f frugal) Open(name string, flag int, perm os.FileMode) (store.File, error) {
	file, err := f.Files.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return frugalFile{file, name, f.t}, nil
}

type frugalFile struct {
	store.File
	name string
	t    *testing.T
}

var errRead = errors.New("read too far")

func (f frugalFile) ReadAt(b []byte, off int64) (int, error) {
	if off > 1<<20 {
		f.t.Errorf("%s is read at the offset %d", f.name, off)
		return 0, errRead
	}
	return f.File.ReadAt(b, off)
}

// A project may contain files that claim any size without using disk space. None of them is read to its end, whichever
// file of a state it replaces, and whether or not the state or its beginning is valid.
func TestHugeFilesAreRefusedUnread(t *testing.T) {
	const base = "terraform.tfstate"
	for name, refused := range map[string]bool{
		base: true, base + ".journal": true, "out": true, "out.journal": true,
		base + ".backup": false, base + ".journal.new": false, base + ".journal.image": false,
		base + ".journal.fresh": false, ".terraform.tfstate.lock.info": false, "out.backup": false,
	} {
		for _, flat := range []bool{false, true} {
			dir := t.TempDir()
			seedOn(t, openDefault(t, dir), put("t.a", "0"))
			path := filepath.Join(dir, name)
			if flat {
				must(t, os.WriteFile(path, nil, 0o600))
			} else if _, err := os.Stat(path); err != nil {
				b, err := os.ReadFile(filepath.Join(dir, base))
				must(t, err)
				must(t, os.WriteFile(path, b, 0o600))
			}
			if err := os.Truncate(path, 100<<30); err != nil {
				t.Skipf("needs files with holes: %s", err)
			}
			o := store.Options{Path: filepath.Join(dir, base), Files: frugal{store.OS{}, t}}
			if strings.HasPrefix(name, "out") {
				o.WriteTo = filepath.Join(dir, "out")
			}
			ws, err := store.New(o).Workspace("default")
			must(t, err)
			if !strings.HasPrefix(name, "out") {
				_, err = ws.Read(ctx)
				judgeHuge(t, name+" read", refused, err)
			}
			s, err := ws.Lock(ctx, state.LockRequest{})
			judgeHuge(t, name+" locked", refused, err)
			if err != nil {
				continue
			}
			j := beginOn(t, s, "run")
			must(t, j.Record(put("t.b", "1")))
			must(t, j.Close(ctx))
			must(t, s.Unlock())
		}
	}
}

func judgeHuge(t *testing.T, what string, refused bool, err error) {
	t.Helper()
	if !refused && err == nil {
		return
	}
	if !refused || !errors.Is(err, regular.ErrSize) || !strings.Contains(err.Error(), "restore the file") {
		t.Errorf("%s: got %v", what, err)
	}
}
