package run

import (
	"context"
	"io"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Plan is the command plan.
func Plan() *command.Command {
	return &command.Command{
		Name: "plan", Short: "Show the changes that apply would make", Main: true,
		Long: `Compare the configuration with the state and the real objects, and show what "~ apply" would create,
change and destroy. Nothing is changed.

With -out, the plan is saved. "~ apply FILE" then applies exactly that plan.`,
		Exits: `0  A plan was made.
1  There were errors.
2  With -detailed-exitcode: the plan has changes, or leaves some out
   because an interrupted creation must be resolved first, or because it
   cannot plan them yet (-allow-deferral).`,
		Example: `~ plan -out=change.plan
~ plan -detailed-exitcode -refresh-only`,
		Setup: func(c *command.Call) command.Run {
			p := &planning{}
			p.flags(c)
			c.StateReadFlags(&p.StateFiles)
			var out string
			var detailed bool
			c.Flags.StringVar(&out, "out", "", "Save the plan to `FILE`.")
			c.Flags.StringVar(&p.generate, "generate-config-out", "",
				"Write configuration for imported objects that have none to `FILE`, which must not exist yet.")
			p.reportFlag(c, "plan")
			p.problems = c.ProblemFiles()
			c.Flags.BoolVar(&detailed, "detailed-exitcode", false,
				"Exit with 2 if there are changes, 0 if there are none, and 1 after errors.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany(0)
				}
				return runPlan(ctx, c, p, out, detailed)
			}
		},
	}
}

func runPlan(ctx context.Context, c *command.Call, p *planning, out string, detailed bool) command.Outcome {
	s, ok := begin(ctx, c, p, kind{operation: state.OperationPlan, reading: true})
	if !ok {
		return command.Failed
	}
	defer s.end()
	if out != "" {
		if err := c.PlanReady(ctx, s.project.Config().Root); err != nil {
			return c.Finish("The plan could not be saved", err)
		}
	}
	pl, diags := s.plan()
	if pl != nil && out != "" {
		err := replace.Detach(c.Surroundings.In("."), out)
		if err == nil {
			err = replace.Exact(out, 0o600, func(w io.Writer) error {
				return c.WritePlan(ctx, w, s.project.Config().Root, pl)
			})
		}
		if err != nil {
			diags = diags.AppendError("Failed to write plan file", err)
			out = ""
		}
	}
	if pl != nil {
		c.View().Plan(pl, s.schemas(pl))
		diags = diags.Extend(s.report(pl, diags, nil))
	}
	diags = diags.Extend(p.problems.Write(diags))
	ok = c.Report(diags)
	if pl != nil && !pl.Errored && ok {
		c.View().NextStep(view.NextStep{Plan: pl, PlanFile: out, GeneratedConfig: generatedFile(p.generate, pl)})
	}
	switch ok = s.release() && ok; {
	case !ok || pl == nil:
		return command.Failed
	case detailed && (pl.Applyable() || len(pl.LeftOut)+len(pl.Deferred) > 0 && pl.Mode != plan.RefreshOnly):
		return command.Changes
	}
	return command.Done
}
