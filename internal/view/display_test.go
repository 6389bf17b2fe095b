package view

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/plan"
)

var sequences = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// TestTheLiveDisplayLeavesALogOfEndedOperations checks the output with the live display: starts only show during a run,
// each end leaves a line, output is written as it arrives, and diagnostics are in one piece.
func TestTheLiveDisplayLeavesALogOfEndedOperations(t *testing.T) {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		v := New(Options{Out: &out, Size: func() (int, int) { return 80, 24 }})
		a, b := objectAt(t, "terraform_data.a"), objectAt(t, "terraform_data.b")
		for _, o := range []addr.Object{a, b} {
			v.Send(event.RefreshStart{Object: o})
			v.Send(event.RefreshDone{Object: o})
		}
		v.Plan(&plan.Plan{}, nil)
		v.Send(event.Total{Operations: 2})
		v.Send(event.OperationStart{Object: a, Action: plan.Create})
		v.Send(event.OperationStart{Object: b, Action: plan.Delete})
		v.Send(event.ProvisionStart{Object: a, Type: "local-exec"})
		v.Send(event.ProvisionOutput{Object: a, Type: "local-exec", Line: "step 1\x1b[2J"})
		time.Sleep(1050 * time.Millisecond)
		synctest.Wait()
		if got := out.String(); !strings.Contains(got, "creating") ||
			!strings.Contains(got, "0 of 2 done, 2 in flight, 1s") {
			t.Errorf("what is in flight does not show:\n%q", got)
		}
		out.Reset()
		v.Send(event.OperationDone{Object: a, Action: plan.Create, Elapsed: time.Second, ID: event.ID{
			Key: "id", Value: "x"}})
		v.Send(event.OperationDone{Object: b, Action: plan.Delete, Elapsed: time.Second, Failed: true})
		v.Diagnostics(diag.List{}.Errorf(nil, "Cannot delete", "It is in use."))
		v.Close()
	})
	got := sequences.ReplaceAllString(out.String(), "")
	want := "\rterraform_data.a: Creation complete after 1s [id=x]\nterraform_data.b: Destruction errored after 1s\n" +
		"\nError: Cannot delete\n\nIt is in use.\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A replacement counts as one change of the plan, whatever its order, with saved plans too; failures are counted.
func TestTheLiveDisplayCountsReplacementsOnce(t *testing.T) {
	for _, saved := range []bool{false, true} {
		var out bytes.Buffer
		synctest.Test(t, func(t *testing.T) {
			v := New(Options{Out: &out, Size: func() (int, int) { return 80, 24 }})
			ty := cty.EmptyObject
			one := plan.Value{Value: cty.EmptyObjectVal}
			p := &plan.Plan{}
			for i, action := range []plan.Action{plan.DeleteThenCreate, plan.CreateThenDelete, plan.Create} {
				o := objectAt(t, fmt.Sprintf("terraform_data.a%d", i))
				p.Changes = append(p.Changes, &plan.Change{Provider: &addr.AbsProviderConfig{},
					Object: o, Action: action, Type: ty,
					Before: one, After: one})
			}
			if saved {
				v.Saved(p)
			} else {
				v.Plan(p, nil)
			}
			v.Send(event.Total{Operations: 5})
			old := p.Changes[1].Object
			old.Deposed = "01234567"
			does := func(o addr.Object, action plan.Action, failed bool, want string) {
				v.Send(event.OperationStart{Object: o, Action: action})
				out.Reset()
				time.Sleep(time.Second)
				synctest.Wait()
				if !strings.Contains(out.String(), want) {
					t.Errorf("saved %v: %q is not shown:\n%q", saved, want, out.String())
				}
				v.Send(event.OperationDone{Object: o, Action: action, Failed: failed})
			}
			does(p.Changes[0].Object, plan.Delete, false, "0 of 3 done, 1 in flight")
			does(p.Changes[1].Object, plan.Create, false, "0 of 3 done, 1 in flight")
			does(p.Changes[0].Object, plan.Create, false, "0 of 3 done, 1 in flight")
			does(old, plan.Delete, false, "1 of 3 done, 1 in flight")
			does(p.Changes[2].Object, plan.Create, true, "2 of 3 done, 1 in flight")
			does(p.Changes[2].Object, plan.Create, true, "2 of 3 done, 1 failed, 1 in flight")
			v.Close()
		})
	}
}

func TestRefreshedObjectsAreCountedOnTheLiveDisplay(t *testing.T) {
	var out bytes.Buffer
	v := New(Options{Out: &out, Size: func() (int, int) { return 80, 24 }})
	for range 3 {
		v.Send(event.RefreshStart{Object: objectAt(t, "terraform_data.a")})
		v.Send(event.RefreshDone{Object: objectAt(t, "terraform_data.a")})
	}
	v.Plan(&plan.Plan{}, nil)
	v.Close()
	if got := out.String(); !strings.HasPrefix(got, "3 objects refreshed.\n\nNo changes.") {
		t.Errorf("got %q", got)
	}
}
