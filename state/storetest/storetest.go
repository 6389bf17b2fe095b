// Package storetest is the suite that every state.Store passes: what package state promises of stores, locks, sessions and
// journals, one test for each promise.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) (a, b state.Store) { s := mem.New(); return s, s })
//	}
//
// The two stores that open gives stand for two processes over the same storage, which must be empty. A run that is killed is
// played by unlocking with an open journal: nothing of it is closed, and the next lock has to recover it.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// Open gives two stores over the same, empty storage.
type Open func(t *testing.T) (a, b state.Store)

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
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
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

var ctx = context.Background()

// Provider is the provider configuration that the suite's objects belong to.
var Provider = addr.AbsProviderConfig{Provider: addr.Provider{Host: addr.DefaultProviderHost, Namespace: "h", Type: "t"}}

// Addr reads the address of an instance.
func Addr(s string) addr.Object {
	i, diags := addr.ParseInstance(s)
	if diags.HasErrors() {
		panic(diags.Err())
	}
	return addr.Object{Instance: i}
}

// Put is an edit that stores an object with an id and a note.
func Put(at, id, note string) state.Edit {
	raw, err := json.Marshal(map[string]string{"id": id, "note": note})
	if err != nil {
		panic(err)
	}
	return state.Edit{Put: &state.PutObject{Addr: Addr(at), Provider: Provider, Object: &state.Object{Attributes: raw}}}
}

// Drop is an edit that removes an object.
func Drop(at string) state.Edit { return state.Edit{Drop: &state.DropObject{Addr: Addr(at)}} }

