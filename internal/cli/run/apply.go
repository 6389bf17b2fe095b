package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Apply is the command apply.
func Apply() *command.Command {
	return &command.Command{
		Name: "apply", Short: "Create, change and destroy objects to match the configuration", Args: "[PLANFILE]",
		Main: true,
		Long: `Make a plan, show it, ask for approval and apply it. With PLANFILE, a file that "~ plan -out" saved,
apply exactly that plan without asking.`,
		Example: `~ apply
~ apply -auto-approve -var size=3
~ plan -out=change.plan && ~ apply change.plan`,
		Setup: func(c *command.Call) command.Run { return setupApply(c, false) },
	}
}

// Destroy is the command destroy.
func Destroy() *command.Command {
	return &command.Command{
		Name: "destroy", Short: "Destroy all objects in the state", Main: true,
		Long: `Plan to destroy all objects, show the plan, ask for approval and apply it. This is the same as "~
apply -destroy".`,
		Example: `~ destroy
~ destroy -target=module.network`,
		Setup: func(c *command.Call) command.Run { return setupApply(c, true) },
	}
}

func setupApply(c *command.Call, destroy bool) func(context.Context) command.Outcome {
	p := &planning{}
	p.flags(c)
	c.StateWriteFlags(&p.StateFiles)
	var approved bool
	c.Flags.BoolVar(&approved, "auto-approve", false, "Do not ask for approval.")
	p.reportFlag(c, "plan before the question, and of the apply at its end,")
	var expected string
	if !destroy {
		c.Flags.StringVar(&expected, "expect-plan", "",
			"Apply the saved plan only if its file has this `HASH`, as \"show -markdown\" prints it.")
	}
	c.Flags.BoolVar(&p.forgetting, "suppress-forget-errors", false, "Do not report an error if a destroy leaves "+
		"objects behind because of destroy = false. Only projects of OpenTofu have this error.")
	return func(ctx context.Context) command.Outcome {
		c.StatePath = p.Out
		switch {
		case destroy && p.destroy:
			return c.Misuse("Invalid mode option",
				"The command destroy always destroys: remove the option -destroy.")
		case destroy && p.refreshOnly:
			return c.Misuse("Invalid mode option",
				"The command destroy always destroys: remove the option -refresh-only, or use \"%s refresh\".",
				c.Program)
		case len(c.Args) > 0 && destroy:
			return c.TooMany(0)
		case len(c.Args) > 1:
			return c.TooMany(1)
		case len(c.Args) == 1:
			return applySaved(ctx, c, p, c.Args[0], expected)
		case expected != "":
			return c.Misuse("Saved plan required", "-expect-plan needs a saved plan: add its file.")
		case c.JSON && !approved:
			return c.End(diag.List{}.Errorf(nil, "Plan file or auto-approve required", "With -json, the command "+
				"cannot ask for approval. Use a saved plan, or -auto-approve."))
		}
		p.destroy = p.destroy || destroy
		return runApply(ctx, c, p, approved)
	}
}

// runApply plans, asks and applies, in rounds if plans defer something.
func runApply(ctx context.Context, c *command.Call, p *planning, approved bool) command.Outcome {
	s, ok := begin(ctx, c, p, kind{operation: state.OperationApply})
	if !ok {
		return command.Failed
	}
	defer s.end()
	var done engine.Rounds
	for {
		pl, diags := s.plan()
		if pl != nil {
			if approved && pl.Applyable() && !pl.Errored {
				s.project.BeginApply(pl) // while the plan is shown
			}
			c.View().Plan(pl, s.schemas(pl))
		}
		if pl != nil && !pl.Errored {
			diags = diags.Extend(done.Stuck(pl))
		}
		if pl == nil || pl.Errored || diags.HasErrors() {
			c.Report(diags.Extend(s.report(pl, diags, nil)))
			s.halt(diags)
			return command.Failed
		}
		if !approved && pl.Applyable() {
			c.Report(diags.Extend(s.report(pl, diags, nil))) // the user should see them before the approval
			diags = nil
			if ok, problems := approve(s.ctx, c, pl); !ok {
				c.Report(problems)
				s.halt(problems)
				return command.Failed
			}
		}
		if !engine.Continues(pl) {
			return s.perform(pl, s.options.Variables, diags)
		}
		if diags = s.apply(pl, s.options.Variables, diags); diags.HasErrors() {
			return s.finish(pl, diags)
		}
		c.Report(diags)
		c.Tell("\nRound %d is complete. Planning what was deferred.\n", done.Count(pl))
		s.applied = append(s.applied, pl)
		s.warnings, s.options.ForceReplace = nil, engine.Unreplaced(s.options.ForceReplace, pl)
	}
}

