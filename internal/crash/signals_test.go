//go:build unix

package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/state"
)

// The tests in this file run the command line with programs as the provider: n objects, three at a time, 400 ms each.

func programs(n int) string {
	return fmt.Sprintf(`resource "external_resource" "a" {
  count   = %d
  program = %q
  arguments = {
    name  = "object-${count.index}"
    delay = "400ms"
    value = "v"
  }
}

output "ids" {
  value = external_resource.a[*].id
}
`, n, os.Args[0])
}

// terminal is a running command.
type terminal struct {
	*exec.Cmd
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write records the output of the command.
func (c *terminal) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buffer.Write(b)
}

func (c *terminal) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buffer.String()
}

// tombolo prepares a command in the project.
func (r *testProject) tombolo(args ...string) *terminal {
	c := &terminal{Cmd: programtest.Bounded(r.t, os.Args[0], args...)}
	c.Dir = r.job.Dir
	c.Stdout, c.Stderr = c, c
	c.Env = programtest.Environ(roleCLI+"=1", roleProgram+"="+r.job.World, "TF_IN_AUTOMATION=1",
		encryption.Variable+"="+os.Getenv(encryption.Variable))
	return c
}

// start starts a command.
func (r *testProject) start(args ...string) *terminal {
	r.t.Helper()
	c := r.tombolo(args...)
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// say runs a command and returns its output.
func (r *testProject) say(args ...string) (string, int) {
	r.t.Helper()
	c := r.start(args...)
	return r.wait(c)
}

// longEnough limits waits on a busy machine. A command that hangs takes longer.
const longEnough = 2 * time.Minute

// wait waits for the end of a command, within longEnough.
func (r *testProject) wait(c *terminal) (string, int) {
	r.t.Helper()
	timer := time.AfterFunc(longEnough, func() { c.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	return c.output(), c.ProcessState.ExitCode()
}

// ok runs a command that must succeed.
func (r *testProject) ok(args ...string) string {
	r.t.Helper()
	out, code := r.say(args...)
	if code != 0 {
		r.t.Fatalf("%s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// busy waits until some objects exist and others are being created.
func (r *testProject) busy() {
	r.t.Helper()
	for deadline := time.Now().Add(longEnough); ; {
		if all, err := r.world.Exists(); err != nil || len(all) >= 4 {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatal("nothing happens")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// unknown lists objects that exist and are neither in the state nor reported as in flight. It compares names, because
// programs get no token.
func (r *testProject) unknown(s *state.Snapshot) (lost []string) {
	r.t.Helper()
	var named []string
	for _, f := range s.InFlight {
		var planned struct{ Arguments map[string]string }
		if err := json.Unmarshal(f.Planned, &planned); err != nil {
			r.t.Errorf("in flight %s: planned %s: %s", f.Object, f.Planned, err)
		}
		named = append(named, planned.Arguments["name"])
	}
	known := map[string]bool{}
	for _, res := range s.State.Resources() {
		for _, inst := range res.Instances {
			var has struct{ ID string }
			if inst.Current != nil && json.Unmarshal(inst.Current.Attributes, &has) == nil {
				known[has.ID] = true
			}
		}
	}
	all, err := r.world.Exists()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if !known[o.ID] && !slices.Contains(named, o.Name) {
			lost = append(lost, o.ID)
		}
	}
	return lost
}

// quiet waits until no program is running.
func (r *testProject) quiet() {
	for n := -1; ; {
		now := len(r.events())
		if now == n {
			return
		}
		n = now
		time.Sleep(700 * time.Millisecond)
	}
}

// tidy resolves open operations with commands, applies the rest and destroys everything.
func (r *testProject) tidy(n int) {
	r.t.Helper()
	all, err := r.world.Exists()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range r.read().InFlight {
		how := "-retry"
		for _, o := range all {
			if strings.Contains(string(f.Planned), `"name":"`+o.Name+`"`) {
				how = "-adopt=" + o.ID
			}
		}
		r.ok("recover", f.Object.Instance.String(), how)
	}
	r.configure(strings.ReplaceAll(programs(n), "400ms", "0s"))
	r.ok("apply", "-auto-approve", "-input=false", "-no-color")
	for i := range n {
		if made, err := r.world.Creations(fmt.Sprintf("object-%d", i)); made != 1 || err != nil {
			r.t.Errorf("object-%d was created %d times (%v)", i, made, err)
		}
	}
	if out, code := r.say("plan", "-detailed-exitcode", "-input=false", "-no-color"); code != 0 {
		r.t.Errorf("a plan finds something to do (exit code %d):\n%s", code, out)
	}
	r.ok("destroy", "-auto-approve", "-input=false", "-no-color")
	if all, err := r.world.Exists(); err != nil || len(all) > 0 {
		r.t.Errorf("after the destroy there are %v (%v)", all, err)
	}
}

const many = 9

// signalled applies, sends signals while programs are running, and returns the output and the exit code. After a single
// signal, only operations in flight continue.
func (r *testProject) signalled(signals ...syscall.Signal) (text string, code int) {
	r.t.Helper()
	release := r.detain(4)
	c := r.start("apply", "-auto-approve", "-input=false", "-no-color", "-parallelism=3")
	r.busy()
	r.send(c, signals...)
	if len(signals) == 1 && signals[0] != syscall.SIGKILL {
		r.hears(c, "Interrupt received")
		release()
	}
	text, code = r.wait(c)
	release()
	return text, code
}

func TestFirstSignalFinishesOperationsInFlight(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGHUP}
	if full {
		signals = append(signals, syscall.SIGTERM)
	}
	for _, s := range signals {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			r := newTestProject(t, programs(many))
			text, code := r.signalled(s)
			snapshot := r.read()
			if lost := r.unknown(snapshot); len(lost) > 0 || len(snapshot.InFlight) > 0 {
				t.Errorf("lost %v, in flight %+v\n%s", lost, snapshot.InFlight, text)
			}
			all, err := r.world.Exists()
			if code != 1 || err != nil || len(all) == many {
				t.Errorf("exit code %d, %d objects of %d (%v): after the signal nothing new should start\n%s", code,
					len(all), many, err, text)
			}
			r.tidy(many)
		})
	}
}

func TestSecondSignalKeepsInterruptedOperations(t *testing.T) {
	t.Parallel()
	r := newTestProject(t, programs(many))
	text, code := r.signalled(syscall.SIGINT, syscall.SIGINT)
	if code != 1 {
		t.Errorf("exit code %d\n%s", code, text)
	}
	snapshot := r.read()
	if lost := r.unknown(snapshot); len(lost) > 0 {
		t.Errorf("lost %v, in flight %+v\n%s", lost, snapshot.InFlight, text)
	}
	r.named(snapshot)
	r.tidy(many)
}

// named checks that commands report every open operation.
func (r *testProject) named(s *state.Snapshot) {
	r.t.Helper()
	// plan may resolve them
	for _, args := range [][]string{{"state", "list"}, {"show", "-no-color"}, {"output", "-no-color"},
		{"plan", "-input=false", "-no-color"}} {
		out, _ := r.say(args...)
		for _, f := range s.InFlight {
			if !strings.Contains(out, f.Object.String()) {
				r.t.Errorf("%s does not name %s, which is in flight:\n%s", strings.Join(args, " "), f.Object, out)
			}
		}
	}
}

// A program outlives the killed engine and creates its object. The next run that acquires the lock stores its response.
func TestKilledCommandsReportObjectsBeingCreated(t *testing.T) {
	t.Parallel()
	r := newTestProject(t, programs(many))
	text, code := r.signalled(syscall.SIGKILL)
	if code != -1 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	r.quiet()
	snapshot := r.read()
	if lost := r.unknown(snapshot); len(lost) > 0 || len(snapshot.InFlight) == 0 {
		t.Errorf("lost %v, in flight %+v", lost, snapshot.InFlight)
	}
	r.named(snapshot)
	if after := r.read(); len(after.InFlight) > 0 || len(r.unknown(after)) > 0 {
		t.Errorf("after the plan: lost %v, in flight %+v", r.unknown(after), after.InFlight)
	}
	if out, code := r.say("apply", "-auto-approve", "-input=false", "-no-color"); code != 0 ||
		!strings.Contains(out, "Apply complete!") {
		t.Errorf("the next apply: exit code %d\n%s", code, out)
	}
	r.tidy(many)
}

// The reader of the output exits; the run continues.
func TestClosedOutputDoesNotStopTheRun(t *testing.T) {
	t.Parallel()
	r := newTestProject(t, programs(many))
	c := r.tombolo("apply", "-auto-approve", "-input=false", "-no-color", "-parallelism=5")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = in, in
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if _, err := io.ReadFull(out, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	out.Close()
	_, code := r.wait(c)
	snapshot := r.read()
	all, err := r.world.Exists()
	if lost := r.unknown(snapshot); len(lost) > 0 || len(snapshot.InFlight) > 0 || len(all) != many || err != nil {
		t.Errorf("exit code %d, %d objects of %d (%v), lost %v, in flight %+v", code, len(all), many, err, lost,
			snapshot.InFlight)
	}
	r.tidy(many)
}

func TestLockHeldByAnotherIsReportedAndAwaited(t *testing.T) {
	t.Parallel()
	r := newTestProject(t, programs(many))
	release := r.detain(6)
	first := r.start("apply", "-auto-approve", "-input=false", "-no-color", "-parallelism=5")
	r.busy()
	before := len(r.events())
	out, code := r.say("apply", "-auto-approve", "-input=false", "-no-color")
	for _, want := range []string{"Error acquiring the state lock", "Operation: OperationTypeApply", "Who: "} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("the second apply: exit code %d, should say %q\n%s", code, want, out)
		}
	}
	for len(r.read().State.Resources()) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if list, code := r.say("state", "list"); code != 0 || strings.Contains(list, "interrupted") {
		t.Errorf("state list while a run is under way: exit code %d\n%s", code, list)
	}
	waiting := r.start("apply", "-auto-approve", "-input=false", "-no-color", "-lock-timeout=1h")
	release()
	if out, code := r.wait(first); code != 0 || len(r.events()) <= before {
		t.Errorf("the first apply: exit code %d\n%s", code, out)
	}
	if out, code := r.wait(waiting); code != 0 || !strings.Contains(out, "No changes") {
		t.Errorf("the waiting apply: exit code %d\n%s", code, out)
	}
	r.tidy(many)
}
