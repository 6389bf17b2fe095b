package stacks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
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
differs from the state. Nothing is changed, not even a state.

With -accept, the blocks of a file list accepted drift, as for the command "~ drift". They apply to all units; in the
directory of a unit, a file of the same name lists more for that unit.`,
		Exits: `0  There is no drift, or all of it is accepted.
1  There were errors.
2  There is drift.`,
		Example: `~ stack drift
~ stack drift -accept=drift.hcl`,
		Setup: func(c *command.Call) command.Run {
			o := &running{refresh: true, refreshOnly: true}
			o.flags(c)
			asJSON := c.Flags.Bool("json", false, "Print the reports as one JSON document.")
			asMarkdown := c.Flags.Bool("markdown", false, "Print the reports as Markdown.")
			c.Flags.StringVar(&o.accept, "accept", "", "Read the accepted drift from `FILE`, and from files of that "+
				"name in the directories of units.")
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
	accepted, diags := o.accepted(st, units)
	if !c.Report(diags) {
		return command.Failed
	}
	c.BeConcise()
	s := o.begin(ctx, c, st, units, state.OperationPlan)
	defer s.end()
	all := map[string]json.RawMessage{}
	outcome, read := command.Done, 0
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
			report = drift.Of(r.Plan, accepted.of(r.Unit), time.Now())
			accepted.count(&report)
			read++
		}
		if len(report.Drifted) > 0 && outcome == command.Done {
			outcome = command.Changes
		}
		if err := o.write(c, r, report, all, asJSON, asMarkdown); err != nil {
			return c.Finish("Failed to write the report", err)
		}
	}
	accepted.useless(c, read)
	if asJSON {
		if err := document(c.Out, all); err != nil {
			return c.Finish("Failed to write the report", err)
		}
	}
	return outcome
}

// acceptances is the accepted drift of a stack.
type acceptances struct {
	shared []drift.Acceptance // of all units
	own    map[*stack.Unit][]drift.Acceptance
	unused map[*addr.Pattern]int // by the pattern of a shared one: in how many units it matched nothing
}

// accepted reads the files with accepted drift: that of the option, and those of the same name in the directories of
// units.
func (o *running) accepted(s *stack.Stack, units []*stack.Unit) (a acceptances, diags diag.List) {
	if o.accept == "" {
		return a, nil
	}
	a.shared, diags = command.Acceptances(o.accept)
	a.own, a.unused = map[*stack.Unit][]drift.Acceptance{}, map[*addr.Pattern]int{}
	for _, u := range units {
		name := filepath.Join(s.Root, filepath.FromSlash(u.Dir), filepath.Base(o.accept))
		if _, err := os.Lstat(name); err != nil || filepath.Clean(name) == filepath.Clean(o.accept) {
			continue
		}
		list, more := command.Acceptances(name)
		a.own[u], diags = list, diags.Extend(more)
	}
	return a, diags
}

// count removes shared acceptances from the unused ones of a unit, and counts them.
func (a acceptances) count(r *drift.Report) {
	r.Unused = slices.DeleteFunc(r.Unused, func(u drift.Acceptance) bool {
		isShared := slices.ContainsFunc(a.shared, func(s drift.Acceptance) bool { return s.Objects == u.Objects })
		if isShared {
			a.unused[u.Objects]++
		}
		return isShared
	})
}

// useless warns of shared acceptances that matched nothing in all units, of which there is a number.
func (a acceptances) useless(c *command.Call, units int) {
	for _, s := range a.shared {
		if n := a.unused[s.Objects]; n == units && units > 0 {
			aside(c, diag.List{}.Warnf(nil, "An acceptance matched no drift", "The block for %s (%s) matched no drift "+
				"in any unit. Remove it if it is no longer needed.", s.Objects, s.Reason))
		}
	}
}

// of returns the accepted drift of a unit.
func (a acceptances) of(u *stack.Unit) []drift.Acceptance { return slices.Concat(a.own[u], a.shared) }

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
