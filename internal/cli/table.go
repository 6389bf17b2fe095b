package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/author"
	"github.com/tombolo-iac/tombolo/internal/cli/code"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/cli/complete"
	"github.com/tombolo-iac/tombolo/internal/cli/inspect"
	"github.com/tombolo-iac/tombolo/internal/cli/install"
	"github.com/tombolo-iac/tombolo/internal/cli/run"
	"github.com/tombolo-iac/tombolo/internal/cli/runs"
	"github.com/tombolo-iac/tombolo/internal/cli/serving"
	"github.com/tombolo-iac/tombolo/internal/cli/stacks"
	"github.com/tombolo-iac/tombolo/internal/cli/states"
	"github.com/tombolo-iac/tombolo/internal/cli/testing"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Commands returns the table of all commands, with hidden ones at the end. It is built on demand to keep the start
// fast.
func Commands() []*command.Command {
	workspace := states.Workspace()
	return append([]*command.Command{
		install.Init(), code.Validate(), run.Plan(), run.Apply(), run.Destroy(),
		complete.Command(), inspect.Console(), author.Demo(), run.Drift(), inspect.Explain(),
		code.Fmt(), states.ForceUnlock(), install.Get(),
		inspect.Graph(), run.Import(), install.Login(), install.Logout(), inspect.Metadata(), install.Modules(),
		inspect.Output(), author.Provider(), install.Providers(), run.Query(), run.Recover(), run.Refresh(),
		runs.Runs(), serving.Serve(serving.Commands{Apply: run.Apply(), Drift: run.Drift()}), inspect.Show(),
		stacks.Stack(), states.State(), author.Store(), states.Taint(), states.Untaint(), testing.Test(),
		inspect.Version(), workspace,
	}, append(absent(), env(workspace))...)
}

func find(list []*command.Command, name string) *command.Command {
	for _, cmd := range list {
		if cmd.Name == name {
			return cmd
		}
	}
	return nil
}

// global holds the options before the command.
type global struct{ help, version, install, uninstall bool }

// start finds the command of the arguments and runs it.
func start(ctx context.Context, a *command.App, args []string) command.Outcome {
	if complete.Asked(a) {
		return complete.Answer(ctx, a, Commands(), GlobalOptions, args)
	}
	g, rest, problem := globals(a, args)
	if len(rest) > 0 && rest[0] == "help" {
		g.help, rest = true, rest[1:]
	}
	switch {
	case problem != "":
		fmt.Fprintln(a.Err, view.Clean(problem))
		return command.Misused
	case g.version:
		rest = append([]string{"version"}, slices.DeleteFunc(slices.Clone(rest), isVersion)...)
	case g.install && !g.help:
		return complete.Install(a)
	case g.uninstall && !g.help:
		return complete.Uninstall(a)
	case len(rest) == 0:
		usage(a)
		if g.help {
			return command.Done
		}
		return command.Unasked
	}
	cmd, path := find(Commands(), rest[0]), rest[0]
	if cmd == nil {
		return unknown(a, rest[0])
	}
	cmd, path, rest = descend(cmd, path, rest[1:])
	if cmd.Members != nil && cmd.Setup == nil {
		if !g.help && len(rest) > 0 {
			fmt.Fprintf(a.Err, "%s has no command named %q.%s\n\n", a.Title, path+" "+view.CleanLine(rest[0]),
				diag.DidYouMean(rest[0], names(cmd.Members)))
		}
		a.FamilyHelp(cmd, path)
		if g.help {
			return command.Done
		}
		return command.Misused
	}
	if g.help {
		return a.Start(ctx, cmd, path, true, nil)
	}
	rest, err := environmentArguments(a, path, rest)
	if err != nil {
		fmt.Fprintln(a.Err, view.Clean(err.Error()))
		return command.Misused
	}
	a.LogStart(append(strings.Fields(path), rest...))
	return traced(ctx, a, path, func(ctx context.Context) command.Outcome {
		return a.Start(ctx, cmd, path, false, rest)
	})
}

// descend follows the words of a command line into the families of commands, as long as they name members.
func descend(cmd *command.Command, path string, rest []string) (*command.Command, string, []string) {
	for len(rest) > 0 {
		member := find(cmd.Members, rest[0])
		if member == nil {
			break
		}
		cmd, path, rest = member, path+" "+member.Name, rest[1:]
	}
	return cmd, path, rest
}

