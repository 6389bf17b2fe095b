//go:build unix

package store_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// plants holds entries that other programs may create at a name before a run.
var plants = map[string]func(outside, name string) error{
	"link to a file":   func(outside, name string) error { return os.Symlink(filepath.Join(outside, "file"), name) },
	"link to a folder": func(outside, name string) error { return os.Symlink(filepath.Join(outside, "folder"), name) },
	"link to nothing": func(outside, name string) error {
		return os.Symlink(filepath.Join(outside, "nothing"), name)
	},
	"link to a device": func(_, name string) error { return os.Symlink("/dev/null", name) },
	"link to a pipe":   func(outside, name string) error { return os.Symlink(filepath.Join(outside, "pipe"), name) },
	"second name":      func(outside, name string) error { return os.Link(filepath.Join(outside, "file"), name) },
	"pipe":             func(_, name string) error { return syscall.Mkfifo(name, 0o600) },
	"folder":           func(_, name string) error { return os.MkdirAll(filepath.Join(name, "inner"), 0o755) },
	"link to itself":   func(_, name string) error { return os.Symlink(filepath.Base(name), name) },
	"link out and back": func(outside, name string) error {
		return os.Symlink(filepath.Join(outside, "folder", "back"),
			name)
	},
}

// surroundings creates a folder with files that could be damaged.
func surroundings(t *testing.T, dir string) string {
	t.Helper()
	outside := filepath.Join(dir, "outside")
	must(t, os.MkdirAll(filepath.Join(outside, "folder", "sub"), 0o755))
	for _, name := range []string{"file", "folder/a", "folder/sub/b"} {
		must(t, os.WriteFile(filepath.Join(outside, name), []byte("precious "+name), 0o640))
	}
	must(t, syscall.Mkfifo(filepath.Join(outside, "pipe"), 0o600))
	must(t, os.Symlink(filepath.Join(outside, "file"), filepath.Join(outside, "folder", "back")))
	return outside
}

// fingerprint describes everything in a folder.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%s %v %d", path, info.Mode(), info.Size())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, " %x %s", sha256.Sum256(b), info.ModTime())
		}
		all.WriteByte('\n')
		return nil
	}))
	return all.String()
}

// wholeRun performs every file operation of a store, until one fails.
func wholeRun(files store.Files, o store.Options, workspace string) (problem error) {
	note := func(err error) bool {
		problem = errors.Join(problem, err)
		return err == nil
	}
	o.Files, o.Rescue = files, []string{}
	st := store.New(o)
	ws, err := st.Workspace(workspace)
	if !note(err) {
		return problem
	}
	_, err = ws.Read(ctx)
	note(err)
	s, err := ws.Lock(ctx, state.LockRequest{Info: state.LockInfo{ID: "x"}})
	if !note(err) {
		return problem
	}
	if j, err := s.Begin(ctx, state.RunInfo{ID: "r"}); note(err) {
		if note(j.Intent(storetest.Create("1", "t.a"))) {
			note(j.Result("1", put("t.a", "1")))
		}
		note(j.Checkpoint(ctx))
		note(j.Intent(storetest.Create("2", "t.b")))
		note(j.Close(ctx))
	}
	note(s.Resolve(ctx, []string{"r/2"}))
	note(s.Unlock())
	if s, err = ws.Lock(ctx, state.LockRequest{Unlocked: true}); note(err) {
		note(s.Write(ctx, fold(put("t.c", "3"))(s.Snapshot().State)))
		note(s.Unlock())
	}
	return problem
}

// touched lists the names that a complete run touches beside a state, except for random names.
func touched(t *testing.T, run func(files store.Files, dir string)) []string {
	t.Helper()
	dir := t.TempDir()
	var names []string
	f := faults.Wrap(store.OS{}, faults.Plan{})
	f.Seen = func(_ int, _, name string) {
		rel, err := filepath.Rel(dir, name)
		if err == nil && !strings.HasPrefix(rel, ".") && !slices.Contains(names, rel) ||
			strings.HasPrefix(rel, ".terraform.") {
			if !regexp.MustCompile(`\.[0-9a-f]{16}\.new$`).MatchString(rel) && !slices.Contains(names, rel) {
				names = append(names, rel)
			}
		}
	}
	run(f, dir)
	return names
}

