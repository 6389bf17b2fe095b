package tombolo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
	"github.com/tombolo-iac/tombolo/state"
)

// misdeed is a fault of a hostile store or provider in place of an answer.
type misdeed string

const (
	panics  misdeed = "panic"
	exiting misdeed = "Goexit"
	refuses misdeed = "error"
	nils    misdeed = "nil" // neither an answer nor an error
	garbles misdeed = "garbage"
	stalls  misdeed = "block" // blocks until the test ends, and ignores the context
)

// A trap makes one call of one method fail.
type trap struct {
	method string
	call   int // 1 for the first call
	does   misdeed
	seed   uint32 // of the random answers

	mu      sync.Mutex
	calls   map[string]int
	sprung  bool
	gone    []string // the objects that an answer reported as deleted
	release chan struct{}
}

var errTrap = errors.New("refused by the test")

// step counts a call and returns its misdeed, or "" for none.
func (h *trap) step(method string) misdeed {
	h.mu.Lock()
	h.calls[method]++
	now := method == h.method && h.calls[method] >= h.call && !h.sprung
	h.sprung = h.sprung || now
	h.mu.Unlock()
	if !now {
		return ""
	}
	switch h.does {
	case panics:
		panic("trap in " + method)
	case exiting:
		runtime.Goexit()
	case stalls:
		<-h.release
		return refuses
	}
	return h.does
}

// fault performs the misdeed of a method that returns an error; done is false if the call must continue.
func (h *trap) fault(method string) (err error, done bool) {
	switch h.step(method) {
	case refuses:
		return errTrap, true
	case nils, garbles:
		return nil, true
	}
	return nil, false
}

// answer wraps a method that returns a value and an error.
func answer[R any](h *trap, method string, garbage R, inner func() (R, error)) (R, error) {
	var none R
	switch h.step(method) {
	case refuses:
		return none, errTrap
	case nils:
		return none, nil
	case garbles:
		return garbage, nil
	}
	return inner()
}

// The hostile store implements all methods of the four interfaces, each with a trap.
type (
	trapStore struct {
		*trap
		inner state.Store
	}
	trapWorkspace struct {
		*trap
		inner state.Workspace
	}
	trapSession struct {
		*trap
		inner state.Session
	}
	trapJournal struct {
		*trap
		inner state.Journal
	}
)

func (s trapStore) Workspaces(ctx context.Context) ([]string, error) {
	return answer(s.trap, "Store.Workspaces", []string{"", "\x00", "a/b", "default", "default"},
		func() ([]string, error) { return s.inner.Workspaces(ctx) })
}

func (s trapStore) Workspace(name string) (state.Workspace, error) {
	return answer[state.Workspace](s.trap, "Store.Workspace", (*trapWorkspace)(nil), func() (state.Workspace, error) {
		w, err := s.inner.Workspace(name)
		return trapWorkspace{s.trap, w}, err
	})
}

func (s trapStore) DeleteWorkspace(ctx context.Context, name string) error {
	if err, done := s.fault("Store.DeleteWorkspace"); done {
		return err
	}
	return s.inner.DeleteWorkspace(ctx, name)
}

func (w trapWorkspace) Name() string {
	name, _ := answer(w.trap, "Workspace.Name", "\x00", func() (string, error) { return w.inner.Name(), nil })
	return name
}

// trash returns an invalid snapshot.
func trash() *state.Snapshot {
	return &state.Snapshot{State: &state.State{}, InFlight: []state.InFlight{{}}, Unfolded: []state.Unfolded{{}},
		Running: &state.RunInfo{}, Blank: "\x00"}
}

func (w trapWorkspace) Read(ctx context.Context) (*state.Snapshot, error) {
	return answer(w.trap, "Workspace.Read", trash(), func() (*state.Snapshot, error) { return w.inner.Read(ctx) })
}