// globals parses the options before the command, and changes the directory for -chdir. As in Terraform, -help and
// -version count at any position, because people append them to command lines.
func globals(a *command.App, args []string) (g global, rest []string, problem string) {
	asked := args
	if end := slices.Index(asked, "--"); end >= 0 {
		asked = asked[:end]
	}
	g = global{help: slices.ContainsFunc(asked, isHelp), version: slices.ContainsFunc(asked, isVersion)}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[0], "-"), "-"), "=")
		switch {
		case name == "chdir" && (!hasValue || value == ""):
			return g, nil,
				"Invalid -chdir option: must include an equals sign followed by a directory path, like -chdir=example"
		case name == "chdir":
			if err := os.Chdir(value); err != nil {
				return g, nil, "Error handling -chdir option: " + err.Error()
			}
		case isHelp(args[0]), isVersion(args[0]):
		case name == "install-autocomplete" && !hasValue:
			g.install = true
		case name == "uninstall-autocomplete" && !hasValue:
			g.uninstall = true
		case g.version:
			return g, args, "" // options of the command version
		default:
			return g, nil,
				fmt.Sprintf(
					"Unknown option %s before the command. Put the options of a command after it: %s COMMAND %s.",
					args[0], a.Program, args[0])
		}
		args = args[1:]
	}
	return g, args, ""
}

// environmentArguments inserts the arguments of TF_CLI_ARGS and TF_CLI_ARGS_name before those of the command line.
func environmentArguments(a *command.App, path string, args []string) ([]string, error) {
	var extra []string
	for _, name := range []string{command.ArgumentsVariable(path), "TF_CLI_ARGS"} {
		words, err := splitWords(a.Getenv(name))
		if err != nil {
			return nil, fmt.Errorf("the environment variable %s cannot be split into arguments: %w", name, err)
		}
		extra = append(extra, words...)
	}
	return append(extra, args...), nil
}

// splitWords splits like a shell: by white space, with quotes and backslashes, without any substitution. Names of files
// may contain any byte.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	var quote byte
	escaped := false
	for i := range len(s) {
		r := s[i]
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' && r != '$' && r != '`' {
				word.WriteByte('\\')
			}
			word.WriteByte(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteByte(r)
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
			word.WriteByte(r)
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

func unknown(a *command.App, name string) command.Outcome {
	fmt.Fprintf(a.Err, "%s has no command named %q.%s\n\nTo see all of its commands, run:\n  %s -help\n\n", a.Title,
		name, diag.DidYouMean(name, names(Commands())), a.Program)
	return command.Misused
}

func names(list []*command.Command) (out []string) {
	for _, cmd := range list {
		if !cmd.Hidden {
			out = append(out, cmd.Name)
		}
	}
	return out
}

// usage prints the list of commands.
func usage(a *command.App) {
	fmt.Fprintf(a.Out, "Usage: %s [global options] <command> [options] [arguments]\n", a.Program)
	for _, first := range []bool{true, false} {
		if first {
			fmt.Fprint(a.Out, "\nMain commands, in the order of use:\n")
		} else {
			fmt.Fprint(a.Out, "\nAll other commands:\n")
		}
		for _, cmd := range Commands() {
			if cmd.Main == first && !cmd.Hidden {
				fmt.Fprintf(a.Out, "  %-13s %s\n", cmd.Name, cmd.Short)
			}
		}
	}
	fmt.Fprint(a.Out, "\nGlobal options (before the command):\n")
	for _, o := range GlobalOptions {
		fmt.Fprintf(a.Out, "  %-24s %s\n", o.Usage(), o.Text)
	}
	fmt.Fprintf(a.Out, "\nRun \"%s COMMAND -help\" for the options of a command, its exit codes\nand the environment "+
		"variables it reads.\n", a.Program)
}

// GlobalOptions are the options before the name of the command.
var GlobalOptions = []command.Flag{
	{Name: "chdir", Value: "DIR", Text: "Switch to DIR before running the command."},
	{Name: "help", Text: "Show this list, or the help of a command."},
	{Name: "version", Text: "Show the version, as the command version does."},
	{Name: "install-autocomplete", Text: "Install command completion for your shells."},
	{Name: "uninstall-autocomplete", Text: "Uninstall command completion."},
}

func isHelp(arg string) bool { return arg == "-help" || arg == "--help" || arg == "-h" }

func isVersion(arg string) bool { return arg == "-version" || arg == "--version" || arg == "-v" }
