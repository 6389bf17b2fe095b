package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// Outcome is the result of a command.
type Outcome uint8

// The outcomes of commands.
const (
	Done    Outcome = iota // success
	Changes                // success, and the plan has changes; only with -detailed-exitcode
	Failed                 // errors were reported
	Misused                // invalid arguments were reported
	Unasked                // no command was given

	Unformattable // fmt: errors were reported
	Unformatted   // fmt -check: success, and files are not formatted
)

// ExitCode returns the exit code. No other code decides about exit codes.
func (o Outcome) ExitCode() int {
	switch o {
	case Done:
		return 0
	case Changes, Unformattable:
		return 2
	case Unformatted:
		return 3
	case Unasked:
		return 127
	case Failed, Misused:
		return 1
	}
	panic(fmt.Sprintf("command: unknown outcome %d", o))
}

// App is the process with its name, input and output. There is only one, except in tests.
type App struct {
	engine.Surroundings // Program is the name of the command: "tombolo" or "terraform"

	In       *Input
	Out, Err io.Writer
	// OutTerminal reports whether Out is a terminal, and Width is its number of columns.
	OutTerminal bool
	Width       int
	// Size returns the current size of the terminal Out; nil if Out is not a terminal.
	Size func() (columns, rows int)

	// Watch also receives the events of runs, for a command that shows the runs it starts; nil means none.
	Watch event.Sink

	logWarned bool // a problem with the log was reported
}

// InputAllowed reports whether the environment permits questions.
func (a *App) InputAllowed() bool {
	switch strings.ToLower(a.Getenv("TF_INPUT")) {
	case "0", "false", "f":
		return false
	}
	return true
}

// Automated reports whether a program runs the command. Then no hints about the next command are printed.
func (a *App) Automated() bool { return a.Getenv("TF_IN_AUTOMATION") != "" }

// Words replaces tildes in texts of the table with the name of the program.
func (a *App) Words(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "~~", a.Title), "~", a.Program)
}
