//go:build unix

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// testProject is a project with its state and its world, in its own folder.
type testProject struct {
	t     testing.TB
	dir   string
	job   job
	world *world.World
	// from is the number of events in the ledger before the run to be checked.
	from int
	// base is the state before that run.
	base *state.State
}

const (
	projectDir = "project"
	worldDir   = "world"
)

// newTestProject returns an empty project with a configuration.
func newTestProject(t testing.TB, config string) *testProject {
	t.Helper()
	return newSharedProject(t, config, Shared{})
}

// newSharedProject returns a project whose state is kept by a service.
func newSharedProject(t testing.TB, config string, at Shared) *testProject {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{projectDir, worldDir, projectDir + "/rescue"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := &testProject{t: t, dir: dir}
	r.job.Shared = at
	r.open()
	r.configure(config)
	return r
}

// copyTo creates a copy of the project for another test.
func (r *testProject) copyTo(t testing.TB) *testProject {
	t.Helper()
	return r.copyWith(t, nil)
}

// copyWith is copyTo with other keys of the state.
func (r *testProject) copyWith(t testing.TB, keys []int) *testProject {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	c := &testProject{t: t, dir: dir}
	c.job.Keys = keys
	c.open()
	return c
}

func (r *testProject) open() {
	r.t.Helper()
	r.job = job{Shared: r.job.Shared, Dir: filepath.Join(r.dir, projectDir), World: filepath.Join(r.dir, worldDir),
		Parallelism: 10, Keys: r.job.Keys}
	w, err := world.Open(r.job.World)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { w.Close() })
	r.world = w
	r.mark()
}

// configure replaces the configuration.
func (r *testProject) configure(config string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.job.Dir, "main.tf"), []byte(config), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// mark records the current state and ledger.
func (r *testProject) mark() {
	r.t.Helper()
	r.from = len(r.events())
	r.base = r.read().State
}

func (r *testProject) events() []world.Event {
	r.t.Helper()
	events, err := r.world.Events()
	if err != nil {
		r.t.Fatal(err)
	}
	return events
}

// begun counts the operations that reached the world.
func (r *testProject) begun() (n int) {
	r.t.Helper()
	for _, e := range r.events() {
		if e.Kind == world.Begin {
			n++
		}
	}
	return n
}

// read reads the state as any command does, without a lock.
func (r *testProject) read() *state.Snapshot {
	r.t.Helper()
	ws, err := r.job.store(nil).Workspace(state.DefaultWorkspace)
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := ws.Read(context.Background())
	if err != nil {
		r.t.Fatalf("the state cannot be read: %s\n%s", err, r.files())
	}
	return s
}

// over reads the state of a run that has ended in any way; see open for why it may seem to continue for a moment.
func (r *testProject) over() *state.Snapshot {
	r.t.Helper()
	s := r.read()
	for n := 0; s.Running != nil && n < 3000; n++ {
		time.Sleep(20 * time.Millisecond)
		s = r.read()
	}
	if s.Running != nil {
		r.t.Errorf("the run is said to be still under way: %+v", s.Running)
	}
	return s
}

// files lists the files in the project, for messages.
func (r *testProject) files() string {
	var b strings.Builder
	_ = filepath.WalkDir(r.job.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, _ := d.Info()
			fmt.Fprintf(&b, "%8d %s\n", info.Size(), path)
		}
		return nil
	})
	return b.String()
}

// contents returns the files of the project by name, without its configuration and the lock information.
func (r *testProject) contents() map[string]string {
	r.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(r.job.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) == ".tf" ||
			strings.HasSuffix(path, ".lock.info") {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, r.job.Dir)] = string(text)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// stored is one object in the state.
type stored struct {
	at       addr.Object
	status   state.Status
	name     string
	revision int
}

// stateObjects returns the objects of a state by their IDs in the world.
func (r *testProject) stateObjects(s *state.State) map[string]stored {
	r.t.Helper()
	out := map[string]stored{}
	add := func(at addr.Object, o *state.Object) {
		var has struct {
			ID, Name string
			Revision int
		}
		if err := json.Unmarshal(o.Attributes, &has); err != nil {
			r.t.Fatalf("%s: %s", at, err)
		}
		if before, ok := out[has.ID]; ok {
			r.t.Errorf("the object %s is in the state twice: at %s and at %s", has.ID, before.at, at)
		}
		out[has.ID] = stored{at, o.Status, has.Name, has.Revision}
	}
	for _, res := range s.Resources() {
		for _, key := range res.Keys() {
			inst := res.Instances[key]
			if inst.Current != nil {
				add(addr.Object{Instance: res.Addr.Instance(key)}, inst.Current)
			}
			for _, d := range inst.DeposedKeys() {
				add(addr.Object{Instance: res.Addr.Instance(key), Deposed: d}, inst.Deposed[d])
			}
		}
	}
	return out
}