func (w trapWorkspace) Lock(ctx context.Context, req state.LockRequest) (state.Session, error) {
	return answer[state.Session](w.trap, "Workspace.Lock", (*trapSession)(nil), func() (state.Session, error) {
		s, err := w.inner.Lock(ctx, req)
		if err != nil {
			return nil, err
		}
		return trapSession{w.trap, s}, nil
	})
}

func (w trapWorkspace) ForceUnlock(ctx context.Context, id string) error {
	if err, done := w.fault("Workspace.ForceUnlock"); done {
		return err
	}
	return w.inner.ForceUnlock(ctx, id)
}

func (s trapSession) Context() context.Context {
	ended, end := context.WithCancelCause(context.Background())
	end(errTrap)
	ctx, err := answer(s.trap, "Session.Context", ended, func() (context.Context, error) {
		return s.inner.Context(), nil
	})
	if err != nil {
		return ended
	}
	return ctx
}

func (s trapSession) Snapshot() *state.Snapshot {
	snap, _ := answer(s.trap, "Session.Snapshot", trash(), func() (*state.Snapshot, error) {
		return s.inner.Snapshot(), nil
	})
	return snap
}

func (s trapSession) Begin(ctx context.Context, run state.RunInfo) (state.Journal, error) {
	return answer[state.Journal](s.trap, "Session.Begin", (*trapJournal)(nil), func() (state.Journal, error) {
		j, err := s.inner.Begin(ctx, run)
		if err != nil {
			return nil, err
		}
		return trapJournal{s.trap, j}, nil
	})
}

func (s trapSession) Write(ctx context.Context, st *state.State) error {
	if err, done := s.fault("Session.Write"); done {
		return err
	}
	return s.inner.Write(ctx, st)
}

func (s trapSession) Replace(ctx context.Context, st *state.State) error {
	if err, done := s.fault("Session.Replace"); done {
		return err
	}
	return s.inner.Replace(ctx, st)
}

func (s trapSession) Resolve(ctx context.Context, tokens []string, edits ...state.Edit) error {
	if err, done := s.fault("Session.Resolve"); done {
		return err
	}
	return s.inner.Resolve(ctx, tokens, edits...)
}

// Unlock releases the lock before the trap springs: otherwise the test could not inspect the state.
func (s trapSession) Unlock() error {
	err := s.inner.Unlock()
	if wrong, done := s.fault("Session.Unlock"); done {
		return wrong
	}
	return err
}

func (j trapJournal) Intent(i state.Intent) error {
	if err, done := j.fault("Journal.Intent"); done {
		return err
	}
	return j.inner.Intent(i)
}

func (j trapJournal) Partial(op string, o *state.Object) error {
	if err, done := j.fault("Journal.Partial"); done {
		return err
	}
	return j.inner.Partial(op, o)
}

func (j trapJournal) Result(op string, edits ...state.Edit) error {
	if err, done := j.fault("Journal.Result"); done {
		return err
	}
	return j.inner.Result(op, edits...)
}

func (j trapJournal) Record(edits ...state.Edit) error {
	if err, done := j.fault("Journal.Record"); done {
		return err
	}
	return j.inner.Record(edits...)
}

func (j trapJournal) Working() *state.Builder {
	b, _ := answer(j.trap, "Journal.Working", (*state.State)(nil).Builder(), func() (*state.Builder, error) {
		return j.inner.Working(), nil
	})
	return b
}

func (j trapJournal) Checkpoint(ctx context.Context) error {
	if err, done := j.fault("Journal.Checkpoint"); done {
		return err
	}
	return j.inner.Checkpoint(ctx)
}

func (j trapJournal) Err() error {
	if err, done := j.fault("Journal.Err"); done {
		return err
	}
	return j.inner.Err()
}

func (j trapJournal) Close(ctx context.Context) error {
	if err, done := j.fault("Journal.Close"); done {
		return err
	}
	return j.inner.Close(ctx)
}

// methodsOf lists the methods of interfaces, each with the name of its interface.
func methodsOf(interfaces ...reflect.Type) (all []string) {
	for _, i := range interfaces {
		for k := range i.NumMethod() {
			all = append(all, i.Name()+"."+i.Method(k).Name)
		}
	}
	return all
}

