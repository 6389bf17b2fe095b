package config_test

import (
	"strings"
	"testing"
)

// TestInvalidTriggersAreReported decodes invalid action_trigger blocks in both syntaxes.
func TestInvalidTriggersAreReported(t *testing.T) {
	for body, want := range map[string]string{
		"events = [before_destroy, after_destroy]":                            "",
		"events = [after_create]\n on_failure = taint":                        "",
		"events = [after_create]\n on_failure = halt\n condition = true":      "",
		"events = [after_create]\n on_failure = fail":                         `Invalid "on_failure" keyword`,
		"events = [after_create]\n on_failure = contine":                      `Did you mean "continue"?`,
		"events = [after_create]\n on_failure = \"taint\"":                    "without quotes",
		"events = [after_create]\n on_failure = var.x":                        `Invalid "on_failure" keyword`,
		"events = [after_destroy]\n condition = true":                         "Condition on destroy action",
		"events = [after_destory]":                                            `Did you mean "after_destroy"?`,
		"events = [before_destroy, before_destroy]":                           "Duplicate",
		"events = [after_create, before_destroy]\n condition = var.x == \"\"": "Condition on destroy action",
	} {
		text := "action \"a_b\" \"c\" {}\nresource \"a_b\" \"c\" {\n lifecycle {\n  action_trigger {\n" +
			"actions = [action.a_b.c]\n" + body + "\n}\n}\n}\nvariable \"x\" {}\n"
		_, diags := tryLoad(t, "-- main.tf --\n"+text)
		if got := diags.Err(); (want == "") != (got == nil) || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("%s: got %v, want %q", body, got, want)
		}
	}
	_, diags := tryLoad(t, "-- main.tf.json --\n"+`{"action": {"a_b": {"c": {}}}, "resource": {"a_b": {"c": `+
		`{"lifecycle": {"action_trigger": [{"actions": ["action.a_b.c"], "events": ["after_destroy"], `+
		`"on_failure": "continue"}]}}}}}`+"\n")
	if diags.HasErrors() {
		t.Errorf("JSON: %v", diags.Err())
	}
}
