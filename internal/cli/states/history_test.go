package states

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/state"
)

// kept is a history in memory, newest first.
type kept struct {
	list   []history.Former
	states [][]byte
}

func (k *kept) List(context.Context) ([]history.Former, error) { return k.list, nil }

func (k *kept) Snapshot(_ context.Context, id string) ([]byte, error) {
	for i, f := range k.list {
		if f.ID == id {
			return k.states[i], nil
		}
	}
	return nil, history.ErrNoRevision
}

// The changes of each run are computed from the states, and control characters in external texts are removed.
func TestHistory(t *testing.T) {
	k := &kept{}
	add := func(f history.Former, ids ...string) {
		b := (&state.State{Lineage: "l"}).Builder()
		for at, id := range ids {
			if id != "" {
				b.Fold(state.Edit{Put: &state.PutObject{Provider: builtin(t), Addr: addr.Object{
					Instance: instance(t, fmt.Sprintf("terraform_data.x[%d]", at))}, Object: &state.Object{
					Status: state.Ready, Attributes: json.RawMessage(`{"id":"` + id + `"}`)}}})
			}
		}
		var text bytes.Buffer
		if err := b.State().Encode(&text); err != nil {
			t.Fatal(err)
		}
		f.ID, f.Written = fmt.Sprint(len(k.list)+1), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		k.list, k.states = append([]history.Former{f}, k.list...), append([][]byte{text.Bytes()}, k.states...)
	}
	run := history.Revision{Run: state.RunInfo{ID: "r", Command: "apply"}, Who: "me\x1b[2Jhere", Created: 2,
		Commit: "abc"}
	add(history.Former{Serial: 7, Revision: run}, "a", "b")
	add(history.Former{Foreign: true}, "a", "c", "d")
	add(history.Former{Serial: 9, Revision: run}, "", "c", "d")
	add(history.Former{Serial: 10, Revision: run}, "", "c", "d")

	call := func(show func(*command.Call) command.Outcome) string {
		t.Helper()
		var out bytes.Buffer
		c := &command.Call{App: &command.App{Out: &out, Err: &out}}
		show(c)
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("%q", out.String())
		}
		return out.String()
	}
	list := call(func(c *command.Call) command.Outcome { return listFormer(t.Context(), c, k, false) })
	lines := strings.Split(list, "\n")
	if len(lines) != 6 || !strings.Contains(lines[1], "apply") || !strings.Contains(lines[1], "+2 ~0 -0") ||
		!strings.Contains(lines[3], "another program") || !strings.Contains(lines[4], "abc") {
		t.Errorf("list:\n%s", list)
	}
	var all []former
	text := call(func(c *command.Call) command.Outcome { return listFormer(t.Context(), c, k, true) })
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 4 || all[3].Serial != 7 || !all[2].Foreign {
		t.Errorf("%v:\n%s", err, text)
	}
	for id, want := range map[string]string{
		"1": "The state before it is not stored. It has:\n  + terraform_data.x[0]\n  + terraform_data.x[1]\n",
		"2": "by another program.\nWhat changed since state 1:\n  ~ terraform_data.x[1]\n  + terraform_data.x[2]\n",
		"3": "What changed since state 2:\n  - terraform_data.x[0]\n",
		"4": "Its objects are the same as in state 3.\n",
		"5": "No such former state",
	} {
		got := call(func(c *command.Call) command.Outcome { return showFormer(t.Context(), c, k, id, false) })
		if !strings.Contains(got, want) {
			t.Errorf("state %s:\n%s\nwant\n%s", id, got, want)
		}
	}
	got := call(func(c *command.Call) command.Outcome { return pullFormer(t.Context(), c, k, "1") })
	if got != string(k.states[3]) {
		t.Errorf("state 1:\n%s", got)
	}
	if diags := historyProblem(history.ErrNoHistory); !strings.Contains(diags[0].Detail, "pg") {
		t.Errorf("no history: %s", diags[0].Detail)
	}
}
