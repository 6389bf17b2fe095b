package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

const statePath = "dir/terraform.tfstate"

func onMem(t *testing.T) (*mem.FS, state.Workspace) {
	t.Helper()
	disk := mem.NewFS()
	ws, err := storeOn(disk).Workspace("default")
	must(t, err)
	return disk, ws
}

func lockOn(t *testing.T, ws state.Workspace) state.Session {
	t.Helper()
	session, err := ws.Lock(ctx, state.LockRequest{})
	must(t, err)
	return session
}

func beginOn(t *testing.T, s state.Session, run string) state.Journal {
	t.Helper()
	j, err := s.Begin(ctx, state.RunInfo{ID: run})
	must(t, err)
	return j
}

func seedOn(t *testing.T, ws state.Workspace, edits ...state.Edit) {
	t.Helper()
	s := lockOn(t, ws)
	j := beginOn(t, s, "seed")
	must(t, j.Record(edits...))
	must(t, j.Close(ctx))
	must(t, s.Unlock())
}

// tamper writes the state file as another program would: edits, and a greater serial.
func tamper(t *testing.T, disk *mem.FS, change func(*state.State) *state.State) {
	t.Helper()
	s, err := decoded([]byte(disk.Contents()[statePath]))
	must(t, err)
	c := *change(s)
	c.Serial++
	var b strings.Builder
	must(t, c.Encode(&b))
	disk.Put(statePath, []byte(b.String()))
}

