package view

import (
	"strings"
	"testing"
)

// What programs look for stands on one line, wherever it is in a text and however wide the terminal is. The list is
// that of Terragrunt's rules for repeating commands, as far as their texts have spaces, and what Dependabot looks for.
func TestWhatProgramsLookForIsOnOneLine(t *testing.T) {
	for _, phrase := range []string{
		"Client.Timeout exceeded while awaiting headers", "Connection closed by remote host",
		"Could not download module", "The requested URL returned error: 429", "net/http: TLS handshake timeout",
		"connection reset by peer", "context deadline exceeded", "i/o timeout", ": 429 Too Many Requests",
		"Could not download module code from", "no available releases match",
	} {
		for before := range 100 {
			text := strings.Repeat("a ", before) + "(" + phrase + ") and what follows it"
			for _, width := range []int{20, 78, 120} {
				got := Wrap(text, width)
				if !strings.Contains(got, phrase) {
					t.Errorf("%d words before it, width %d: %q is not on one line of\n%s", before, width, phrase, got)
				}
				if strings.ReplaceAll(got, "\n", " ") != text {
					t.Errorf("%q became %q", text, got)
				}
			}
		}
	}
}
