package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
)

// command is a row of the table.
type command struct {
	name  string
	short string // for the list of commands
	args  string // what follows the flags, for the usage line
	long  string // what it does, in paragraphs
	main  bool   // listed first

	// setup declares the flags and gives the function that runs the command; nil for a family, which only has members.
	setup   func(c *call) func(ctx context.Context) outcome
	members []*command
}

// table gives all commands. It is built when needed, so that starting costs nothing.
func table() []*command {
	return []*command{
		cmdInit(), cmdValidate(), cmdPlan(), cmdApply(), cmdDestroy(),
		cmdForceUnlock(), cmdGet(), cmdOutput(), cmdProviders(), cmdRecover(), cmdRefresh(), cmdShow(),
		cmdState(), cmdTaint(), cmdUntaint(), cmdVersion(), cmdWorkspace(),
	}
}

func find(list []*command, name string) *command {
	for _, cmd := range list {
		if cmd.name == name {
			return cmd
		}
	}
	return nil
}

// call is one run of one command.
type call struct {
	*app
	cmd   *command
	path  string // such as "state list"
	flags *flag.FlagSet
	args  []string // what follows the flags
	shown shown

	noColor bool
	compact bool
}

func (a *app) newCall(cmd *command, path string) (*call, func(context.Context) outcome) {
	c := &call{app: a, cmd: cmd, path: path, flags: flag.NewFlagSet(path, flag.ContinueOnError)}
	c.flags.SetOutput(new(bytes.Buffer)) // problems are reported in our own way
	c.flags.BoolVar(&c.noColor, "no-color", false, "Print no colors and no other control sequences.")
	c.flags.BoolVar(&c.compact, "compact-warnings", false, "Show only the summaries of warnings when there are no errors.")
	if cmd.setup == nil {
		return c, nil
	}
	return c, cmd.setup(c)
}

// global are the options before the command.
type global struct{ help, version bool }

// run finds the command of the arguments and runs it.
func (a *app) run(ctx context.Context, args []string) outcome {
	g, rest, problem := a.globals(args)
	if problem != "" {
		fmt.Fprintln(a.err, problem)
		return misused
	}
	switch {
	case g.version:
		rest = append([]string{"version"}, rest...)
	case len(rest) == 0:
		a.usage()
		if g.help {
			return done
		}
		return misused
	}
	cmd, path := find(table(), rest[0]), rest[0]
	if cmd == nil {
		return a.unknown(rest[0])
	}
	rest = rest[1:]
	for cmd.members != nil {
		var member *command
		if len(rest) > 0 {
			member = find(cmd.members, rest[0])
		}
		if member == nil {
			a.familyUsage(cmd, path)
			if g.help || len(rest) > 0 && isHelp(rest[0]) {
				return done
			}
			return misused
		}
		cmd, path, rest = member, path+" "+member.name, rest[1:]
	}
	rest, err := a.environmentArguments(path, rest)
	if err != nil {
		fmt.Fprintln(a.err, err)
		return misused
	}
	return a.start(ctx, cmd, path, g, rest)
}

// start parses a command's own arguments and runs it.
func (a *app) start(ctx context.Context, cmd *command, path string, g global, args []string) outcome {
	c, run := a.newCall(cmd, path)
	// -no-color counts wherever it stands, as in Terraform; all other options come before the arguments.
	if i := slices.Index(args, "-no-color"); i >= 0 {
		args = append([]string{"-no-color"}, slices.Delete(slices.Clone(args), i, i+1)...)
	}
	err := c.flags.Parse(args)
	if g.help || errors.Is(err, flag.ErrHelp) {
		c.help()
		return done
	}
	defer c.closeView()
	if err != nil {
		return c.misuse("Failed to parse command-line flags", "%s", err)
	}
	c.args = c.flags.Args()
	return run(ctx)
}

// globals reads the options before the command, and changes the directory when asked to.
func (a *app) globals(args []string) (g global, rest []string, problem string) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[0], "-"), "-"), "=")
		switch {
		case name == "chdir" && (!hasValue || value == ""):
			return g, nil, "Invalid -chdir option: must include an equals sign followed by a directory path, like -chdir=example"
		case name == "chdir":
			if err := os.Chdir(value); err != nil {
				return g, nil, "Error handling -chdir option: " + err.Error()
			}
		case isHelp(args[0]):
			g.help = true
		case name == "version" || name == "v":
			g.version = true
		default:
			return g, nil, fmt.Sprintf("Unknown option %s before the command. Options of a command stand behind it: %s COMMAND %s.", args[0], a.program, args[0])
		}
		args = args[1:]
	}
	return g, args, ""
}