// check compares a snapshot with the ledger: it must contain everything.
func (r *testProject) check(s *state.Snapshot) {
	r.t.Helper()
	known := r.stateObjects(s.State)
	open := map[string]state.InFlight{}
	for _, f := range s.InFlight {
		open[f.Token()] = f
		if f.Action != "delete" && !bytes.Contains(f.Planned, []byte(`"name":"`)) {
			r.t.Errorf("in flight: %s of %s has no planned values: %s", f.Action, f.Object, f.Planned)
		}
	}
	if len(s.Unfolded) > 0 {
		r.t.Errorf("results that were not folded: %+v", s.Unfolded)
	}
	exists := map[string]world.Object{}
	all, err := r.world.Exists()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		exists[o.ID] = o
		if _, ok := known[o.ID]; ok {
			continue
		}
		if _, ok := open[o.Token]; !ok {
			r.t.Errorf("LOST: the object %s (%s) exists, and neither the state nor the operations in flight know it",
				o.ID, o.Token)
		}
	}
	for id, k := range known {
		if _, ok := exists[id]; !ok && !slices.ContainsFunc(s.InFlight, func(f state.InFlight) bool {
			return f.Action == "delete" && f.Object == k.at
		}) {
			r.t.Errorf("GHOST: the state has %s at %s, which does not exist, and no deletion of it is in flight", id,
				k.at)
		}
	}
	r.checkBegun(known, open)
	r.checkSerial(s.State)
}

// checkBegun checks that every operation that reached the world has its result in the state or is reported as in
// flight.
func (r *testProject) checkBegun(known map[string]stored, open map[string]state.InFlight) {
	r.t.Helper()
	events := r.events()
	for i, begin := range events[r.from:] {
		if begin.Kind != world.Begin || begin.Token == "" {
			continue
		}
		if f, ok := open[begin.Token]; ok {
			if string(f.Action) != begin.Op {
				r.t.Errorf("in flight: %s is called a %s, but it is the %s of %s", begin.Token, f.Action, begin.Op,
					begin.Name)
			}
			continue
		}
		var end *world.Event
		for _, e := range events[r.from+i:] {
			if e.Kind != world.Begin && e.Token == begin.Token {
				end = &e
				break
			}
		}
		if end == nil {
			r.t.Errorf("UNNAMED: the %s of %s was begun (%s) and did not end, and is not in flight", begin.Op,
				begin.Name, begin.Token)
			continue
		}
		k, ok := known[end.ID]
		gone := slices.ContainsFunc(events[r.from+i:], func(e world.Event) bool {
			return e.Kind == world.Deleted &&
				e.ID == end.ID
		})
		switch {
		case end.Kind == world.Failed:
		case end.Kind == world.Deleted && ok:
			r.t.Errorf("the deletion of %s has ended (%s), but it is in the state at %s", end.ID, end.Token, k.at)
		case end.Kind == world.Deleted || gone:
		case !ok || k.revision < end.Object.Revision:
			r.t.Errorf("the %s of %s has ended (%s), but the state has it as %+v", begin.Op, end.ID, end.Token, k)
		}
	}
}

func (r *testProject) checkSerial(s *state.State) {
	r.t.Helper()
	if r.base == nil {
		return
	}
	switch {
	case s == nil:
		r.t.Errorf("there is no state any more")
	case s.Lineage != r.base.Lineage:
		r.t.Errorf("the lineage changed from %q to %q", r.base.Lineage, s.Lineage)
	case s.Serial < r.base.Serial:
		r.t.Errorf("the serial fell from %d to %d", r.base.Serial, s.Serial)
	}
}

// hold acquires the lock of the state in this process.
func (r *testProject) hold() (*engine.Project, *engine.Run) {
	r.t.Helper()
	project, diags := r.job.project(nil)
	r.noErrors(diags)
	run, diags := open(context.Background(), project)
	if diags.HasErrors() {
		r.t.Fatalf("the state cannot be locked: %s\n%s", diags.Err(), r.files())
	}
	return project, run
}

func (r *testProject) noErrors(diags diag.List) {
	r.t.Helper()
	if diags.HasErrors() {
		r.t.Fatal(diags.Err())
	}
}

// recovered acquires the lock, returns the recovered state, and releases the lock.
func (r *testProject) recovered() *state.Snapshot {
	r.t.Helper()
	project, run := r.hold()
	defer project.Close()
	s := run.Snapshot()
	r.noErrors(run.Close(context.Background()))
	return s
}

