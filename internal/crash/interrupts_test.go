//go:build unix

package crash

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// sayAfter starts a command, sends signals after it has printed a text, and returns its complete output and exit code.
func (r *testProject) sayAfter(c *terminal, line string, signals ...syscall.Signal) (string, int) {
	r.t.Helper()
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.hears(c, line)
	r.send(c, signals...)
	return r.wait(c)
}

// hears waits until a command has printed a text.
func (r *testProject) hears(c *terminal, words string) {
	r.t.Helper()
	for deadline := time.Now().Add(longEnough); !strings.Contains(c.output(), words); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("nobody said %q:\n%s", words, c.output())
		}
	}
}

// send sends signals to a command, each after the previous one was handled, because the system merges pending signals.
func (r *testProject) send(c *terminal, signals ...syscall.Signal) {
	r.t.Helper()
	for i, s := range signals {
		if i > 0 {
			r.hears(c, "Interrupt received")
		}
		if err := c.Process.Signal(s); err != nil {
			r.t.Fatal(err)
		}
	}
}

// says checks an exit code and parts of the output.
func (r *testProject) says(out string, code, want int, parts ...string) {
	r.t.Helper()
	if code != want {
		r.t.Errorf("exit code %d, want %d", code, want)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			r.t.Errorf("does not say %q", part)
		}
	}
	if r.t.Failed() {
		r.t.Logf("what was said:\n%s", out)
	}
}

const provisioned = `resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo first; sleep 1; echo ended" }
  provisioner "local-exec" { command = "echo second; sleep 1" }
}
resource "terraform_data" "after" { input = terraform_data.a.id }
`

var applying = []string{"apply", "-auto-approve", "-input=false", "-no-color"}

func (r *testProject) statusOf(at string) (status state.Status, there bool) {
	r.t.Helper()
	a, diags := addr.ParseInstance(at)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	o := r.read().State.Object(addr.Object{Instance: a})
	if o == nil {
		return 0, false
	}
	return o.Status, true
}

// After the first signal, the provisioners of an object that is being created continue to their end: half of them would
// be useless.
func TestSignalDuringProvisionersLetsThemEnd(t *testing.T) {
	t.Parallel()
	r := newTestProject(t, provisioned)
	out, code := r.sayAfter(r.tombolo(applying...), "): first\n", syscall.SIGINT)
	r.says(out, code, 1, "Interrupt received", "waiting for terraform_data.a", "): ended", "): second",
		"Apply was interrupted")
	if s, there := r.statusOf("terraform_data.a"); !there || s != state.Ready {
		t.Errorf("terraform_data.a: there %t, status %v", there, s)
	}
	if _, there := r.statusOf("terraform_data.after"); there {
		t.Error("terraform_data.after was made after the interrupt")
	}
	if out := r.ok(applying...); !strings.Contains(out, "1 added, 0 changed, 0 destroyed") {
		t.Errorf("the next apply:\n%s", out)
	}
}

func TestSecondSignalDuringProvisionersLeavesATaintedObject(t *testing.T) {
	t.Parallel()
	r := newTestProject(t, strings.Replace(provisioned, "sleep 1; echo ended", "sleep 600; echo ended", 1))
	out, code := r.sayAfter(r.tombolo(applying...), "): first\n", syscall.SIGINT, syscall.SIGINT)
	r.configure(provisioned)
	r.says(out, code, 1, "Two interrupts received", "terraform_data.a", "local-exec provisioner error")
	if strings.Contains(out, "): ended") || strings.Contains(out, "): second") {
		t.Errorf("the provisioners went on:\n%s", out)
	}
	if s, there := r.statusOf("terraform_data.a"); !there || s != state.Tainted {
		t.Errorf("terraform_data.a: there %t, status %v", there, s)
	}
	if out := r.ok(applying...); !strings.Contains(out, "2 added, 0 changed, 1 destroyed") {
		t.Errorf("the next apply:\n%s", out)
	}
}

