package command

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
)

// An interrupt ends a command that reads its input, even if no input arrives.
func TestReadingAllInputCanBeInterrupted(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() // ends the read after the test
	ctx, cancel := context.WithCancel(t.Context())
	in := NewInput(r)
	go func() {
		_, _ = w.WriteString("half of it")
		cancel()
	}()
	if text, err := in.All(ctx, "it", io.Discard); !errors.Is(err, errInterrupted) {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestReadingAllInput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.WriteString("all of it")
	w.Close()
	if text, err := NewInput(r).All(t.Context(), "it", io.Discard); string(text) != "all of it" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}
