package view

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

func objectAt(t *testing.T, s string) addr.Object {
	t.Helper()
	a, diags := addr.ParseInstance(s)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return addr.Object{Instance: a}
}

func TestLongOperationsAreMentionedEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		v := New(Options{Out: &out})
		a, b := objectAt(t, "terraform_data.a"), objectAt(t, "terraform_data.b")
		v.Send(event.OperationStart{Object: a, Action: plan.Create, Started: time.Now()})
		v.Send(event.OperationStart{Object: b, Action: plan.Delete, ID: event.ID{Key: "id", Value: "x"},
			Started: time.Now()})
		time.Sleep(15 * time.Second)
		v.Send(event.OperationDone{Object: b, Action: plan.Delete, Elapsed: 15 * time.Second})
		time.Sleep(10 * time.Second)
		v.Send(event.OperationDone{Object: a, Action: plan.Create, Elapsed: 25 * time.Second, ID: event.ID{
			Key: "id", Value: "y"}})
		time.Sleep(30 * time.Second)
		v.Close()
		counts := map[string]int{}
		for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			counts[line]++
		}
		for _, want := range []string{
			"terraform_data.a: Creating...", "terraform_data.b: Destroying... [id=x]",
			"terraform_data.a: Still creating... [10s elapsed]",
			"terraform_data.b: Still destroying... [id=x, 10s elapsed]",
			"terraform_data.b: Destruction complete after 15s", "terraform_data.a: Still creating... [20s elapsed]",
			"terraform_data.a: Creation complete after 25s [id=y]",
		} {
			if counts[want] != 1 {
				t.Errorf("%d times %q in\n%s", counts[want], want, out.String())
			}
		}
		if len(counts) != 7 {
			t.Errorf("got %d lines:\n%s", len(counts), out.String())
		}
	})
}

func TestCloseEndsTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := New(Options{Out: &bytes.Buffer{}, JSON: true})
		v.Send(event.OperationStart{Object: objectAt(t, "terraform_data.a"), Action: plan.Create})
		v.Close() // synctest fails the test if a goroutine is left
	})
}

func TestEndOfAnApplyIsReported(t *testing.T) {
	done := []event.Event{
		event.OperationDone{Object: objectAt(t, "t_x.a"), Action: plan.Create},
		event.OperationDone{Object: objectAt(t, "t_x.b"), Action: plan.Create, Failed: true},
		event.OperationDone{Object: objectAt(t, "t_x.c"), Action: plan.Delete},
		event.OperationDone{Object: objectAt(t, "t_x.d"), Action: plan.Update},
		event.OperationDone{Object: objectAt(t, "data.t_x.d"), Action: plan.Read, Planning: true},
	}
	b := (*state.State)(nil).Builder()
	b.Fold(
		state.Edit{Output: &state.SetOutput{Name: "a", Value: &state.Output{Value: cty.StringVal("tops3cret"),
			Sensitive: true}}},
		state.Edit{Output: &state.SetOutput{Name: "b", Value: &state.Output{Value: cty.NumberIntVal(1)}}},
	)
	withOutputs := b.State()
	for _, c := range []struct {
		name  string
		o     Options
		mode  plan.Mode
		state *state.State
		want  string
	}{
		{"apply", Options{}, plan.Normal, withOutputs,
			"\nApply complete! Resources: 1 added, 1 changed, 1 destroyed.\n\nOutputs:\n\na = <sensitive>\nb = 1\n"},
		{"destroy", Options{Command: "destroy"}, plan.Destroy, nil, "\nDestroy complete! Resources: 1 destroyed.\n"},
		{"apply -destroy", Options{Command: "apply"}, plan.Destroy, nil,
			"\nApply complete! Resources: 1 added, 1 changed, 1 destroyed.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			c.o.Out = &out
			v := New(c.o)
			for _, e := range done {
				v.Send(e)
			}
			out.Reset()
			v.Applied(Ending{Plan: &plan.Plan{Mode: c.mode}, State: c.state})
			v.Close()
			if out.String() != c.want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), c.want)
			}
		})
	}
}

func TestNextStepShowsHowToApply(t *testing.T) {
	todo := &plan.Plan{Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Create}}}
	rule := "\n" + strings.Repeat("─", 77) + "\n"
	for _, c := range []struct {
		name string
		o    Options
		n    NextStep
		want string
	}{
		{"unsaved", Options{Program: "terraform"}, NextStep{Plan: todo}, rule +
			"\nNote: This plan was not saved with -out, so Terraform may perform other\nactions if you run " +
			"\"terraform apply\" and something has changed by then.\n"},
		{"saved", Options{Program: "terraform"}, NextStep{Plan: todo, PlanFile: "p1"}, rule +
			"\nSaved the plan to: p1\n\nTo perform exactly these actions, run:\n    terraform apply \"p1\"\n"},
		{"nothing to do", Options{}, NextStep{Plan: &plan.Plan{}, PlanFile: "p1"}, ""},
		{"automation", Options{Automation: true}, NextStep{Plan: todo}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			c.o.Out = &out
			New(c.o).NextStep(c.n)
			if out.String() != c.want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), c.want)
			}
		})
	}
}
