package transfer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/internal/transfer"
	"github.com/tombolo-iac/tombolo/state"
)

var ctx = context.Background()

// The folders of the two states.
const source, target = "source", "target"

func workspaceOn(t *testing.T, files store.Files, dir string) state.Workspace {
	t.Helper()
	st := store.New(store.Options{Path: dir + "/terraform.tfstate", Files: files, Rescue: []string{"rescue"}})
	ws, err := st.Workspace(state.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

func instance(t *testing.T, text string) addr.AbsResourceInstance {
	t.Helper()
	a, diags := addr.ParseInstance(text)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return a
}

func provider(t *testing.T) addr.AbsProviderConfig {
	p, err := addr.ParseProvider("terraform.io/builtin/terraform")
	if err != nil {
		t.Fatal(err)
	}
	return addr.AbsProviderConfig{Provider: p}
}

// seed adds objects to a state: a map of addresses to IDs. "address deposed" is a deposed object, and "id input" one
// with an input.
func seed(t *testing.T, files store.Files, dir string, objects map[string]string) {
	t.Helper()
	session, err := workspaceOn(t, files, dir).Lock(ctx, state.LockRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b := session.Snapshot().State.Builder()
	for at, id := range objects {
		address, deposed, _ := strings.Cut(at, " ")
		id, input, _ := strings.Cut(id, " ")
		b.Fold(state.Edit{Put: &state.PutObject{Provider: provider(t),
			Addr:   addr.Object{Instance: instance(t, address), Deposed: addr.DeposedKey(deposed)},
			Object: &state.Object{Attributes: json.RawMessage(fmt.Sprintf(`{"id":%q,"input":%q}`, id, input))}}})
	}
	if err := errors.Join(session.Write(ctx, b.State()), session.Unlock()); err != nil {
		t.Fatal(err)
	}
}

// contents returns the IDs of a state's objects by address, and the operations in flight.
func contents(t *testing.T, files store.Files, dir string) (objects map[string]string, open map[string]bool) {
	t.Helper()
	s, err := workspaceOn(t, files, dir).Read(ctx)
	if err != nil {
		t.Fatalf("read %s: %v", dir, err)
	}
	objects, open = map[string]string{}, map[string]bool{}
	note := func(at string, o *state.Object) {
		var found struct{ ID, Input string }
		if err := json.Unmarshal(o.Attributes, &found); err != nil {
			t.Fatal(err)
		}
		objects[at] = strings.TrimSuffix(found.ID+" "+found.Input, " ")
	}
	for _, r := range s.State.Resources() {
		for _, key := range r.Keys() {
			i, at := r.Instances[key], r.Addr.Instance(key).String()
			if i.Current != nil {
				note(at, i.Current)
			}
			for _, d := range i.DeposedKeys() {
				note(at+" "+string(d), i.Deposed[d])
			}
		}
	}
	for _, f := range s.InFlight {
		at := f.Object.Instance.String()
		if f.Object.Deposed != "" {
			at += " " + string(f.Object.Deposed)
		}
		open[at] = true
	}
	if len(s.Unfolded) > 0 {
		t.Fatalf("%s has results that do not fit: %+v", dir, s.Unfolded)
	}
	return objects, open
}

// world describes the objects and moves of a test.
type world struct {
	here, there map[string]string // IDs of the objects in source and target
	moves       map[string]string // old address -> new address
}

// prepare creates both states on a new disk.
func (w world) prepare(t *testing.T) *mem.FS {
	t.Helper()
	disk := mem.NewFS()
	for _, dir := range []string{source, target, "rescue"} {
		if err := disk.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	seed(t, disk, source, w.here)
	if w.there != nil {
		seed(t, disk, target, w.there)
	}
	return disk
}

// move runs the transfer, as the command does.
func (w world) move(t *testing.T, files store.Files) error {
	t.Helper()
	from, err := workspaceOn(t, files, source).Lock(ctx, state.LockRequest{})
	if err != nil {
		return err
	}
	to, err := workspaceOn(t, files, target).Lock(ctx, state.LockRequest{})
	if err != nil {
		return errors.Join(err, from.Unlock())
	}
	tr := &transfer.Transfer{From: transfer.Side{Session: from, Place: source},
		To: transfer.Side{Session: to, Place: target}, Dir: "/d", Args: []string{"state", "mv"}}
	for was, is := range w.moves {
		if from.Snapshot().State.Instance(instance(t, was)) != nil {
			tr.Moves = append(tr.Moves, state.MoveObject{From: instance(t, was), To: instance(t, is)})
		}
	}
	return errors.Join(tr.Run(ctx), to.Unlock(), from.Unlock())
}

// target returns the new address of an object; ok is false for one that is not moved.
func (w world) target(at string) (to string, ok bool) {
	address, deposed, is := strings.Cut(at, " ")
	to, ok = w.moves[address]
	if is {
		to += " " + deposed
	}
	return to, ok
}

// survey checks the invariants on a disk that no process uses. With done set, the transfer must be complete.
func (w world) survey(t *testing.T, disk *mem.FS, done bool) (err error) {
	t.Helper()
	here, openHere := contents(t, disk, source)
	there, openThere := contents(t, disk, target)
	for at, id := range w.here {
		to, moves := w.target(at)
		switch inSource, inTarget := here[at] == id, moves && there[to] == id; {
		case !moves && !inSource:
			err = errors.Join(err, fmt.Errorf("%s is lost, which nobody moved", at))
		case !inSource && !inTarget && moves:
			err = errors.Join(err, fmt.Errorf("%s is lost", at))
		case inSource && inTarget && !openHere[at]:
			err = errors.Join(err, fmt.Errorf("%s is in both states, and the source does not name it", at))
		case done && moves && inSource:
			err = errors.Join(err, fmt.Errorf("%s is still in the source", at))
		}
		delete(here, at)
		delete(there, to)
	}
	for at, id := range w.there {
		if there[at] != id {
			err = errors.Join(err, fmt.Errorf("%s of the target is lost", at))
		}
		delete(there, at)
	}
	if len(here)+len(there) > 0 {
		err = errors.Join(err, fmt.Errorf("nobody knows where these come from: %v, %v", here, there))
	}
	if done && len(openHere)+len(openThere) > 0 {
		err = errors.Join(err, fmt.Errorf("still open: %v, %v", openHere, openThere))
	}
	return err
}

var worlds = map[string]world{
	"one object to a new state": {here: map[string]string{"t.a": "1", "t.b": "2"},
		moves: map[string]string{"t.a": "t.a"}},
	"a module with a deposed object": {
		here: map[string]string{"module.m.t.a[0]": "1", "module.m.t.a[1]": "2", "module.m.t.a[1] 0000000a": "3",
			"t.rest": "4"},
		there: map[string]string{"t.own": "5"},
		moves: map[string]string{"module.m.t.a[0]": "module.n.t.a[0]", "module.m.t.a[1]": "module.n.t.a[1]"}},
	"the last objects": {here: map[string]string{"t.a": "1", "t.b": "2"}, there: map[string]string{"t.c": "3"},
		moves: map[string]string{"t.a": "t.x", "t.b": "t.y"}},
}

func spared(name string) bool { return strings.HasPrefix(name, "rescue") }

func wrap(disk *mem.FS, n int, mode faults.Mode) *faults.Files {
	f := faults.Wrap(disk, faults.Plan{Call: n, Mode: mode})
	f.Spare = spared
	return f
}

// Whatever fails or kills the process at any file access, and again during the repair: no object is lost, none is in
// both states without a record, and running the same move again completes it.
func TestEveryFaultAtEveryCallLosesNothing(t *testing.T) {
	stride := 3
	if os.Getenv("TOMBOLO_CRASH_FULL") != "" {
		stride = 1
	}
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			disk := w.prepare(t)
			counting := wrap(disk.Clone(), 0, faults.None)
			if err := w.move(t, counting); err != nil {
				t.Fatal(err)
			}
			pair, cases := 0, 0
			for n := 1; n <= counting.Calls(); n++ {
				for _, mode := range faults.Modes {
					if pair++; pair%stride != 0 {
						continue
					}
					hurt := disk.Clone()
					err := w.move(t, wrap(hurt, n, mode))
					if hurt = hurt.Clone(); err == nil && mode.Kills() {
						err = errors.New("killed behind the end")
					}
					w.check(t, hurt, fmt.Sprintf("%s at call %d of %d (%v)", mode, n, counting.Calls(), err), pair)
					cases++
				}
			}
			t.Logf("%d calls, %d faults", counting.Calls(), cases)
		})
	}
}

// check surveys the result of a fault, and repairs it: first with another fault in between, then without.
func (w world) check(t *testing.T, hurt *mem.FS, what string, n int) {
	t.Helper()
	if err := w.survey(t, hurt, false); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	again := hurt.Clone()
	second := faults.Modes[n%len(faults.Modes)]
	_ = w.move(t, wrap(again, 1+n%40, second))
	again = again.Clone()
	if err := w.survey(t, again, false); err != nil {
		t.Fatalf("%s, then %s at call %d: %v", what, second, 1+n%40, err)
	}
	for _, disk := range []*mem.FS{again, hurt} {
		if err := w.move(t, disk); err != nil {
			t.Fatalf("%s: the move cannot be finished: %v", what, err)
		}
		if err := w.survey(t, disk.Clone(), true); err != nil {
			t.Fatalf("%s, then finished: %v", what, err)
		}
	}
}

// Random transfers that are killed at a random call are completed as if nothing had happened.
func TestRandomMovesAreFinished(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := world{here: map[string]string{}, there: map[string]string{}, moves: map[string]string{}}
		for i := range 1 + r.IntN(6) {
			at := fmt.Sprintf("t.a[%d]", i)
			if r.IntN(3) == 0 {
				at = fmt.Sprintf("module.m[%q].t.b", fmt.Sprint(i))
			}
			w.here[at] = fmt.Sprint(i)
			if r.IntN(2) == 0 {
				w.moves[at] = fmt.Sprintf("t.n[%d]", r.IntN(100)*10+i)
				if r.IntN(4) == 0 {
					w.here[at+" 0000000a"] = fmt.Sprint("deposed", i)
				}
			}
		}
		for i := range r.IntN(3) {
			w.there[fmt.Sprintf("t.c[%d]", i)] = fmt.Sprint("own", i)
		}
		disk := w.prepare(t)
		n, mode := 1+r.IntN(160), faults.Modes[r.IntN(len(faults.Modes))]
		err := w.move(t, wrap(disk, n, mode))
		w.check(t, disk.Clone(), fmt.Sprintf("seed %d: %s at call %d (%v)", seed, mode, n, err), r.IntN(1000))
	}
}

