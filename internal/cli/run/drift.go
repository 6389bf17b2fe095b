package run

import (
	"context"
	"time"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/view/drift"
	"github.com/tombolo-iac/tombolo/state"
)

// Drift is the command drift.
func Drift() *command.Command {
	return &command.Command{
		Name: "drift", Short: "Report drift: changes made outside",
		Long: `Read every real object and report where it differs from the state. Nothing is changed, not even the
state.

With -accept, the blocks of a file list accepted drift, each with its reason and its last day:

  accept "aws_instance.web[*]" {
    attributes = ["tags"]
    reason     = "Tagged by the billing team"
    until      = "2027-01-31"
  }`,
		Exits: `0  There is no drift, or all of it is accepted.
1  There were errors.
2  There is drift.`,
		Example: `~ drift -accept=drift.hcl
~ drift -markdown >comment.md`,
		Setup: func(c *command.Call) command.Run {
			p := &planning{refresh: true, refreshOnly: true}
			p.Variables.VariableFlags(c)
			p.Locking.LockFlags(c)
			c.StateReadFlags(&p.StateFiles)
			p.choice(c)
			p.effort(c)
			c.DeprecationFlag()
			var accept string
			var asJSON, asMarkdown bool
			c.Flags.StringVar(&accept, "accept", "", "Read the accepted drift from `FILE`.")
			c.Flags.BoolVar(&asJSON, "json", false, "Print the report as a JSON document.")
			c.Flags.BoolVar(&asMarkdown, "markdown", false, "Print the report as Markdown.")
			return func(ctx context.Context) command.Outcome {
				switch {
				case len(c.Args) > 0:
					return c.TooMany(0)
				case asJSON && asMarkdown:
					return c.Misuse("Incompatible options",
						"The options -json and -markdown conflict: remove one of them.")
				}
				return runDrift(ctx, c, p, accept, func(r drift.Report) error {
					if asJSON {
						return r.JSON(c.Out)
					}
					if r = r.Public(c.ViewOptions()); asMarkdown {
						return r.Markdown(c.Out)
					}
					return r.Text(c.Out)
				})
			}
		},
	}
}

func runDrift(ctx context.Context, c *command.Call, p *planning, accept string,
	write func(drift.Report) error) command.Outcome {
	var accepted []drift.Acceptance
	if accept != "" {
		list, diags := command.Acceptances(accept)
		if accepted = list; !c.Report(diags) {
			return command.Failed
		}
	}
	c.BeConcise()
	s, ok := begin(ctx, c, p, kind{operation: state.OperationPlan, reading: true, withoutConfiguration: true})
	if !ok {
		return command.Failed
	}
	defer s.end()
	pl, diags := s.plan()
	ok = c.Report(diags)
	if pl == nil || pl.Errored || !ok {
		return command.Failed
	}
	r := drift.Of(pl, accepted, time.Now())
	if err := write(r); err != nil {
		return c.Finish("Failed to write the report", err)
	}
	switch {
	case !s.release():
		return command.Failed
	case len(r.Drifted) > 0:
		return command.Changes
	}
	return command.Done
}
