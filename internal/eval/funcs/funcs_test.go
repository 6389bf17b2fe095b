package funcs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFunctionsGiveRecordedResults is the table test of all functions: expressions, and what terraform gave for them when
// last asked (TestFunctionsGiveWhatTerraformGives -update).
func TestFunctionsGiveRecordedResults(t *testing.T) {
	dir, home := writeFixture(t)
	ctx := scope(dir, Table(Options{BaseDir: dir, Home: home, ConsoleMode: true}))
	recorded := recordedOutcomes[outcome](t, "expressions.json", dir)
	expressions := expressionsIn(t, "expressions.txt")
	for _, expression := range expressions {
		want, found := recorded[expression]
		if !found {
			t.Errorf("%s: no recorded outcome", expression)
			continue
		}
		if diff := cmp.Diff(want, observe(t, expression, ctx)); diff != "" {
			t.Errorf("%s (-recorded +got):\n%s", expression, diff)
		}
	}
	if len(expressions) < 500 {
		t.Errorf("only %d expressions", len(expressions))
	}
}

func TestUnknownAndEphemeralArgumentsGiveRecordedResults(t *testing.T) {
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

func TestEveryFunctionIsInAnExpressionFile(t *testing.T) {
	var all strings.Builder
	for _, name := range []string{"expressions.txt", "unknown.txt", "errors.txt"} {
		all.WriteString(strings.Join(expressionsIn(t, name), "\n"))
	}
	for name := range Table(Options{}) {
		if strings.HasPrefix(name, "core::") || name == "plantimestamp" {
			continue
		}
		if !strings.Contains(all.String(), name+"(") {
			t.Errorf("no expression calls %s", name)
		}
	}
}

// knownDifferences lists what terraform 1.11.4 and this package print for an expression while planning, where they
// differ. An error is just that.
var knownDifferences = []struct{ expression, terraform, tombolo, why string }{
	{`element([1, 2, 3], -1)`, `error`, `"[3]"`, "terraform crashes on tuples, not on lists"},
	{`format("%v", null)`, `(known after apply)`, `"[\"null\"]"`, "terraform takes it for unknown for ever"},
	{`try(format("%s", null), 1)`, `(known after apply)`, `"[1]"`, "the same"},
	{`cidrsubnet("10.0.0.0/8", 8, -1)`, `"[\"0.1.0.0/16\"]"`, `error`, "terraform leaves the network"},
	{`matchkeys(["a"], ["x"], [local.unknown])`, `"[[]]"`, `(known after apply)`, "terraform says what will not be true"},
	{`matchkeys([local.unknown], ["a"], ["b"])`, `(known after apply)`, `"[[]]"`, "more is known"},
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
