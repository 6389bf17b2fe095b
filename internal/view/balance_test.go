package view

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// TestFailedAppliesEndWithABalance shows the end of an apply with all possible outcomes of objects, at the widths of
// common terminals, in color and without; after it the ends of an apply whose state could not be written, and of an
// interrupted one.
func TestFailedAppliesEndWithABalance(t *testing.T) {
	p, fail := &plan.Plan{}, map[int]bool{}
	add := func(name string, key addr.Key, a plan.Action, depends ...string) int {
		at := func(name string) addr.AbsResource {
			return addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "cloud_server", Name: name}}
		}
		c := &plan.Change{Provider: &addr.AbsProviderConfig{},
			Object: addr.Object{Instance: at(name).Instance(key)}, Action: a, DeposedKey: "12345678"}
		for _, d := range depends {
			c.Dependencies = append(c.Dependencies, at(d).Config())
		}
		p.Changes = append(p.Changes, c)
		return len(p.Changes) - 1
	}
	ended := []int{add("new", addr.NoKey, plan.Create), add("zone", addr.IntKey(0), plan.Update),
		add("zone", addr.IntKey(1), plan.Update), add("old", addr.NoKey, plan.Delete)}
	bad := []int{add("web", addr.StringKey("a"), plan.Create), add("web", addr.StringKey("b"), plan.Create)}
	open := add("slow", addr.NoKey, plan.Create)
	for i := range 3 {
		add("after", addr.IntKey(i), plan.Create, "web")
	}
	add("other", addr.NoKey, plan.Delete)
	for _, i := range bad {
		fail[i] = true
	}
	failure := func(i int, title string) *diag.Diagnostic {
		return &diag.Diagnostic{Severity: diag.Error, Summary: title, Detail: "What the provider says.", Foreign: true,
			Address: p.Changes[i].Object.Instance.String()}
	}
	failures := diag.List{failure(bad[1], "Quota exceeded"), failure(bad[0], "The zone is closed")}.Numbered()
	builder := (&state.State{}).Builder()
	builder.Fold(state.Edit{Put: &state.PutObject{Addr: p.Changes[bad[0]].Object,
		Object: &state.Object{Status: state.Tainted}}})
	tainted := builder.State()
	var all strings.Builder
	show := func(name string, color bool, width int, problems diag.List, where string, which ...int) {
		var out bytes.Buffer
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		v := New(Options{Out: &out, Err: &out, Width: width, Color: color, Command: "apply",
			Now: func() time.Time { return now.Add(74 * time.Second) }})
		for n, i := range which {
			o, a := p.Changes[i].Object, p.Changes[i].Action
			v.Send(event.OperationStart{Object: o, Action: a, Started: now})
			if i != open {
				v.Send(event.OperationDone{Object: o, Action: a, Failed: fail[i],
					Elapsed: time.Duration(n*n+1) * time.Second})
			}
		}
		out.Reset()
		v.Diagnostics(problems)
		v.Incomplete(Ending{Plan: p, State: tainted, Problems: problems, Where: where})
		v.Close()
		fmt.Fprintf(&all, "-- %s --\n%s\n", name, out.String())
	}
	tried := append(append([]int{}, ended...), bad[1], bad[0], open)
	for _, width := range []int{60, 80, 100, 160} {
		show(fmt.Sprintf("failed, black and white, %d", width), false, width, failures, "terraform.tfstate", tried...)
		show(fmt.Sprintf("failed, colour, %d", width), true, width, failures, `backend "s3", workspace "default"`,
			tried...)
	}
	unsaved := diag.List{}.Errorf(nil, "Failed to save the state", "The disk is full.")
	show("not saved", false, 80, unsaved, "terraform.tfstate", ended...)
	stopped := diag.List{}.Errorf(nil, "Apply was interrupted", "The apply was interrupted.")
	show("interrupted", false, 80, stopped, "terraform.tfstate", ended...)
	golden(t, filepath.Join("testdata", "balance.txt"), strings.ReplaceAll(all.String(), "\x1b", "^"))
}

// TestSuccessfulAppliesEndWithABalance shows the end of an apply with every kind of change, at the widths of common
// terminals, in color and without, and of runs that took a moment, a few seconds and over ten. Changes without an
// operation are listed as well, and planned operations that did not run are not.
func TestSuccessfulAppliesEndWithABalance(t *testing.T) {
	p := &plan.Plan{}
	add := func(name string, key addr.Key, a plan.Action) *plan.Change {
		at := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "cloud_server", Name: name}}
		c := &plan.Change{Provider: &addr.AbsProviderConfig{},
			Object: addr.Object{Instance: at.Instance(key)}, Action: a}
		p.Changes = append(p.Changes, c)
		return c
	}
	for i := range 4 {
		add("web", addr.IntKey(i), plan.Create)
	}
	add("zone", addr.StringKey("a"), plan.Update)
	add("old", addr.NoKey, plan.Delete)
	add("db", addr.NoKey, plan.DeleteThenCreate)
	add("left", addr.NoKey, plan.Forget)
	add("found", addr.NoKey, plan.NoOp).Importing = &plan.Importing{}
	add("renamed", addr.NoKey, plan.NoOp).PrevAddr = &p.Changes[0].Object.Instance
	add("same", addr.NoKey, plan.NoOp)
	add("needless", addr.NoKey, plan.Update)
	builder := (&state.State{}).Builder()
	builder.Fold(state.Edit{Output: &state.SetOutput{Name: "o", Value: &state.Output{Value: cty.StringVal("x")}}})
	var all strings.Builder
	show := func(name string, o Options, took time.Duration, where string) {
		var out bytes.Buffer
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		o.Out, o.Err, o.Command, o.Now = &out, &out, "apply", func() time.Time { return now.Add(took) }
		v := New(o)
		v.Saved(p)
		for _, c := range p.Changes {
			actions := map[plan.Action][]plan.Action{plan.Create: {plan.Create}, plan.Update: {plan.Update},
				plan.Delete: {plan.Delete}, plan.DeleteThenCreate: {plan.Delete, plan.Create}}[c.Action]
			for _, a := range actions {
				if c.Object.Instance.Resource.Name != "needless" {
					v.Send(event.OperationStart{Object: c.Object, Action: a, Started: now})
					v.Send(event.OperationDone{Object: c.Object, Action: a, Elapsed: took / 2})
				}
			}
		}
		out.Reset()
		v.Applied(Ending{Plan: p, State: builder.State(), Where: where})
		v.Close()
		fmt.Fprintf(&all, "-- %s --\n%s\n", name, out.String())
	}
	for _, width := range []int{20, 60, 80, 160} {
		show(fmt.Sprintf("black and white, %d", width), Options{Width: width}, 12*time.Second, "terraform.tfstate")
		show(fmt.Sprintf("colour, %d", width), Options{Width: width, Color: true}, 3*time.Second,
			`backend "s3", workspace "default"`)
	}
	show("in CI", Options{Automation: true}, 200*time.Millisecond, "terraform.tfstate")
	show("another path", Options{StatePath: "other.tfstate"}, 200*time.Millisecond, "other.tfstate")
	p.Deferred = []plan.Deferral{{}}
	show("deferred", Options{}, 200*time.Millisecond, "")
	golden(t, filepath.Join("testdata", "balance_success.txt"), strings.ReplaceAll(all.String(), "\x1b", "^"))
}
