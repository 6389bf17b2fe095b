package cli

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

// absent returns the commands of Terraform that Tombolo does not have. They are hidden from the lists of commands, and
// explain what to do instead.
func absent() []*command.Command {
	return []*command.Command{
		instead("push", "No longer supported", `The service that this command was for no longer exists. Terraform has
removed the command, too. Run "~ apply" instead.`),
		instead("stacks", "Not supported: stacks need HashiCorp's service", `Stacks run in HashiCorp's service. To run
several configurations, run "~ -chdir=DIR apply" for the directory of each. A configuration can read the outputs of
another with the data source terraform_remote_state.`),
		instead("rpcapi", "Not supported: programs use the commands", `This is an internal interface of Terraform. Other
programs can run the commands of ~~ with -json, or use the Go package github.com/tombolo-iac/tombolo.`),
	}
}

// instead returns a command that explains what to do instead.
func instead(name, short, long string) *command.Command {
	return &command.Command{
		Name: name, Short: short, Long: long, Hidden: true, Exits: "1  Always: this command does nothing.",
		Absent: true,
		Setup: func(c *command.Call) command.Run {
			return func(context.Context) command.Outcome {
				return c.End(diag.List{}.Errorf(nil, fmt.Sprintf("There is no command %q", name), "%s",
					c.Words(command.Fill(long))))
			}
		},
	}
}

// env returns the family under the former name of workspace. Its members are those of workspace, with a warning.
func env(workspace *command.Command) *command.Command {
	family := &command.Command{
		Name: "env", Short: "Old name of the command workspace", Hidden: true,
		Long: "Use \"~ workspace\" instead. The old name is kept for existing scripts.",
	}
	for _, member := range workspace.Members {
		if member.Name == "show" {
			continue // newer than the new name
		}
		old := *member
		old.Setup = func(c *command.Call) command.Run {
			run := member.Setup(c)
			return func(ctx context.Context) command.Outcome {
				fmt.Fprintf(c.Out,
					"Warning: the \"%s env\" family of commands is deprecated: run \"%s workspace %s\" instead.\n\n",
					c.Program, c.Program, member.Name)
				return run(ctx)
			}
		}
		family.Members = append(family.Members, &old)
	}
	return family
}
