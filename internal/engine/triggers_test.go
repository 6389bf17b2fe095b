package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// The condition of a trigger has the same effect whenever it becomes known: the plan omits actions whose condition is
// false, and lists those with an unknown one, which are only invoked if it is true by then.
func TestTriggerConditionsInPlanAndApply(t *testing.T) {
	outcomes := []struct {
		text  string
		holds bool
	}{{"%s", true}, {"!(%s)", false}, {"%s ? null : true", false}, {"%s ? tobool(null) : true", false},
		{`%s ? "true" : "false"`, true}}
	facts := []struct {
		text  string
		event string
		known bool
	}{
		{`actor_thing.a.name == "a"`, "before_create", true},
		{`actor_thing.a.id == "id-a"`, "before_create", false},
		{`actor_thing.a.id == "id-a"`, "after_create", false},
		{`local.id == "id-a"`, "after_create", false},
		{`caller.id == "id-b"`, "after_create", false},
		{`self.name == "b"`, "after_create", true},
		{`actor_thing.b.id == "id-b"`, "after_create", false},
		{`actor_thing.c.id == "id-c"`, "after_create", false}, // which depends on b
		// As in other conditions, what is secret or ephemeral decides; Terraform 1.15 and 1.16 crash.
		{`var.secret == "s3cret"`, "before_create", true},
		{`var.passing == "s3cret"`, "after_create", true},
		{`sensitive(actor_thing.a.id) == "id-a"`, "after_create", false},
		{`(var.passing == "s3cret" && actor_thing.a.id == "id-a")`, "before_create", false},
	}
	for _, fact := range facts {
		for _, outcome := range outcomes {
			condition := fmt.Sprintf(outcome.text, fact.text)
			t.Run(fact.event+" "+condition, func(t *testing.T) {
				checkCondition(t, condition, fact.event, outcome.holds, fact.known)
			})
		}
	}
}

func checkCondition(t *testing.T, condition, event string, holds, known bool) {
	dir, a := t.TempDir(), &actor{}
	a.invoke = func(string) provider.InvokeActionResponse { return provider.InvokeActionResponse{} }
	text := fmt.Sprintf(`
terraform {
  required_providers {
    actor = { source = "tombolo/actor" }
  }
}
locals {
  id = actor_thing.a.id
}
variable "secret" {
  default   = "s3cret"
  sensitive = true
}
variable "passing" {
  default   = "s3cret"
  ephemeral = true
}
resource "actor_thing" "a" {
  name = "a"
}
resource "actor_thing" "b" {
  name = "b"
  lifecycle {
    action_trigger {
      events    = [%s]
      condition = %s
      actions   = [action.actor_say.it]
    }
  }
}
resource "actor_thing" "c" {
  name       = "c"
  depends_on = [actor_thing.b]
}
action "actor_say" "it" {
  config {
    text = "it"
  }
}
`, event, condition)
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, _, after, diags := a.apply(t, dir)
	if diags.HasErrors() || len(after) > 0 {
		t.Fatal(diags.Err(), after)
	}
	if planned := len(p.Invocations) == 1; planned != (holds || !known) {
		t.Errorf("planned %v", p.Invocations)
	} else if planned && p.Invocations[0].Trigger.Undecided == known {
		t.Errorf("undecided: %v", !known)
	}
	at := slices.Index(a.done, "say it")
	if at >= 0 != holds {
		t.Errorf("done: %v", a.done)
	}
	if b := slices.Index(a.done, "apply b"); at >= 0 && (at < b) != (event == "before_create") {
		t.Errorf("in this order: %v", a.done)
	}
	var file strings.Builder
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	back, err := plan.Decode(strings.NewReader(file.String()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range back.Invocations {
		if *got.Trigger != *p.Invocations[i].Trigger {
			t.Errorf("a plan file has %+v, not %+v", got.Trigger, p.Invocations[i].Trigger)
		}
	}
}
