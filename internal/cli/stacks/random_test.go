package stacks_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// world is a random stack, with the model of what it has to become: each output is a function of the outputs of the
// units that it depends on, and of a number that changes.
type world struct {
	t       *testing.T
	dir     string
	rng     *rand.Rand
	needs   [][]int // by unit: earlier units
	hidden  []bool  // the output is known only after apply
	version []int
	// inFlight counts how often an object of a unit was being created when a run was killed: a provisioner whose end
	// was not recorded runs again.
	inFlight map[string]int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(seed, 7)), inFlight: map[string]int{}}
	n := 8 + w.rng.IntN(8)
	for u := range n {
		needs := w.rng.Perm(u)[:min(u, w.rng.IntN(3))]
		slices.Sort(needs)
		w.needs, w.hidden = append(w.needs, needs), append(w.hidden, w.rng.IntN(2) == 0)
		w.version = append(w.version, 1)
	}
	w.write()
	return w
}

func unit(u int) string { return fmt.Sprintf("u%02d", u) }

// write writes the project file and the units. Each unit records in the file log of the root that its object was
// created, after it has failed or killed the whole run if a file says so.
func (w *world) write() {
	var project strings.Builder
	project.WriteString("stack {\n  units_at_once = 3\n}\n")
	for u, needs := range w.needs {
		fmt.Fprintf(&project, "unit %q {\n  source = %q\n  variables = {\n    version_of = %d\n    given = [", unit(u),
			"live/"+unit(u), w.version[u])
		for _, d := range needs {
			fmt.Fprintf(&project, "unit.%s.outputs.value, ", unit(d))
		}
		project.WriteString("]\n  }\n}\n")
		output := "local.value"
		if w.hidden[u] {
			output = "terraform_data.it.output"
		}
		w.file("live/"+unit(u)+"/main.tf", `variable "version_of" { type = number }
variable "given" { type = list(string) }
locals { value = "`+unit(u)+`.${var.version_of}(${join(",", var.given)})" }
resource "terraform_data" "it" {
  input            = local.value
  triggers_replace = local.value
  provisioner "local-exec" {
    command = "test ! -e ../../fail-`+unit(u)+`; s=$?; if test -e ../../kill-`+unit(u)+
			`; then rm ../../kill-`+unit(u)+`; kill -9 $PPID; sleep 100; fi; test $s = 0 || exit 1; `+
			`echo `+unit(u)+` ${local.log} >>../../log"
  }
}
locals { log = substr(sha256(local.value), 0, 16) }
output "value" { value = `+output+` }
`)
	}
	w.file("tombolo.hcl", project.String())
}