// TestPlantedLinksAreNotFollowed creates entries of all kinds under every name that a run touches: before its first
// run, between two runs, and after one that was killed. Nothing outside changes.
func TestPlantedLinksAreNotFollowed(t *testing.T) {
	options := func(dir string) store.Options { return store.Options{Path: filepath.Join(dir, "terraform.tfstate")} }
	names := touched(t, func(files store.Files, dir string) { must(t, wholeRun(files, options(dir), "default")) })
	for _, want := range []string{"terraform.tfstate", "terraform.tfstate.backup", "terraform.tfstate.journal",
		"terraform.tfstate.journal.new",
		"terraform.tfstate.journal.image", "terraform.tfstate.journal.fresh", ".terraform.tfstate.lock.info"} {
		if !slices.Contains(names, want) {
			t.Errorf("the run does not touch %s; it touches %v", want, names)
		}
	}
	before := map[string]func(t *testing.T, dir string){
		"nothing": func(*testing.T, string) {},
		"a state": func(t *testing.T, dir string) { seedOn(t, openDefault(t, dir), put("t.a", "0")) },
		"a killed run": func(t *testing.T, dir string) {
			ws := openDefault(t, dir)
			seedOn(t, ws, put("t.a", "0"))
			s := lockOn(t, ws)
			must(t, beginOn(t, s, "dead").Intent(storetest.Create("1", "t.x")))
			s.Unlock()
		},
	}
	if os.Getenv("TOMBOLO_CRASH_FULL") == "" {
		delete(before, "nothing") // only a sample
	}
	runs, refused := 0, 0
	for _, name := range names {
		for kind, plant := range plants {
			for found, prepare := range before {
				dir := t.TempDir()
				outside := surroundings(t, dir)
				project := filepath.Join(dir, "project")
				must(t, os.Mkdir(project, 0o755))
				prepare(t, project)
				at := filepath.Join(project, name)
				must(t, os.RemoveAll(at))
				must(t, plant(outside, at))
				if name == "terraform.tfstate" && kind == "link to nothing" {
					continue // a state may be a link to a missing file, as in Terraform
				}
				was := fingerprint(t, outside)
				err := wholeRun(store.OS{}, options(project), "default")
				runs++
				if err != nil {
					refused++
				}
				if now := fingerprint(t, outside); now != was {
					t.Errorf("%s is a %s, with %s before: the surroundings changed (%v):\n%s\nwere\n%s", name, kind,
						found, err, now, was)
				}
				if kind != "second name" && err == nil {
					t.Errorf("%s is a %s, with %s before: nobody was told", name, kind, found)
				}
			}
		}
	}
	t.Logf("%d runs over %d names, %d refused", runs, len(names), refused)
}

// TestBackupsAreCheckedBeforeTheRun uses entries of all kinds as the backup.
func TestBackupsAreCheckedBeforeTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		backup  string
		plant   func(outside, project string) error
		refused bool
		kept    string // file with the former state afterwards
	}{
		"the state":               {backup: "terraform.tfstate", refused: true},
		"the state by its folder": {backup: "./sub/../terraform.tfstate", refused: true},
		"the state by a link": {backup: "link", plant: func(_, p string) error {
			return os.Symlink("terraform.tfstate", p+"/link")
		}, refused: true},
		"the state by second name": {backup: "hard", plant: func(_, p string) error {
			return os.Link(p+"/terraform.tfstate", p+"/hard")
		}, refused: true},
		"the state by a folder": {backup: "here/terraform.tfstate", refused: true,
			plant: func(_, p string) error { return os.Symlink(".", p+"/here") }},
		"the journal": {backup: "terraform.tfstate.journal", refused: true},
		"the image": {backup: "here/terraform.tfstate.journal.image", refused: true,
			plant: func(_, p string) error { return os.Symlink(p, p+"/here") }},
		"the lock": {backup: ".terraform.tfstate.lock.info", refused: true},
		"a folder": {backup: "folder", plant: func(_, p string) error {
			return os.Mkdir(p+"/folder", 0o755)
		}, refused: true},
		"in a missing folder": {backup: "missing/b", refused: true},
		"below a file":        {backup: "terraform.tfstate/b", refused: true},
		"a pipe without end": {backup: "pipe", plant: func(_, p string) error {
			return syscall.Mkfifo(p+"/pipe", 0o600)
		}, refused: true},
		"a device": {backup: "/dev/null"},
		"a link to a device": {backup: "null", plant: func(_, p string) error {
			return os.Symlink("/dev/null", p+"/null")
		}},
		"a link to a file": {backup: "link", plant: func(o, p string) error {
			return os.Symlink(o+"/file", p+"/link")
		}, kept: "../outside/file"},
		"a file": {backup: "kept", kept: "kept"},
		"none":   {backup: "-"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			outside, project := surroundings(t, dir), filepath.Join(dir, "project")
			must(t, os.MkdirAll(filepath.Join(project, "sub"), 0o755))
			seedOn(t, openDefault(t, project), put("t.a", "0"))
			if c.plant != nil {
				must(t, c.plant(outside, project))
			}
			t.Chdir(project)
			former, err := os.ReadFile("terraform.tfstate")
			must(t, err)
			was := fingerprint(t, dir)
			ws, err := store.New(store.Options{BackupTo: c.backup, Rescue: []string{}}).Workspace("default")
			must(t, err)
			for _, unlocked := range []bool{false, true} {
				s, err := ws.Lock(ctx, state.LockRequest{Unlocked: unlocked})
				if (err != nil) != c.refused {
					t.Fatalf("the lock gives %v, want refused %t", err, c.refused)
				}
				if c.refused {
					if !strings.Contains(err.Error(), "backup") {
						t.Errorf("the error does not speak of the backup: %v", err)
					}
					continue
				}
				j := beginOn(t, s, "r")
				must(t, j.Intent(storetest.Create("1", "t.b")))
				must(t, j.Result("1", put("t.b", fmt.Sprint(unlocked))))
				must(t, j.Close(ctx))
				must(t, s.Unlock())
				if c.kept != "" && !unlocked {
					b, err := os.ReadFile(c.kept)
					must(t, err)
					same(t, "backup", string(b), string(former))
				}
			}
			if now := fingerprint(t, dir); c.refused && now != was {
				t.Errorf("something changed:\n%s\nwas\n%s", now, was)
			}
			got, err := ws.Read(ctx)
			must(t, err)
			if want := []string{"t.a=0", "t.b=true"}; !c.refused {
				same(t, "state", storetest.IDs(got.State), want)
			}
			if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
				t.Fatal("/dev/null was replaced")
			}
		})
	}
}

