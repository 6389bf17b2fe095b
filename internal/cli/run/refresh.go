package run

import (
	"context"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/state"
)

// Refresh is the command refresh.
func Refresh() *command.Command {
	return &command.Command{
		Name: "refresh", Short: "Update the state to match the real objects",
		Long: `Read the real objects and record what has changed. This is the same as "~ apply -refresh-only
-auto-approve".`,
		Setup: func(c *command.Call) command.Run {
			p := &planning{refresh: true, refreshOnly: true}
			p.Variables.VariableFlags(c)
			p.Locking.LockFlags(c)
			c.StateWriteFlags(&p.StateFiles)
			p.choice(c)
			p.limits(c)
			c.ProgressFlags()
			c.DeprecationFlag()
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany(0)
				}
				return runRefresh(ctx, c, p)
			}
		},
	}
}

// runRefresh records changes of real objects without showing a plan.
func runRefresh(ctx context.Context, c *command.Call, p *planning) command.Outcome {
	s, ok := begin(ctx, c, p, kind{operation: state.OperationRefresh, withoutConfiguration: true})
	if !ok {
		return command.Failed
	}
	defer s.end()
	if len(s.run.State().Resources()) == 0 {
		c.Report(diag.List{}.Warnf(nil, "Empty or non-existent state",
			"The state holds no objects, so there is nothing to refresh."))
	}
	s.options.Strict = true
	pl, diags := s.plan()
	if pl == nil || pl.Errored || diags.HasErrors() {
		c.Report(diags)
		return command.Failed
	}
	return s.perform(pl, s.options.Variables, diags)
}
