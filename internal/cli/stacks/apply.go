package stacks

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

func applyCommand() *command.Command {
	return &command.Command{
		Name: "apply", Short: "Apply all units, in their order", Args: "[PATTERN... | FILE]", Mixed: true,
		Long: `Plan the units whose names match a PATTERN, or all units, show the plans, ask for approval and apply
them, each unit after those that it depends on. Units that had to wait for an output are planned, shown and applied in
the next round, until none is left.

With FILE, which "~ stack plan -out" saved, apply exactly those plans without asking. If one of them is stale, nothing
is applied.`,
		Exits: `0  All units were applied.
1  There were errors, or a unit was skipped.`,
		Example: `~ stack apply
~ stack apply network -with-dependents -auto-approve
~ stack apply all.plan`,
		Setup: func(c *command.Call) command.Run { return setupApply(c, false) },
	}
}

func destroyCommand() *command.Command {
	return &command.Command{
		Name: "destroy", Short: "Destroy the objects of all units, in reverse order", Args: patternArgs, Mixed: true,
		Long: `Plan to destroy all objects of the units whose names match a PATTERN, or of all units, show the plans,
ask for approval and apply them, each unit before those that it depends on.`,
		Example: `~ stack destroy
~ stack destroy network -with-dependents`,
		Setup: func(c *command.Call) command.Run { return setupApply(c, true) },
	}
}

func setupApply(c *command.Call, destroy bool) command.Run {
	o := &running{destroy: destroy}
	o.Choice.Hint = func(pattern string) string { return notPlan(pattern, destroy) }
	o.planFlags(c)
	var approved bool
	c.Flags.BoolVar(&approved, "auto-approve", false, "Do not ask for approval.")
	var away leaving
	away.flags(c)
	return func(ctx context.Context) command.Outcome {
		if !o.check(c) || !away.check(c, approved) {
			return command.Misused
		}
		if away.on {
			return c.Stoppable(func(ctx context.Context) command.Outcome { return o.leave(ctx, c, &away) })(ctx)
		}
		if len(c.Args) == 1 && !destroy && isPlanFile(c.Args[0]) {
			if !o.fitsSaved(c) {
				return command.Misused
			}
			return o.applySaved(ctx, c, c.Args[0])
		}
		if c.JSON && !approved {
			return c.End(diag.List{}.Errorf(nil, "Plan file or auto-approve required", "With -json, the command "+
				"cannot ask for approval. Use a saved plan, or -auto-approve."))
		}
		return o.apply(ctx, c, approved)
	}
}

// fitsSaved reports options that a plan file leaves no choice about.
func (o *running) fitsSaved(c *command.Call) bool {
	for _, name := range []string{"exclude", "changed-since", "with-dependents", "with-dependencies", "refresh",
		"minimal-refresh"} {
		if c.FlagGiven(name) {
			c.Misuse("Option does not fit a plan file", "The plan file %s already says which units are applied, and "+
				"how. Remove -%s, or use it with \"stack plan -out\".", c.Args[0], name)
			return false
		}
	}
	return true
}

// notPlan explains a pattern that may be meant as the name of a plan file.
func notPlan(name string, destroy bool) string {
	_, err := os.Stat(name)
	switch {
	case err == nil && isPlanFile(name) && destroy:
		return " It is a plan file, which says itself whether it destroys: use \"stack apply " + name + "\"."
	case err == nil && isPlanFile(name):
		return " It is a plan file, which says itself which units are applied: use it without patterns."
	case err == nil:
		return " There is a file of that name, but \"stack plan -out\" has not written it."
	case strings.Contains(name, "plan"):
		return " There is no file of that name either. If it is meant as a plan file, make it with \"stack plan -out=" +
			name + "\"."
	}
	return ""
}

