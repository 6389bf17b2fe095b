package wire

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

func TestExcessProblemsAreCounted(t *testing.T) {
	var in []*plugin6.Diagnostic
	for range 5 * diag.MaxOfAnswer {
		in = append(in, &plugin6.Diagnostic{Severity: plugin6.Diagnostic_WARNING, Summary: "w"})
	}
	in = append(in, &plugin6.Diagnostic{Severity: plugin6.Diagnostic_ERROR, Summary: "the error behind them"})
	got := decodeDiagnostics(in)
	if len(got) != diag.MaxOfAnswer+2 || !got.HasErrors() || got[diag.MaxOfAnswer].Summary != "the error behind them" {
		t.Errorf("%d problems, with errors: %v", len(got), got.HasErrors())
	}
	if last := got[len(got)-1]; last.Severity != diag.Warning || !strings.Contains(last.Detail, "5000 problems") {
		t.Errorf("the last is %v", last)
	}
}

func TestLongTextsOfProblemsAreCut(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	d := decodeDiagnostics([]*plugin6.Diagnostic{{Severity: plugin6.Diagnostic_ERROR, Summary: long, Detail: "x" +
		long}})[0]
	for _, text := range []string{d.Summary, d.Detail} {
		if len(text) > diag.MaxText+100 || !strings.HasSuffix(text, " bytes more)") ||
			text != strings.ToValidUTF8(text, "?") {
			t.Errorf("%d bytes that end in %q", len(text), text[len(text)-40:])
		}
	}
}