// Create is the intent to create an object.
func Create(op, at string) state.Intent {
	return state.Intent{ID: op, Object: Addr(at), Action: "create", Provider: Provider, Planned: json.RawMessage(`{"note":"planned"}`)}
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func workspace(t *testing.T, s state.Store, name string) state.Workspace {
	t.Helper()
	w, err := s.Workspace(name)
	must(t, err)
	return w
}

func lock(t *testing.T, s state.Store) state.Session {
	t.Helper()
	session, err := workspace(t, s, state.DefaultWorkspace).Lock(ctx, state.LockRequest{Info: state.LockInfo{ID: "lock-1", Operation: "test", Who: "me@here"}})
	must(t, err)
	return session
}

func read(t *testing.T, s state.Store) *state.Snapshot {
	t.Helper()
	snapshot, err := workspace(t, s, state.DefaultWorkspace).Read(ctx)
	must(t, err)
	return snapshot
}

func begin(t *testing.T, s state.Session, run string) state.Journal {
	t.Helper()
	j, err := s.Begin(ctx, state.RunInfo{ID: run, Command: "apply"})
	must(t, err)
	return j
}

func result(t *testing.T, j state.Journal, op, at string, edits ...state.Edit) {
	t.Helper()
	must(t, j.Intent(Create(op, at)))
	must(t, j.Result(op, edits...))
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// kill ends a session as a killed process would: the journal is not closed.
func kill(t *testing.T, s state.Session) {
	t.Helper()
	if err := s.Unlock(); err == nil {
		t.Error("unlocking with an open journal is no error")
	}
}

// seed stores some objects.
func seed(t *testing.T, s state.Store, edits ...state.Edit) {
	t.Helper()
	session := lock(t, s)
	j := begin(t, session, "seed")
	must(t, j.Record(edits...))
	must(t, j.Close(ctx))
	must(t, session.Unlock())
}

func nothingStored(t *testing.T, open Open) {
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

func writeCounts(t *testing.T, open Open) {
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

func writeRefuses(t *testing.T, open Open) {
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

func lockExcludes(t *testing.T, open Open) {
	a, b := open(t)
	session := lock(t, a)
	_, err := workspace(t, b, state.DefaultWorkspace).Lock(ctx, state.LockRequest{})
	var locked *state.LockedError
	if !errors.As(err, &locked) || locked.Info == nil || locked.Info.ID != "lock-1" || locked.Info.Who != "me@here" || locked.Info.Operation != "test" {
		t.Errorf("second lock: %v", err)
	}
	must(t, session.Unlock())
	must(t, lock(t, b).Unlock())
	if err := session.Unlock(); err == nil {
		t.Error("unlocking twice is no error")
	}
}

func unlockedSessions(t *testing.T, open Open) {
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

func acquireWaits(t *testing.T, open Open) {
	a, b := open(t)
	session := lock(t, a)
	waiting := make(chan *state.LockedError, 1)
	go func() {
		<-waiting
		session.Unlock()
	}()
	got, err := state.Acquire(ctx, workspace(t, b, state.DefaultWorkspace), state.LockRequest{}, 10*time.Second, func(l *state.LockedError) { waiting <- l })
	must(t, err)
	must(t, got.Unlock())
}

func forceUnlock(t *testing.T, open Open) {
	a, b := open(t)
	session := lock(t, a)
	defer session.Unlock()
	if err := workspace(t, b, state.DefaultWorkspace).ForceUnlock(ctx, "wrong"); err == nil || !strings.Contains(err.Error(), "lock-1") {
		t.Errorf("with a wrong id: %v", err)
	}
}

func sessionContext(t *testing.T, open Open) {
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

func journalCloses(t *testing.T, open Open) {
	a, b := open(t)
	seed(t, a, Put("t.old", "0", ""))
	session := lock(t, a)
	before := session.Snapshot().State
	j := begin(t, session, "r")
	if _, err := session.Begin(ctx, state.RunInfo{}); err == nil {
		t.Error("two journals at a time")
	}
	result(t, j, "1", "t.a", Put("t.a", "1", "made"))
	must(t, j.Record(Put("t.b", "2", ""), state.Edit{Output: &state.SetOutput{Name: "o", Value: &state.Output{Value: cty.StringVal("v"), Sensitive: true}}}))
	result(t, j, "2", "t.old", Drop("t.old"))
	same(t, "working state", IDs(j.Working().State()), []string{"t.a=1", "t.b=2"})
	must(t, j.Close(ctx))
	must(t, j.Close(ctx))
	after := session.Snapshot()
	if after.State.Serial != before.Serial+1 || after.State.Lineage != before.Lineage {
		t.Errorf("serial %d -> %d, lineage %q -> %q", before.Serial, after.State.Serial, before.Lineage, after.State.Lineage)
	}
	must(t, session.Unlock())
	got := read(t, b)
	same(t, "objects", IDs(got.State), []string{"t.a=1", "t.b=2"})
	if o := got.State.Output("o"); o == nil || !o.Sensitive || !o.Value.RawEquals(cty.StringVal("v")) {
		t.Errorf("output: %+v", o)
	}
	if len(got.InFlight) != 0 || got.State.Serial != after.State.Serial {
		t.Errorf("in flight %v, serial %d", got.InFlight, got.State.Serial)
	}
}

func journalIdle(t *testing.T, open Open) {
	a, b := open(t)
	seed(t, a, Put("t.a", "1", ""))
	before := read(t, b).State
	session := lock(t, a)
	j := begin(t, session, "r")
	must(t, j.Checkpoint(ctx))
	must(t, j.Close(ctx))
	j = begin(t, session, "again")
	must(t, j.Record(Put("t.a", "1", "")))
	must(t, j.Close(ctx))
	must(t, session.Unlock())
	if got := read(t, b).State; got.Serial != before.Serial {
		t.Errorf("serial %d became %d though nothing changed", before.Serial, got.Serial)
	}
}

func firstRun(t *testing.T, open Open) {
	a, b := open(t)
	session := lock(t, a)
	must(t, begin(t, session, "r").Close(ctx))
	must(t, session.Unlock())
	if s := read(t, b).State; s == nil || s.Serial != 1 || s.Lineage == "" || !s.IsEmpty() {
		t.Errorf("got %+v", s)
	}
}

func checkpoints(t *testing.T, open Open) {
	a, _ := open(t)
	session := lock(t, a)
	j := begin(t, session, "r")
	result(t, j, "1", "t.a", Put("t.a", "1", ""))
	must(t, j.Checkpoint(ctx))
	if s := session.Snapshot().State; s == nil || s.Serial != 1 || len(IDs(s)) != 1 {
		t.Errorf("after a checkpoint: %+v", s)
	}
	result(t, j, "2", "t.b", Put("t.b", "2", ""))
	must(t, j.Close(ctx))
	if s := session.Snapshot().State; s.Serial != 2 || len(IDs(s)) != 2 {
		t.Errorf("after the end: serial %d, %v", s.Serial, IDs(s))
	}
	must(t, session.Unlock())
}

func readersOverlay(t *testing.T, open Open) {
	a, b := open(t)
	seed(t, a, Put("t.old", "0", ""))
	session := lock(t, a)
	j := begin(t, session, "r")
	result(t, j, "1", "t.a", Put("t.a", "1", ""))
	must(t, j.Intent(Create("2", "t.b")))
	must(t, j.Partial("2", Put("t.b", "early", "").Put.Object))
	got := read(t, b)
	same(t, "objects while the run goes on", IDs(got.State), []string{"t.a=1", "t.old=0"})
	if got.Running == nil || got.Running.ID != "r" || len(got.InFlight) != 1 || got.InFlight[0].Partial == nil {
		t.Errorf("running: %+v, in flight: %+v", got.Running, got.InFlight)
	}
	must(t, j.Result("2"))
	must(t, j.Close(ctx))
	must(t, session.Unlock())
	if got := read(t, b); got.Running != nil || len(got.InFlight) != 0 {
		t.Errorf("after the run: %+v", got)
	}
}

func killedRun(t *testing.T, open Open) {
	a, b := open(t)
	seed(t, a, Put("t.old", "0", ""), Put("t.kept", "k", ""))
	session := lock(t, a)
	j := begin(t, session, "r")
	result(t, j, "1", "t.a", Put("t.a", "1", ""))
	must(t, j.Checkpoint(ctx))
	result(t, j, "2", "t.old", Drop("t.old"))
	must(t, j.Intent(Create("3", "t.c")))
	must(t, j.Partial("3", Put("t.c", "early", "").Put.Object))
	kill(t, session)

	want := []string{"t.a=1", "t.kept=k"}
	check := func(what string, got *state.Snapshot) {
		t.Helper()
		same(t, what, IDs(got.State), want)
		if got.Running != nil || len(got.InFlight) != 1 {
			t.Fatalf("%s: running %v, in flight %+v", what, got.Running, got.InFlight)
		}
		f := got.InFlight[0]
		if f.Token() != "r/3" || f.Object.String() != "t.c" || f.Action != "create" || f.Run.Command != "apply" || f.Partial == nil ||
			string(f.Planned) != `{"note":"planned"}` {
			t.Errorf("%s: in flight %+v", what, f)
		}
	}
	serial := read(t, b).State.Serial
	check("reader", read(t, b))
	session = lock(t, b)
	check("next session", session.Snapshot())
	if got := session.Snapshot().State.Serial; got <= serial {
		t.Errorf("serial %d became %d", serial, got)
	}
	must(t, session.Unlock())
	check("reader afterwards", read(t, a))
}

func recoverTwice(t *testing.T, open Open) {
	a, b := open(t)
	session := lock(t, a)
	j := begin(t, session, "r")
	result(t, j, "1", "t.a", Put("t.a", "1", ""))
	must(t, j.Intent(Create("2", "t.b")))
	kill(t, session)
	session = lock(t, b)
	first := session.Snapshot()
	must(t, session.Unlock())
	session = lock(t, a)
	second := session.Snapshot()
	must(t, session.Unlock())
	if !first.State.SameContent(second.State) || first.State.Serial != second.State.Serial || first.State.Lineage != second.State.Lineage {
		t.Errorf("serial %d, %v became serial %d, %v", first.State.Serial, IDs(first.State), second.State.Serial, IDs(second.State))
	}
	if len(first.InFlight) != 1 || len(second.InFlight) != 1 || first.InFlight[0].Token() != second.InFlight[0].Token() {
		t.Errorf("in flight: %+v, then %+v", first.InFlight, second.InFlight)
	}
}

func inFlight(t *testing.T, open Open) {
	a, b := open(t)
	session := lock(t, a)
	j := begin(t, session, "r1")
	must(t, j.Intent(Create("x", "t.x")))
	must(t, j.Intent(Create("y", "t.y")))
	must(t, j.Close(ctx)) // an orderly end leaves them behind as well
	if got := session.Snapshot().InFlight; len(got) != 2 || got[0].ID != "x" || got[1].ID != "y" {
		t.Errorf("after the end: %+v", got)
	}
	must(t, session.Unlock())

	session = lock(t, b)
	j = begin(t, session, "r2") // the next run uses the same ids
	result(t, j, "x", "t.z", Put("t.z", "1", ""))
	must(t, j.Close(ctx))
	if got := session.Snapshot().InFlight; len(got) != 2 || got[0].Token() != "r1/x" {
		t.Errorf("after another run: %+v", got)
	}
	must(t, session.Resolve(ctx, []string{"r1/x"}, Put("t.x", "found", "")))
	must(t, session.Unlock())

	got := read(t, a)
	same(t, "objects", IDs(got.State), []string{"t.x=found", "t.z=1"})
	if len(got.InFlight) != 1 || got.InFlight[0].Token() != "r1/y" {
		t.Errorf("left: %+v", got.InFlight)
	}
	session = lock(t, a)
	must(t, session.Resolve(ctx, []string{"r1/y"}))
	must(t, session.Unlock())
	if got := read(t, b); len(got.InFlight) != 0 {
		t.Errorf("left at last: %+v", got.InFlight)
	}
}

func resolveInRun(t *testing.T, open Open) {
	a, b := open(t)
	session := lock(t, a)
	j := begin(t, session, "r1")
	must(t, j.Intent(Create("x", "t.x")))
	kill(t, session)
	session = lock(t, a)
	j = begin(t, session, "r2")
	must(t, session.Resolve(ctx, []string{"r1/x"}, Put("t.x", "adopted", "")))
	same(t, "working state", IDs(j.Working().State()), []string{"t.x=adopted"})
	kill(t, session)
	got := read(t, b)
	same(t, "objects", IDs(got.State), []string{"t.x=adopted"})
	if len(got.InFlight) != 0 {
		t.Errorf("in flight: %+v", got.InFlight)
	}
}

func resolveUnknown(t *testing.T, open Open) {
	a, _ := open(t)
	session := lock(t, a)
	defer session.Unlock()
	if err := session.Resolve(ctx, []string{"r/x"}, Put("t.x", "1", "")); err == nil {
		t.Error("resolving nothing is no error")
	}
	if s := session.Snapshot().State; s != nil {
		t.Errorf("and it had an effect: %v", IDs(s))
	}
}

func everyEdit(t *testing.T, open Open) {
	a, b := open(t)
	seed(t, a, Put("t.a", "1", ""), Put("t.b", "2", ""), Put("t.c[0]", "3", ""))
	session := lock(t, a)
	j := begin(t, session, "r")
	must(t, j.Record(
		state.Edit{Depose: &state.DeposeObject{Instance: Addr("t.a").Instance, Key: "0000abcd"}},
		Put("t.a", "4", ""),
		state.Edit{Depose: &state.DeposeObject{Instance: Addr("t.b").Instance, Key: "0000abcd"}},
		state.Edit{Depose: &state.DeposeObject{Instance: Addr("t.b").Instance, Key: "0000abcd", Reverse: true}},
		state.Edit{Move: &state.MoveObject{From: Addr("t.c[0]").Instance, To: Addr(`module.m["x"].t.c["y"]`).Instance}},
		state.Edit{Output: &state.SetOutput{Name: "gone", Value: &state.Output{Value: cty.True}}},
		state.Edit{Output: &state.SetOutput{Name: "gone"}},
		state.Edit{Output: &state.SetOutput{Name: "o", Value: &state.Output{Value: cty.NumberIntVal(3)}}},
		state.Edit{Checks: &state.SetChecks{Results: []state.CheckResult{{Kind: "check", ConfigAddr: "check.x", Status: "fail",
			Objects: []state.CheckedObject{{Addr: "check.x", Status: "fail", Failures: []string{"no"}}}}}}},
	))
	must(t, j.Intent(Create("1", "t.d"))) // makes what comes before durable
	want := j.Working().State()
	kill(t, session)
	for what, got := range map[string]*state.State{"reader": read(t, b).State, "next session": lock(t, b).Snapshot().State} {
		if !got.SameContent(want) {
			t.Errorf("%s: got %v, outputs %v, checks %v", what, IDs(got), got.OutputNames(), got.Checks())
		}
	}
	same(t, "objects", IDs(want), []string{`module.m["x"].t.c["y"]=3`, "t.a (deposed object 0000abcd)=1", "t.a=4", "t.b=2"})
}

func manyWriters(t *testing.T, open Open) {
	a, b := open(t)
	session := lock(t, a)
	j := begin(t, session, "r")
	var wg sync.WaitGroup
	const writers, each = 10, 30
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				op, at := fmt.Sprintf("%d-%d", w, n), fmt.Sprintf("t.w%d[%d]", w, n)
				if err := errors.Join(j.Intent(Create(op, at)), j.Result(op, Put(at, op, "")), j.Record(Put(at, op, "again"))); err != nil {
					t.Error(err)
				}
				if n == each/2 {
					if err := j.Checkpoint(ctx); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	must(t, j.Close(ctx))
	must(t, session.Unlock())
	if got := IDs(read(t, b).State); len(got) != writers*each {
		t.Errorf("%d objects of %d", len(got), writers*each)
	}
}

// readersMonotone reads all the time while a run writes snapshots: every reader sees at least what was acknowledged before.
func readersMonotone(t *testing.T, open Open) {
	a, b := open(t)
	seed(t, a, Put("t.a[0]", "0", ""))
	session := lock(t, a)
	j := begin(t, session, "r")
	var mu sync.Mutex
	acknowledged := 1
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			mu.Lock()
			least := acknowledged
			mu.Unlock()
			got, err := workspace(t, b, state.DefaultWorkspace).Read(ctx)
			if err != nil {
				t.Errorf("read during a run: %v", err)
				return
			}
			if n := len(IDs(got.State)); n < least {
				t.Errorf("a reader saw %d objects when %d were acknowledged", n, least)
				return
			}
		}
	})
	for n := 1; n < 60; n++ {
		op := fmt.Sprint(n)
		result(t, j, op, fmt.Sprintf("t.a[%d]", n), Put(fmt.Sprintf("t.a[%d]", n), op, ""))
		mu.Lock()
		acknowledged++
		mu.Unlock()
		if n%5 == 0 {
			must(t, j.Checkpoint(ctx))
		}
		if n%20 == 0 {
			must(t, j.Close(ctx))
			j = begin(t, session, op)
		}
	}
	must(t, j.Close(ctx))
	must(t, session.Unlock())
	close(done)
	wg.Wait()
}

func workspaces(t *testing.T, open Open) {
	a, b := open(t)
	names, err := a.Workspaces(ctx)
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

func notUnderWay(t *testing.T, open Open) {
	a, _ := open(t)
	session := lock(t, a)
	defer session.Unlock()
	j := begin(t, session, "r")
	if j.Result("x", Put("t.x", "1", "")) == nil || j.Partial("x", Put("t.x", "1", "").Put.Object) == nil {
		t.Error("what did not begin can end")
	}
	must(t, j.Intent(Create("x", "t.x")))
	if j.Intent(Create("x", "t.x")) == nil {
		t.Error("an operation began twice")
	}
	must(t, j.Result("x"))
	if j.Result("x") == nil {
		t.Error("an operation ended twice")
	}
	must(t, j.Close(ctx))
	if j.Intent(Create("y", "t.y")) == nil || j.Record(Put("t.y", "1", "")) == nil {
		t.Error("a closed journal takes records")
	}
}
