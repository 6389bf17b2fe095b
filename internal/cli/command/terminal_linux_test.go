package command

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newTerminal returns the two ends of a pseudoterminal: the one on which a person types and the one from which a
// program reads.
func newTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("needs terminals: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs terminals: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// At a terminal, a command prints what to type, and reads until Ctrl-D.
func TestReadingFromATerminalPrintsAHint(t *testing.T) {
	person, program := newTerminal(t)
	if _, err := person.WriteString("typed\n\x04"); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	text, err := NewInput(program).All(t.Context(), "the request", &output)
	if err != nil || string(text) != "typed\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if !strings.Contains(output.String(), "Reading the request from the terminal.") ||
		!strings.Contains(output.String(), "Ctrl-D") {
		t.Errorf("it says %q", output.String())
	}
}
