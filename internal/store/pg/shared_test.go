//go:build unix

package pg

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// peer is another program whose states are in the same database, with its own working directory.
type peer struct {
	t    *testing.T
	path string
	dir  string
	dsn  string
}

// peers runs a test with each installed program.
func peers(t *testing.T, test func(t *testing.T, p *peer)) {
	for _, name := range []string{"terraform", "tofu"} {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("needs %s on PATH to share states with", name)
			}
			test(t, &peer{t: t, path: path, dir: t.TempDir(), dsn: pgtest.Database(t) + " sslmode=disable"})
		})
	}
}

func (p *peer) command(args ...string) *exec.Cmd {
	cmd := programtest.Bounded(p.t, p.path, args...)
	cmd.Dir = p.dir
	cmd.Env = programtest.Environ("TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "PG_CONN_STR="+p.dsn,
		"TF_CLI_CONFIG_FILE="+os.DevNull)
	return cmd
}

func (p *peer) run(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", args, err, out)
	}
	return string(out)
}

func (p *peer) refused(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "state lock") {
		p.t.Errorf("%s was not refused: %v\n%s", args, err, out)
	}
	return string(out)
}

func (p *peer) config(text string) {
	p.t.Helper()
	text = "terraform {\n  backend \"pg\" {}\n}\n" + text
	if err := os.WriteFile(filepath.Join(p.dir, "main.tf"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// busy starts an apply that continues until a file exists, and returns a function that ends it.
func (p *peer) busy() (end func()) {
	p.t.Helper()
	for _, name := range []string{"running", "stop"} {
		_ = os.Remove(filepath.Join(p.dir, name)) // left from the last time
	}
	p.config(`resource "terraform_data" "busy" {
  triggers_replace = timestamp()
  provisioner "local-exec" {
    command = "touch running; i=0; while ! test -e stop && [ $i -lt 2000 ]; do sleep 0.05; i=$((i+1)); done"
  }
}`)
	cmd := p.command("apply", "-auto-approve", "-no-color")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(p.dir, "running")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			p.t.Fatal("apply does not begin")
		}
	}
	return func() {
		if err := os.WriteFile(filepath.Join(p.dir, "stop"), nil, 0o600); err != nil {
			p.t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			p.t.Log(err, out.String())
		}
	}
}

func TestStatesAreShared(t *testing.T) {
	peers(t, func(t *testing.T, other *peer) {
		d := opened(t, other.dsn)
		ours := remote.New(remote.Options{Driver: d, Rescue: []string{t.TempDir()}, Who: "me@here"})
		session := func(name string) state.Session {
			t.Helper()
			ws, err := ours.Workspace(name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := ws.Lock(t.Context(), state.LockRequest{Info: state.LockInfo{Operation: state.OperationApply}})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		unlock := func(s state.Session) {
			t.Helper()
			if err := s.Unlock(); err != nil {
				t.Fatal(err)
			}
		}
		// The other program creates a state; we read and write it, and the other program continues with ours.
		other.config(`output "x" { value = "theirs" }`)
		other.run("init", "-no-color")
		other.run("apply", "-auto-approve", "-no-color")
		s := session("default")
		st := s.Snapshot().State
		if st == nil || st.Serial != 1 {
			t.Fatalf("state %+v", st)
		}
		b := st.Builder()
		b.Fold(state.Edit{Output: &state.SetOutput{Name: "x", Value: &state.Output{Value: cty.StringVal("ours")}}})
		if err := s.Write(t.Context(), b.State()); err != nil {
			t.Fatal(err)
		}
		other.refused("apply", "-auto-approve", "-no-color")
		if out := other.run("output", "-raw", "x"); out != "ours" {
			t.Errorf("output %q", out)
		}
		unlock(s)
		other.run("apply", "-auto-approve", "-no-color")
		s = session("default")
		if st := s.Snapshot().State; st.Serial != 3 || len(s.Snapshot().Unfolded)+len(s.Snapshot().InFlight) > 0 {
			t.Errorf("state %+v", s.Snapshot())
		}
		unlock(s)
		// States that the other program wrote in between are in the history as well.
		all, err := placed(t, d, "default").List(t.Context())
		if err != nil || len(all) != 2 || !all[1].Foreign || all[0].Serial != 2 {
			t.Errorf("history %+v, %v", all, err)
		}
		sharedWorkspaces(t, other, ours, session)
		sharedLocks(t, other, d, session)
	})
}

func sharedWorkspaces(t *testing.T, other *peer, ours *remote.Store, session func(string) state.Session) {
	names := func(want ...string) {
		t.Helper()
		got, err := ours.Workspaces(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("workspaces %q, %v; want %q", got, err, want)
		}
		theirs := strings.Fields(strings.ReplaceAll(other.run("workspace", "list"), "*", ""))
		if slices.Sort(theirs); !slices.Equal(theirs, want) {
			t.Errorf("their workspaces %q, want %q", theirs, want)
		}
	}
	other.run("workspace", "new", "theirs")
	s := session("ours")
	if err := s.(state.Creator).Create(); err != nil {
		t.Fatal(err)
	}
	if err := s.Unlock(); err != nil {
		t.Fatal(err)
	}
	names("default", "ours", "theirs")
	other.run("workspace", "select", "ours")
	other.run("apply", "-auto-approve", "-no-color")
	other.run("workspace", "select", "default")
	s = session("ours")
	if s.Snapshot().State == nil {
		t.Error("what they wrote to our workspace is not there")
	}
	other.refused("workspace", "delete", "-force", "ours")
	if err := s.Unlock(); err != nil {
		t.Fatal(err)
	}
	other.run("workspace", "delete", "-force", "ours")
	if err := ours.DeleteWorkspace(t.Context(), "theirs"); err != nil {
		t.Fatal(err)
	}
	names("default")
}

func sharedLocks(t *testing.T, other *peer, d *driver, session func(string) state.Session) {
	// A state that does not exist yet: only one program creates it.
	s := session("fresh")
	fresh := other.command("plan", "-no-color", "-lock-timeout=0s")
	fresh.Env = append(fresh.Env, "TF_WORKSPACE=fresh")
	if out, err := fresh.CombinedOutput(); err == nil || !strings.Contains(string(out), "state lock") {
		t.Errorf("they plan while we hold the lock: %v\n%s", err, out)
	}
	other.run("plan", "-no-color", "-lock-timeout=1m") // another state is free after a moment
	if err := s.Unlock(); err != nil {
		t.Fatal(err)
	}
	// The other program holds the lock of an existing state, and of one that it is creating.
	d.o.times.creation = 200 * time.Millisecond
	for _, name := range []string{"default", "new"} {
		if name == "new" {
			if err := os.WriteFile(filepath.Join(other.dir, ".terraform", "environment"), []byte(name),
				0o600); err != nil {
				t.Fatal(err)
			}
		}
		end := other.busy()
		p := placed(t, d, name)
		info := refused(t, p)
		if info == nil || !strings.HasPrefix(info.ID, "session-") || !strings.Contains(info.Who, "user tester") {
			t.Errorf("holder of %s: %+v", name, info)
		}
		// Forcing the unlock ends the other program's connection. It still writes through another one; we notice that
		// and overwrite nothing.
		if err := p.ForceUnlock(t.Context(), info.ID); err != nil {
			t.Error(err)
		}
		h := lock(t, p, "mine")
		c, err := p.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end()
		now, err := p.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now.Version == c.Version {
			t.Logf("the other program does not write without its lock")
		} else if _, err := h.Write(t.Context(), remote.Write{Data: []byte("{}"), Was: c.Version}); !errors.Is(err,
			remote.ErrChanged) {
			t.Errorf("write over what they wrote: %v", err)
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The record of an initialized directory contains a hash of all arguments, so both programs must have the same
// arguments.
func TestArgumentsEqualThoseOfOtherPrograms(t *testing.T) {
	peers(t, func(t *testing.T, other *peer) {
		other.config("")
		other.run("init", "-no-color")
		text, err := os.ReadFile(filepath.Join(other.dir, ".terraform", "terraform.tfstate"))
		if err != nil {
			t.Fatal(err)
		}
		var record struct {
			Backend struct{ Config map[string]any }
		}
		if err := json.Unmarshal(text, &record); err != nil {
			t.Fatal(err)
		}
		theirs := slices.Sorted(maps.Keys(record.Backend.Config))
		ours := slices.Sorted(maps.Keys(Kind().Schema.Attributes))
		if filepath.Base(other.path) == "tofu" {
			ours = append(ours, "index_name", "table_name")
			slices.Sort(ours)
		}
		if !slices.Equal(theirs, ours) {
			t.Errorf("arguments %q, theirs %q", ours, theirs)
		}
	})
}