// perform applies a plan and shows the results. The diagnostics are those of planning that were not shown yet.
func (s *session) perform(pl *plan.Plan, values map[string]cty.Value, diags diag.List) command.Outcome {
	return s.finish(pl, s.apply(pl, values, diags))
}

// apply applies a plan. It returns the diagnostics that are not shown yet.
func (s *session) apply(pl *plan.Plan, values map[string]cty.Value, diags diag.List) diag.List {
	_, more := s.run.ApplyWith(s.ctx, pl, engine.ApplyOptions{Ephemeral: ephemeral(pl, values),
		KeepOutputs: s.call.Path == "refresh"})
	return slices.DeleteFunc(diags, engine.OfCheckBlock).Extend(more) // the checks were evaluated again
}

// finish releases the lock and shows the results of the last plan that was applied.
func (s *session) finish(pl *plan.Plan, diags diag.List) command.Outcome {
	c := s.call
	after := s.run.State()
	if !s.release() {
		c.Report(diags)
		return command.Failed
	}
	incomplete := diags.HasErrors() && c.Path != "refresh"
	diags = diags.Extend(s.leftBehind(pl, diags))
	if incomplete {
		diags = diags.Numbered()
	}
	c.Report(diags)
	ending := view.Ending{Earlier: s.applied, Plan: pl, State: after, Problems: diags, Saved: s.saved,
		Where: s.stateName()}
	switch {
	case incomplete:
		c.View().Incomplete(ending)
	case !diags.HasErrors():
		c.View().Applied(ending)
	}
	if !c.Report(s.report(pl, diags, s.recorder)) || diags.HasErrors() {
		return command.Failed
	}
	return command.Done
}

// halt shows what earlier rounds have done, if there were any, when no further one is applied.
func (s *session) halt(problems diag.List) {
	if len(s.applied) == 0 {
		return
	}
	ending := view.Ending{Earlier: s.applied, State: s.run.State(), Problems: problems, Where: s.stateName()}
	if s.release() {
		s.call.View().Incomplete(ending)
	}
}

// stateName returns the location of the state for people, or "" if it is unknown.
func (s *session) stateName() string {
	if file := cmp.Or(s.flags.Out, s.flags.In); file != "" {
		return file
	}
	b, diags := s.call.Backend(s.project.Config().Root)
	if diags.HasErrors() {
		return ""
	}
	return engine.StateName(b, s.project.Workspace())
}

// leftBehind returns an error for objects that a destroy has only forgotten, as OpenTofu does: success of a destroy
// means that no object is left.
func (s *session) leftBehind(pl *plan.Plan, diags diag.List) diag.List {
	n := pl.Summary().Forget
	if s.flags.forgetting || pl.Mode != plan.Destroy || n == 0 || diags.HasErrors() ||
		s.call.Flavor() != flavor.OpenTofu {
		return nil
	}
	return diag.List{}.Errorf(nil, "Destroy was successful but left behind forgotten instances", "Objects that the "+
		"plan names (%d in all) have left the state and were not destroyed, because their configuration says destroy "+
		"= false. They still exist, and nothing manages them. To not report this as an error, use "+
		"-suppress-forget-errors.",
		n)
}

// approve asks whether to apply a plan.
func approve(ctx context.Context, c *command.Call, pl *plan.Plan) (bool, diag.List) {
	where := "?"
	if pl.Workspace != state.DefaultWorkspace {
		where = fmt.Sprintf(" in workspace %q?", pl.Workspace)
	}
	title, text := "Do you want to perform these actions"+where,
		c.Title+" will perform the actions described above.\nOnly 'yes' will be accepted to approve."
	switch pl.Mode {
	case plan.Destroy:
		title, text = "Do you really want to destroy all resources"+where, c.Title+" will destroy all your managed "+
			"infrastructure, as shown above.\nThere is no undo. Only 'yes' will be accepted to confirm."
	case plan.RefreshOnly:
		title, text = "Would you like to update the state to reflect these detected changes?",
			c.Title+" will write these changes to the state without modifying any real object.\nThere is no undo. "+
				"Only 'yes' will be accepted to confirm."
	}
	fmt.Fprintln(c.Out)
	answer, err := c.Ask(ctx, title, text, false)
	switch {
	case err != nil:
		fmt.Fprintln(c.Out)
		return false, diag.List{}.Errorf(nil, "error asking for approval: "+err.Error(),
			"Nothing was changed. Without interactive input, use -auto-approve, or save a plan and apply it.")
	case answer != "yes":
		word := "Apply"
		if pl.Mode == plan.Destroy {
			word = "Destroy"
		}
		c.Tell("%s cancelled.\n", word)
		return false, nil
	}
	return true, nil
}