func fold(edits ...state.Edit) func(*state.State) *state.State {
	return func(s *state.State) *state.State {
		b := s.Builder()
		b.Fold(edits...)
		return b.State()
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestResultsAreCheckedIfAnotherProgramWroteSince(t *testing.T) {
	disk, ws := onMem(t)
	seedOn(t, ws, put("t.update", "u"), put("t.delete", "d"), put("t.delete_both", "d2"), put("t.replace", "r1"),
		put("t.deleted_and_made", "old"))
	s := lockOn(t, ws)
	j := beginOn(t, s, "r")
	for _, op := range []struct {
		id, at string
		edits  []state.Edit
	}{
		{"1", "t.new", []state.Edit{put("t.new", "n")}},
		{"2", "t.update", []state.Edit{storetest.Put("t.update", "u", "by us")}},
		{"3", "t.delete", []state.Edit{storetest.Drop("t.delete")}},
		{"4", "t.delete_both", []state.Edit{storetest.Drop("t.delete_both")}},
		{"5", "t.replace", []state.Edit{storetest.Drop("t.replace"), put("t.replace", "r2")}},
		{"6", "t.both", []state.Edit{put("t.both", "ours")}},
		{"7", "t.deleted_and_made", []state.Edit{storetest.Drop("t.deleted_and_made")}},
	} {
		must(t, j.Intent(storetest.Create(op.id, op.at)))
		must(t, j.Result(op.id, op.edits...))
	}
	must(t, j.Intent(storetest.Create("8", "t.flying")))
	s.Unlock()
	tamper(t, disk, fold(put("t.both", "theirs"), storetest.Drop("t.delete_both"), put("t.deleted_and_made", "new")))

	want := []string{"t.both=theirs", "t.deleted_and_made=new", "t.new=n", "t.replace=r2", "t.update=u"}
	check := func(who string, got *state.Snapshot) {
		t.Helper()
		same(t, who, storetest.IDs(got.State), want)
		if len(got.InFlight) != 1 || len(got.Unfolded) != 1 || got.Unfolded[0].Token() != "r/6" ||
			!strings.Contains(got.Unfolded[0].Why, "t.both") {
			t.Errorf("%s: in flight %+v, unfolded %+v", who, got.InFlight, got.Unfolded)
		}
	}
	got, err := ws.Read(ctx)
	must(t, err)
	check("reader", got)
	if note := string(got.State.Object(storetest.Addr("t.update")).Attributes); !strings.Contains(note, "by us") {
		t.Errorf("the update was lost: %s", note)
	}
	for _, who := range []string{"recovery", "second recovery"} {
		s = lockOn(t, ws)
		check(who, s.Snapshot())
		must(t, s.Unlock())
	}
	// An unfolded result remains until a person decides about it, even after further runs.
	seedOn(t, ws, put("t.later", "l"))
	s = lockOn(t, ws)
	must(t, s.Resolve(ctx, []string{"r/6", "r/8"}, put("t.ours", "ours")))
	must(t, s.Unlock())
	got, err = ws.Read(ctx)
	must(t, err)
	if len(got.InFlight)+len(got.Unfolded) != 0 || !slices.Contains(storetest.IDs(got.State), "t.ours=ours") {
		t.Errorf("after resolving: %+v", got)
	}
	if _, left := disk.Contents()[statePath+".journal"]; left {
		t.Error("the journal stays behind")
	}
}

func TestNothingIsFoldedIntoAStateOfAnotherLineage(t *testing.T) {
	disk, ws := onMem(t)
	seedOn(t, ws, put("t.a", "1"))
	s := lockOn(t, ws)
	j := beginOn(t, s, "r")
	must(t, j.Intent(storetest.Create("1", "t.b")))
	must(t, j.Result("1", put("t.b", "2")))
	s.Unlock()
	tamper(t, disk, func(s *state.State) *state.State { s.Lineage = "other"; return s })
	s = lockOn(t, ws)
	got := s.Snapshot()
	same(t, "objects", storetest.IDs(got.State), []string{"t.a=1"})
	if got.State.Lineage != "other" || len(got.Unfolded) != 1 || !strings.Contains(got.Unfolded[0].Why, "lineage") {
		t.Errorf("lineage %q, unfolded %+v", got.State.Lineage, got.Unfolded)
	}
	must(t, s.Unlock())
}

func TestWritesAreRefusedWhenTheStateChangedBehindTheLock(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, disk *mem.FS){
		"written": func(t *testing.T, disk *mem.FS) { tamper(t, disk, fold(put("t.theirs", "x"))) },
		"replaced": func(t *testing.T, disk *mem.FS) {
			disk.Put("dir/other", []byte(disk.Contents()[statePath]))
			must(t, disk.Rename("dir/other", statePath))
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk, ws := onMem(t)
			seedOn(t, ws, put("t.a", "1"))
			s := lockOn(t, ws)
			j := beginOn(t, s, "r")
			must(t, j.Intent(storetest.Create("1", "t.b")))
			must(t, j.Result("1", put("t.b", "2")))
			change(t, disk)
			before := disk.Contents()[statePath]
			err := j.Close(ctx)
			var conflict *state.ConflictError
			var saved *state.SavedError
			if !errors.As(err, &conflict) || !errors.As(err, &saved) {
				t.Fatalf("got %v", err)
			}
			if disk.Contents()[statePath] != before {
				t.Error("the other program's state was overwritten")
			}
			if err := s.Write(ctx, s.Snapshot().State); err == nil {
				t.Error("the session goes on writing")
			}
			s.Unlock()
			s = lockOn(t, ws)
			if got := storetest.IDs(s.Snapshot().State); !slices.Contains(got, "t.b=2") {
				t.Errorf("our result was lost: %v", got)
			}
			must(t, s.Unlock())
		})
	}
}

func TestDamagedStatesAreRefusedWithAdvice(t *testing.T) {
	for name, damage := range map[string]func(string) string{
		"zero bytes": func(string) string { return "" },
		"cut":        func(s string) string { return s[:len(s)/2] },
		"NULs":       func(s string) string { return strings.Repeat("\x00", len(s)) },
		"trailing":   func(s string) string { return s + "}" },
		"noted":      func(s string) string { return "#tombolo: " + s[10:] },
	} {
		for _, withJournal := range []bool{false, true} {
			disk, ws := onMem(t)
			seedOn(t, ws, put("t.a", "1"))
			seedOn(t, ws, put("t.b", "2"))
			if withJournal {
				s := lockOn(t, ws)
				j := beginOn(t, s, "r")
				must(t, j.Intent(storetest.Create("1", "t.c")))
				s.Unlock()
			}
			broken := damage(disk.Contents()[statePath])
			disk.Put(statePath, []byte(broken))
			_, readErr := ws.Read(ctx)
			_, lockErr := ws.Lock(ctx, state.LockRequest{})
			for _, err := range []error{readErr, lockErr} {
				if err == nil || !strings.Contains(err.Error(),
					"cp dir/terraform.tfstate.backup dir/terraform.tfstate") {
					t.Errorf("%s (journal %v): got %v", name, withJournal, err)
				}
			}
			if disk.Contents()[statePath] != broken {
				t.Errorf("%s: the file was changed", name)
			}
		}
	}
}

