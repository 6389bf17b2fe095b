package stacks

import (
	"context"
	"io"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/state"
)

const patternArgs = "[PATTERN...]"

func planCommand() *command.Command {
	return &command.Command{
		Name: "plan", Short: "Show the changes that apply would make in all units", Args: patternArgs,
		Long: `Plan the units whose names match a PATTERN, or all units, each after those that it depends on. Nothing is
changed.

A unit is deferred if it needs an output that is known only after another unit was applied. With -out, the plans of all
units are saved in one file, which "~ stack apply FILE" applies.`,
		Exits: `0  Plans were made.
1  There were errors.
2  With -detailed-exitcode: a plan has changes, or a unit is deferred.`,
		Example: `~ stack plan
~ stack plan -changed-since=origin/main -with-dependents
~ stack plan 'live/eu/*' -out=eu.plan`,
		Mixed: true,
		Setup: func(c *command.Call) command.Run {
			o := &running{}
			o.planFlags(c)
			var out string
			var detailed bool
			c.Flags.BoolVar(&o.destroy, "destroy", false, "Plan to destroy all objects.")
			c.Flags.StringVar(&out, "out", "", "Save the plans of all units to `FILE`.")
			c.Flags.BoolVar(&detailed, "detailed-exitcode", false,
				"Exit with 2 if there are changes, 0 if there are none, and 1 after errors.")
			return func(ctx context.Context) command.Outcome {
				if !o.check(c) {
					return command.Misused
				}
				return o.plan(ctx, c, out, detailed)
			}
		},
	}
}

func (o *running) plan(ctx context.Context, c *command.Call, out string, detailed bool) command.Outcome {
	o.evenNone = out != ""
	s, outcome := o.start(ctx, c, state.OperationPlan)
	if s == nil {
		return outcome
	}
	defer s.end()
	list := s.plan()
	s.board.results(list, true)
	s.board.summary(list)
	failed := s.failed()
	if !s.report(false) {
		failed = true
	}
	switch {
	case out == "":
	case failed:
		c.Report(diag.List{}.Errorf(nil, "Plan file was not written", "Not all units were planned, so there is no "+
			"complete plan to save in %s. Fix the errors, or leave out units with -exclude.", out))
	default:
		err := replace.Detach(c.Surroundings.In("."), out)
		if err == nil {
			err = replace.Exact(out, 0o600, func(w io.Writer) error { return s.run.Write(s.ctx, w) })
		}
		if err != nil {
			return c.Finish("Failed to write plan file", err)
		}
		c.Tell("\nThe plans were saved to %s. To apply exactly these, run:\n  %s stack apply %[1]s\n", out, c.Program)
	}
	switch {
	case failed:
		return command.Failed
	case detailed && (s.run.Applyable() || s.run.Pending()):
		return command.Changes
	}
	return command.Done
}

// counts returns the number of units in phases.
func counts(list []*stack.Result, phases ...stack.Phase) (n int) {
	for _, r := range list {
		for _, p := range phases {
			if r.Phase == p {
				n++
			}
		}
	}
	return n
}
