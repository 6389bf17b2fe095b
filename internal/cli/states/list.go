package states

import (
	"context"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdStateList() *command.Command {
	return &command.Command{
		Name: "list", Short: "List the instances in the state", Args: "[ADDRESS...]",
		Long: `List the addresses of all instances in the state. With addresses of modules, resources or instances,
list only the instances at those addresses.`,
		Example: `~ state list module.network`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			var files command.StateFiles
			var id string
			c.LineFlags()
			c.StateReadFlags(&files)
			c.Flags.StringVar(&id, "id", "", "List only objects whose id attribute is `ID`.")
			return func(ctx context.Context) command.Outcome { return stateList(ctx, c, files, id) }
		},
	}
}

func stateList(ctx context.Context, c *command.Call, files command.StateFiles, id string) command.Outcome {
	s, list, outcome := listed(ctx, c, files, id)
	if s == nil {
		return outcome
	}
	for _, a := range list {
		c.View().Tell(view.Notice{Text: a.String() + "\n", Message: a.String(), Kind: "resource_address"})
	}
	return command.Done
}

// listed returns the instances at the addresses of the command line, filtered by id if one is given. Without a state it
// reports that and returns the outcome.
func listed(ctx context.Context, c *command.Call, files command.StateFiles, id string) (*state.State,
	[]addr.AbsResourceInstance, command.Outcome) {
	snapshot, diags := c.Snapshot(ctx, files)
	if diags.HasErrors() {
		return nil, nil, c.End(diags)
	}
	s := stored(snapshot)
	if s == nil {
		return nil, nil, noState(c)
	}
	targets, diags := parseTargets(s, c.Args)
	if diags.HasErrors() {
		return nil, nil, c.End(diags)
	}
	if len(targets) == 0 {
		targets = []addr.Target{{}} // the root module selects everything
	}
	var list []addr.AbsResourceInstance
	for _, t := range targets {
		for _, a := range matching(s, t) {
			if id == "" || hasID(s.Instance(a), id) {
				list = append(list, a)
			}
		}
	}
	return s, list, command.Done
}
