package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/state"
)

func journalCloses(t T, open opener) {
	a, b := open(t)
	seed(t, a, Put("t.old", "0", ""))
	session := lock(t, a)
	before := session.Snapshot().State
	j := begin(t, session, "r")
	if _, err := session.Begin(ctx, state.RunInfo{}); err == nil {
		t.Error("two journals at a time")
	}
	result(t, j, "1", "t.a", Put("t.a", "1", "made"))
	must(t, j.Record(Put("t.b", "2", ""), state.Edit{
		Output: &state.SetOutput{Name: "o", Value: &state.Output{Value: cty.StringVal("v"), Sensitive: true}}}))
	result(t, j, "2", "t.old", Drop("t.old"))
	same(t, "working state", IDs(j.Working().State()), []string{"t.a=1", "t.b=2"})
	must(t, j.Close(ctx))
	must(t, j.Close(ctx))
	after := session.Snapshot()
	if after.State.Serial != before.Serial+1 || after.State.Lineage != before.Lineage {
		t.Errorf("serial %d -> %d, lineage %q -> %q", before.Serial, after.State.Serial, before.Lineage,
			after.State.Lineage)
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

func journalIdle(t T, open opener) {
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

func firstRun(t T, open opener) {
	a, b := open(t)
	session := lock(t, a)
	must(t, begin(t, session, "r").Close(ctx))
	must(t, session.Unlock())
	if s := read(t, b).State; s == nil || s.Serial != 1 || s.Lineage == "" || !s.IsEmpty() {
		t.Errorf("got %+v", s)
	}
}

func checkpoints(t T, open opener) {
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

func readersOverlay(t T, open opener) {
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

func killedRun(t T, open opener) {
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
		if f.Token() != "r/3" || f.Object.String() != "t.c" || f.Action != "create" || f.Run.Command != "apply" ||
			f.Partial == nil ||
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

func recoverTwice(t T, open opener) {
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
	if !first.State.SameContent(second.State) || first.State.Serial != second.State.Serial ||
		first.State.Lineage != second.State.Lineage {
		t.Errorf("serial %d, %v became serial %d, %v", first.State.Serial, IDs(first.State), second.State.Serial,
			IDs(second.State))
	}
	if len(first.InFlight) != 1 || len(second.InFlight) != 1 ||
		first.InFlight[0].Token() != second.InFlight[0].Token() {
		t.Errorf("in flight: %+v, then %+v", first.InFlight, second.InFlight)
	}
}

func inFlight(t T, open opener) {
	a, b := open(t)
	session := lock(t, a)
	j := begin(t, session, "r1")
	must(t, j.Intent(Create("x", "t.x")))
	must(t, j.Intent(Create("y", "t.y")))
	must(t, j.Close(ctx)) // Close does not resolve them
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

func resolveInRun(t T, open opener) {
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

func resolveUnknown(t T, open opener) {
	a, _ := open(t)
	session := lock(t, a)
	defer session.Unlock()
	if err := session.Resolve(ctx, []string{"r/x"}, Put("t.x", "1", "")); err == nil {
		t.Error("Resolve of an operation that does not exist returned no error")
	}
	if s := session.Snapshot().State; s != nil {
		t.Errorf("and it had an effect: %v", IDs(s))
	}
}

func everyEdit(t T, open opener) {
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
		state.Edit{
			Checks: &state.SetChecks{Results: []state.CheckResult{{Kind: "check", ConfigAddr: "check.x", Status: "fail",
				Objects: []state.CheckedObject{{Addr: "check.x", Status: "fail", Failures: []string{"no"}}}}}}},
	))
	must(t, j.Intent(Create("1", "t.d"))) // makes earlier records durable
	want := j.Working().State()
	kill(t, session)
	for what, got := range map[string]*state.State{"reader": read(t, b).State,
		"next session": lock(t, b).Snapshot().State} {
		if !got.SameContent(want) {
			t.Errorf("%s: got %v, outputs %v, checks %v", what, IDs(got), got.OutputNames(), got.Checks())
		}
	}
	same(t, "objects", IDs(want), []string{`module.m["x"].t.c["y"]=3`, "t.a (deposed object 0000abcd)=1", "t.a=4",
		"t.b=2"})
}

func manyWriters(t T, open opener) {
	a, b := open(t)
	session := lock(t, a)
	j := begin(t, session, "r")
	var wg sync.WaitGroup
	const writers, each = 10, 30
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				op, at := fmt.Sprintf("%d-%d", w, n), fmt.Sprintf("t.w%d[%d]", w, n)
				if err := errors.Join(j.Intent(Create(op, at)), j.Result(op, Put(at, op, "")),
					j.Record(Put(at, op, "again"))); err != nil {
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

// readersMonotone reads continuously while a run writes snapshots: every reader sees at least the results that were
// acknowledged before.
func readersMonotone(t T, open opener) {
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

func notUnderWay(t T, open opener) {
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
