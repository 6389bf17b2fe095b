// Package command holds the parts that every command of the command line is built from. A command is a row of a table.
// Setup declares its flags on a Call and returns the function that runs it; help texts come from the same declarations:
//
//	func Show() *command.Command {
//		return &command.Command{Name: "show", Short: "...", Long: "...", Setup: func(c *command.Call) command.Run {
//			asJSON := c.Flags.Bool("json", false, "Print a JSON document instead of text.")
//			return func(ctx context.Context) command.Outcome { return show(ctx, c, *asJSON) }
//		}}
//	}
//
// A Call has everything that the function needs: its arguments, the process (app.go), flags that several commands have
// (flags.go), showing and reporting (report.go), help texts (help.go) and the variables of the environment
// (environment.go), questions (prompt.go), interrupts (interrupt.go), the project and its variables (project.go), the
// state and its workspace (store.go), files (files.go), and where JSON goes (output.go).
//
// Everything that commands write to disk themselves goes through files.go. The package owns two goroutines: one that
// waits for signals while a run is under way (interrupt.go), and one that reads the standard input while a question is
// open (prompt.go); the latter may still wait for a line when the process ends.
package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/settings"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Command is a row of the table of commands.
type Command struct {
	Name   string
	Short  string // for the list of commands
	Args   string // what follows the flags, for the usage line; completion reads its words
	Long   string // a description, in paragraphs; ~ stands for the name of the program and ~~ for its title
	Main   bool   // it is in the first part of the list
	Hidden bool   // in no list; exists for compatibility
	Absent bool   // it only explains the alternative
	Mixed  bool   // flags may also follow arguments

	// Hint explains what to do instead of an option that the command does not have, or returns "".
	Hint func(option string) string

	Exits   string // exit codes, one per line, if they are not the usual ones
	Example string // command lines as examples, with ~ as in Long

	// Setup declares the flags and returns the function that runs the command; nil for a family that only has members.
	Setup   func(c *Call) Run
	Members []*Command
}

// Run runs a command whose flags are parsed.
type Run = func(ctx context.Context) Outcome

// Call is one run of one command.
type Call struct {
	*App
	Path  string // such as "state list"
	Flags *flag.FlagSet
	Args  []string // what follows the flags
	JSON  bool     // output is JSON, one object per line
	// Document means that the result is shown as a JSON document instead of text; see Documents.
	Document bool

	StatePath string // where the state is written, if not in its usual place

	cmd     *Command
	view    view.View
	sources map[string][]byte // the text of files for diagnostics
	secrets view.Secrets      // values that must not be shown
	// progress is the value of -progress; showsProgress means that the command has the flag.
	progress      settings.Progress
	showsProgress bool

	noColor bool
	compact bool

	concise, showSensitive, full           bool
	consolidateErrors, consolidateWarnings bool
	deprecations                           view.Deprecations

	form     form
	intoName string  // of the file of -json-into
	into     *Output // the open file while the command runs

	warned bool // the warnings of the CLI configuration were shown
}

func (a *App) newCall(cmd *Command, path string) (*Call, Run) {
	c := &Call{App: a, cmd: cmd, Path: path, Flags: flag.NewFlagSet(path, flag.ContinueOnError)}
	c.Flags.SetOutput(new(bytes.Buffer)) // flag errors have texts of our own
	c.Flags.BoolVar(&c.noColor, "no-color", false, "Print no colors or other control sequences.")
	c.Flags.BoolVar(&c.compact, "compact-warnings", false,
		"If there are only warnings, show just their titles.")
	c.Flags.BoolVar(&c.consolidateErrors, "consolidate-errors", false,
		"Of the errors with the same title, show only the first in full, with the number of the others.")
	c.Flags.BoolVar(&c.consolidateWarnings, "consolidate-warnings", true,
		"Show each warning in full, not only the first of those with the same title.")
	if cmd.Setup == nil {
		return c, nil
	}
	return c, cmd.Setup(c)
}

// Start parses a command's own arguments and runs it, or shows its help.
func (a *App) Start(ctx context.Context, cmd *Command, path string, help bool, args []string) Outcome {
	c, run := a.newCall(cmd, path)
	// -no-color counts at any position, as in Terraform; all other options come before the arguments.
	if i := slices.Index(args, "-no-color"); i >= 0 {
		args = append([]string{"-no-color"}, slices.Delete(slices.Clone(args), i, i+1)...)
	}
	if help {
		c.Help()
		return Done
	}
	if cmd.Absent {
		return run(ctx) // with any value
	}
	err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) { // -help follows --, or is -h=
		c.Help()
		return Done
	}
	defer c.closeView()
	if problem := c.ciProblem(); problem != "" {
		fmt.Fprintln(c.Err, view.Clean(problem))
	}
	if err != nil {
		return c.Misuse("Failed to parse command-line flags", "%s", c.flagProblem(err))
	}
	return c.writing(func() Outcome { return run(ctx) })
}

