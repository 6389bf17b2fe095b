package command

import (
	"bufio"
	"context"
	"strings"
	"testing"
)

// writes records each write.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

func TestQuestionAndPromptAreOneWrite(t *testing.T) {
	for text, want := range map[string]string{
		"Who it is.": "var.who\n  Who it is.\n\n  Enter a value: ",
		"":           "var.who\n  Enter a value: ",
	} {
		var out writes
		c := &Call{App: &App{Out: &out, In: &Input{Reader: bufio.NewReader(strings.NewReader("me\n"))}}}
		answer, err := c.Ask(context.Background(), "var.who", text, false)
		if answer != "me" || err != nil {
			t.Errorf("the answer is %q, %v", answer, err)
		}
		if len(out) == 0 || out[0] != want {
			t.Errorf("first arrives %q, want %q", out, want)
		}
	}
}