func (w *world) file(name, text string) {
	w.t.Helper()
	full := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// value returns the output that a unit has to have.
func (w *world) value(u int) string {
	var given []string
	for _, d := range w.needs[u] {
		given = append(given, w.value(d))
	}
	return fmt.Sprintf("%s.%d(%s)", unit(u), w.version[u], strings.Join(given, ","))
}

// above reports whether a unit depends on another one, directly or not.
func (w *world) above(u, on int) bool {
	return slices.ContainsFunc(w.needs[u], func(d int) bool { return d == on || w.above(d, on) })
}

// tombolo runs a command and returns its output and exit code; -1 if it was killed.
func (w *world) tombolo(dir string, args ...string) (string, int) {
	cmd := exec.Command("tombolo", args...)
	cmd.Dir = filepath.Join(w.dir, dir)
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE=", "TF_IN_AUTOMATION=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// interruptedBy runs a command and kills it after it has written a number of lines.
func (w *world) interruptedBy(lines int, command string) {
	w.t.Helper()
	cmd := exec.Command("tombolo", "stack", command, "-auto-approve")
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE=", "TF_IN_AUTOMATION=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	begun := map[string]bool{}
	for scan := bufio.NewScanner(out); scan.Scan(); lines-- {
		text := strings.TrimPrefix(strings.Split(scan.Text()+":", ":")[0], "[")
		if name, isBegun := strings.CutSuffix(text, "] applying"); isBegun {
			begun[name] = true
		}
		if name, isApplied := strings.CutSuffix(text, "] applied"); isApplied {
			delete(begun, name)
		}
		if lines == 0 {
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				w.t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed, or it had ended
	for name := range begun {
		w.inFlight[name]++
	}
}

// outputs returns the values in the states.
func (w *world) outputs() map[string]string {
	w.t.Helper()
	text, code := w.tombolo(".", "stack", "output", "-json")
	var all map[string]map[string]struct{ Value string }
	if err := json.Unmarshal([]byte(text), &all); err != nil || code != 0 {
		w.t.Fatalf("stack output: %d, %v\n%s", code, err, text)
	}
	out := map[string]string{}
	for name, values := range all {
		if v, ok := values["value"]; ok {
			out[name] = v.Value
		}
	}
	return out
}

// log returns how often each unit created its object, by unit and value.
func (w *world) log() map[string]int {
	text, err := os.ReadFile(filepath.Join(w.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}

// check compares the states with the model, asks each unit by itself for changes, and checks that nothing was done
// twice.
func (w *world) check(single bool) {
	w.t.Helper()
	got := w.outputs()
	for u := range w.needs {
		if want := w.value(u); got[unit(u)] != want {
			w.t.Errorf("%s has the output %q, want %q", unit(u), got[unit(u)], want)
		}
	}
	for line, n := range w.log() {
		name, _, _ := strings.Cut(line, " ")
		if n > 1+w.inFlight[name] {
			w.t.Errorf("%q was done %d times, and it was interrupted %d times", line, n, w.inFlight[name])
		}
	}
	if text, code := w.tombolo(".", "stack", "plan", "-detailed-exitcode"); code != 0 {
		w.t.Errorf("a plan after the apply: %d\n%s", code, text)
	}
	for u, needs := range w.needs {
		if !single {
			continue
		}
		var given []string
		for _, d := range needs {
			given = append(given, fmt.Sprintf("%q", w.value(d)))
		}
		if text, code := w.tombolo("live/"+unit(u), "plan", "-detailed-exitcode", "-var",
			fmt.Sprint("version_of=", w.version[u]), "-var", "given=["+strings.Join(given, ",")+"]"); code != 0 {
			w.t.Errorf("the plan of %s alone: %d\n%s", unit(u), code, text)
		}
	}
}

// TestRandomStacksBecomeWhatTheirUnitsSay applies random stacks, changes units at random, and lets units fail or kill
// the run. In the end every state is the one of the model, in which each unit is applied after those that it needs.
func TestRandomStacksBecomeWhatTheirUnitsSay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			if text, code := w.tombolo(".", "stack", "apply", "-auto-approve"); code != 0 {
				t.Fatalf("apply: %d\n%s", code, text)
			}
			w.check(seed == 0)
			for range 2 {
				w.change()
			}
			w.check(true)
			w.interruptedBy(1+w.rng.IntN(20), "destroy")
			if text, code := w.tombolo(".", "stack", "destroy", "-auto-approve"); code != 0 {
				t.Fatalf("destroy: %d\n%s", code, text)
			}
			for name, value := range w.outputs() {
				t.Errorf("%s was destroyed and has the output %q", name, value)
			}
		})
	}
}

// change changes some units and applies that, with a failure or a kill in the middle.
func (w *world) change() {
	t := w.t
	before := w.outputs()
	old := make([]string, len(w.needs))
	for u := range w.needs {
		old[u] = w.value(u)
		if before[unit(u)] != old[u] {
			t.Fatalf("%s is not what it should be before the change", unit(u))
		}
	}
	victim := w.rng.IntN(len(w.needs))
	for u := range w.needs {
		if u == victim || w.rng.IntN(3) == 0 {
			w.version[u]++
		}
	}
	w.write()
	if w.rng.IntN(3) == 0 {
		w.interruptedBy(1+w.rng.IntN(60), "apply")
		if text, code := w.tombolo(".", "stack", "apply", "-auto-approve"); code != 0 {
			t.Fatalf("apply after a kill: %d\n%s", code, text)
		}
		return
	}
	kills := w.rng.IntN(2) == 0
	kind := "fail-"
	if kills {
		kind = "kill-"
	}
	w.file(kind+unit(victim), "")
	text, code := w.tombolo(".", "stack", "apply", "-auto-approve")
	if kills && code != -1 || !kills && code != 1 {
		t.Fatalf("apply with a %s%s: %d\n%s", kind, unit(victim), code, text)
	}
	for u := range w.needs {
		if kills && strings.Contains(text, "["+unit(u)+"] applying") && !strings.Contains(text, "["+unit(u)+"] "+
			"applied") {
			w.inFlight[unit(u)]++
		}
	}
	after := w.outputs()
	for u := range w.needs {
		switch {
		case w.above(u, victim) && after[unit(u)] != before[unit(u)]:
			t.Errorf("%s was changed although %s, which it needs, has not succeeded", unit(u), unit(victim))
		case !kills && u != victim && !w.above(u, victim) && after[unit(u)] != w.value(u):
			t.Errorf("%s does not depend on %s, which failed, but was not applied\n%s", unit(u), unit(victim), text)
		case !kills && w.above(u, victim) && !strings.Contains(text, "has not succeeded"):
			t.Errorf("the output names no skipped unit\n%s", text)
		}
	}
	if !kills {
		if err := os.Remove(filepath.Join(w.dir, kind+unit(victim))); err != nil {
			t.Fatal(err)
		}
	}
	if text, code := w.tombolo(".", "stack", "apply", "-auto-approve"); code != 0 {
		t.Fatalf("apply after a %s: %d\n%s", kind, code, text)
	}
}

// TestStackDoesWhatSingleCommandsDo applies a stack, and the same units one after the other with the command apply, and
// compares the states.
func TestStackDoesWhatSingleCommandsDo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	w, single := newWorld(t, 11), newWorld(t, 11)
	if text, code := w.tombolo(".", "stack", "apply", "-auto-approve"); code != 0 {
		t.Fatalf("apply: %d\n%s", code, text)
	}
	for u, needs := range single.needs {
		var given []string
		for _, d := range needs {
			text, code := single.tombolo("live/"+unit(d), "output", "-raw", "value")
			if code != 0 {
				t.Fatal(text)
			}
			given = append(given, fmt.Sprintf("%q", text))
		}
		if text, code := single.tombolo("live/"+unit(u), "apply", "-auto-approve", "-var", "version_of=1", "-var",
			"given=["+strings.Join(given, ",")+"]"); code != 0 {
			t.Fatal(text)
		}
	}
	for u := range w.needs {
		if a, b := w.state(u), single.state(u); a != b {
			t.Errorf("%s differs:\n%s\nby single commands:\n%s", unit(u), a, b)
		}
	}
}

// state returns the state of a unit without identifiers of objects and of the state.
func (w *world) state(u int) string {
	text, err := os.ReadFile(filepath.Join(w.dir, "live", unit(u), "terraform.tfstate"))
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"id":`) && !strings.Contains(line, `"lineage":`) {
			list = append(list, line)
		}
	}
	return strings.Join(list, "")
}

// TestSeveralAppliesAtOnceAllFinish applies a stack from several processes at once, all of which wait for locks. The
// time is so long that the test would not end if they waited for each other.
func TestSeveralAppliesAtOnceAllFinish(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	w := newWorld(t, 5)
	for range 2 {
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if text, code := w.tombolo(".", "stack", "apply", "-auto-approve", "-lock-timeout=10h"); code != 0 {
					t.Errorf("apply: %d\n%s", code, text)
				}
			})
		}
		group.Wait()
		w.check(false)
		for u := range w.version {
			w.version[u]++
		}
		w.write()
	}
}

// TestAStackThatIsKilledTenTimesIsCompletedByTheNextRun kills applies at random moments, ten times in a row. The next
// run completes the stack: nothing is missing, and nothing was done twice, except for what was in flight.
func TestAStackThatIsKilledTenTimesIsCompletedByTheNextRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	w := newWorld(t, 21)
	for range 10 {
		w.interruptedBy(1+w.rng.IntN(40), "apply")
	}
	if text, code := w.tombolo(".", "stack", "apply", "-auto-approve"); code != 0 {
		t.Fatalf("apply: %d\n%s", code, text)
	}
	w.check(false)
	for u := range w.version {
		w.version[u]++
	}
	w.write()
	for range 10 {
		w.interruptedBy(1+w.rng.IntN(40), "apply")
	}
	if text, code := w.tombolo(".", "stack", "apply", "-auto-approve"); code != 0 {
		t.Fatalf("apply: %d\n%s", code, text)
	}
	w.check(true)
}
