package states

import (
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
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
		const none = "No instance found for the given address!\n\nThe state holds nothing at %s. "
		if r := s.Resource(a.AbsResource()); r != nil {
			return c.Say(none+"The state has these instances of the resource: %s.", a, instancesOf(r))
		}
		return c.Say(none+"See \"%s state list\" for the addresses of all instances.%s", a, c.Program,
			didYouMean(s, a.String()))
	}
	return c.Finish("Failed to show the instance", view.Object(c.ViewOptions(), s, a, project.Schemas(s)))
}

// mostInstances is how many instances a message lists.
const mostInstances = 10

// instancesOf returns the addresses of a resource's instances, as far as a message has room for them.
func instancesOf(r *state.Resource) string {
	var list []string
	for i, key := range r.Keys() {
		if i == mostInstances {
			list = append(list, fmt.Sprintf("and %d more", len(r.Instances)-i))
			break
		}
		list = append(list, r.Addr.Instance(key).String())
	}
	return strings.Join(list, ", ")
}
