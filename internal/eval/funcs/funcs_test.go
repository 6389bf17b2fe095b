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