// parse separates flags and arguments.
func (c *Call) parse(args []string) error {
	for {
		if err := c.Flags.Parse(args); err != nil {
			return err
		}
		rest := c.Flags.Args()
		closed := len(args) > len(rest) && args[len(args)-len(rest)-1] == "--"
		if !c.cmd.Mixed || closed || len(rest) == 0 {
			c.Args = append(c.Args, rest...)
			return nil
		}
		c.Args, args = append(c.Args, rest[0]), rest[1:]
	}
}

// flagProblem returns the text for an error of the flag package, and suggests the flag that was probably meant.
func (c *Call) flagProblem(err error) string {
	given, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return c.valueProblem(err.Error())
	}
	var names []string
	c.Flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if c.cmd.Hint != nil {
		if hint := c.cmd.Hint(given); hint != "" {
			return fmt.Sprintf("%s. %s", err, hint)
		}
	}
	if near := diag.Nearest(given, names); near != "" {
		return fmt.Sprintf("%s. Did you mean -%s?", err, near)
	}
	return err.Error()
}

// Misuse reports invalid arguments.
func (c *Call) Misuse(summary, format string, args ...any) Outcome {
	v := c.View()
	v.Diagnostics(diag.List{}.Errorf(nil, summary, format, args...))
	if !c.JSON {
		fmt.Fprintf(c.Err, "\nFor more help on using this command, run:\n  %s %s -help\n", c.Program, c.Path)
	}
	return Misused
}

// valueProblem adds the expected value to a problem with a flag.
func (c *Call) valueProblem(text string) string {
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		if f := c.Flags.Lookup(name); f != nil {
			value, _ := flag.UnquoteUsage(f)
			return fmt.Sprintf("%s. Expected -%s=%s.", text, name, value)
		}
	}
	problem, isValue := strings.CutSuffix(text, ": parse error")
	words := strings.Fields(problem)
	if !isValue || len(words) == 0 {
		return text
	}
	f := c.Flags.Lookup(strings.TrimPrefix(words[len(words)-1], "-"))
	if f == nil {
		return text
	}
	getter, _ := f.Value.(flag.Getter)
	if getter == nil {
		return text
	}
	switch getter.Get().(type) {
	case bool:
		return problem + ": expected true or false."
	case int:
		return problem + ": expected a whole number."
	case time.Duration:
		return problem + ": expected a duration such as 30s or 5m."
	}
	return text
}

// TooMany reports that there are more arguments than the command takes.
func (c *Call) TooMany(taken int) Outcome {
	extra := c.Args[taken]
	what := fmt.Sprintf("The command %s takes no arguments, but got %q.", c.Path, extra)
	if taken > 0 {
		what = fmt.Sprintf("The command %s takes at most %d argument, but also got %q.", c.Path, taken, extra)
	}
	advice := ""
	info, err := os.Stat(extra)
	switch {
	case strings.HasPrefix(extra, "-"):
		advice = fmt.Sprintf(" Put options before the arguments: %s %s %s %s", c.Program, c.Path, extra, c.Args[0])
	case err == nil && info.IsDir():
		advice = fmt.Sprintf(" To work in another directory, use the global option: %s -chdir=%s %s", c.Program, extra,
			c.Path)
	case strings.HasSuffix(extra, ".tfvars") || strings.HasSuffix(extra, ".tfvars.json"):
		advice = fmt.Sprintf(" Set a variable file with -var-file=%s.", extra)
	case strings.Contains(extra, "="):
		advice = fmt.Sprintf(" Set a variable with -var '%s'.", extra)
	}
	return c.Misuse("Too many command line arguments", "%s%s", what, advice)
}

// Say reports a problem in one paragraph, as usual for commands that read the state.
func (c *Call) Say(format string, args ...any) Outcome {
	text := view.Clean(fmt.Sprintf(format, args...))
	notice := view.Failure(text)
	notice.Text = view.Wrap(text, c.Width) + "\n"
	c.View().Tell(notice)
	return Failed
}

// WrongNumber reports a wrong number of arguments, with the help of the command on the standard output, as the families
// state and workspace of Terraform do.
func (c *Call) WrongNumber(text string) Outcome {
	c.wrong(text)
	if !c.JSON {
		c.Help()
	}
	return Misused
}

// WrongUse is WrongNumber for commands whose help is part of the error.
func (c *Call) WrongUse(text string) Outcome {
	c.wrong(text)
	if !c.JSON {
		c.help(c.Err)
	}
	return Misused
}

func (c *Call) wrong(text string) {
	c.View().Tell(view.Notice{Text: text + "\n", Problem: &diag.Diagnostic{Severity: diag.Error,
		Summary: "Invalid number of arguments", Detail: text}})
}
