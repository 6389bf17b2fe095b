package states

import (
	"context"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/view"
)

func cmdStateShow() *command.Command {
	return &command.Command{
		Name: "show", Short: "Show one instance of the state", Args: "ADDRESS",
		Long:    `Show the attributes of one instance. "~ state list" lists the addresses.`,
		Example: `~ state show 'terraform_data.a["first"]'`,
		Setup: func(c *command.Call) command.Run {
			var files command.StateFiles
			c.StateReadFlags(&files)
			return func(ctx context.Context) command.Outcome { return stateShow(ctx, c, files) }
		},
	}
}

func stateShow(ctx context.Context, c *command.Call, files command.StateFiles) command.Outcome {
	if len(c.Args) != 1 {
		return c.WrongNumber("Exactly one argument expected.")
	}
	a, diags := addr.ParseInstance(c.Args[0])
	if diags.HasErrors() {
		return c.Say(
			"Error parsing instance address: %s\n\n%s See \"%s state list\" for the addresses of all instances.",
			c.Args[0], diags[0].Detail, c.Program)
	}
	project, diags := c.Project(ctx, command.ProjectOptions{Files: files})
	if diags = diags.OnlyErrors(); len(diags) > 0 {
		return c.End(diags)
	}
	defer project.Close()
	snapshot, diags := c.SnapshotOf(ctx, project.Store())
	if len(diags) > 0 {
		return c.End(diags)
	}
	s := stored(snapshot)
	if s == nil {
		return noState(c)
	}
	if i := s.Instance(a); i == nil || i.Current == nil {
		return c.Say("No instance found for the given address!\n\nThe state holds nothing at %s. See \"%s state "+
			"list\" for the addresses of all instances.", a, c.Program)
	}
	return c.Finish("Failed to show the instance", view.Object(c.ViewOptions(), s, a, project.Schemas(s)))
}
