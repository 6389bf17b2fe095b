package engine_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/state"
)

// The error about a read-only folder explains which access is necessary, and not only which call failed.
func TestReadOnlyFolderErrorHasAdvice(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(`resource "terraform_data" "a" {}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if f, err := os.Create(filepath.Join(dir, "probe")); err == nil {
		f.Close()
		t.Skip("needs a user who may not write everywhere")
	}
	project, diags := engine.Load(t.Context(), engine.Options{Dir: dir})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	if _, diags = project.Open(t.Context(), engine.OpenOptions{}); !diags.HasErrors() ||
		!strings.Contains(diags[0].Detail, "-lock=false") {
		t.Errorf("a folder without the right to write gave %v", diags)
	}
}

// A plan without the lock is possible while another run writes; runs that write are refused, with or without the lock.
func TestReadingWithoutALockDuringAnotherRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(`resource "terraform_data" "a" {}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	project, diags := engine.Load(t.Context(), engine.Options{Dir: dir})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	writer, diags := project.Open(t.Context(), engine.OpenOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer writer.Close(t.Context())
	journal, err := writer.Session().Begin(t.Context(), state.RunInfo{ID: "r", Command: "apply"})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close(t.Context())
	other, diags := addr.ParseInstance("terraform_data.b")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	builtin, err := addr.ParseAbsProviderConfig(`provider["terraform.io/builtin/terraform"]`)
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Intent(state.Intent{ID: "1", Object: addr.Object{Instance: other}, Action: "create",
		Provider: builtin}); err != nil {
		t.Fatal(err)
	}

	if _, diags := project.Open(t.Context(), engine.OpenOptions{NoLock: true}); !diags.HasErrors() {
		t.Error("a second run that may write was let in")
	}
	reader, diags := project.Open(t.Context(), engine.OpenOptions{NoLock: true, Reading: true})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer reader.Close(t.Context())
	p, diags := reader.Plan(t.Context(), engine.PlanOptions{})
	if len(diags) > 0 || len(p.Changes) != 1 {
		t.Errorf("got a plan of %d changes with %v; want one change, and no word of what the other run is doing now",
			len(p.Changes), diags)
	}
	if err := reader.Session().Write(t.Context(), writer.State()); err == nil {
		t.Error("the reader could write")
	}
}

// unreadable is a store whose state this user may not read; root can read every file.
type unreadable struct{ state.Store }

func (u unreadable) Workspace(name string) (state.Workspace, error) {
	ws, err := u.Store.Workspace(name)
	return unreadableWorkspace{ws}, err
}

type unreadableWorkspace struct{ state.Workspace }

func (unreadableWorkspace) Lock(context.Context, state.LockRequest) (state.Session, error) {
	return nil, &fs.PathError{Op: "open", Path: "terraform.tfstate", Err: syscall.EACCES}
}

// Advice to run without the lock is only for runs that requested the lock.
func TestUnreadableStateWithoutLockHasNoLockAdvice(t *testing.T) {
	dir := t.TempDir()
	project, diags := engine.Load(t.Context(), engine.Options{Dir: dir})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	project = project.WithStore(unreadable{project.Store()})
	for _, noLock := range []bool{false, true} {
		_, diags := project.Open(t.Context(), engine.OpenOptions{NoLock: noLock, Reading: true})
		if err := diags.Err(); err == nil || strings.Contains(err.Error(), "lock") == noLock ||
			noLock && !strings.Contains(err.Error(), "check the owners") {
			t.Errorf("without the lock: %v: %v", noLock, err)
		}
	}
}
