package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

const journalPath = statePath + ".journal"

// aLongRun leaves the journal of a run that was killed after ten acknowledged results.
func aLongRun(t *testing.T, disk *mem.FS) {
	t.Helper()
	ws, err := storeOn(disk).Workspace("default")
	must(t, err)
	seedOn(t, ws, put("t.old", "0"))
	s := lockOn(t, ws)
	j := beginOn(t, s, "r")
	for n := range 10 {
		id := fmt.Sprint(n)
		must(t, j.Intent(storetest.Create(id, "t.n"+id)))
		must(t, j.Result(id, put("t.n"+id, id)))
	}
	s.Unlock()
}

// TestNoFlippedBitDropsAcknowledgedResults flips every bit of a journal. The rest of the journal keeps all results
// except those that only the last sync made durable: for these, damage cannot be distinguished from a write that a
// power loss cut short.
func TestNoFlippedBitDropsAcknowledgedResults(t *testing.T) {
	disk := mem.NewFS()
	disk.MkdirAll("dir", 0o755)
	aLongRun(t, disk)
	text := []byte(disk.Contents()[journalPath])
	step := 7
	if testing.Short() {
		step = 61
	}
	refused, shorter := 0, 0
	for bit := 0; bit < 8*len(text); bit += step {
		damaged := slices.Clone(text)
		damaged[bit/8] ^= 1 << (bit % 8)
		found := disk.Clone()
		found.Put(journalPath, damaged)
		ws, err := storeOn(found).Workspace("default")
		must(t, err)
		s, err := ws.Lock(ctx, state.LockRequest{})
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), ".journal") || found.Contents()[journalPath] != string(damaged) {
				t.Fatalf("bit %d: the journal was changed, or is not named: %v", bit, err)
			}
			continue
		}
		shorter++
		if got := len(storetest.IDs(s.Snapshot().State)); got < 10 {
			t.Fatalf("bit %d of %d: %d objects of 11 are left, and nobody was told", bit, 8*len(text), got)
		}
		must(t, s.Unlock())
	}
	if refused < 10*shorter {
		t.Errorf("%d journals were refused, %d read", refused, shorter)
	}
}

// TestTheImageOfATruncatedStateIsKept: without its journal, the purpose of an image is unknown, and it may be the only
// copy of the state.
func TestTheImageOfATruncatedStateIsKept(t *testing.T) {
	for _, cut := range []string{"", "{\"vers", "#tombolo: "} {
		disk, ws := onMem(t)
		seedOn(t, ws, put("t.a", "1"))
		whole := disk.Contents()[statePath]
		disk.Put(statePath, []byte(cut))
		disk.Put(journalPath+".image", []byte(whole))
		for _, unlocked := range []bool{false, true} {
			_, err := ws.Lock(ctx, state.LockRequest{Unlocked: unlocked})
			if err == nil || !strings.Contains(err.Error(), "cp "+journalPath+".image "+statePath) {
				t.Errorf("%q: %v", cut, err)
			}
		}
		same(t, "image", disk.Contents()[journalPath+".image"], whole)
		same(t, "state", disk.Contents()[statePath], cut)
	}
}

// TestAProgramThatRemovesTheStateLosesNothing removes and replaces the files of a state during a run.
func TestAProgramThatRemovesTheStateLosesNothing(t *testing.T) {
	names := []string{statePath, statePath + ".backup", journalPath, journalPath + ".image",
		"dir/.terraform.tfstate.lock.info"}
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		disk, ws := onMem(t)
		seedOn(t, ws, put("t.old", "0"))
		seedOn(t, ws, put("t.old2", "0"))
		s, err := ws.Lock(ctx, state.LockRequest{Unlocked: seed%4 == 3})
		must(t, err)
		j := beginOn(t, s, "r")
		var removed []string
		for n := range 8 {
			id := fmt.Sprint(n)
			must(t, j.Intent(storetest.Create(id, "t.n"+id)))
			for _, name := range names {
				if random.IntN(6) == 0 {
					if err := disk.Remove(name); !errors.Is(err, fs.ErrNotExist) {
						must(t, err)
						removed = append(removed, fmt.Sprint(n, " ", name))
					}
				}
			}
			must(t, j.Result(id, put("t.n"+id, id)))
			if random.IntN(5) == 0 {
				must(t, j.Checkpoint(ctx))
			}
			if _, ok := disk.Contents()[journalPath]; !ok {
				t.Fatalf("seed %d: after a result there is no journal (%v)", seed, removed)
			}
		}
		must(t, j.Close(ctx))
		must(t, s.Unlock())
		s = lockOn(t, ws)
		if got := storetest.IDs(s.Snapshot().State); len(got) != 10 {
			t.Errorf("seed %d: %d objects of 10 are left: %v (%v)", seed, len(got), got, removed)
		}
		must(t, s.Unlock())
	}
}