// A state of zero bytes counts as empty, with a warning, unless files beside it show that it had content.
func TestStatesOfZeroBytesAreEmptyWithoutOtherFiles(t *testing.T) {
	beside := map[string]string{"nothing": "", "a backup": "terraform.tfstate.backup",
		"a lock": ".terraform.tfstate.lock.info", "an image of a journal": "terraform.tfstate.journal.image",
		"a file of others": "other.tfstate"}
	for what, name := range beside {
		disk, ws := onMem(t)
		disk.Put(statePath, nil)
		if name != "" {
			disk.Put("dir/"+name, []byte("{}"))
		}
		empty := name == "" || name == "other.tfstate"
		got, err := ws.Read(ctx)
		if (err == nil) != empty || empty && (got.Blank == "" || len(storetest.IDs(got.State)) > 0) {
			t.Errorf("beside %s: %+v, %v", what, got, err)
		}
		if s, err := ws.Lock(ctx, state.LockRequest{}); (err == nil) != empty {
			t.Errorf("beside %s: the lock gives %v", what, err)
		} else if err == nil {
			must(t, s.Unlock())
		}
	}
}

func TestMissingStatesAreNotTakenForEmptyOnes(t *testing.T) {
	disk, ws := onMem(t)
	seedOn(t, ws, put("t.a", "1"))
	s := lockOn(t, ws)
	j := beginOn(t, s, "r")
	must(t, j.Intent(storetest.Create("1", "t.b")))
	s.Unlock()
	must(t, disk.Remove(statePath))
	if _, err := ws.Read(ctx); err == nil || !strings.Contains(err.Error(), "no longer exists") {
		t.Errorf("reader: %v", err)
	}
	_, err := ws.Lock(ctx, state.LockRequest{Unlocked: true})
	if err == nil || !strings.Contains(err.Error(), "no longer exists") {
		t.Errorf("unlocked: %v", err)
	}
}

