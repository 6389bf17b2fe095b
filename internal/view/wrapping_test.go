package view

import (
	"strings"
	"testing"
)

// Messages that programs search for are on one line, wherever they are in a text and however wide the terminal is. The
// list consists of the messages with spaces in Terragrunt's retry rules, and of those that Dependabot searches for.
func TestMessagesForProgramsAreNotWrapped(t *testing.T) {
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
