package store_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

var ctx = context.Background()

// terraform returns a function that runs terraform in a folder. It skips the test if terraform is not installed.
func terraform(t *testing.T, dir string) func(args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("needs terraform on PATH to compare with")
	}
	return func(args ...string) *exec.Cmd {
		cmd := programtest.Bounded(t, path, args...)
		cmd.Dir = dir
		cmd.Env = programtest.Environ("TF_IN_AUTOMATION=1")
		return cmd
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

func openDefault(t *testing.T, dir string) state.Workspace {
	t.Helper()
	ws, err := store.New(store.Options{Path: filepath.Join(dir, "terraform.tfstate"), WorkspaceDir: filepath.Join(dir,
		"terraform.tfstate.d")}).Workspace("default")
	must(t, err)
	return ws
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTerraformHoldingTheLockRefusesUs(t *testing.T) {
	dir := t.TempDir()
	tf := terraform(t, dir)
	write(t, filepath.Join(dir, "main.tf"), `resource "terraform_data" "a" {
  provisioner "local-exec" { command = "touch running; while ! test -e stop; do sleep 0.05; done" }
}`)
	run(t, tf("init"))
	apply := tf("apply", "-auto-approve")
	must(t, apply.Start())
	for i := 0; i < 1200; i++ {
		if _, err := os.Stat(filepath.Join(dir, "running")); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	ws := openDefault(t, dir)
	_, err := ws.Lock(ctx, state.LockRequest{})
	var locked *state.LockedError
	if !errors.As(err, &locked) || locked.Info == nil || locked.Info.Operation != "OperationTypeApply" ||
		!strings.Contains(locked.Error(), locked.Info.ID) {
		t.Errorf("got %v", err)
	}
	write(t, filepath.Join(dir, "stop"), "")
	must(t, apply.Wait())
	session, err := ws.Lock(ctx, state.LockRequest{})
	must(t, err)
	if got := storetest.IDs(session.Snapshot().State); len(got) != 1 ||
		!strings.HasPrefix(got[0], "terraform_data.a=") {
		t.Errorf("state of terraform: %v", got)
	}
	must(t, session.Unlock())
}

func TestWeHoldingTheLockRefuseTerraform(t *testing.T) {
	dir := t.TempDir()
	tf := terraform(t, dir)
	write(t, filepath.Join(dir, "main.tf"), `resource "terraform_data" "a" {}`)
	run(t, tf("init"))
	session, err := openDefault(t, dir).Lock(ctx, state.LockRequest{
		Info: state.LockInfo{ID: "our-lock-id", Operation: "apply", Who: "tester@here"}})
	must(t, err)
	out, err := tf("plan", "-no-color").CombinedOutput()
	for _, want := range []string{"Error acquiring the state lock", "our-lock-id", "tester@here", "apply",
		state.LanguageVersion} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("terraform does not say %q: %v\n%s", want, err, out)
		}
	}
	must(t, session.Unlock())
	run(t, tf("plan"))
	for _, name := range []string{"terraform.tfstate", ".terraform.tfstate.lock.info"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s stays behind", name)
		}
	}
}

// While Terraform waits for the lock, it keeps the state file open, so the new content must be written to that very
// file.
func TestTerraformWaitingForOurLockSeesWhatWeWrote(t *testing.T) {
	dir := t.TempDir()
	tf := terraform(t, dir)
	write(t, filepath.Join(dir, "main.tf"), `resource "terraform_data" "theirs" {}`)
	run(t, tf("init"))
	run(t, tf("apply", "-auto-approve"))
	write(t, filepath.Join(dir, "main.tf"), `resource "terraform_data" "theirs" {}
resource "terraform_data" "later" {}
removed {
  from = terraform_data.ours
  lifecycle { destroy = false }
}`)
	ws := openDefault(t, dir)
	session, err := ws.Lock(ctx, state.LockRequest{Info: state.LockInfo{ID: "id", Operation: "apply"}})
	must(t, err)
	apply := tf("apply", "-auto-approve", "-lock-timeout=2m", "-no-color")
	var out strings.Builder
	apply.Stdout, apply.Stderr = &out, &out
	must(t, apply.Start())
	time.Sleep(1500 * time.Millisecond) // it tries, and waits

	j, err := session.Begin(ctx, state.RunInfo{ID: "r"})
	must(t, err)
	edit := storetest.Put("terraform_data.ours", "our-id", "")
	edit.Put.Provider = session.Snapshot().State.Resources()[0].Provider
	edit.Put.Object.Attributes = []byte(`{"id":"our-id","input":null,"output":null,"triggers_replace":null}`)
	must(t, j.Record(edit))
	must(t, j.Close(ctx))
	must(t, session.Unlock())
	if err := apply.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "terraform_data.ours") {
		t.Errorf("terraform did not see our object:\n%s", out.String())
	}
	snapshot, err := ws.Read(ctx)
	must(t, err)
	got := strings.Join(storetest.IDs(snapshot.State), " ")
	if !strings.Contains(got, "terraform_data.theirs=") || !strings.Contains(got, "terraform_data.later=") ||
		strings.Contains(got, "ours") {
		t.Errorf("state afterwards: %s", got)
	}
}

func TestTerraformContinuesOurState(t *testing.T) {
	dir := t.TempDir()
	tf := terraform(t, dir)
	write(t, filepath.Join(dir, "main.tf"), `resource "terraform_data" "a" { input = "x<>&" }
output "o" { value = terraform_data.a.output }`)
	run(t, tf("init"))
	run(t, tf("apply", "-auto-approve"))
	ws := openDefault(t, dir)
	session, err := ws.Lock(ctx, state.LockRequest{})
	must(t, err)
	st := session.Snapshot().State
	b := st.Builder()
	b.Fold(storetest.Drop("terraform_data.a"))
	must(t, session.Write(ctx, b.State()))
	b = session.Snapshot().State.Builder()
	a := storetest.Addr("terraform_data.a")
	b.Fold(state.Edit{Put: &state.PutObject{Addr: a, Provider: st.ProviderOf(a), Object: st.Object(a)}})
	must(t, session.Write(ctx, b.State()))
	must(t, session.Unlock())
	if out := run(t, tf("plan", "-no-color", "-detailed-exitcode")); !strings.Contains(out, "No changes") {
		t.Error(out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "terraform.tfstate"))
	must(t, err)
	pulled := run(t, tf("state", "pull")) // with the version of terraform, whichever program wrote it
	pulled = strings.Replace(pulled, `"terraform_version": "1.11.4"`,
		`"terraform_version": "`+state.LanguageVersion+`"`, 1)
	if strings.TrimSpace(pulled) != strings.TrimSpace(string(text)) {
		t.Errorf("terraform writes it differently:\n%s\nwe:\n%s", pulled, text)
	}
}
