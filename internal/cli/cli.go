// Package cli is the command line: the table of commands, their flags, the settings of the environment, and exit codes.
// It is a client of internal/engine, which does the work, and of internal/view and internal/tfjson, which present the
// results.
//
//	func main() { os.Exit(cli.Main()) }
//
// A command is a row of the table (table.go). The types of a row, and everything that commands are built from, are in
// package command: flags, questions, interrupts, opening a project or a state, reporting. The families are built on it.
// In a family, each command has a file of its name:
//
//	install    what a directory needs: modules, providers, tokens of hosts
//	code       configuration only: formatting, validation
//	run        the engine at work: plan, apply and their relatives
//	inspect    results: states, plans, outputs, graphs, versions
//	states     changes of states and workspaces without a plan
//	serving    pages for a browser
//	testing    the command test
//	author     for those who write providers and stores
//	complete   completion in shells
//
// Families do not import each other: code that two of them need is in command.
//
// Called by the name terraform or tofu (the base name of the program), it identifies itself as that program.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/term"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/sandbox"
)

// Main runs the command of the process arguments, and returns its exit code.
func Main() int {
	if program.Keeping() {
		return program.Keep()
	}
	if status, is := sandbox.Child(); is {
		return status
	}
	out := command.NewOutput(os.Stdout)
	a := &command.App{Surroundings: engine.Surroundings{Environ: os.Environ(), Keeps: true},
		In: command.NewInput(os.Stdin), Out: out, Err: os.Stderr}
	a.Program, a.Title, a.CalledAs = calledAs(os.Args[0])
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		a.OutTerminal = true
		a.Width, _, _ = term.GetSize(fd)
		a.Size = func() (columns, rows int) {
			columns, rows, _ = term.GetSize(fd)
			return columns, rows
		}
	}
	if wd, err := os.Getwd(); err == nil {
		a.StartDir = wd
	}
	return catchPanic(a, func() command.Outcome {
		return check(out, a.Err, start(context.Background(), a, os.Args[1:]))
	}).ExitCode()
}

// RemoteState reads states of other configurations for a program that is served as a plugin.
func RemoteState() handler.RemoteState {
	s := engine.Surroundings{Environ: os.Environ()}
	s.Program, s.Title, s.CalledAs = calledAs("")
	if wd, err := os.Getwd(); err == nil {
		s.StartDir = wd
	}
	return s.RemoteState()
}

// calledAs returns the name by which the program was called, with the title and the flavor of the program that it
// identifies as.
func calledAs(path string) (program, title string, named flavor.Flavor) {
	named = flavor.OfCommand(strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe"))
	if named != flavor.Unset {
		return named.Command(), named.Title(), named
	}
	return "tombolo", "Tombolo", named
}

// catchPanic converts a panic to a failure, because the exit code of a panic would mean "there are changes".
func catchPanic(a *command.App, run func() command.Outcome) (o command.Outcome) {
	defer func() {
		if problem := recover(); problem != nil {
			stack := debug.Stack()
			if of, ok := problem.(*diag.PanicError); ok {
				problem, stack = of.Value, of.Stack
			}
			fmt.Fprintf(a.Err, "\n%s crashed, which is a bug in it. Its last operation is in the journal beside the "+
				"state, and the next command reports it.\n\npanic: %s\n\n%s", a.Title, panicText(problem), stack)
			o = command.Failed
		}
	}()
	return run()
}

// panicText returns the text of a panic for a report. Only panics of the runtime never quote values. All other texts
// may contain secrets, so only their type is reported; the stack shows the origin.
func panicText(problem any) string {
	if err, ok := problem.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T (its text is withheld because it could show a value that is sensitive)", problem)
}

// check returns a failure if the output of a command could not be written completely.
func check(out *command.Output, stderr io.Writer, o command.Outcome) command.Outcome {
	err := out.Err()
	if err == nil {
		return o
	}
	fmt.Fprintf(stderr, "\nError: Failed to write the output\n\nThe command succeeded, but part of its output could "+
		"not be written to standard output: %s.\n", err)
	return command.Failed
}
