package stacks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/internal/view/drift"
	"github.com/tombolo-iac/tombolo/state"
)

func driftCommand() *command.Command {
	return &command.Command{
		Name: "drift", Short: "Report drift in all units", Args: patternArgs, Mixed: true,
		Long: `Read every real object of the units whose names match a PATTERN, or of all units, and report where it
differs from the state. Nothing is changed, not even a state.`,
		Exits: `0  There is no drift.
1  There were errors.
2  There is drift.`,
		Example: `~ stack drift
~ stack drift -json`,
		Setup: func(c *command.Call) command.Run {
			o := &running{refresh: true, refreshOnly: true}
			o.flags(c)
			asJSON := c.Flags.Bool("json", false, "Print the reports as one JSON document.")
			asMarkdown := c.Flags.Bool("markdown", false, "Print the reports as Markdown.")
			return func(ctx context.Context) command.Outcome {
				switch {
				case *asJSON && *asMarkdown:
					return c.Misuse("Incompatible options",
						"The options -json and -markdown conflict: remove one of them.")
				case !o.check(c):
					return command.Misused
				}
				return o.drift(ctx, c, *asJSON, *asMarkdown)
			}
		},
	}
}

func (o *running) drift(ctx context.Context, c *command.Call, asJSON, asMarkdown bool) command.Outcome {
	st, units, ok := o.load(ctx, c)
	if !ok {
		return command.Failed
	}
	c.BeConcise()
	s := o.begin(ctx, c, st, units, state.OperationPlan)
	defer s.end()
	all := map[string]json.RawMessage{}
	outcome := command.Done
	for _, r := range s.run.Plan(s.ctx) {
		if r.Phase == stack.Failed || r.Phase == stack.Skipped {
			if c.Report(shown(c, r.Unit, r.Problems)) {
				c.Report(diag.List{}.Errorf(nil, "Interrupted", "The unit %q was not examined: "+
					"%s.", r.Unit.Name, r.Reason))
			}
			outcome = command.Failed
			continue
		}
		var report drift.Report
		if r.Plan != nil {
			report = drift.Of(r.Plan, nil, time.Now())
		}
		if len(report.Drifted) > 0 && outcome == command.Done {
			outcome = command.Changes
		}
		if err := o.write(c, r, report, all, asJSON, asMarkdown); err != nil {
			return c.Finish("Failed to write the report", err)
		}
	}
	if asJSON {
		if err := document(c.Out, all); err != nil {
			return c.Finish("Failed to write the report", err)
		}
	}
	return outcome
}

// write writes the report of one unit, or adds it to the document.
func (o *running) write(c *command.Call, r *stack.Result, report drift.Report, all map[string]json.RawMessage,
	asJSON, asMarkdown bool) error {
	if asJSON {
		var b bytes.Buffer
		err := report.JSON(&b)
		all[r.Unit.Name] = b.Bytes()
		return err
	}
	how := c.ViewOptions()
	if r.Secrets != nil {
		how.Secrets = r.Secrets
	}
	report = report.Public(how)
	if asMarkdown {
		fmt.Fprintf(c.Out, "## %s\n\n", r.Unit.Name)
		return report.Markdown(c.Out)
	}
	fmt.Fprintf(c.Out, "%s: ", c.Bold(r.Unit.Name))
	return report.Text(c.Out)
}
