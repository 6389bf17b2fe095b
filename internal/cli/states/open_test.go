package states

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/state"
)

// randomFlight adds open operations to a state: creations without an object, which have dependencies, and updates,
// deletions and provisioners of existing objects.
func randomFlight(t *testing.T, r *rand.Rand, s *state.State) *state.Snapshot {
	t.Helper()
	snapshot := &state.Snapshot{State: s}
	for i := range 1 + r.IntN(3) {
		a := instance(t, pick(r, modules)+pick(r, resources)+pick(r, keys))
		f := state.InFlight{Intent: state.Intent{ID: fmt.Sprint(i), Object: addr.Object{Instance: a},
			Action: state.ActionCreate, Provider: builtin(t)}, Run: state.RunInfo{ID: "run"}}
		if s.Object(f.Object) != nil {
			f.Action = []state.Action{state.ActionUpdate, state.ActionDelete, state.ActionProvision}[r.IntN(3)]
		} else if r.IntN(2) == 0 {
			f.Dependencies = []addr.ConfigResource{instance(t, pick(r, modules)+pick(r, resources)).Config()}
		}
		snapshot.InFlight = append(snapshot.InFlight, f)
	}
	return snapshot
}

// settledBy returns the operations that a new state settles: an object is at the address of an open creation, an
// address has lost its object, or a dependency of a creation has lost its protection.
func settledBy(snapshot *state.Snapshot, next *state.State, removes bool) (list []string) {
	old, now := map[string]bool{}, map[string]bool{}
	for _, in := range []struct {
		s  *state.State
		to map[string]bool
	}{{snapshot.State, old}, {next, now}} {
		for _, r := range in.s.Resources() {
			for _, key := range r.Keys() {
				for _, f := range snapshot.InFlight {
					if i := r.Instances[key]; i.Current != nil && slices.Contains(f.Dependencies, r.Addr.Config()) {
						in.to[f.ID+string(i.Current.Attributes)] = true
					}
				}
			}
		}
	}
	for _, f := range snapshot.InFlight {
		before, after := snapshot.State.Object(f.Object), next.Object(f.Object)
		switch {
		case (before == nil) != (after == nil):
			list = append(list, fmt.Sprintf("%s of %s", f.Action, f.Object))
		case before != nil && string(before.Attributes) != string(after.Attributes):
			list = append(list, fmt.Sprintf("%s of %s, by another", f.Action, f.Object))
		}
	}
	for needed := range old {
		if !removes && !now[needed] {
			list = append(list, "what a creation needs: "+needed)
		}
	}
	return list
}

// TestEditsDoNotSettleInterruptedOperations performs random edits of every command, at addresses of operations in
// flight and others. No operation may be settled or renamed silently. A refused edit changes nothing, and edits of
// unrelated addresses are not refused.
func TestEditsDoNotSettleInterruptedOperations(t *testing.T) {
	type outcome struct{ refused, done int }
	counts := map[string]*outcome{}
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 0x696e))
		s := randomState(t, r, "s")
		snapshot := randomFlight(t, r, s)
		from, to := place(r), place(r)
		if r.IntN(2) == 0 { // exactly at one of them
			a := snapshot.InFlight[r.IntN(len(snapshot.InFlight))].Object.Instance.String()
			if r.IntN(2) == 0 {
				from = a
			} else {
				to = a
			}
		}
		command := []string{"mv", "mv -state-out", "mv", "rm", "mv", "taint", "push", "replace-provider"}[seed%8]
		c, _ := quiet(from)
		var next edited
		var diags diag.List
		renames := func(addr.AbsResourceInstance) bool { return false }
		switch command {
		case "mv":
			m := &moving{from: target(t, from), to: target(t, to)}
			next, diags = moveWithin(c, snapshot, m)
			renames = func(a addr.AbsResourceInstance) bool { return matches(m.from, a) || matches(m.to, a) }
		case "mv -state-out":
			next, diags, snapshot = moveOutOf(t, snapshot, &moving{from: target(t, from), to: target(t, to)})
		case "rm":
			next, diags = stateRm(c, snapshot, false)
		case "taint": // like untaint, it changes only a status
			next, diags = mark(s, instance(t, from), true, false)
		case "push":
			pushed := randomState(t, r, "s")
			if diags = settling(snapshot, pushed); !diags.HasErrors() {
				next.state = pushed
			}
		case "replace-provider":
			from, err := addr.ParseProvider([]string{"terraform.io/builtin/terraform", "acme/other"}[r.IntN(2)])
			if err != nil {
				t.Fatal(err)
			}
			next, diags = replaceProvider(t.Context(), c, snapshot, from, from, true)
			if from == builtin(t).Provider && !diags.HasErrors() {
				t.Errorf("seed %d: the provider of an interrupted operation was replaced", seed)
			}
		}
		count := counts[command]
		if count == nil {
			count = &outcome{}
			counts[command] = count
		}
		if diags.HasErrors() {
			if count.refused++; next.state != nil {
				t.Errorf("seed %d: state %s %s %s is refused and changes the state", seed, command, from, to)
			}
			continue
		}
		if next.state == nil {
			continue // no instances
		}
		count.done++
		if command == "push" { // another state, compared only at open operations
			for _, f := range snapshot.InFlight {
				if (s.Object(f.Object) == nil) != (next.state.Object(f.Object) == nil) {
					t.Errorf("seed %d: state push settles %s of %s", seed, f.Action, f.Object)
				}
			}
			continue
		}
		if lost := settledBy(snapshot, next.state, command == "rm"); len(lost) > 0 {
			t.Errorf("seed %d: state %s %s %s settles %q", seed, command, from, to, lost)
		}
		for _, f := range snapshot.InFlight {
			if renames(f.Object.Instance) {
				t.Errorf("seed %d: state mv %s %s gives %s another name", seed, from, to, f.Object)
			}
		}
		if t.Failed() {
			return
		}
	}
	for command, n := range counts {
		if n.refused < 10 || n.done < 5 && command != "replace-provider" {
			t.Errorf("state %s: %d done, %d refused: that proves little", command, n.done, n.refused)
		}
	}
}

// moveOutOf moves to another state, in which some of the operations are open instead of in the first one, which it
// returns.
func moveOutOf(t *testing.T, snapshot *state.Snapshot, m *moving) (edited, diag.List, *state.Snapshot) {
	t.Helper()
	session := &openSession{snapshot: state.Snapshot{State: &state.State{}}}
	here := *snapshot
	n := len(here.InFlight) / 2
	here.InFlight, session.snapshot.InFlight = here.InFlight[n:], here.InFlight[:n]
	c, _ := quiet()
	next, diags := moveBetween(t.Context(), c, &here, session, m)
	if !diags.HasErrors() && next.state != nil {
		for _, f := range session.snapshot.InFlight {
			if session.written.Object(f.Object) != nil {
				t.Errorf("state mv -state-out %s %s puts an object where the other state has the %s of %s open", m.from,
					m.to, f.Action, f.Object)
			}
		}
		for _, f := range here.InFlight {
			if matches(m.from, f.Object.Instance) {
				t.Errorf("state mv -state-out %s %s gives %s another name", m.from, m.to, f.Object)
			}
		}
	}
	return next, diags, &here
}

// openSession is a session of a state with open operations.
type openSession struct {
	state.Session
	snapshot state.Snapshot
	written  *state.State
}

func (s *openSession) Snapshot() *state.Snapshot { return &s.snapshot }

func (s *openSession) Write(_ context.Context, next *state.State) error {
	s.written = next
	return nil
}