// TestErrorsNameTheRightLocations replaces the journal and the state with other files. The results are where the error
// says they are.
func TestErrorsNameTheRightLocations(t *testing.T) {
	for _, what := range []string{statePath, journalPath, "both"} {
		disk, ws := onMem(t)
		disk.MkdirAll("rescue", 0o755)
		seedOn(t, ws, put("t.a", "1"))
		s := lockOn(t, ws)
		j := beginOn(t, s, "r")
		must(t, j.Intent(storetest.Create("1", "t.b")))
		must(t, j.Result("1", put("t.b", "by us")))
		former := disk.Contents()[statePath]
		for _, name := range []string{statePath, journalPath} {
			if what == name || what == "both" {
				must(t, disk.Remove(name))
				disk.Put(name, []byte(former))
			}
		}
		err := j.Close(ctx)
		s.Unlock()
		var saved *state.SavedError
		if !errors.As(err, &saved) {
			t.Fatalf("%s: %v", what, err)
		}
		found := false
		for _, name := range saved.Where {
			found = found || encryptiontest.Asked() != nil ||
				strings.Contains(disk.Contents()[filepath.ToSlash(name)], "by us")
		}
		if !found {
			t.Errorf("%s: the results are in none of %v", what, saved.Where)
		}
		if what == statePath {
			continue
		}
		// Follow the advice of the error.
		if !strings.Contains(err.Error(), saved.Where[0]+" to "+journalPath) {
			t.Errorf("%s: the error does not say what to do: %v", what, err)
		}
		must(t, disk.Rename(saved.Where[0], journalPath))
		s = lockOn(t, ws)
		same(t, what, storetest.IDs(s.Snapshot().State), []string{"t.a=1", "t.b=by us"})
		must(t, s.Unlock())
	}
}

// TestNamedLocationsAreChecked removes or replaces the journal before each call at the end of a run that
// cannot write its state. An error never names a place that does not contain the results.
func TestNamedLocationsAreChecked(t *testing.T) {
	if encryptiontest.Asked() != nil {
		t.Skip("runs without encryption, because it reads what is in the journal")
	}
	for _, how := range []string{"removed", "replaced"} {
		reported, elsewhere := 0, 0
		for at, more := 1, true; more; at++ {
			disk := mem.NewFS()
			disk.MkdirAll("dir", 0o755)
			disk.MkdirAll("rescue", 0o755)
			f := faults.Wrap(disk, faults.Plan{})
			ws, err := storeOn(f).Workspace("default")
			must(t, err)
			seedOn(t, ws, put("t.a", "1"))
			s := lockOn(t, ws)
			j := beginOn(t, s, "r")
			must(t, j.Intent(storetest.Create("1", "t.b")))
			must(t, j.Result("1", put("t.b", "by us")))
			foreign := disk.Contents()[statePath]
			must(t, disk.Remove(statePath)) // makes the end of the run fail
			disk.Put(statePath, []byte(foreign))
			from := f.Calls()
			more = false
			f.Seen = func(n int, _, _ string) {
				if n == from+at {
					more = true
					must(t, disk.Remove(journalPath))
					if how == "replaced" {
						disk.Put(journalPath, []byte(foreign))
					}
				}
			}
			err = j.Close(ctx)
			f.Seen = nil
			s.Unlock()
			var saved *state.SavedError
			if !errors.As(err, &saved) {
				t.Errorf("%s before call %d: %v", how, at, err)
				continue
			}
			reported++
			for _, name := range saved.Where {
				if name != journalPath {
					elsewhere++
				}
				if !strings.Contains(disk.Contents()[filepath.ToSlash(name)], "by us") {
					t.Errorf("%s before call %d: the results are said to be in %s, where they are not: %v", how, at,
						name, err)
				}
			}
		}
		if reported < 3 || elsewhere == 0 {
			t.Errorf("%s: %d errors, %d of them about another folder", how, reported, elsewhere)
		}
	}
}

