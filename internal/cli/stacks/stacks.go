// Package stacks has the commands of the family stack, which work on the units of a stack: many root modules in one
// run. Package stack does the work; this package has the flags (this file), the display of what happens (show.go), and
// a file for each command.
package stacks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/report"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Stack is the family of commands.
func Stack() *command.Command {
	members := []*command.Command{applyCommand(), destroyCommand(), driftCommand(), graphCommand(), importCommand(),
		initCommand(), listCommand(), outputCommand(), planCommand()}
	for _, m := range members {
		m.Hint = elsewhere
	}
	return &command.Command{
		Name: "stack", Short: "Plan and apply many root modules together",
		Long: `Work on the units of a stack: root modules that unit blocks in the project file of this directory
name, with what they need from each other.`,
		Members: members,
	}
}

// elsewhere returns advice about an option of the single commands, or "".
func elsewhere(option string) string {
	name, _, _ := strings.Cut(option, "=")
	switch name {
	case "var", "var-file":
		return "Set values with the arguments variables and var_files of the unit blocks in tombolo.hcl."
	case "target", "replace", "refresh-only", "exclude", "allow-deferral", "generate-config-out", "state", "backup",
		"state-out":
		return "A stack has no such option: use it with the single command, in the directory of a unit, as in " +
			"\"-chdir=DIR plan -" + name + "\". Values that tombolo.hcl sets for the unit must be set there with -var."
	case "input":
		return "Commands of stacks ask only for approval: use -auto-approve, or a saved plan."
	case "backend-config", "migrate-state", "backend", "from-module":
		return "A stack has no such option: run init in the directory of the unit."
	}
	return ""
}

// choice holds the flags that select units. The arguments are patterns of names.
type choice struct {
	stack.Choice

	since   string
	atOnce  int
	removed bool // warn of units that were removed lately, also without a commit
}

func (o *choice) flags(c *command.Call) {
	c.StringsFlag(&o.Except, "exclude", "Leave out the units whose names match `PATTERN`. May be given more than once.")
	c.Flags.StringVar(&o.since, "changed-since", "",
		"Select only units whose files differ from those of the git commit `COMMIT`.")
	c.Flags.BoolVar(&o.Choice.Dependents, "with-dependents", false,
		"Also select all units that depend on the selected ones.")
	c.Flags.BoolVar(&o.Choice.Dependencies, "with-dependencies", false,
		"Also select all units that the selected ones depend on.")
}

// load reads the stack and chooses units.
func (o *choice) load(ctx context.Context, c *command.Call) (*stack.Stack, []*stack.Unit, bool) {
	if o.since == "" && c.FlagGiven("changed-since") { // as from a variable that is not set
		c.Report(diag.List{}.Errorf(nil, "Failed to find changed units", "The value of -changed-since is empty. "+
			"Expected a commit, such as origin/main."))
		return nil, nil, false
	}
	s, ok := loadStack(ctx, c)
	if !ok {
		return nil, nil, false
	}
	how := o.Choice
	how.Patterns = c.Args
	if o.since != "" {
		changed, diags := s.Changed(ctx, &c.Surroundings, o.since)
		if !c.Report(diags) {
			return nil, nil, false
		}
		how.Changed = changed
	}
	if o.removed || o.since != "" {
		aside(c, s.Removed(ctx, &c.Surroundings, o.since))
	}
	units, diags := s.Choose(how)
	return s, units, c.Report(diags)
}

// aside shows warnings on standard error, as standard output may be read by a program.
func aside(c *command.Call, diags diag.List) {
	if c.JSON {
		c.Report(diags)
		return
	}
	for _, d := range c.Named(diags) {
		fmt.Fprintf(c.Err, "Warning: %s. %s\n", view.CleanLine(d.Summary), view.CleanLine(d.Text(c.Program)))
	}
}

// unreadable warns of units whose configuration cannot be read, on standard error.
func unreadable(c *command.Call, s *stack.Stack, units []*stack.Unit) {
	for _, u := range units {
		for _, d := range s.Broken(u) {
			if d.Severity == diag.Error {
				fmt.Fprintf(c.Err, "Warning: the configuration of the unit %s cannot be read, so dependencies may be "+
					"missing: %s. \"%s %s\" shows the error.\n", u.Name, view.CleanLine(d.Summary),
					c.Program, diag.Run("stack", "plan", u.Name))
				break
			}
		}
	}
}

// loadStack reads the stack of the working directory with all its edges.
func loadStack(ctx context.Context, c *command.Call) (*stack.Stack, bool) {
	c.Settings() // shows its warnings
	file, diags := c.ProjectFile()
	if !c.Report(diags) {
		return nil, false
	}
	s, diags := stack.Load(".", file)
	if !diags.HasErrors() {
		diags = diags.Extend(s.FindStates(ctx, &c.Surroundings))
	}
	return s, c.Report(diags)
}

// running holds the flags of commands that make plans.
type running struct {
	choice
	command.Locking

	parallelism          int
	refresh, minimal     bool
	evenNone             bool // a run over no units is meant, to write an empty plan file
	destroy, refreshOnly bool
	accept               string // the file with accepted drift
	report               string // the file of the report
}

