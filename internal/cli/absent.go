package cli

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

// absent are commands of Terraform that are not here, each with what to do instead. They are in no list; whoever types
// one, or runs a script that does, gets more than "no such command".
func absent() []*command.Command {
	const tokens = `~~ has no session with a service: it reads tokens from where they are kept. Write one into the
settings file (.terraformrc in the home directory):

  credentials "registry.example.com" {
    token = "..."
  }

Tokens that "terraform login" saved in credentials.tfrc.json count as well.`
	return []*command.Command{
		instead("login", "Tokens of services are read from the settings file", tokens),
		instead("logout", "Tokens of services are read from the settings file",
			tokens+" To take a token back, remove it from the file."),
		instead("push", "There is no service to push configurations to",
			`This command was for a service that is gone; Terraform has dropped it as well. Run "~ apply" instead.`),
		instead("stacks", "Stacks belong to a service", `Stacks run in a service of HashiCorp. To run several configurations together, start ~~ in the directory of each:
"~ -chdir=DIR apply"; one reads outputs of another with the data source terraform_remote_state.`),
		instead("rpcapi", "There is no interface for other programs but the commands", `This is an inner interface of Terraform. Programs that drive ~~ use the commands, whose -json forms are documents, or
the Go package github.com/tombolo-iac/tombolo.`),
	}
}

// instead makes a command that says what to do instead.
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

// env is the name that workspaces once had. Its members are those of workspace, and say so.
func env(workspace *command.Command) *command.Command {
	family := &command.Command{
		Name: "env", Short: "An old name of workspace", Hidden: true,
		Long: "These commands have moved to \"~ workspace\". The old name is kept for scripts that know no other.",
	}
	for _, member := range workspace.Members {
		if member.Name == "show" {
			continue // it is younger than the new name
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
