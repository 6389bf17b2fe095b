// Package cli is the command line: the table of commands, their flags, the settings of the environment, and exit codes. It is a client
// of the root package, which does the work, and of internal/view and internal/tfjson, which say what came of it.
//
//	func main() { os.Exit(cli.Main()) }
//
// A command is a row of the table in command.go. Its setup function declares flags on a call and gives the function that runs
// the command; help texts are made of the same declarations. One file holds one family of commands:
//
//	init.go       init, get                      show.go       show, output
//	validate.go   validate, providers            state.go      state list, show, pull, push
//	plan.go       plan                           stateedit.go  state mv, rm, replace-provider; taint, untaint
//	apply.go      apply, destroy, refresh        workspace.go  workspace ..., force-unlock
//	recover.go    recover                        version.go    version
//
// Called by the name terraform (the base name of the program), it presents itself as that.
//
// Everything that the package itself writes to disk goes through files.go. The package owns two goroutines: one that waits for signals
// while a run is under way (interrupt.go), and one that reads the standard input while a question is open (prompt.go); the latter may
// still wait for a line when the process ends.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/tombolo-iac/tombolo/internal/config"
)

// outcome is what came of a command.
type outcome uint8

const (
	done    outcome = iota // everything went well
	changes                // it did, and the plan has changes; only with -detailed-exitcode
	failed                 // problems were reported
	misused                // wrong arguments, reported
)

// exitCode is the only place that knows exit codes.
func exitCode(o outcome) int {
	switch o {
	case done:
		return 0
	case changes:
		return 2
	case failed, misused:
		return 1
	}
	panic(fmt.Sprintf("cli: unknown outcome %d", o))
}

// app is the process: who it is, what it reads and writes. There is one; tests make their own.
type app struct {
	program string // the name of the command: "tombolo" or "terraform"
	title   string // the same as a name in sentences
	environ []string

	cwd string // where the process was started, before -chdir

	in       *input
	out, err io.Writer
	// outTerminal tells that out is a terminal, and width how many columns it has.
	outTerminal bool
	width       int
}

// Main runs the command that the arguments of the process ask for, and gives its exit code.
func Main() int {
	out := &output{to: os.Stdout}
	a := &app{program: "tombolo", title: "Tombolo", environ: os.Environ(), in: newInput(os.Stdin), out: out, err: os.Stderr}
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "terraform" {
		a.program, a.title = "terraform", "Terraform"
	}
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		a.outTerminal = true
		a.width, _, _ = term.GetSize(fd)
	}
	if wd, err := os.Getwd(); err == nil {
		a.cwd = wd
	}
	return exitCode(a.survive(func() outcome {
		return out.check(a.err, a.run(context.Background(), os.Args[1:]))
	}))
}

// survive turns a panic into a failure: the exit code of a panic would be taken for "there are changes".
func (a *app) survive(run func() outcome) (o outcome) {
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Fprintf(a.err, "\n%s crashed, which is a bug in it. What it was doing is in the journal beside the state, and the next command says what that is.\n\npanic: %v\n\n%s", a.title, problem, debug.Stack())
			o = failed
		}
	}()
	return run()
}

// output is the standard output. It remembers the first error, so that a full disk does not pass for success.
type output struct {
	to  io.Writer
	mu  sync.Mutex // guards err
	err error
}

// Write implements io.Writer. After an error it takes everything and writes nothing: an apply goes on without its audience.
func (w *output) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return len(b), nil
	}
	if _, w.err = w.to.Write(b); w.err != nil && !closedByReader(w.err) {
		return 0, w.err
	}
	return len(b), nil
}

// check makes a failure of an outcome whose report is not whole. A reader who went away, as head does, has seen what he wanted.
func (w *output) check(stderr io.Writer, o outcome) outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil || closedByReader(w.err) {
		return o
	}
	fmt.Fprintf(stderr, "\nError: Failed to write the output\n\nThe command has done its work, but not all that it says could be written to standard output: %s.\n", w.err)
	return failed
}

func closedByReader(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// getenv gives an environment variable; the last entry of a name counts.
func (a *app) getenv(name string) string {
	value, _ := a.lookupenv(name)
	return value
}

func (a *app) lookupenv(name string) (value string, found bool) {
	for _, entry := range a.environ {
		if k, v, ok := strings.Cut(entry, "="); ok && k == name {
			value, found = v, true
		}
	}
	return value, found
}

// dataDir is where init puts things.
func (a *app) dataDir() string {
	if dir := a.getenv("TF_DATA_DIR"); dir != "" {
		return dir
	}
	return config.DefaultDataDir
}

// inputAllowed tells whether the environment permits questions.
func (a *app) inputAllowed() bool {
	switch strings.ToLower(a.getenv("TF_INPUT")) {
	case "0", "false", "f":
		return false
	}
	return true
}

func (a *app) automated() bool { return a.getenv("TF_IN_AUTOMATION") != "" }