func TestADamagedJournalIsRefused(t *testing.T) {
	disk, ws := onMem(t)
	s := lockOn(t, ws)
	j := beginOn(t, s, "r")
	must(t, j.Intent(storetest.Create("1", "t.b")))
	s.Unlock()
	text := []byte(disk.Contents()[statePath+".journal"])
	for name, damage := range map[string]func([]byte){
		"magic":  func(b []byte) { b[0] = 'x' },
		"nonce":  func(b []byte) { b[10]++ },
		"header": func(b []byte) { b[60]++ },
	} {
		b := slices.Clone(text)
		damage(b)
		disk.Put(statePath+".journal", b)
		if _, err := ws.Lock(ctx, state.LockRequest{}); err == nil || !strings.Contains(err.Error(), "damaged") ||
			!strings.Contains(err.Error(), ".journal") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNothingNewStartsOnAFullDisk(t *testing.T) {
	disk := mem.NewFS()
	disk.MkdirAll("dir", 0o755)
	disk.MkdirAll("rescue", 0o755)
	f := faults.Wrap(disk, faults.Plan{Call: 60, Mode: faults.Full})
	ws, err := storeOn(f).Workspace("default")
	must(t, err)
	s := lockOn(t, ws)
	j := beginOn(t, s, "r")
	begun := 0
	big := strings.Repeat("x", 200_000) // larger than the space reserved for one operation
	for n := range 100 {
		op := string(rune('a'+n/26)) + string(rune('a'+n%26))
		if err := j.Intent(storetest.Create(op, "t."+op)); err != nil {
			break
		}
		begun++
		must(t, j.Result(op, storetest.Put("t."+op, op, big)))
	}
	if begun == 0 || begun == 100 {
		t.Fatalf("%d operations began", begun)
	}
	if err := j.Intent(storetest.Create("zz", "t.zz")); err == nil {
		t.Error("an operation began after the disk was full")
	}
	var saved *state.SavedError
	if err := j.Close(ctx); !errors.As(err, &saved) || len(saved.Where) == 0 {
		t.Errorf("close: %v", err)
	}
	s.Unlock()
	ws, err = storeOn(disk.Clone()).Workspace("default")
	must(t, err)
	s = lockOn(t, ws)
	if got := s.Snapshot(); len(storetest.IDs(got.State)) != begun || len(got.InFlight) != 0 {
		t.Errorf("%d objects of %d, in flight %+v", len(storetest.IDs(got.State)), begun, got.InFlight)
	}
	must(t, s.Unlock())
}

func TestBackupHoldsWhatWasThereBeforeTheRun(t *testing.T) {
	disk, ws := onMem(t)
	seedOn(t, ws, put("t.a", "1"))
	if _, ok := disk.Contents()[statePath+".backup"]; ok {
		t.Error("the first run made a backup of nothing")
	}
	before := disk.Contents()[statePath]
	s := lockOn(t, ws)
	j := beginOn(t, s, "r")
	must(t, j.Record(put("t.b", "2")))
	must(t, j.Checkpoint(ctx))
	must(t, j.Record(put("t.c", "3")))
	must(t, j.Close(ctx))
	must(t, s.Unlock())
	same(t, "backup", disk.Contents()[statePath+".backup"], before)
	seedOn(t, ws, put("t.c", "3"))
	same(t, "backup after a run without changes", disk.Contents()[statePath+".backup"], before)
}

func TestFlagsChooseOtherFiles(t *testing.T) {
	disk := mem.NewFS()
	plain, err := store.New(store.Options{Files: disk, Path: "a.tfstate"}).Workspace("default")
	must(t, err)
	seedOn(t, plain, put("t.a", "1"))
	before := disk.Contents()["a.tfstate"]
	flagged, err := store.New(store.Options{Files: disk, ReadFrom: "a.tfstate", WriteTo: "b.tfstate",
		BackupTo: "-"}).Workspace("default")
	must(t, err)
	s := lockOn(t, flagged)
	same(t, "read", storetest.IDs(s.Snapshot().State), []string{"t.a=1"})
	j := beginOn(t, s, "r")
	must(t, j.Intent(storetest.Create("1", "t.b")))
	must(t, j.Result("1", put("t.b", "2")))
	crashed := disk.Clone()
	must(t, j.Close(ctx))
	must(t, s.Unlock())
	same(t, "file read from", disk.Contents()["a.tfstate"], before)
	for name, disk := range map[string]*mem.FS{"after the run": disk, "after a crash": crashed} {
		out, err := store.New(store.Options{Files: disk, Path: "b.tfstate"}).Workspace("default")
		must(t, err)
		s = lockOn(t, out)
		same(t, name, storetest.IDs(s.Snapshot().State), []string{"t.a=1", "t.b=2"})
		if s.Snapshot().State.Serial != 2 {
			t.Errorf("%s: serial %d", name, s.Snapshot().State.Serial)
		}
		must(t, s.Unlock())
	}
	if _, ok := disk.Contents()["b.tfstate.backup"]; ok {
		t.Error("a backup in spite of -backup=-")
	}
}

func TestLocksOfDeadProcessesDoNotCount(t *testing.T) {
	disk, ws := onMem(t)
	seedOn(t, ws, put("t.a", "1"))
	disk.Put("dir/.terraform.tfstate.lock.info",
		[]byte(`{"ID":"dead","Operation":"apply","Who":"x@y","Created":"2026-01-02T03:04:05Z"}`))
	must(t, lockOn(t, ws).Unlock())
	disk.Put("dir/.terraform.tfstate.lock.info", []byte(`{"ID":"dead"}`))
	must(t, ws.ForceUnlock(ctx, "dead"))
	if err := ws.ForceUnlock(ctx, "dead"); err == nil {
		t.Error("unlocking what is not locked is no error")
	}
}
