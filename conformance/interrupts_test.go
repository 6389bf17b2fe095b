package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/conformance/random"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/state"
)

// interruptedSample are seeds of test files with one signal, two, and one that is ignored.
var interruptedSample = []uint64{2, 10, 18}

// TestRandomTestsInterrupted sends signals to the command test at random points of generated files. The time at which a
// signal arrives depends on the machine, so only invariants are checked: everything that still exists in the provider's
// world is named in the output and is in a stored state; after one interrupt all objects that can be destroyed are; the
// exit code reports the interrupt. TOMBOLO_RANDOM_INTERRUPTED selects the seeds. With TOMBOLO_RANDOM_BESIDE=1 terraform
// gets the same signals, and the log shows what it leaves behind.
func TestRandomTestsInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs signals that a program can be sent from outside, which Windows does not have")
	}
	tombolo, terraform := findTombolo(t), ""
	if os.Getenv("TOMBOLO_RANDOM_BESIDE") != "" {
		terraform = findTerraform(t)
	}
	seeds := make(chan uint64)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for seed := range seeds {
				run, err := interruptedRun(t, tombolo, seed)
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					continue
				}
				if wrong := run.wrong(); len(wrong) > 0 {
					t.Errorf("seed %d with %+v:\n%s\n\nIt printed\n%s%s\n\nThe case:\n\n%s", seed, run.signals,
						strings.Join(wrong, "\n"), run.run.Stdout, run.run.Stderr, run.archive)
				}
				run.compare(t, terraform, seed)
			}
		})
	}
	for _, seed := range randomSeeds(t, "TOMBOLO_RANDOM_INTERRUPTED", interruptedSample) {
		seeds <- seed
	}
	close(seeds)
	workers.Wait()
}

// An interrupted run is one that got signals.
type interrupted struct {
	archive []byte
	signals random.Signals
	run     Run
	sent    int // the number of signals sent before it ended
	exists  []world.Object
	left    []string // their names
	kept    []keptState
	after   string // output of the next command
}

// keptState is a state that is stored after a test.
type keptState struct {
	objects map[string]string // by id: the address of the resource
	names   map[string]string // of objects in an unknown state: the address of the resource
}

func interruptedRun(t *testing.T, bin string, seed uint64) (*interrupted, error) {
	out := &interrupted{}
	out.archive, out.signals = random.GenerateInterrupted(seed)
	c, err := parseCase("random/interrupted", out.archive)
	if err != nil {
		return nil, err
	}
	base, err := os.MkdirTemp(t.TempDir(), "case")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(base)
	side := filepath.Join(base, "0")
	if err := os.Mkdir(side, 0o777); err != nil {
		return nil, err
	}
	r, err := newRunner(bin, "", side, c)
	if err != nil {
		return nil, err
	}
	for _, s := range c.Steps {
		args, _ := r.arguments(s)
		var during meanwhile
		if s.Verb == "test" {
			during = out.send(r.dir)
		}
		if out.run, err = r.start("step", args, during); err != nil {
			return nil, err
		}
	}
	out.left = leftBehind(side)
	if out.exists, err = existing(r.dir); err != nil {
		return nil, err
	}
	if out.kept, err = keptStates(filepath.Join(r.dir, ".terraform", "tests")); err != nil {
		return nil, err
	}
	next, err := r.start("next", []string{"test", "-no-color", "-filter=tests/none.tftest.hcl"}, nil)
	out.after = unwrapped(next.Stdout + next.Stderr)
	return out, err
}

// send sends the signals at the right time.
func (i *interrupted) send(dir string) meanwhile {
	return func(p *os.Process, ended <-chan struct{}) {
		for n, after := range i.signals.After {
			for events(dir) < after {
				select {
				case <-ended:
					return
				case <-time.After(2 * time.Millisecond):
				}
			}
			if i.signals.Kill && n == len(i.signals.After)-1 {
				_ = p.Kill() // it may have ended meanwhile
			} else {
				_ = p.Signal(os.Interrupt)
			}
			i.sent++
		}
	}
}

// events counts the lines of all ledgers.
func events(dir string) (n int) {
	ledgers, _ := filepath.Glob(filepath.Join(dir, "*", "ledger")) // the pattern is well-formed
	for _, name := range ledgers {
		data, _ := os.ReadFile(name) // a missing one has none
		n += bytes.Count(data, []byte("\n"))
	}
	return n
}

