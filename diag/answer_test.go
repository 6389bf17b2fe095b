package diag_test

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/diag"
)

func TestExcessProblemsOfAnAnswerAreCounted(t *testing.T) {
	var o diag.OfAnswer
	for range 3 * diag.MaxOfAnswer {
		o.Add(&diag.Diagnostic{Severity: diag.Warning, Summary: "w"})
	}
	o.Add(&diag.Diagnostic{Severity: diag.Error, Summary: "the error behind them"})
	got := o.List("The program")
	last := got[len(got)-1]
	if len(got) != diag.MaxOfAnswer+2 || got[diag.MaxOfAnswer].Summary != "the error behind them" ||
		last.Severity != diag.Warning || last.Summary != "The program reported more problems than are shown" ||
		!strings.Contains(last.Detail, "has 3000 problems") {
		t.Errorf("%d problems, the last is %+v", len(got), last)
	}
}

func TestLongTextsAreShortened(t *testing.T) {
	for _, n := range []int{0, diag.MaxText - 1, diag.MaxText} {
		if s := strings.Repeat("x", n); diag.Shortened(s) != s {
			t.Errorf("a text of %d bytes is changed", n)
		}
	}
	got := diag.Shortened(strings.Repeat("ü", diag.MaxText))
	if len(got) > diag.MaxText+100 || !strings.HasSuffix(got, "... (262144 bytes more)") {
		t.Errorf("%d bytes, which end in %q", len(got), got[max(0, len(got)-40):])
	}
}
