package planning_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tombolo-iac/tombolo/diag"
)

// A broken error message is reported while its condition is true, and not only when it is needed.
func TestErrorMessagesAreCheckedWhileConditionsAreTrue(t *testing.T) {
	const src = `
variable "nothing" {
  type    = string
  default = null
}
variable "secret" {
  sensitive = true
  default   = "hush"
}
locals { list = [1] }
`
	kinds := map[string]string{
		"check":  "check \"c\" {\n assert {%s}\n}",
		"output": "output \"o\" {\n value = 1\n precondition {%s}\n}",
		"pre":    "resource \"terraform_data\" \"r\" {\n lifecycle {\n precondition {%s}\n }\n}",
	}
	messages := map[string]diag.Diagnostic{
		`var.nothing`:        {Severity: diag.Error, Summary: "Invalid error message"},
		`"x ${var.nothing}"`: {Severity: diag.Error, Summary: "Invalid template interpolation value"},
		`["x"]`:              {Severity: diag.Error, Summary: "Invalid error message"},
		`local.list[7]`:      {Severity: diag.Error, Summary: "Invalid index"},
		`"x ${var.secret}"`:  {Severity: diag.Warning, Summary: "Error message refers to sensitive values"},
	}
	for kind, block := range kinds {
		for message, want := range messages {
			b := &bench{t: t}
			_, diags := b.plan(
				root(src + fmt.Sprintf(block, "\n condition = length(local.list) == 1\n error_message = "+message+
					"\n")))
			if len(diags) != 1 || diags[0].Severity != want.Severity || diags[0].Summary != want.Summary {
				t.Errorf("%s with the message %s: %v, want %q", kind, message, diags, want.Summary)
			}
		}
	}
}

// A precondition may guard an expression of the block: then an index that is too large is not the error to show. An
// error of all instances is reported once.
func TestPreconditionsGuardSharedExpressions(t *testing.T) {
	const src = "locals { list = [1] }\nresource \"terraform_data\" \"r\" {\n count = 3\n input = local.list[7]\n " +
		"lifecycle {\n precondition {\n condition = %s\n error_message = \"m\"\n }\n }\n}"
	for condition, want := range map[string][]string{
		"length(local.list) == 2": {"Resource precondition failed", "Resource precondition failed",
			"Resource precondition failed"},
		"count.index != 1": {"Invalid index", "Resource precondition failed"},
		"count.index < 9":  {"Invalid index"},
	} {
		b := &bench{t: t}
		_, diags := b.plan(root(fmt.Sprintf(src, condition)))
		var got []string
		for _, d := range diags.Sorted() {
			got = append(got, d.Summary)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
	}
}

// A failing assertion of a check is a warning; one that cannot be evaluated is an error.
func TestChecksThatCannotBeEvaluatedAreErrors(t *testing.T) {
	b := &bench{t: t}
	b.wantError(root("locals { list = [1] }\ncheck \"c\" {\n assert {\n condition = local.list[7] == 1\n "+
		"error_message = \"m\"\n }\n}"), "Invalid index")
}

// A message that cannot be shown is not recorded as the message of the check.
func TestHiddenErrorMessagesAreNotRecorded(t *testing.T) {
	b := &bench{t: t}
	p, diags := b.plan(root("variable \"s\" {\n sensitive = true\n default = \"hush\"\n}\ncheck \"c\" {\n assert {\n " +
		"condition = var.s == \"x\"\n error_message = var.s\n }\n}"))
	if diags.HasErrors() || !slices.ContainsFunc(diags, func(d *diag.Diagnostic) bool {
		return d.Summary == "Check block assertion failed"
	}) {
		t.Errorf("a failing check gave %v", diags)
	}
	for _, r := range p.Checks {
		for _, o := range r.Objects {
			if len(o.Failures) > 0 {
				t.Errorf("recorded %q", o.Failures)
			}
		}
	}
}