func existing(dir string) (out []world.Object, err error) {
	ledgers, _ := filepath.Glob(filepath.Join(dir, "*", "ledger"))
	for _, name := range ledgers {
		w, err := world.Open(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		list, err := w.Exists()
		_ = w.Close()
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// keptStates reads the states that tests have stored, including journals.
func keptStates(dir string) (out []keptState, err error) {
	var names []string
	for _, pattern := range []string{"*.tfstate", "*.tfstate.journal"} {
		list, _ := filepath.Glob(filepath.Join(dir, "*", "*", pattern))
		for _, name := range list {
			names = append(names, strings.TrimSuffix(name, ".journal"))
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		ws, err := store.New(store.Options{Path: name, WorkspaceDir: name + ".d"}).Workspace(state.DefaultWorkspace)
		if err != nil {
			return nil, err
		}
		snapshot, err := ws.Read(context.Background())
		if err != nil {
			return nil, err
		}
		k := keptState{objects: map[string]string{}, names: map[string]string{}}
		for _, r := range snapshot.State.Resources() {
			for _, key := range r.Keys() {
				inst := r.Instances[key]
				k.add(r.Addr.String(), inst.Current)
				for _, d := range inst.DeposedKeys() {
					k.add(r.Addr.String(), inst.Deposed[d])
				}
			}
		}
		for _, f := range snapshot.InFlight {
			var planned struct{ Name string }
			if len(f.Planned) > 0 && json.Unmarshal(f.Planned, &planned) != nil {
				return nil, fmt.Errorf("%s: what was planned is no object: %s", name, f.Planned)
			}
			at := addr.AbsResource{Module: f.Object.Instance.Module, Resource: f.Object.Instance.Resource}
			k.names[planned.Name] = at.String()
		}
		out = append(out, k)
	}
	return out, nil
}

func (k keptState) add(at string, o *state.Object) {
	var attrs struct{ ID string }
	if o != nil && json.Unmarshal(o.Attributes, &attrs) == nil {
		k.objects[attrs.ID] = at
	}
}

// unwrapped joins wrapped lines of text.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

// wrong returns the violated invariants.
func (i *interrupted) wrong() (out []string) {
	text := unwrapped(i.run.Stdout + i.run.Stderr)
	killed := i.signals.Kill && i.sent == len(i.signals.After)
	for _, o := range i.exists {
		at := ""
		for _, k := range i.kept {
			if a, ok := k.objects[o.ID]; ok {
				at = a
			} else if a, ok := k.names[o.Name]; ok && at == "" {
				at = a
			}
		}
		switch {
		case at == "":
			out = append(out, fmt.Sprintf("%s exists, and no state that was kept has it", o.ID))
		case !killed && !strings.Contains(text, "- "+at):
			out = append(out, fmt.Sprintf("%s exists, and the output does not name %s", o.ID, at))
		case !strings.Contains(i.after, "- "+at):
			out = append(out, fmt.Sprintf("%s exists, and the next command does not name %s", o.ID, at))
		}
	}
	if killed {
		return out
	}
	if i.run.Exit != 0 && i.run.Exit != 1 {
		out = append(out, fmt.Sprintf("the exit code is %d", i.run.Exit))
	}
	if i.run.Exit == 0 && (len(i.exists) > 0 || strings.Contains(text, " skipped.")) {
		out = append(out, "something is left or was skipped, and the exit code is 0")
	}
	if i.sent < 2 && len(i.exists) > 0 && !i.refusesToGo() {
		out = append(out, fmt.Sprintf("one interrupt, and %v are left", i.left))
	}
	return out
}

// refusesToGo reports whether something in the case prevents objects from being destroyed: directives, or a mock in a
// run after one that has created them.
func (i *interrupted) refusesToGo() bool {
	return slices.ContainsFunc([]string{`fail = "delete`, `fail = "read`, "mock_provider", "override_"},
		func(what string) bool { return bytes.Contains(i.archive, []byte(what)) })
}

// compare logs the result of terraform with the same signals.
func (i *interrupted) compare(t *testing.T, terraform string, seed uint64) {
	if terraform == "" {
		return
	}
	other, err := interruptedRun(t, terraform, seed)
	if err != nil {
		t.Errorf("seed %d with terraform: %v", seed, err)
		return
	}
	t.Logf("seed %d, %+v: exits %d and %d for terraform, which got %d and %d signals and leave %v and %v", seed,
		i.signals, i.run.Exit, other.run.Exit, i.sent, other.sent, i.left, other.left)
}
