package tombolo_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/view/report/reporttest"
)

// The page of an apply has its outcomes and times; the page of a plan has neither. No page has a sensitive value, nor
// does the page of a state.
func TestPagesOfPlansAppliesAndStates(t *testing.T) {
	requests := 0
	recording := &tombolo.Recording{Next: event.Func(func(event.Event) { requests++ })}
	o := projectIn(t, `
variable "secret" {
  default   = "hunter2 and more"
  sensitive = true
}
resource "terraform_data" "a" { input = var.secret }
resource "terraform_data" "b" { input = { copy = terraform_data.a.output } }
`)
	o.Events, o.Parallelism = recording, 1
	project := loaded(t, o)
	run := opened(t, project, tombolo.OpenOptions{})
	pl := planned(t, run, tombolo.PlanOptions{})
	write := func(o tombolo.HTMLOptions) string {
		t.Helper()
		var page bytes.Buffer
		if err := project.HTML(&page, pl, o); err != nil {
			t.Fatal(err)
		}
		return reporttest.Text(t, page.String())
	}
	before := write(tombolo.HTMLOptions{})
	if _, diags := run.Apply(t.Context(), pl, tombolo.ApplyOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	after := write(tombolo.HTMLOptions{Applied: recording})
	var page bytes.Buffer
	if err := project.HTMLState(&page, run.State()); err != nil {
		t.Fatal(err)
	}
	state := reporttest.Text(t, page.String())
	const times, done = `"timeline":[{"a":"terraform_data.a"`, `"o":"done"`
	if strings.Contains(before, times) || strings.Contains(before, done) || !strings.Contains(before, `"kind":"plan"`) {
		t.Errorf("the page of the plan says what was done:\n%.3000s", before)
	}
	if !strings.Contains(after, times) || strings.Count(after, done) != 2 || requests == 0 {
		t.Errorf("the page of the apply, after %d events:\n%.3000s", requests, after)
	}
	if !strings.Contains(state, `"a":"terraform_data.b"`) || !strings.Contains(state, `"kind":"state"`) {
		t.Errorf("the page of the state:\n%.3000s", state)
	}
	if strings.Contains(before+after+state, "hunter2") {
		t.Error("a secret was written")
	}
}