func (o *running) flags(c *command.Call) {
	o.removed = true
	o.choice.flags(c)
	o.LockFlags(c)
	c.Flags.IntVar(&o.atOnce, "units-at-once", 0,
		"Work on at most `N` units at the same time, instead of the number in the project file.")
	c.Flags.IntVar(&o.parallelism, "parallelism", 10, "Run at most `N` provider operations of a unit at the same time.")
}

// planFlags declares the flags of plan, apply and destroy.
func (o *running) planFlags(c *command.Call) {
	o.flags(c)
	c.Flags.BoolVar(&o.refresh, "refresh", true, "Do not read the real objects before planning; trust the state.")
	c.Flags.BoolVar(&o.minimal, "minimal-refresh", false,
		"Read only the real objects that change or depend on a change; trust the state for all others.")
	c.LineFlags()
	c.ProgressFlags()
	c.SecretsFlag()
	c.FullFlag()
	o.reportFlag(c)
}

// check reports invalid flags.
func (o *running) check(c *command.Call) bool {
	switch {
	case o.atOnce < 0 || o.atOnce == 0 && c.FlagGiven("units-at-once"):
		c.Misuse("Invalid limit", "-units-at-once is %d. Expected 1 or more.", o.atOnce)
	case o.parallelism < 0:
		c.Misuse("Invalid parallelism value", "The parallelism must be a positive number, not %d.", o.parallelism)
	case o.minimal && (!o.refresh || o.destroy):
		c.Misuse("Incompatible refresh options",
			"The option -minimal-refresh conflicts with -refresh=false and with destroying: remove one of them.")
	case o.report != "":
		if info, err := os.Stat(filepath.Dir(o.report)); err != nil || !info.IsDir() {
			c.Misuse("The report cannot be written", "The option -report names %q, but there is no such folder as %s. "+
				"Create it, or use another name.", o.report, filepath.Dir(o.report))
			return false
		}
		return true
	default:
		return true
	}
	return false
}

// session is a run over units, from its first signal handler to the release of the locks.
type session struct {
	*board

	flags   *running
	call    *command.Call
	ctx     context.Context
	running *command.Running
	stack   *stack.Stack
	units   []*stack.Unit
	run     *stack.Run
}

// begin starts a run over units. The caller must end it.
func (o *running) begin(ctx context.Context, c *command.Call, s *stack.Stack, units []*stack.Unit,
	operation state.Operation) *session {
	if o.atOnce > 0 {
		s.AtOnce = o.atOnce
	}
	out := &session{flags: o, call: c, stack: s, units: units}
	out.ctx, out.running = c.Interruptible(ctx)
	out.board = newBoard(c, out.running, units)
	if o.report != "" {
		for _, ub := range out.board.units {
			ub.recorder = &report.Recorder{}
		}
	}
	mode := plan.Normal
	switch {
	case o.destroy:
		mode = plan.Destroy
	case o.refreshOnly:
		mode = plan.RefreshOnly
	}
	open := o.OpenOptions(operation)
	open.Reading = operation == state.OperationPlan
	out.run = stack.NewRun(stack.Options{Stack: s, Units: units, Base: &c.Surroundings,
		Plan:        engine.PlanOptions{Mode: mode, SkipRefresh: !o.refresh, MinimalRefresh: o.minimal},
		Open:        open,
		FileLocks:   open.Reading && !o.Locking.Given(c),
		Keep:        operation == state.OperationApply,
		Parallelism: o.parallelism, Abort: out.running.Abort, Watcher: out.board,
	})
	return out
}

// start chooses units and begins a run over them. Without a run, the command ends with the outcome.
func (o *running) start(ctx context.Context, c *command.Call, operation state.Operation) (*session, command.Outcome) {
	st, units, ok := o.load(ctx, c)
	if !ok {
		return nil, command.Failed
	}
	if len(units) == 0 {
		c.Tell("No units are selected.\n")
		if !o.evenNone {
			return nil, command.Done
		}
	}
	s := o.begin(ctx, c, st, units, operation)
	if o.destroy && !c.Report(s.run.StillNeeded(s.ctx)) {
		s.end()
		return nil, command.Failed
	}
	return s, command.Done
}

// end releases the locks.
func (s *session) end() {
	s.board.close()
	s.call.Report(s.run.Close(s.ctx))
	s.running.End()
}

// failed reports whether a unit failed or was skipped.
func (s *session) failed() bool {
	for _, r := range s.run.Results() {
		if r.Phase == stack.Failed || r.Phase == stack.Skipped {
			return true
		}
	}
	return false
}

// shown prepares the problems of a unit for people: with the command for its directory, except for those that need the
// values of the stack.
func shown(c *command.Call, u *stack.Unit, diags diag.List) diag.List {
	c.ReadSources(diags)
	words := diag.Named(u.Program(c.Program))
	single := words.Command
	words.Command = func(cmd diag.Command) string {
		switch cmd.Words[0] {
		case "plan", "apply", "destroy":
			return c.Program + " " + diag.Run("stack", cmd.Words[0], u.Name).String()
		}
		return single(cmd)
	}
	if !c.JSON { // lines of JSON have the member unit
		diags = stack.InUnit(diags, u)
	}
	return diags.In(words)
}
