// Package storetest is the test suite for implementations of state.Store: one test for each rule that package state has
// for stores, locks, sessions and journals.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) (a, b state.Store) { s := mem.New(); return s, s })
//	}
//
// The two stores that open returns stand for two processes with the same storage, which must be empty. The suite
// simulates a killed run by unlocking with an open journal: the journal is not closed, and the next lock has to recover
// it.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// Open returns two stores over the same, empty storage.
type Open func(t *testing.T) (a, b state.Store)

// T is the part of testing.T that the suite needs.
type T interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

// Check is the test of one rule. Open returns two stores over the same, empty storage.
type Check struct {
	Name string
	Run  func(t T, open func(T) (a, b state.Store))
}

type opener = func(T) (a, b state.Store)

// Checks returns all checks, for use outside of tests.
func Checks() []Check {
	return []Check{
		{"ReadGivesNothingWhereNothingIsStored", nothingStored},
		{"WriteStoresAndCounts", writeCounts},
		{"WriteRefusesOtherLineagesAndOlderSerials", writeRefuses},
		{"LockExcludesOthers", lockExcludes},
		{"UnlockedSessionsShareOneJournal", unlockedSessions},
		{"AcquireWaitsForTheOtherToEnd", acquireWaits},
		{"ForceUnlockNeedsTheID", forceUnlock},
		{"SessionContextEndsWithTheLock", sessionContext},
		{"JournalStoresResultsAtClose", journalCloses},
		{"JournalStoresNothingWhenNothingHappens", journalIdle},
		{"FirstRunStoresAnEmptyState", firstRun},
		{"CheckpointShowsInTheState", checkpoints},
		{"ReadersSeeResultsAtOnce", readersOverlay},
		{"KilledRunIsRecovered", killedRun},
		{"RecoveringTwiceIsRecoveringOnce", recoverTwice},
		{"InFlightStaysUntilResolved", inFlight},
		{"ResolveWorksThroughAnOpenJournal", resolveInRun},
		{"ResolveRefusesUnknownTokens", resolveUnknown},
		{"EveryKindOfEditSurvives", everyEdit},
		{"ManyWritersLoseNothing", manyWriters},
		{"ReadersNeverSeeLess", readersMonotone},
		{"WorkspacesAreSeparate", workspaces},
		{"JournalRefusesWhatIsNotUnderWay", notUnderWay},
	}
}

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			c.Run(t, func(T) (a, b state.Store) { return open(t) })
		})
	}
}

var ctx = context.Background()

// Provider is the provider configuration of the suite's objects.
var Provider = addr.AbsProviderConfig{Provider: addr.Provider{Host: addr.DefaultProviderHost, Namespace: "h",
	Type: "t"}}

// Addr parses the address of an instance.
func Addr(s string) addr.Object {
	i, diags := addr.ParseInstance(s)
	if diags.HasErrors() {
		panic(diags.Err())
	}
	return addr.Object{Instance: i}
}

// Put returns an edit that stores an object with an id and a note.
func Put(at, id, note string) state.Edit {
	raw, err := json.Marshal(map[string]string{"id": id, "note": note})
	if err != nil {
		panic(err)
	}
	return state.Edit{Put: &state.PutObject{Addr: Addr(at), Provider: Provider, Object: &state.Object{Attributes: raw}}}
}

// Drop returns an edit that removes an object.
func Drop(at string) state.Edit { return state.Edit{Drop: &state.DropObject{Addr: Addr(at)}} }

// Create returns the intent to create an object.
func Create(op, at string) state.Intent {
	return state.Intent{ID: op, Object: Addr(at), Action: "create", Provider: Provider,
		Planned: json.RawMessage(`{"note":"planned"}`)}
}

// IDs lists the objects of a state with their ids, as "address=id", sorted.
func IDs(s *state.State) []string {
	all := []string{}
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			i := r.Instances[key]
			note := func(d addr.DeposedKey, o *state.Object) {
				var has struct{ ID string }
				json.Unmarshal(o.Attributes, &has)
				all = append(all, addr.Object{Instance: r.Addr.Instance(key), Deposed: d}.String()+"="+has.ID)
			}
			if i.Current != nil {
				note("", i.Current)
			}
			for _, d := range i.DeposedKeys() {
				note(d, i.Deposed[d])
			}
		}
	}
	slices.Sort(all)
	return all
}

func must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func workspace(t T, s state.Store, name string) state.Workspace {
	t.Helper()
	w, err := s.Workspace(name)
	must(t, err)
	return w
}