// An object that has arrived is recognized by its values, or by its ID if the target has changed it since. Another
// object at the new address is not taken for it.
func TestOnlyTheSameObjectHasArrived(t *testing.T) {
	w := world{here: map[string]string{"t.a": "1"}, moves: map[string]string{"t.a": "t.b"}}
	disk := w.prepare(t)
	for n := 1; ; n++ {
		hurt := disk.Clone()
		if err := w.move(t, wrap(hurt, n, faults.Kill)); err == nil {
			t.Fatal("no call leaves the object in both states")
		}
		hurt = hurt.Clone()
		here, _ := contents(t, hurt, source)
		there, openThere := contents(t, hurt, target)
		if here["t.a"] == "" || there["t.b"] == "" || len(openThere) > 0 {
			continue
		}
		for id, arrived := range map[string]int{"1": 1, "1 changed": 1, "2": 0} {
			changed := hurt.Clone()
			seed(t, changed, target, map[string]string{"t.b": id})
			from, err := workspaceOn(t, changed, source).Lock(ctx, state.LockRequest{})
			if err != nil {
				t.Fatal(err)
			}
			to, err := workspaceOn(t, changed, target).Lock(ctx, state.LockRequest{})
			if err != nil {
				t.Fatal(err)
			}
			tr := &transfer.Transfer{From: transfer.Side{Session: from, Place: source},
				To: transfer.Side{Session: to, Place: target}}
			if got := tr.Arrived(); len(got) != arrived {
				t.Errorf("with the id %s: arrived %v, want %d", id, got, arrived)
			}
			tr.To.Place = "elsewhere"
			if got := tr.Arrived(); len(got) != 0 {
				t.Errorf("another target knows the move: %v", got)
			}
			if err := errors.Join(from.Unlock(), to.Unlock()); err != nil {
				t.Fatal(err)
			}
			if arrived == 0 {
				continue
			}
			if err := w.move(t, changed); err != nil {
				t.Fatal(err)
			}
			if there, _ := contents(t, changed, target); there["t.b"] != id {
				t.Errorf("the end of the move made %q of %q", there["t.b"], id)
			}
		}
		return
	}
}
