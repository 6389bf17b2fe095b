package funcs

import (
	"testing"
)

func TestUnknownAndEphemeralArgumentsHaveRecordedResults(t *testing.T) {
	dir, home := writeFixture(t)
	ctx := plannedScope(dir, home)
	recorded := recordedOutcomes[string](t, "unknown.json", dir)
	for _, expression := range expressionsIn(t, "unknown.txt") {
		want, found := recorded[expression]
		if !found {
			t.Errorf("%s: no recorded outcome", expression)
			continue
		}
		if got := printResult(t, expression, ctx); got != want {
			t.Errorf("%s: recorded %s, got %s", expression, want, got)
		}
	}
}

// knownDifferences lists expressions for which terraform 1.11.4 and this package print different results while
// planning. "error" stands for any error.
var knownDifferences = []struct{ expression, terraform, tombolo, why string }{
	{`element([1, 2, 3], -1)`, `error`, `"[3]"`, "terraform crashes on tuples, not on lists"},
	{`format("%v", null)`, `(known after apply)`, `"[\"null\"]"`, "terraform takes it for unknown for ever"},
	{`try(format("%s", null), 1)`, `(known after apply)`, `"[1]"`, "the same"},
	{`cidrsubnet("10.0.0.0/8", 8, -1)`, `"[\"0.1.0.0/16\"]"`, `error`, "terraform leaves the network"},
	{`matchkeys(["a"], ["x"], [local.unknown])`, `"[[]]"`, `(known after apply)`,
		"terraform says what will not be true"},
	{`alltrue([tobool(local.unknown), null])`, `(known after apply)`, `"[false]"`, "more is known"},
	{`strcontains(local.unknown, "ab") == null`, `(known after apply)`, `"[false]"`, "more is known"},
	{`tostring(local.unknown) == null`, `(known after apply)`, `"[false]"`, "more is known"},
	{`issensitive(local.unknown) == null`, `(known after apply)`, `"[false]"`, "more is known"},
}

func TestKnownDifferencesAreAsListed(t *testing.T) {
	dir, home := writeFixture(t)
	ctx := plannedScope(dir, home)
	for _, difference := range knownDifferences {
		got := "error"
		if _, diags := evaluate(difference.expression, ctx); !diags.HasErrors() {
			got = printResult(t, difference.expression, ctx)
		}
		if got != difference.tombolo {
			t.Errorf("%s: got %s, want %s (%s)", difference.expression, got, difference.tombolo, difference.why)
		}
	}
}
