package states

import (
	"context"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

// ForceUnlock is the command force-unlock.
func ForceUnlock() *command.Command {
	return &command.Command{
		Name: "force-unlock", Short: "Remove a lock that a killed run left behind", Args: "LOCK_ID",
		Long: `Remove the lock on the state of the selected workspace. LOCK_ID is the ID in the message of the
command that could not get the lock. Nothing else is changed. A lock on a local state cannot be removed while the
process that holds it is running.`,
		Example: `~ force-unlock 5c1e6c5a-7a1d-4b0e-9c52-7d43a1f3b7e0`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.LineFlags()
			var force bool
			c.Flags.BoolVar(&force, "force", false, "Do not ask for approval.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.WrongNumber("Expected a single argument: LOCK_ID")
				}
				return forceUnlock(ctx, c, c.Args[0], force)
			}
		},
	}
}

func forceUnlock(ctx context.Context, c *command.Call, id string, force bool) command.Outcome {
	st, diags := c.Open(ctx, command.StateFiles{})
	if diags.HasErrors() {
		return c.End(diags)
	}
	ws, diags := c.Selected(st)
	if diags.HasErrors() {
		return c.End(diags)
	}
	if !force {
		answer, err := c.Ask(ctx, "Do you really want to force-unlock?", c.Title+" will remove the lock of the "+
			"state. If another run still uses the state, two runs\nwould then write it at the same time. Only 'yes' "+
			"will be accepted to confirm.", false)
		switch {
		case err != nil:
			return c.Say("Error asking for confirmation: %s", err)
		case answer != "yes":
			c.Tell("force-unlock cancelled.\n")
			return command.Failed
		}
	}
	if err := ws.ForceUnlock(ctx, id); err != nil {
		return c.Say("Failed to unlock state: %s", err)
	}
	c.Tell("%s\n\nThe state has been unlocked, and commands should now be able to take the lock\nof it again.\n",
		c.Green(c.Title+" state has been successfully unlocked!"))
	return command.Done
}
