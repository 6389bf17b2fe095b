package complete

import (
	"strings"
	"testing"
)

// The script for PowerShell has balanced brackets and quotes. Where PowerShell is installed, a script of internal/cli
// runs it.
func TestTheScriptForPowerShellIsBalanced(t *testing.T) {
	text := script("powershell", "tombolo", "tombolo")
	var open []rune
	closes := map[rune]rune{')': '(', '}': '{', ']': '['}
	quote := rune(0)
	for _, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case strings.ContainsRune("({[", r):
			open = append(open, r)
		case closes[r] != 0:
			if len(open) == 0 || open[len(open)-1] != closes[r] {
				t.Fatalf("%q closes nothing in\n%s", r, text)
			}
			open = open[:len(open)-1]
		}
	}
	if quote != 0 || len(open) > 0 {
		t.Errorf("the quote %q or %q is open in\n%s", quote, string(open), text)
	}
	for _, has := range []string{"-CommandName 'tombolo'", "        tombolo 2>$null |", "$env:COMP_LINE"} {
		if !strings.Contains(text, has) {
			t.Errorf("there is no %s in\n%s", has, text)
		}
	}
}