func TestUnreadableBackupsAreNotOffered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "terraform.tfstate")
	with := func(c *encryption.Cipher) state.Workspace {
		ws, err := store.New(store.Options{Path: path, Rescue: []string{}, Cipher: c}).Workspace("default")
		must(t, err)
		return ws
	}
	for n := range 3 {
		must(t, replace(t, with(encryptiontest.Turn(1)), withOutput(t, uint64(n+1), n)))
	}
	_, err := with(encryptiontest.Turn(2)).Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), path+".backup, the copy next to it, cannot be read either") {
		t.Errorf("without the key: %v", err)
	}
	must(t, os.Remove(path+".backup"))
	_, err = with(encryptiontest.Turn(2)).Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "There is no backup next to it") {
		t.Errorf("without a backup: %v", err)
	}
}

func TestSerialsDoNotWrap(t *testing.T) {
	disk, ws := onMem(t)
	seedOn(t, ws, put("t.a", "1"))
	tamper(t, disk, func(s *state.State) *state.State { s.Serial = math.MaxUint64 - 1; return s })
	s := lockOn(t, ws)
	j := beginOn(t, s, "r")
	if err := j.Intent(storetest.Create("1", "t.b")); err == nil || !strings.Contains(err.Error(), "serial") {
		t.Errorf("an operation begins on the last serial: %v", err)
	}
	if err := j.Close(ctx); err == nil {
		t.Error("the run does not say so at its end")
	}
	small := *s.Snapshot().State
	small.Serial = 5
	must(t, s.Replace(ctx, &small))
	must(t, s.Unlock())
	seedOn(t, ws, put("t.b", "2"))
}

// lockless is a file system without locks.
type lockless struct {
	store.Files
	errno syscall.Errno
}

type locklessFile struct {
	store.File
	errno syscall.Errno
}

func (l lockless) Open(name string, flag int, perm os.FileMode) (store.File, error) {
	f, err := l.Files.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return locklessFile{f, l.errno}, nil
}

func (f locklessFile) Lock() error           { return fmt.Errorf("%w: %w", store.ErrNoLocks, f.errno) }
func (f locklessFile) Locked() (bool, error) { return false, f.Lock() }

// TestWithoutLocksOnlyUnlockedRunsWork checks that such runs support everything, including recovery.
func TestWithoutLocksOnlyUnlockedRunsWork(t *testing.T) {
	disk := mem.NewFS()
	disk.MkdirAll("dir", 0o755)
	ws, err := storeOn(lockless{disk, syscall.ENOSYS}).Workspace("default")
	must(t, err)
	if _, err := ws.Lock(ctx, state.LockRequest{}); err == nil || !strings.Contains(err.Error(), "-lock=false") {
		t.Errorf("with the lock: %v", err)
	}
	for n := range 3 {
		s, err := ws.Lock(ctx, state.LockRequest{Unlocked: true})
		must(t, err)
		j := beginOn(t, s, fmt.Sprint("r", n))
		id := fmt.Sprint(n)
		must(t, j.Intent(storetest.Create(id, "t.n"+id)))
		must(t, j.Result(id, put("t.n"+id, id)))
		if got, err := ws.Read(ctx); err != nil || len(storetest.IDs(got.State)) != n+1 {
			t.Errorf("a reader finds %v, %v", got, err)
		}
		if n != 1 { // one run is killed
			must(t, j.Close(ctx))
		}
		s.Unlock()
	}
	got, err := ws.Read(ctx)
	must(t, err)
	same(t, "state", storetest.IDs(got.State), []string{"t.n0=0", "t.n1=1", "t.n2=2"})
}

// TestAWorkspaceIsRemovedUnderItsLock watches every call of a removal: the lock is held until the state is removed.
func TestAWorkspaceIsRemovedUnderItsLock(t *testing.T) {
	disk := mem.NewFS()
	disk.MkdirAll("w/blue/sub", 0o755)
	st := store.New(store.Options{Files: disk, WorkspaceDir: "w", Rescue: []string{}})
	ws, err := st.Workspace("blue")
	must(t, err)
	seedOn(t, ws, put("t.a", "1"))
	disk.Put("w/blue/notes.txt", []byte("x"))
	if err := st.DeleteWorkspace(ctx, "blue"); err == nil || !strings.Contains(err.Error(), "sub") {
		t.Errorf("a folder of others goes too: %v", err)
	}
	must(t, disk.RemoveDir("w/blue/sub"))
	s := lockOn(t, ws)
	if err := st.DeleteWorkspace(ctx, "blue"); err == nil {
		t.Error("it is removed while another has the lock")
	}
	must(t, s.(state.Deleter).Delete())
	if left := disk.Contents(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := s.Begin(ctx, state.RunInfo{ID: "r"}); err == nil {
		t.Error("the session goes on")
	}
}
