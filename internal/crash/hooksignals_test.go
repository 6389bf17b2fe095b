//go:build unix

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/state"
)

// stalledHook declares a hook for every event. For the event in the file "stall", its script starts a child, prints a
// line, and runs until the file "go" exists.
const stalledHook = `hook "h" {
  events  = ["before_plan", "after_plan", "before_apply", "after_apply", "before_object", "after_object"]
  objects = ["terraform_data.a"]
  command = ["sh", "./hook.sh"]
}
`

const stalledScript = `
cat >/dev/null
echo "$TOMBOLO_EVENT" >>log
[ "$TOMBOLO_EVENT" = "$(cat stall)" ] || exit 0
sleep 600 &
echo "$$ $!" >pids
echo "stalls in $TOMBOLO_EVENT"
while [ ! -e go ]; do sleep 0.05; done
echo "ended $TOMBOLO_EVENT"
`

// A hookSignal is an interrupt, or two, while the hook of an event is running.
type hookSignal struct {
	event   string
	command []string
	// finishes means that the hook continues to its end after the first interrupt.
	finishes bool
	// exists, inFlight: whether terraform_data.a is in the state afterwards, and the hook in the journal, by the number
	// of interrupts.
	exists, inFlight [2]bool
}

var hookSignals = []hookSignal{
	{event: "before_plan", command: []string{"plan", "-input=false", "-no-color"}},
	{event: "after_plan", command: []string{"plan", "-input=false", "-no-color"}},
	{event: "before_plan", command: applying},
	{event: "after_plan", command: applying},
	{event: "before_apply", command: applying},
	{event: "before_object", command: applying, finishes: true}, // the operation does not begin
	{event: "after_object", command: applying, finishes: true, exists: [2]bool{true, true},
		inFlight: [2]bool{false, true}},
	{event: "after_apply", command: applying, finishes: true, exists: [2]bool{true, true}},
}

// Whenever a run is interrupted during a hook, the run and all processes of the hook end, nothing is lost, and the next
// apply does the rest.
func TestSignalsDuringHooks(t *testing.T) {
	for _, s := range hookSignals {
		for n := 1; n <= 2; n++ {
			t.Run(fmt.Sprintf("%s of %s, %d", s.event, s.command[0], n), func(t *testing.T) {
				t.Parallel()
				s.try(t, n)
			})
		}
	}
}

func (s hookSignal) try(t *testing.T, interrupts int) {
	r := newTestProject(t, "resource \"terraform_data\" \"a\" {}\n"+
		"resource \"terraform_data\" \"after\" { input = terraform_data.a.id }\n")
	r.write("tombolo.hcl", stalledHook)
	r.write("hook.sh", stalledScript)
	r.write("stall", s.event)
	c := r.start(s.command...)
	r.hears(c, "stalls in "+s.event)
	r.send(c, syscall.SIGINT)
	if s.finishes {
		r.hears(c, "Interrupt received")
		if interrupts == 1 {
			r.write("go", "")
		}
	}
	if interrupts == 2 {
		_ = c.Process.Signal(syscall.SIGINT) // it may have ended
	}
	out, code := r.wait(c)
	if code == 0 && (s.event != "after_apply" || interrupts == 2) {
		t.Errorf("exit code 0:\n%s", out)
	}
	if ended := strings.Contains(out, "ended "+s.event); ended != (s.finishes && interrupts == 1) {
		t.Errorf("the hook came to its end: %v\n%s", ended, out)
	}
	for _, pid := range s.processes(r) {
		if !programtest.Ends(pid) {
			t.Errorf("process %d of the hook is still running\n%s", pid, out)
		}
	}
	s.left(r, interrupts, out)
	r.write("stall", "")
	if out := r.ok(applying...); s.event != "after_apply" && !strings.Contains(out, "Apply complete") {
		t.Errorf("the next apply:\n%s", out)
	}
	if left := r.read().InFlight; len(left) > 0 {
		t.Errorf("still in flight: %+v", left)
	}
	if out, code := r.say("plan", "-detailed-exitcode", "-input=false", "-no-color"); code != 0 {
		t.Errorf("a plan finds something to do (exit code %d):\n%s", code, out)
	}
}

// processes returns the processes of the hook.
func (s hookSignal) processes(r *testProject) (pids []int) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.job.Dir, "pids"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			r.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 2 {
		r.t.Fatalf("the processes of the hook are %q", text)
	}
	return pids
}

// left checks the state and the journal after the interrupted run.
func (s hookSignal) left(r *testProject, interrupts int, out string) {
	r.t.Helper()
	snapshot := r.over()
	if status, there := r.statusOf("terraform_data.a"); there != s.exists[interrupts-1] || status != state.Ready {
		r.t.Errorf("terraform_data.a is in the state: %v, status %v\n%s", there, status, out)
	}
	if _, there := r.statusOf("terraform_data.after"); there != (s.event == "after_apply") {
		r.t.Errorf("terraform_data.after is in the state: %v\n%s", there, out)
	}
	hooks := 0
	for _, i := range snapshot.InFlight {
		if i.Action != state.ActionHook {
			r.t.Errorf("in flight: %s of %s\n%s", i.Action, i.Object, out)
		}
		hooks++
	}
	if hooks > 0 != s.inFlight[interrupts-1] {
		r.t.Errorf("%d hooks are in flight\n%s", hooks, out)
	}
}
