package states

import (
	"context"
	"encoding/json"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

func cmdStateIdentities() *command.Command {
	return &command.Command{
		Name: "identities", Short: "Show the identities of instances", Args: "[ADDRESS...]",
		Long: `Print the identities of all instances in the state, or of those at the given addresses, as a JSON
object whose keys are addresses. Providers define the identity of an object. Instances without an identity are left
out.`,
		Example: `~ state identities -json module.network`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			var files command.StateFiles
			var asJSON bool
			var id string
			c.StateReadFlags(&files)
			c.Flags.BoolVar(&asJSON, "json", false,
				"Print a JSON document. Required, because there is no other format.")
			c.Flags.StringVar(&id, "id", "", "Show only objects whose id attribute is `ID`.")
			return func(ctx context.Context) command.Outcome {
				if !asJSON {
					return c.WrongUse("The `" + c.Program + " state identities` command requires the `-json` flag.\n")
				}
				return stateIdentities(ctx, c, files, id)
			}
		},
	}
}

func stateIdentities(ctx context.Context, c *command.Call, files command.StateFiles, id string) command.Outcome {
	s, list, outcome := listed(ctx, c, files, id)
	if s == nil {
		return outcome
	}
	identities := map[string]json.RawMessage{}
	for _, a := range list {
		if o := s.Instance(a).Current; o != nil && o.Identity != nil {
			identities[a.String()] = o.Identity
		}
	}
	return c.Finish("Failed to show the identities", tfjson.Identities(c.Out, identities))
}
