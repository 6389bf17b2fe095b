package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/term"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/console"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// Console is the command console.
func Console() *command.Command {
	return &command.Command{
		Name: "console", Short: "Evaluate expressions interactively",
		Long: `Read expressions from standard input and print their values. Expressions can use the variables, local
values, modules and resources of the configuration. Resources have the values from the state or, with -plan, from a
new plan. Nothing is changed. The state is locked while the console runs.

If standard input is a pipe, the value of the last expression is printed, and the first error ends the command. An
expression with open brackets or an open heredoc continues on the next line.`,
		Exits: `0  All expressions were evaluated, or the console was interactive.
1  There were errors.`,
		Example: `echo 'cidrsubnet("10.0.0.0/8", 8, 2)' | ~ console`,
		Setup: func(c *command.Call) command.Run {
			k := &consoleCommand{call: c}
			c.StateReadFlags(&k.files)
			k.variables.VariableFlags(c)
			k.locking.LockFlags(c)
			c.LinesIntoFlag()
			c.Flags.BoolVar(&k.plan, "plan", false,
				"Make a plan first, and use its values instead of those in the state.")
			scope := c.Flags.String("scope", "", "Evaluate in the module instance at `ADDRESS`, such as module.net "+
				"or module.net[\"a\"], instead of the root module.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany(0)
				}
				if diags := k.enter(*scope); diags.HasErrors() {
					return c.End(diags)
				}
				return k.run(ctx)
			}
		},
	}
}

type consoleCommand struct {
	call      *command.Call
	files     command.StateFiles
	variables command.Variables
	locking   command.Locking
	plan      bool
	scope     addr.ModuleInstance
}

// enter parses the address of the scope.
func (k *consoleCommand) enter(scope string) (diags diag.List) {
	if scope == "" {
		return nil
	}
	t, diags := addr.ParseTarget(scope)
	if !diags.HasErrors() && !t.IsModule() {
		return diags.Errorf(nil, "Invalid module instance address",
			"%q, set by -scope, is not a module instance. Use an address such as module.net or module.net[\"a\"].",
			scope)
	}
	k.scope = t.Module
	return diags
}

// run evaluates until the input ends. Nothing is changed, so the first interrupt cancels everything. The state is
// locked only when everything else is ready for the first expression.
func (k *consoleCommand) run(ctx context.Context) command.Outcome {
	c := k.call
	ctx, running := c.Interruptible(ctx)
	defer running.End()
	project, diags := c.Project(ctx, command.ProjectOptions{Files: k.files, Terse: true, Abort: ctx})
	if !c.Report(diags) {
		return command.Failed
	}
	defer project.Close()
	values, diags := k.values(project.Config().Root)
	if !c.Report(diags) || !c.Report(project.Prepare()) {
		return command.Failed
	}
	options := k.locking.OpenOptions(state.OperationPlan)
	options.Reading = true
	run, diags := project.Open(ctx, options)
	if !c.Report(diags) {
		return command.Failed
	}
	outcome := k.converse(ctx, run, values)
	if !c.Report(run.Close(context.WithoutCancel(ctx))) {
		return command.Failed
	}
	return outcome
}

// values returns the variables of the root module; unset ones are unknown.
func (k *consoleCommand) values(root *config.Module) (map[string]cty.Value, diag.List) {
	raw, sources, diags := config.CollectValues(config.ValueSources{Files: config.OSFiles("."), Environ: k.call.Environ,
		Options: k.variables.Options})
	k.call.AddSources(sources)
	if diags.HasErrors() {
		return nil, diags
	}
	for _, v := range root.Unset(raw) {
		raw[v.Name] = config.RawValue{Value: cty.UnknownVal(v.Type)}
	}
	_, more := root.VariableValues(raw)
	return root.RawValues(raw), diags.Extend(more)
}

