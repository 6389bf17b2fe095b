package store_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/state"
)

// withOutput returns a state with a serial and an output.
func withOutput(t *testing.T, serial uint64, value int) *state.State {
	t.Helper()
	text := fmt.Sprintf(`{"version": 4, "terraform_version": "1.11.4", "serial": %d, "lineage": "l",
		"outputs": {"n": {"value": %d, "type": "number"}}, "resources": []}`, serial, value)
	st, err := state.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// replace replaces the state of a workspace.
func replace(t *testing.T, ws state.Workspace, st *state.State) error {
	t.Helper()
	session, err := ws.Lock(t.Context(), state.LockRequest{Info: state.LockInfo{Operation: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	return errors.Join(session.Replace(t.Context(), st), session.Unlock())
}

// Whoever writes, the newest former state is the last one written here, the others precede it in order, and the content
// of each is unchanged.
func TestHistoryContainsWrittenStates(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 7))
			path := filepath.Join(t.TempDir(), "terraform.tfstate")
			keep := 1 + random.IntN(5)
			ws, err := store.New(store.Options{Path: path, History: keep, Rescue: []string{}}).Workspace("default")
			if err != nil {
				t.Fatal(err)
			}
			var want []string // contents, newest last
			serial := uint64(0)
			for n := range 20 {
				switch x := random.IntN(4); {
				case x == 0 && n > 0: // another program writes
					serial += 1 + random.Uint64N(3)
					var b bytes.Buffer
					if err := withOutput(t, serial, n).Encode(&b); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
						t.Fatal(err)
					}
					continue
				case x == 1 && len(want) > 0: // leftovers of a killed run
					name := filepath.Join(path+".history", "000003.gz.0123456789abcdef.new")
					if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				before, _ := os.ReadFile(path)
				if err := replace(t, ws, withOutput(t, serial, n)); err != nil {
					t.Fatal(err)
				}
				if len(before) > 0 && (len(want) == 0 || want[len(want)-1] != string(before)) {
					want = append(want, string(before))
				}
				after, _ := os.ReadFile(path)
				want, serial = append(want, string(after)), serial+1
				checkHistory(t, ws, want[max(0, len(want)-keep):])
			}
			if left, _ := filepath.Glob(path + ".history/*.new"); len(left) > 0 {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

func checkHistory(t *testing.T, ws state.Workspace, want []string) {
	t.Helper()
	h := ws.(history.Historian)
	all, err := h.List(t.Context())
	if err != nil || len(all) != len(want) {
		t.Fatalf("%d former states, want %d (%v)", len(all), len(want), err)
	}
	for i, f := range all {
		data, err := h.Snapshot(t.Context(), f.ID)
		if err != nil || string(data) != want[len(want)-1-i] || f.Size != int64(len(data)) {
			t.Fatalf("former state %d is %s, want %s (%v)", i, data, want[len(want)-1-i], err)
		}
	}
}

// Former states are encrypted if states are.
func TestFormerStatesAreEncrypted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "terraform.tfstate")
	ws, err := store.New(store.Options{Path: path, History: 9, Rescue: []string{},
		Cipher: encryptiontest.Turn(1)}).Workspace("default")
	must(t, err)
	for n := range 3 {
		must(t, replace(t, ws, withOutput(t, uint64(n+1), 736251849+n)))
	}
	names, err := filepath.Glob(path + ".history/*.gz")
	must(t, err)
	if len(names) < 2 {
		t.Fatalf("%d former states", len(names))
	}
	for _, name := range names {
		packed, err := os.ReadFile(name)
		must(t, err)
		z, err := gzip.NewReader(bytes.NewReader(packed))
		must(t, err)
		text, err := io.ReadAll(z)
		must(t, err)
		if bytes.Contains(text, []byte("73625184")) || !bytes.Contains(text, []byte("encrypted_data")) {
			t.Errorf("%s has %.300q", filepath.Base(name), text)
		}
	}
}

// The store does not write to folders of others, and a history that cannot be written does not affect the state.
func TestHistoryStaysInItsFolder(t *testing.T) {
	for name, plant := range map[string]func(there, elsewhere string) error{
		"link":            func(there, elsewhere string) error { return os.Symlink(elsewhere, there) },
		"link to nowhere": func(there, elsewhere string) error { return os.Symlink(elsewhere+"/none", there) },
		"file":            func(there, _ string) error { return os.WriteFile(there, nil, 0o600) },
		"folder inside":   func(there, _ string) error { return os.MkdirAll(there+"/000001.gz", 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, elsewhere := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, "terraform.tfstate")
			if err := plant(path+".history", elsewhere); err != nil {
				t.Skipf("needs links: %v", err)
			}
			ws, err := store.New(store.Options{Path: path, History: 1, Rescue: []string{}}).Workspace("default")
			if err != nil {
				t.Fatal(err)
			}
			err = replace(t, ws, withOutput(t, 1, 1))
			if err == nil || !strings.Contains(err.Error(), "the state is up to date") {
				t.Errorf("the history cannot be written: %v", err)
			}
			snapshot, err := ws.Read(t.Context())
			if err != nil || snapshot.State == nil || len(snapshot.InFlight)+len(snapshot.Unfolded) > 0 {
				t.Errorf("the state: %+v, %v", snapshot, err)
			}
			if there, _ := os.ReadDir(elsewhere); len(there) > 0 {
				t.Errorf("%s was written elsewhere", there)
			}
		})
	}
}

func TestWorkspacesAreDeletedWithTheirHistory(t *testing.T) {
	dir := t.TempDir()
	st := store.New(store.Options{Path: dir + "/terraform.tfstate", WorkspaceDir: dir + "/w", History: 3,
		Rescue: []string{}})
	ws, err := st.Workspace("blue")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if err := replace(t, ws, withOutput(t, uint64(n), n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.DeleteWorkspace(t.Context(), "blue"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/w/blue"); !os.IsNotExist(err) {
		t.Errorf("the folder of the workspace: %v", err)
	}
}