func isHelp(arg string) bool {
	return arg == "-help" || arg == "--help" || arg == "-h" || arg == "--h"
}

// environmentArguments puts the arguments of TF_CLI_ARGS and TF_CLI_ARGS_name before those of the command line.
func (a *app) environmentArguments(path string, args []string) ([]string, error) {
	var extra []string
	for _, name := range []string{"TF_CLI_ARGS_" + strings.NewReplacer(" ", "_", "-", "_").Replace(path), "TF_CLI_ARGS"} {
		words, err := splitWords(a.getenv(name))
		if err != nil {
			return nil, fmt.Errorf("the environment variable %s cannot be split into arguments: %w", name, err)
		}
		extra = append(extra, words...)
	}
	return append(extra, args...), nil
}

// splitWords splits as a shell does: by white space, with quotes and backslashes, without any substitution.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	var quote rune
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' && r != '$' && r != '`' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote or escape is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

func (a *app) unknown(name string) outcome {
	var names []string
	for _, cmd := range table() {
		names = append(names, cmd.name)
	}
	fmt.Fprintf(a.err, "%s has no command named %q.%s\n\nTo see all of its commands, run:\n  %s -help\n\n", a.title, name, diag.DidYouMean(name, names), a.program)
	return misused
}

// usage prints the list of commands.
func (a *app) usage() {
	fmt.Fprintf(a.out, "Usage: %s [global options] <command> [options] [arguments]\n", a.program)
	for _, first := range []bool{true, false} {
		if first {
			fmt.Fprint(a.out, "\nMain commands, in the order of use:\n")
		} else {
			fmt.Fprint(a.out, "\nAll other commands:\n")
		}
		for _, cmd := range table() {
			if cmd.main == first {
				fmt.Fprintf(a.out, "  %-14s%s\n", cmd.name, cmd.short)
			}
		}
	}
	fmt.Fprint(a.out, `
Global options, which stand before the command:
  -chdir=DIR    Do everything in another directory.
  -help         Show this list, or with a command what that does.
  -version      The same as the command version.
`)
}

func (a *app) familyUsage(cmd *command, path string) {
	fmt.Fprintf(a.out, "Usage: %s [global options] %s <subcommand> [options] [arguments]\n\n%s\n\nSubcommands:\n", a.program, path, indent(a.words(cmd.long)))
	for _, m := range cmd.members {
		fmt.Fprintf(a.out, "  %-20s%s\n", m.name, m.short)
	}
}

// words puts the name of the program where texts of the table have a tilde.
func (a *app) words(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "~~", a.title), "~", a.program)
}

// help prints what a command does and takes.
func (c *call) help() {
	usage := c.path + " [options]"
	if c.cmd.args != "" {
		usage += " " + c.cmd.args
	}
	fmt.Fprintf(c.out, "Usage: %s [global options] %s\n\n%s\n\nOptions:\n", c.program, usage, indent(c.words(c.cmd.long)))
	c.flags.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		name := "-" + f.Name
		switch b, isBool := f.Value.(interface{ IsBoolFlag() bool }); {
		case isBool && b.IsBoolFlag() && f.DefValue == "true":
			name += "=false"
		case isBool && b.IsBoolFlag():
		default:
			name += "=" + value
		}
		fmt.Fprintf(c.out, "\n  %s\n      %s\n", name, strings.ReplaceAll(c.words(text), "\n", "\n      "))
	})
}

func indent(text string) string {
	return strings.ReplaceAll("  "+strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "), "\n  \n", "\n\n")
}

// misuse reports arguments that make no sense.
func (c *call) misuse(summary, format string, args ...any) outcome {
	v := c.view()
	v.Diagnostics(diag.List{}.Errorf(nil, summary, format, args...))
	if !c.shown.json {
		fmt.Fprintf(c.err, "\nFor more help on using this command, run:\n  %s %s -help\n", c.program, c.path)
	}
	return misused
}
