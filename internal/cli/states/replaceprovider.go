package states

import (
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdStateReplaceProvider() *command.Command {
	return &command.Command{
		Name: "replace-provider", Short: "Change the provider of resources in the state", Args: "FROM TO",
		Long: `Change the provider of all resources in the state that use FROM to TO, for example from hashicorp/aws
to registry.acme.com/acme/aws.`,
		Example: `~ state replace-provider hashicorp/aws registry.acme.com/acme/aws`,
		Setup: func(c *command.Call) command.Run {
			e := editing{operation: state.OperationReplaceProvider, inPlace: true, existing: true,
				StateFiles: command.StateFiles{Stamped: true}}
			var approved bool
			e.flags(c)
			c.Flags.BoolVar(&approved, "auto-approve", false, "Do not ask for approval.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) != 2 {
					return c.WrongNumber("Exactly two arguments expected.")
				}
				var ends [2]addr.Provider
				for i, text := range c.Args {
					p, err := addr.ParseProviderIn(text, c.Flavor().RegistryHost())
					if err != nil {
						return c.Finish(fmt.Sprintf("Invalid %q provider %q", []string{"from", "to"}[i], text), err)
					}
					ends[i] = p
				}
				return edit(ctx, c, e, func(session state.Session) (edited, diag.List) {
					return replaceProvider(ctx, c, session.Snapshot(), ends[0], ends[1], approved)
				})
			}
		},
	}
}

func replaceProvider(ctx context.Context, c *command.Call, snapshot *state.Snapshot, from, to addr.Provider,
	approved bool) (edited, diag.List) {
	s := snapshot.State
	if diags := stillOpen(snapshot, "replace "+from.ForDisplay(), func(f state.InFlight) bool {
		return f.Provider.Provider == from // it is needed to adopt the object
	}); diags.HasErrors() {
		return edited{}, diags
	}
	var edits []state.Edit
	var names []string
	for _, r := range s.Resources() {
		if r.Provider.Provider != from {
			continue
		}
		names = append(names, r.Addr.String())
		edits = append(edits, engine.ProviderEdits(r, to)...)
	}
	if len(names) == 0 {
		c.Tell("No matching resources found.\n")
		return edited{}, nil
	}
	c.View().Tell(view.Notice{
		Text: fmt.Sprintf("%s will perform the following actions:\n\n  ~ Updating provider:\n    - %s\n    + %s\n\n"+
			"Changing %d resources:\n\n  %s\n\n", c.Title, from, to, len(names), strings.Join(names, "\n  ")),
		Message: fmt.Sprintf("%s will replace provider from %s to %s for %d resources", c.Title, from, to, len(names)),
		Kind:    "replace_provider",
		Members: []any{"from", from.String(), "to", to.String(), "resources", names},
	})
	if !approved {
		answer, err := c.Ask(ctx, "Do you want to make these changes?", "Only 'yes' will be accepted to continue.",
			false)
		if err != nil {
			return edited{}, diag.List{}.Errorf(nil, "Error asking for approval: "+err.Error(),
				"Nothing was changed. Without interactive input, use -auto-approve.")
		}
		if answer != "yes" {
			c.Tell("Cancelled replacing providers.\n")
			return edited{}, nil
		}
	}
	b := s.Builder()
	b.Fold(edits...)
	return edited{b.State(), fmt.Sprintf("Successfully replaced provider for %d resources.\n", len(names))}, nil
}