var storeMethods = methodsOf(reflect.TypeFor[state.Store](), reflect.TypeFor[state.Workspace](),
	reflect.TypeFor[state.Session](), reflect.TypeFor[state.Journal]())

// notCalled lists the methods that no call of the library reaches: programs call them through Project.Store and
// Run.Session.
var notCalled = []string{"Store.DeleteWorkspace", "Workspace.Name", "Workspace.ForceUnlock", "Session.Write",
	"Session.Replace", "Journal.Checkpoint", "Journal.Err"}

// pair is a project with two objects, one of which depends on the other.
const pair = `
terraform {
  required_providers {
    note = { source = "example/note" }
  }
}
resource "note" "a" { text = "a" }
resource "note" "b" { text = note.a.id }
resource "terraform_data" "n" { input = note.b.id }
output "id" { value = note.b.id }
`

// service stores the notes of a run. Its second creation fails once with an unknown result.
type service struct {
	mu    sync.Mutex
	notes map[string]string // text by id
	made  int
	fell  bool
}

func (s *service) create(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == 1 && !s.fell {
		s.fell = true
		panic("the service fell")
	}
	s.made++
	id := fmt.Sprintf("n%d", s.made)
	s.notes[id] = d.Get("text").(string)
	d.SetId(id)
	return nil
}

func (s *service) read(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.notes[d.Id()]; !there {
		d.SetId("")
	}
	return nil
}

func (s *service) remove(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.notes, d.Id())
	return nil
}

func (s *service) provider() *schema.Provider {
	return &schema.Provider{ResourcesMap: map[string]*schema.Resource{"note": {
		Schema:        map[string]*schema.Schema{"text": {Type: schema.TypeString, Optional: true, ForceNew: true}},
		CreateContext: s.create, ReadContext: s.read, DeleteContext: s.remove,
		Importer: &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
	}}}
}

// TestHostileStoresLoseNothing makes the calls of every method of a store fail in every way, while a program plans,
// applies, recovers and reads. No call of the library panics or hangs, and the problem names the method; every created
// object is in the state, in the journal or in a problem; and afterwards the same store works.
func TestHostileStoresLoseNothing(t *testing.T) {
	reached := map[string]int{}
	testStoreTrap(t, &trap{}, reached)
	for _, method := range storeMethods {
		if (reached[method] == 0) != slices.Contains(notCalled, method) {
			t.Errorf("%s was called %d times", method, reached[method])
		}
	}
	for _, method := range slices.Sorted(maps.Keys(reached)) {
		for call := 1; call <= min(reached[method], 4); call++ {
			for _, does := range []misdeed{panics, exiting, refuses, nils, garbles, stalls} {
				t.Run(fmt.Sprintf("%s/%d/%s", method, call, does), func(t *testing.T) {
					testStoreTrap(t, &trap{method: method, call: call, does: does}, map[string]int{})
				})
			}
		}
	}
}

// testStoreTrap runs a project whose store has a trap.
func testStoreTrap(t *testing.T, h *trap, reached map[string]int) {
	dir := projectIn(t, pair).Dir
	synctest.Test(t, func(t *testing.T) {
		abort, end := context.WithCancel(context.Background())
		defer end()
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		h.calls, h.release = reached, make(chan struct{})
		notes := &service{notes: map[string]string{}}
		store := tombolo.MemoryStore()
		o := tombolo.Options{Dir: dir, Environ: []string{}, Abort: abort, Workspace: "w", Store: trapStore{h, store},
			Providers: map[string]provider.Factory{"example/note": schema.Factory(notes.provider)}}
		if h.does == stalls {
			defer time.AfterFunc(time.Hour, func() { stop(); end() }).Stop() // a user stops after an hour
		}
		problems := runAll(ctx, t, o)
		_, method, _ := strings.Cut(h.method, ".")
		named := strings.Contains(problems, method) || strings.Contains(problems, "efused by the t")
		if h.sprung && visible(h) && !named {
			t.Errorf("no problem names %s: %s", h.method, problems)
		}
		close(h.release)
		synctest.Wait()
		o.Store, o.Abort, notes.fell = store, nil, true
		checkObjects(t, o, notes, problems)
	})
}