// When encryption is introduced or its key is replaced, the former state is encrypted before it becomes the backup,
// even if the backup is a link to a file. Nothing of that file's old content remains.
func TestBackupsThroughLinksAreEncryptedAgain(t *testing.T) {
	for _, keys := range [][]int{{1, 0}, {2, 1}} {
		for _, backup := range []string{"", "link"} {
			t.Run(fmt.Sprint(keys, backup), func(t *testing.T) {
				dir := t.TempDir()
				name := cmp.Or(backup, "terraform.tfstate.backup")
				outside := filepath.Join(dir, "outside")
				must(t, os.WriteFile(outside, bytes.Repeat([]byte("precious"), 1<<12), 0o600))
				must(t, os.Mkdir(filepath.Join(dir, "project"), 0o755))
				t.Chdir(filepath.Join(dir, "project"))
				where := outside
				if must(t, os.Symlink("../outside", "link")); backup == "" {
					where = name // links are refused there
				}
				apply := func(c *encryption.Cipher, backup, what string) {
					ws, err := store.New(store.Options{BackupTo: backup, Rescue: []string{}, Cipher: c}).
						Workspace("default")
					must(t, err)
					s, err := ws.Lock(ctx, state.LockRequest{})
					must(t, err)
					j := beginOn(t, s, "r")
					must(t, j.Intent(storetest.Create("1", what)))
					must(t, j.Result("1", put(what, "736251849")))
					must(t, j.Close(ctx))
					must(t, s.Unlock())
				}
				apply(encryptiontest.Turn(keys[1]), "-", "t.a")
				apply(encryptiontest.Turn(keys[0], keys[1:]...), backup, "t.b")
				if to, err := os.Readlink("link"); err != nil || to != "../outside" {
					t.Errorf("the link goes to %q: %v", to, err)
				}
				text, err := os.ReadFile(where)
				must(t, err)
				plain, outdated, err := encryptiontest.Turn(keys[0]).Open(ctx, text)
				if err != nil || outdated || bytes.Contains(text, []byte("736251849")) ||
					bytes.Contains(text, []byte("precious")) || !bytes.Contains(plain, []byte("736251849")) ||
					bytes.Contains(plain, []byte(`"t.b"`)) {
					t.Errorf("the backup is %.200q, that is %.200q: %v", text, plain, err)
				}
			})
		}
	}
}