// A plan has nothing to lose: a signal cancels its reads immediately.
func TestSignalDuringAPlanEndsIt(t *testing.T) {
	t.Parallel()
	r := newTestProject(t, `data "external" "d" { program = ["sh", "-c", "sleep 600; echo '{}'"] }`)
	for _, args := range [][]string{{"plan", "-out=p", "-input=false", "-no-color"}, applying} {
		out, code := r.sayAfter(r.tombolo(args...), "data.external.d: Reading...", syscall.SIGTERM)
		r.says(out, code, 1, "Interrupt received", "Planning was interrupted")
	}
	if s := r.read(); len(s.State.Resources())+len(s.InFlight) > 0 {
		t.Errorf("something is left: %+v", s)
	}
}

// It does not wait for a function that never returns either: one of a provider, or one that reads a file.
func TestSignalDuringAFunctionEndsIt(t *testing.T) {
	t.Parallel()
	const late = `data "external" "d" { program = ["sh", "-c", "echo '{\"name\": \"big\"}'"] }`
	t.Run("provider", func(t *testing.T) {
		t.Parallel()
		r := newTestProject(t, `
terraform {
  required_providers { slow = { source = "slow" } }
}
`+late+`
output "o" { value = provider::slow::wait(data.external.d.result.name) }`)
		r.write("slow/tombolo-provider.json", `{
  "protocol": 1, "name": "slow", "command": ["sh", "./slow.sh"],
  "schema": { "functions": { "wait": {
    "parameters": [{ "name": "name", "type": "string" }], "return_type": "string" } } }
}`)
		started := filepath.Join(r.dir, "started")
		r.write("slow/slow.sh", "touch '"+started+"'\nexec sleep 600\n")
		c := r.tombolo("plan", "-input=false", "-no-color")
		c.Env = append(c.Env, "TOMBOLO_PROGRAM_PROVIDERS=slow=./slow")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(longEnough); ; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(started); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the function was not called:\n%s", c.output())
			}
		}
		r.send(c, syscall.SIGTERM)
		out, code := r.wait(c)
		r.says(out, code, 1, "Interrupt received", "Planning was interrupted")
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		r := newTestProject(t, late+`
output "o" { value = filesha256(data.external.d.result.name) }`)
		r.write("big", "")
		if err := os.Truncate(filepath.Join(r.job.Dir, "big"), 1<<42); err != nil {
			t.Skip("needs a file system that has files with holes: " + err.Error())
		}
		c := r.tombolo("plan", "-input=false", "-no-color")
		out, code := r.sayAfter(c, "data.external.d: Read complete", syscall.SIGTERM)
		r.says(out, code, 1, "Interrupt received", "Planning was interrupted")
	})
}

// write writes a file of the project.
func (r *testProject) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.job.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func TestSignalDuringAQuestionChangesNothing(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} { // for SIGTERM see interrupt_question.txtar
		r := newTestProject(t, `resource "terraform_data" "a" {}`)
		c := r.tombolo("apply", "-no-color")
		in, answers, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stdin = in
		out, code := r.sayAfter(c, "Enter a value:", s)
		in.Close()
		answers.WriteString("yes\n") // too late: the prompt has ended
		answers.Close()
		r.says(out, code, 1, "error asking for approval", "Interrupt received")
		if _, there := r.statusOf("terraform_data.a"); there {
			t.Errorf("%s: the object was made", s)
		}
		r.ok(applying...) // no lock is left
	}
}

func TestSignalDuringAWaitForTheLockGivesUp(t *testing.T) {
	t.Parallel()
	r := newTestProject(t, strings.Replace(provisioned, "sleep 1; echo ended",
		"until [ -e go ]; do sleep 0.05; done", 1))
	first := r.start(applying...)
	r.hears(first, "): first\n")
	c := r.tombolo(append(applying, "-lock-timeout=1h")...)
	c.Env = append(c.Env, "TF_IN_AUTOMATION=")
	out, code := r.sayAfter(c, "Acquiring state lock", syscall.SIGINT)
	r.says(out, code, 1, "Interrupt received", "Error acquiring the state lock")
	if err := os.WriteFile(filepath.Join(r.job.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, code := r.wait(first); code != 0 {
		t.Errorf("the run that held the lock: exit code %d\n%s", code, out)
	}
}