// visible reports whether the misdeed can be seen from outside.
func visible(h *trap) bool {
	answers := []string{"Store.Workspace", "Workspace.Read", "Workspace.Lock", "Session.Context", "Session.Snapshot",
		"Session.Begin", "Journal.Working"}
	return h.does != garbles && (h.does != nils || slices.Contains(answers, h.method))
}

// runAll plans, applies, recovers, reads and imports as far as it gets, and returns all problems.
func runAll(ctx context.Context, t *testing.T, o tombolo.Options) string {
	var problems strings.Builder
	failed := func(diags diag.List) bool {
		for _, d := range diags {
			fmt.Fprintln(&problems, d.Error())
		}
		return diags.HasErrors()
	}
	var project *tombolo.Project
	beside := false
	o.Events = event.Func(func(e event.Event) {
		if _, is := e.(event.OperationStart); is && !beside { // another run reads the state meanwhile
			beside = true
			run, diags := project.Open(ctx, tombolo.OpenOptions{NoLock: true, Reading: true, CreateWorkspace: true})
			if !failed(diags) {
				failed(run.Close(ctx))
			}
		}
	})
	o.Parallelism = 1
	project, diags := tombolo.Load(ctx, o)
	if failed(diags) {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	for _, made := range []bool{true, false} {
		run, diags := project.Open(ctx, tombolo.OpenOptions{CreateWorkspace: made})
		if failed(diags) {
			continue
		}
		for range 2 {
			for _, open := range run.Interrupted() {
				failed(run.Recover(ctx, open.Object.Instance.String(), tombolo.Recovery{Retry: true}))
			}
			pl, diags := run.Plan(ctx, tombolo.PlanOptions{})
			if !failed(diags) {
				_, diags = run.Apply(ctx, pl, tombolo.ApplyOptions{})
				failed(diags)
			}
		}
		var id string
		if err := run.Output("id", &id); err != nil {
			fmt.Fprintln(&problems, err)
		}
		failed(run.Close(ctx))
	}
	return problems.String()
}

// checkObjects checks that every object is in the state, in the journal or in a problem, and that the store works.
func checkObjects(t *testing.T, o tombolo.Options, notes *service, problems string) {
	project, diags := tombolo.Load(context.Background(), o)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(context.Background(), tombolo.OpenOptions{CreateWorkspace: true})
	if diags.HasErrors() {
		t.Fatalf("the store cannot be opened any more: %v; before: %s", diags.Err(), problems)
	}
	defer run.Close(context.Background())
	for id, text := range notes.notes {
		at := "note.b"
		if text == "a" {
			at = "note.a"
		}
		stored, open := strings.Contains(storedText(run), `"`+id+`"`), isOpen(run, at)
		if open && !stored {
			if diags := run.Recover(context.Background(), at, tombolo.Recovery{Adopt: id}); diags.HasErrors() {
				t.Errorf("%s cannot be adopted: %v", at, diags.Err())
			}
		}
		if !stored && !open && !strings.Contains(problems, at) {
			t.Errorf("%s, which is %s, is forgotten; the problems were %s", id, at, problems)
		}
	}
	for _, open := range run.Interrupted() {
		diags := run.Recover(context.Background(), open.Object.Instance.String(), tombolo.Recovery{Retry: true})
		if diags.HasErrors() {
			t.Error(diags.Err())
		}
	}
	pl, diags := run.Plan(context.Background(), tombolo.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if _, diags := run.Apply(context.Background(), pl, tombolo.ApplyOptions{}); diags.HasErrors() {
		t.Error(diags.Err())
	}
	if got := len(run.State().Resources()); got != 3 {
		t.Errorf("%d objects at the end", got)
	}
}
