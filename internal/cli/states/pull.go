package states

import (
	"context"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

func cmdStatePull() *command.Command {
	return &command.Command{
		Name: "pull", Short: "Print the state",
		Long:    "Print the stored state in the newest version of the format.",
		Example: `~ state pull > copy.tfstate`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			return func(ctx context.Context) command.Outcome {
				snapshot, diags := c.Snapshot(ctx, command.StateFiles{})
				if diags.HasErrors() {
					return c.End(diags)
				}
				if snapshot.State == nil {
					return command.Done
				}
				return c.Finish("Failed to print the state", snapshot.State.Encode(c.Out))
			}
		},
	}
}