// TestOneStateHasOneJournal: under whatever name a state is opened, its other files have the same names.
func TestOneStateHasOneJournal(t *testing.T) {
	for _, missing := range []bool{false, true} {
		dir := t.TempDir()
		must(t, os.MkdirAll(dir+"/real", 0o755))
		must(t, os.MkdirAll(dir+"/a/b", 0o755))
		if !missing {
			seedOn(t, openDefault(t, dir+"/real"), put("t.a", "0"))
		}
		must(t, os.Symlink("../real/terraform.tfstate", dir+"/a/one"))
		must(t, os.Symlink("../one", dir+"/a/b/two"))
		open := func(name string) state.Workspace {
			ws, err := store.New(store.Options{Path: filepath.Join(dir, name), Rescue: []string{}}).Workspace("default")
			must(t, err)
			return ws
		}
		s, err := open("a/one").Lock(ctx, state.LockRequest{Unlocked: missing})
		must(t, err)
		j := beginOn(t, s, "r")
		must(t, j.Intent(storetest.Create("1", "t.b")))
		for _, name := range []string{"a/b/two", "real/terraform.tfstate"} {
			got, err := open(name).Read(ctx)
			must(t, err)
			if got.Running == nil || len(got.InFlight) != 1 {
				t.Errorf("missing %t: under the name %s nobody sees the run: %+v", missing, name, got)
			}
			if _, err := open(name).Lock(ctx, state.LockRequest{Unlocked: true}); err == nil {
				t.Errorf("missing %t: under the name %s a second run begins", missing, name)
			}
		}
		must(t, j.Result("1", put("t.b", "1")))
		must(t, j.Close(ctx))
		must(t, s.Unlock())
		if left, _ := filepath.Glob(dir + "/a/*.*"); len(left) > 0 {
			t.Errorf("files beside the link: %v", left)
		}
		if got, err := open("a/b/two").Read(ctx); err != nil || !slices.Contains(storetest.IDs(got.State), "t.b=1") {
			t.Errorf("the state is %v, %v", storetest.IDs(got.State), err)
		}
	}
}

// TestLinksIntoMissingFoldersAreRefused: a link's missing folder is not created, and no run begins without a place
// for the state.
func TestLinksIntoMissingFoldersAreRefused(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Symlink("missing/terraform.tfstate", filepath.Join(dir, "terraform.tfstate")))
	for _, unlocked := range []bool{false, true} {
		if _, err := openDefault(t, dir).Lock(ctx, state.LockRequest{Unlocked: unlocked}); err == nil ||
			!strings.Contains(err.Error(), "missing") {
			t.Errorf("unlocked %t: %v", unlocked, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestSharedStatesHaveSharedFiles: users who may access the state may access the files beside it, during a run and
// after one that was killed.
func TestSharedStatesHaveSharedFiles(t *testing.T) {
	for _, perm := range []os.FileMode{0o600, 0o644, 0o660, 0o664} {
		dir := t.TempDir()
		ws := openDefault(t, dir)
		seedOn(t, ws, put("t.a", "1"))
		must(t, os.Chmod(filepath.Join(dir, "terraform.tfstate"), perm))
		given := os.Chown(filepath.Join(dir, "terraform.tfstate"), 12, 34) == nil // root may lack the right
		s := lockOn(t, ws)
		j := beginOn(t, s, "r")
		must(t, j.Intent(storetest.Create("1", "t.b")))
		must(t, j.Result("1", put("t.b", "2")))
		must(t, j.Checkpoint(ctx))
		want := []string{".terraform.tfstate.lock.info", "terraform.tfstate", "terraform.tfstate.backup",
			"terraform.tfstate.journal",
			"terraform.tfstate.journal.image"}
		entries, err := os.ReadDir(dir)
		must(t, err)
		var got []string
		for _, e := range entries {
			info, err := e.Info()
			must(t, err)
			got = append(got, e.Name())
			if info.Mode().Perm() != perm {
				t.Errorf("%s has mode %v beside a state of mode %v", e.Name(), info.Mode(), perm)
			}
			if sys := info.Sys().(*syscall.Stat_t); given && (sys.Uid != 12 || sys.Gid != 34) {
				t.Errorf("%s belongs to %d:%d, and the state to 12:34", e.Name(), sys.Uid, sys.Gid)
			}
		}
		same(t, "files", got, want)
		must(t, j.Close(ctx))
		must(t, s.Unlock())
	}
}

// TestWorkspacesAreRemovedCompletelyOrNotAtAll puts entries of all kinds into the folder of a workspace, or replaces it
// with links.
func TestWorkspacesAreRemovedCompletelyOrNotAtAll(t *testing.T) {
	for what, c := range map[string]struct {
		plant func(dir, outside string) error
		stays bool // the workspace is not removed
	}{
		"nothing":            {func(string, string) error { return nil }, false},
		"a file":             {func(d, _ string) error { return os.WriteFile(d+"/aaa", nil, 0o600) }, false},
		"a link to nothing":  {func(d, _ string) error { return os.Symlink("nowhere", d+"/zzz") }, false},
		"a link to itself":   {func(d, _ string) error { return os.Symlink("zzz", d+"/zzz") }, false},
		"a link to a folder": {func(d, o string) error { return os.Symlink(o, d+"/zzz") }, false},
		"a link to a file":   {func(d, o string) error { return os.Symlink(o+"/file", d+"/zzz") }, false},
		"a pipe":             {func(d, _ string) error { return syscall.Mkfifo(d+"/zzz", 0o600) }, false},
		"a folder":           {func(d, _ string) error { return os.Mkdir(d+"/zzz", 0o700) }, true},
		"an empty answers folder": {func(d, _ string) error { return os.Mkdir(d+"/terraform.tfstate.answers", 0o700) },
			false},
		"a link for the answers": {func(d, o string) error { return os.Symlink(o, d+"/terraform.tfstate.answers") },
			false},
		"answers": {
			func(d, _ string) error { return os.MkdirAll(d+"/terraform.tfstate.answers/x", 0o700) }, true},
		"a link instead of itself": {func(d, o string) error { return errors.Join(os.RemoveAll(d), os.Symlink(o, d)) },
			false},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			outside, project := surroundings(t, dir), filepath.Join(dir, "project")
			st := store.New(store.Options{Path: project + "/terraform.tfstate", WorkspaceDir: project + "/w",
				Rescue: []string{}})
			ws, err := st.Workspace("blue")
			must(t, err)
			seedOn(t, ws, put("t.a", "1"))
			must(t, c.plant(project+"/w/blue", outside))
			was := fingerprint(t, dir)
			out := fingerprint(t, outside)
			err = st.DeleteWorkspace(ctx, "blue")
			if (err != nil) != c.stays {
				t.Errorf("returns %v, and it stays: %t", err, c.stays)
			}
			if now := fingerprint(t, dir); c.stays && now != was {
				t.Errorf("some of it went:\n%s\nwas\n%s", now, was)
			}
			if _, err := os.Lstat(project + "/w/blue"); !c.stays && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is still there: %v", err)
			}
			same(t, "what is outside", fingerprint(t, outside), out)
		})
	}
}