func lock(t T, s state.Store) state.Session {
	t.Helper()
	session, err := workspace(t, s, state.DefaultWorkspace).Lock(ctx, state.LockRequest{
		Info: state.LockInfo{ID: "lock-1", Operation: "test", Who: "me@here"}})
	must(t, err)
	return session
}

func read(t T, s state.Store) *state.Snapshot {
	t.Helper()
	snapshot, err := workspace(t, s, state.DefaultWorkspace).Read(ctx)
	must(t, err)
	return snapshot
}

func begin(t T, s state.Session, run string) state.Journal {
	t.Helper()
	j, err := s.Begin(ctx, state.RunInfo{ID: run, Command: "apply"})
	must(t, err)
	return j
}

func result(t T, j state.Journal, op, at string, edits ...state.Edit) {
	t.Helper()
	must(t, j.Intent(Create(op, at)))
	must(t, j.Result(op, edits...))
}

func same(t T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// kill ends a session like a killed process: the journal is not closed.
func kill(t T, s state.Session) {
	t.Helper()
	if err := s.Unlock(); err == nil {
		t.Error("unlocking with an open journal is no error")
	}
}

// seed stores some objects.
func seed(t T, s state.Store, edits ...state.Edit) {
	t.Helper()
	session := lock(t, s)
	j := begin(t, session, "seed")
	must(t, j.Record(edits...))
	must(t, j.Close(ctx))
	must(t, session.Unlock())
}

func nothingStored(t T, open opener) {
	a, b := open(t)
	if s := read(t, a); s.State != nil || len(s.InFlight)+len(s.Unfolded) != 0 || s.Running != nil {
		t.Errorf("got %+v", s)
	}
	session := lock(t, a)
	if s := session.Snapshot(); s.State != nil {
		t.Errorf("under lock: %+v", s.State)
	}
	if s := read(t, b); s.State != nil {
		t.Errorf("while another has the lock: %+v", s.State)
	}
	must(t, session.Unlock())
	if s := read(t, b); s.State != nil {
		t.Errorf("afterwards: %+v", s.State)
	}
}

func writeCounts(t T, open opener) {
	a, b := open(t)
	session := lock(t, a)
	builder := (*state.State)(nil).Builder()
	builder.Fold(Put("t.a", "1", ""))
	must(t, session.Write(ctx, builder.State()))
	first := session.Snapshot().State
	if first.Lineage == "" || first.Serial != 1 {
		t.Errorf("first write: lineage %q, serial %d", first.Lineage, first.Serial)
	}
	must(t, session.Write(ctx, first))
	if s := session.Snapshot().State; s.Serial != 1 {
		t.Errorf("writing the same made serial %d", s.Serial)
	}
	builder = first.Builder()
	builder.Fold(Put("t.b", "2", ""))
	must(t, session.Write(ctx, builder.State()))
	must(t, session.Unlock())
	got := read(t, b).State
	if got.Serial != 2 || got.Lineage != first.Lineage {
		t.Errorf("second write: serial %d, lineage %q", got.Serial, got.Lineage)
	}
	same(t, "objects", IDs(got), []string{"t.a=1", "t.b=2"})
	same(t, "objects of the first state, which must not change", IDs(first), []string{"t.a=1"})
}

func writeRefuses(t T, open opener) {
	a, _ := open(t)
	seed(t, a, Put("t.a", "1", ""))
	session := lock(t, a)
	defer session.Unlock()
	builder := session.Snapshot().State.Builder()
	builder.Fold(Put("t.b", "2", ""))
	other := *builder.State()
	other.Lineage = "other"
	var conflict *state.ConflictError
	if err := session.Write(ctx, &other); !errors.As(err, &conflict) {
		t.Errorf("other lineage: %v", err)
	}
	older := *builder.State()
	older.Serial = 0
	if err := session.Write(ctx, &older); !errors.As(err, &conflict) {
		t.Errorf("older serial: %v", err)
	}
	same(t, "objects after refusals", IDs(session.Snapshot().State), []string{"t.a=1"})
	must(t, session.Replace(ctx, &other))
	if s := session.Snapshot().State; s.Lineage != "other" || len(IDs(s)) != 2 {
		t.Errorf("replaced: lineage %q, %v", s.Lineage, IDs(s))
	}
}

// idOf returns the id of a lock.
func idOf(s state.Session) string {
	if i, ok := s.(state.Identified); ok {
		return i.LockID()
	}
	return "lock-1"
}

func lockExcludes(t T, open opener) {
	a, b := open(t)
	session := lock(t, a)
	_, err := workspace(t, b, state.DefaultWorkspace).Lock(ctx, state.LockRequest{})
	var locked *state.LockedError
	if !errors.As(err, &locked) || locked.Info == nil || locked.Info.ID != idOf(session) ||
		locked.Info.Who != "me@here" || locked.Info.Operation != "test" {
		t.Errorf("second lock: %v", err)
	}
	must(t, session.Unlock())
	must(t, lock(t, b).Unlock())
	if err := session.Unlock(); err == nil {
		t.Error("unlocking twice is no error")
	}
}

func unlockedSessions(t T, open opener) {
	a, b := open(t)
	free := func(s state.Store) state.Session {
		session, err := workspace(t, s, state.DefaultWorkspace).Lock(ctx, state.LockRequest{Unlocked: true})
		must(t, err)
		return session
	}
	one, two := free(a), free(b)
	j := begin(t, one, "one")
	must(t, j.Record(Put("t.a", "1", "")))
	other := begin(t, two, "two")
	if err := other.Intent(Create("x", "t.b")); err == nil {
		t.Error("two runs without the lock write at the same time")
	}
	must(t, j.Close(ctx))
	must(t, one.Unlock())
	two.Unlock()
	same(t, "objects", IDs(read(t, b).State), []string{"t.a=1"})
}

func acquireWaits(t T, open opener) {
	a, b := open(t)
	session := lock(t, a)
	waiting := make(chan *state.LockedError, 1)
	go func() {
		<-waiting
		session.Unlock()
	}()
	got, err := state.Acquire(ctx, workspace(t, b, state.DefaultWorkspace), state.LockRequest{}, 10*time.Second,
		func(l *state.LockedError) { waiting <- l })
	must(t, err)
	must(t, got.Unlock())
}

func forceUnlock(t T, open opener) {
	a, b := open(t)
	session := lock(t, a)
	defer session.Unlock()
	if err := workspace(t, b, state.DefaultWorkspace).ForceUnlock(ctx, "wrong"); err == nil ||
		!strings.Contains(err.Error(), idOf(session)) {
		t.Errorf("with a wrong id: %v", err)
	}
}

func sessionContext(t T, open opener) {
	a, _ := open(t)
	session := lock(t, a)
	must(t, session.Context().Err())
	must(t, session.Unlock())
	if session.Context().Err() == nil {
		t.Error("the context outlives the lock")
	}
	if _, err := session.Begin(ctx, state.RunInfo{}); err == nil {
		t.Error("a journal begins without a lock")
	}
	if err := session.Write(ctx, &state.State{}); err == nil {
		t.Error("a state is written without a lock")
	}
}

func workspaces(t T, open opener) {
	a, b := open(t)
	names, err := a.Workspaces(ctx)
	if errors.Is(err, state.ErrNoWorkspaces) {
		t.Skip("runs for stores that have workspaces")
	}
	must(t, err)
	same(t, "workspaces at first", names, []string{state.DefaultWorkspace})
	session, err := workspace(t, a, "blue").Lock(ctx, state.LockRequest{})
	must(t, err)
	j := begin(t, session, "r")
	must(t, j.Record(Put("t.a", "blue", "")))
	must(t, j.Close(ctx))
	must(t, session.Unlock())
	if s := read(t, b); s.State != nil {
		t.Errorf("the default workspace got %v", IDs(s.State))
	}
	names, err = b.Workspaces(ctx)
	must(t, err)
	same(t, "workspaces", names, []string{state.DefaultWorkspace, "blue"})
	got, err := workspace(t, b, "blue").Read(ctx)
	must(t, err)
	same(t, "objects of blue", IDs(got.State), []string{"t.a=blue"})

	if err := b.DeleteWorkspace(ctx, state.DefaultWorkspace); err == nil {
		t.Error("the default workspace was deleted")
	}
	if err := b.DeleteWorkspace(ctx, "green"); err == nil {
		t.Error("deleting what is not there is no error")
	}
	must(t, b.DeleteWorkspace(ctx, "blue"))
	names, err = a.Workspaces(ctx)
	must(t, err)
	same(t, "workspaces at last", names, []string{state.DefaultWorkspace})
	for _, bad := range []string{"", "..", "a/b", "a b"} {
		if _, err := a.Workspace(bad); err == nil {
			t.Errorf("%q is taken for the name of a workspace", bad)
		}
	}
}