// isPlanFile reports whether an argument is a file that begins like a ZIP archive, and not a pattern.
func isPlanFile(name string) bool {
	f, _, err := command.OpenFile(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := f.Read(head)
	return string(head[:n]) == "PK\x03\x04"
}

func (o *running) apply(ctx context.Context, c *command.Call, approved bool) command.Outcome {
	s, outcome := o.start(ctx, c, state.OperationApply)
	if s == nil {
		return outcome
	}
	defer s.end()
	for round := 1; ; round++ {
		list := s.plan()
		s.board.results(list, true)
		if !s.run.Applyable() {
			return s.conclude()
		}
		s.board.progress(list)
		s.report(round > 1)
		if ok := approved || s.approve(o.destroy, list); !ok {
			if round > 1 {
				s.board.summary(s.run.Results())
			}
			return command.Failed
		}
		applied := s.apply()
		s.board.results(applied, false)
		if !s.run.Pending() || s.ctx.Err() != nil {
			return s.conclude()
		}
		c.Tell("\nRound %d is complete. Planning the units that waited.\n", round)
	}
}

// plan makes the plans of a round.
func (s *session) plan() []*stack.Result {
	s.board.begin(s.run.Results())
	defer s.board.finish(s.run.Results())
	return s.run.Plan(s.ctx)
}

// apply applies the plans of a round.
func (s *session) apply() []*stack.Result {
	s.board.begin(s.run.Results())
	defer s.board.finish(s.run.Results())
	return s.run.Apply(s.ctx)
}

// conclude shows how the units ended.
func (s *session) conclude() command.Outcome {
	list := s.run.Results()
	s.board.summary(list)
	written := s.report(true)
	waiting := counts(list, stack.Deferred, stack.Waiting)
	if waiting > 0 && s.ctx.Err() == nil {
		s.call.Report(diag.List{}.Errorf(nil, "Apply makes no progress", "No plan has changes, but %s still "+
			"for others. The reasons are listed above.", wait(waiting)))
	}
	if waiting > 0 || s.failed() || !written {
		return command.Failed
	}
	return command.Done
}

func countOf(n int) string {
	if n == 1 {
		return "one unit"
	}
	return fmt.Sprintf("%d units", n)
}

// wait returns that a number of units wait.
func wait(n int) string {
	if n == 1 {
		return "one unit waits"
	}
	return fmt.Sprintf("%d units wait", n)
}

// approve asks for approval of a round.
func (s *session) approve(destroy bool, list []*stack.Result) bool {
	c := s.call
	n := counts(list, stack.Planned)
	title, word := fmt.Sprintf("Do you want to apply the plans of %s?", countOf(n)), "Apply"
	text := "Only 'yes' will be accepted to approve."
	if destroy {
		title, word = fmt.Sprintf("Do you really want to destroy the objects of %s?", countOf(n)), "Destroy"
		text = "There is no undo. Only 'yes' will be accepted to confirm."
	}
	if waiting := counts(list, stack.Deferred); waiting > 0 {
		text = fmt.Sprintf("In addition, %s for the next round, whose plans are shown then.\n%s", wait(waiting), text)
	}
	fmt.Fprintln(c.Out)
	answer, err := c.Ask(s.ctx, title, text, false)
	switch {
	case err != nil:
		fmt.Fprintln(c.Out)
		c.Report(diag.List{}.Errorf(nil, "error asking for approval: "+err.Error(),
			"Nothing of this round was changed. Without interactive input, use -auto-approve, or save a plan and "+
				"apply it."))
		return false
	case strings.TrimSpace(answer) != "yes":
		c.Tell("%s cancelled.\n", word)
		return false
	}
	return true
}

// applySaved applies the plans of a file.
func (o *running) applySaved(ctx context.Context, c *command.Call, name string) command.Outcome {
	summary := "Failed to load \"" + name + "\" as a plan file"
	file, size, err := command.OpenFile(name)
	if err != nil {
		return c.Finish(summary, err)
	}
	defer file.Close()
	f, err := stack.OpenFile(file, size)
	if err != nil {
		return c.Finish(summary, err)
	}
	st, ok := loadStack(ctx, c)
	if !ok {
		return command.Failed
	}
	units, diags := st.Chosen(f)
	if !c.Report(diags) {
		return command.Failed
	}
	o.destroy = f.Manifest.Destroy
	s := o.begin(ctx, c, st, units, state.OperationApply)
	defer s.end()
	if o.destroy && !c.Report(s.run.StillNeeded(s.ctx)) {
		return command.Failed
	}
	if diags := s.run.Restore(s.ctx, f); diags.HasErrors() {
		c.Report(diags)
		return command.Failed
	}
	list := s.apply()
	s.board.results(list, false)
	outcome := s.conclude()
	for _, later := range f.Manifest.Deferred {
		c.Tell("The unit %s has no plan in the file: %s. Make another plan for it.\n", view.CleanLine(later.Unit),
			view.CleanLine(later.Reason))
	}
	return outcome
}