// sameSnapshot compares two snapshots, and their serials if serials is set.
func sameSnapshot(a, b *state.Snapshot, serials bool) error {
	text := func(s *state.Snapshot) string {
		var c state.State
		if s.State != nil {
			c = *s.State
		}
		if !serials {
			c.Serial = 0
		}
		var b strings.Builder
		if err := c.Encode(&b); err != nil {
			return err.Error()
		}
		for _, f := range s.InFlight {
			fmt.Fprintf(&b, "%s %s %s %s partial %t\n", f.Token(), f.Action, f.Object, f.Planned, f.Partial != nil)
		}
		return b.String()
	}
	if x, y := text(a), text(b); x != y {
		return fmt.Errorf("one:\n%s\nthe other:\n%s", x, y)
	}
	return nil
}

// aftermath checks the invariants after a run was killed: nothing is unknown, before and after recovery; recovery is
// idempotent; operations in flight can be resolved; the next apply does the rest and no more.
func (r *testProject) aftermath(expected map[string]int) {
	r.t.Helper()
	before := r.over()
	r.check(before)
	first := r.recovered()
	r.check(first)
	if err := sameSnapshot(before, first, false); err != nil && !anyPartial(before) {
		r.t.Errorf("readers before the recovery saw something other than the recovery made: %s", err)
	}
	if err := sameSnapshot(first, r.recovered(), true); err != nil {
		r.t.Errorf("a second recovery changed something: %s", err)
	}
	if err := sameSnapshot(first, r.read(), true); err != nil {
		r.t.Errorf("readers after the recovery see something other than it made: %s", err)
	}
	r.resolve()
	r.finish(expected)
}

// afterDestroy checks the invariants after a destroy was killed: the same ones, and another destroy completes it.
func (r *testProject) afterDestroy() {
	r.t.Helper()
	before := r.over()
	r.check(before)
	first := r.recovered()
	r.check(first)
	if err := sameSnapshot(before, first, false); err != nil {
		r.t.Errorf("readers before the recovery saw something other than the recovery made: %s", err)
	}
	if err := sameSnapshot(first, r.recovered(), true); err != nil {
		r.t.Errorf("a second recovery changed something: %s", err)
	}
	r.destroy()
}

// anyPartial reports whether an object was reported early: acquiring the lock then stores it.
func anyPartial(s *state.Snapshot) bool {
	return slices.ContainsFunc(s.InFlight, func(f state.InFlight) bool { return f.Partial != nil })
}

// resolve resolves interrupted creations as a person does who checks the world.
func (r *testProject) resolve() {
	r.t.Helper()
	project, run := r.hold()
	defer project.Close()
	r.noErrors(adopt(context.Background(), run, r.world))
	r.noErrors(run.Close(context.Background()))
	r.from = len(r.events()) // earlier operations are resolved
}

// finish applies without faults and compares state and world; expected is how often each name may have been created in
// total.
func (r *testProject) finish(expected map[string]int) {
	r.t.Helper()
	r.noErrors(r.job.do(context.Background(), nil))
	for name, most := range expected {
		if n, err := r.world.Creations(name); err != nil || n < 1 || n > most {
			r.t.Errorf("TWICE: %s was created %d times, not %d (%v)", name, n, most, err)
		}
	}
	r.settled()
	r.destroy()
}

// destroy destroys everything without faults.
func (r *testProject) destroy() {
	r.t.Helper()
	before := r.read().State
	j := r.job
	j.Destroy = true
	r.noErrors(j.do(context.Background(), nil))
	after := r.read()
	if all, err := r.world.Exists(); err != nil || len(all) > 0 {
		r.t.Errorf("after the destroy there still are %v (%v)", all, err)
	}
	if len(after.State.Resources()) > 0 || len(after.InFlight) > 0 || len(before.Resources()) > 0 &&
		after.State.Serial <= before.Serial {
		r.t.Errorf("after the destroy the state is %+v, in flight %+v", after.State, after.InFlight)
	}
	r.checkSerial(after.State)
}

// settled checks that state and world are equal, that no operation is open and that a plan contains no changes.
func (r *testProject) settled() {
	r.t.Helper()
	s := r.read()
	r.check(s)
	if len(s.InFlight) > 0 {
		r.t.Errorf("still in flight: %+v", s.InFlight)
	}
	known := r.stateObjects(s.State)
	all, err := r.world.Exists()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if k := known[o.ID]; k.revision != o.Revision || k.status != state.Ready || k.at.Deposed != "" {
			r.t.Errorf("the object %+v is in the state as %+v", o, k)
		}
	}
	project, run := r.hold()
	defer project.Close()
	p, diags := run.Plan(context.Background(), engine.PlanOptions{})
	r.noErrors(diags)
	for _, c := range p.Changes {
		if c.Action != plan.NoOp {
			r.t.Errorf("there is still something to do: %s %s", c.Action, c.Object)
		}
	}
	r.noErrors(run.Close(context.Background()))
}
