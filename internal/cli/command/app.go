package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// Outcome is the result of a command.
type Outcome uint8

// The outcomes of commands.
const (
	Done    Outcome = iota // everything went well
	Changes                // it did, and the plan has changes; only with -detailed-exitcode
	Failed                 // problems were reported
	Misused                // wrong arguments, reported
	Unasked                // no command was given

	Unformattable // fmt: problems were reported
	Unformatted   // fmt -check: everything went well, and there are files to be formatted
)

// ExitCode is the only place that knows exit codes.
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

// App is the process: its name, its input and its output. There is one; tests create their own.
type App struct {
	engine.Surroundings // Program is the name of the command: "tombolo" or "terraform"

	In       *Input
	Out, Err io.Writer
	// OutTerminal reports whether Out is a terminal, and Width is its number of columns.
	OutTerminal bool
	Width       int
	// Size returns the current size of the terminal Out; nil if Out is not a terminal.
	Size func() (columns, rows int)

	logWarned bool // the problem of the log was reported
}

// InputAllowed reports whether the environment permits questions.
func (a *App) InputAllowed() bool {
	switch strings.ToLower(a.Getenv("TF_INPUT")) {
	case "0", "false", "f":
		return false
	}
	return true
}

// Automated reports whether a program runs the command, so that no advice on the next command is shown.
func (a *App) Automated() bool { return a.Getenv("TF_IN_AUTOMATION") != "" }

// Words replaces tildes in texts of the table with the name of the program.
func (a *App) Words(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "~~", a.Title), "~", a.Program)
}