// TestAFolderThatIsReplacedLosesNothing replaces the folder of a state during a run or before its end: the results are
// where the error says they are.
func TestAFolderThatIsReplacedLosesNothing(t *testing.T) {
	replacements := map[string]func(name string) error{
		"nothing":        func(string) error { return nil },
		"a file":         func(name string) error { return os.WriteFile(name, nil, 0o600) },
		"another folder": func(name string) error { return os.Mkdir(name, 0o755) },
		"a link to itself": func(name string) error {
			return os.Symlink(filepath.Base(name), name)
		},
		"a link to a file": func(name string) error {
			return os.Symlink(filepath.Join("..", "outside", "file"), name)
		},
	}
	for what, replace := range replacements {
		for _, late := range []bool{false, true} {
			dir := t.TempDir()
			outside := surroundings(t, dir)
			was := fingerprint(t, outside)
			folder, rescue := filepath.Join(dir, "project", "states"), filepath.Join(dir, "project")
			must(t, os.MkdirAll(folder, 0o755))
			path := filepath.Join(folder, "terraform.tfstate")
			st := store.New(store.Options{Path: path, Rescue: []string{rescue}})
			ws, err := st.Workspace("default")
			must(t, err)
			s := lockOn(t, ws)
			j := beginOn(t, s, "r")
			must(t, j.Intent(storetest.Create("1", "t.a")))
			if !late {
				must(t, errors.Join(os.RemoveAll(folder), replace(folder)))
			}
			must(t, j.Result("1", put("t.a", "made")))
			if late {
				must(t, errors.Join(os.RemoveAll(folder), replace(folder)))
			}
			err = j.Close(ctx)
			_ = s.Unlock()
			if err == nil {
				if what != "another folder" {
					t.Errorf("%s (late: %t): nobody was told", what, late)
				}
				continue
			}
			var saved *state.SavedError
			if !errors.As(err, &saved) {
				t.Errorf("%s (late: %t): the results are lost: %v", what, late, err)
				continue
			}
			if now := fingerprint(t, outside); now != was {
				t.Errorf("%s (late: %t): the surroundings changed", what, late)
			}
			must(t, errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755)))
			must(t, os.Rename(saved.Where[0], path+".journal"))
			s = lockOn(t, ws)
			same(t, what, storetest.IDs(s.Snapshot().State), []string{"t.a=made"})
			must(t, s.Unlock())
		}
	}
}