func (k *consoleCommand) converse(ctx context.Context, run *engine.Run, values map[string]cty.Value) command.Outcome {
	c := k.call
	evaluator, diags := run.Console(ctx, engine.ConsoleOptions{Plan: k.plan, Variables: values,
		Scope: k.scope})
	if diags.HasErrors() && evaluator != nil {
		diags = diags.Warnf(nil,
			"Not everything could be evaluated: results of expressions that depend on failed objects may be wrong.", "")
	}
	c.Report(diags)
	if evaluator == nil {
		return command.Failed
	}
	shown := func(expr hcl.Expression, src []byte) (cty.Value, diag.List) {
		v, diags := evaluator.Evaluate(expr, src)
		return c.ViewOptions().Public(v), diags
	}
	session := console.NewSession(shown, evaluator.Redact)
	var outcome command.Outcome
	if terminal := c.In.Terminal(); terminal != nil {
		outcome = k.dialogue(ctx, session, terminal)
	} else {
		outcome = k.pipe(ctx, session)
	}
	if !c.Report(evaluator.Close()) {
		return command.Failed
	}
	return outcome
}

// pipe evaluates all of standard input. As in Terraform, the last value is printed and the first error ends it.
func (k *consoleCommand) pipe(ctx context.Context, session *console.Session) command.Outcome {
	var last string
	for end := false; !end; {
		line, err := awaited(ctx, func() (string, error) { return k.call.In.Reader.ReadString('\n') })
		if ctx.Err() != nil {
			return command.Failed
		}
		if err != nil && err != io.EOF {
			return k.call.Finish("Cannot read the input", err)
		}
		end = err == io.EOF
		if !end || line != "" {
			session.Add(strings.TrimRight(line, "\r\n"))
		}
		if session.Open() && !end || !session.Pending() {
			continue
		}
		answer := session.Answer()
		switch {
		case !k.call.Report(answer.Diagnostics):
			return command.Failed
		case answer.Exit:
			return command.Done
		}
		last = answer.Text
	}
	k.call.View().Tell(view.Notice{Text: last + "\n", Message: last})
	return command.Done
}

// awaited returns the result of a read, or an error when the context ends. The read itself cannot be cancelled: it
// continues until the process ends.
func awaited(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := read()
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		return a.line, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// dialogue evaluates expressions from a terminal. It prints errors and continues.
func (k *consoleCommand) dialogue(ctx context.Context, session *console.Session, terminal *os.File) command.Outcome {
	c := k.call
	lines := newEditor(terminal, c.In.Reader, c.Out)
	for {
		prompt := console.Prompt
		if session.Open() {
			prompt = console.Continuing
		}
		line, err := lines.read(ctx, prompt)
		if ctx.Err() != nil {
			return command.Failed
		}
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(c.Out)
			return command.Done
		}
		if err != nil {
			return c.Finish("Cannot read from the terminal", err)
		}
		if session.Add(line); session.Open() {
			continue
		}
		answer := session.Answer()
		if answer.Exit {
			return command.Done
		}
		c.Report(answer.Diagnostics)
		c.View().Tell(view.Notice{Text: answer.Text + "\n", Message: answer.Text})
	}
}

// editor reads lines from a terminal, with line editing and a history.
type editor struct {
	terminal *os.File
	lines    *term.Terminal
}

func newEditor(terminal *os.File, in *bufio.Reader, out io.Writer) *editor {
	return &editor{terminal: terminal, lines: term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "")}
}

// read sets the terminal to raw mode only while a line is typed, so that printing and interrupts work as usual
// otherwise.
func (e *editor) read(ctx context.Context, prompt string) (string, error) {
	fd := int(e.terminal.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer term.Restore(fd, before)
	if width, height, err := term.GetSize(fd); err == nil {
		_ = e.lines.SetSize(width, height)
	}
	e.lines.SetPrompt(prompt)
	line, err := awaited(ctx, e.lines.ReadLine)
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}
