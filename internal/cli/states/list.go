package states

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

func cmdStateList() *command.Command {
	return &command.Command{
		Name: "list", Short: "List the instances in the state", Args: "[ADDRESS...]",
		Long: `List the addresses of all instances in the state, or of those at the given addresses: modules, ` +
			`resources or instances.`,
		Example: `~ state list module.network`,
		Setup: func(c *command.Call) command.Run {
			var files command.StateFiles
			var id string
			c.StateReadFlags(&files)
			c.Flags.StringVar(&id, "id", "", "List only objects whose attribute id is `ID`.")
			return func(ctx context.Context) command.Outcome { return stateList(ctx, c, files, id) }
		},
	}
}

func stateList(ctx context.Context, c *command.Call, files command.StateFiles, id string) command.Outcome {
	snapshot, diags := c.Snapshot(ctx, files)
	if diags.HasErrors() {
		return c.End(diags)
	}
	s := stored(snapshot)
	if s == nil {
		return noState(c)
	}
	targets, diags := parseTargets(s, c.Args)
	if diags.HasErrors() {
		return c.End(diags)
	}
	if len(targets) == 0 {
		targets = []addr.Target{{}} // the root module: everything
	}
	for _, t := range targets {
		for _, a := range matching(s, t) {
			if id == "" || hasID(s.Instance(a), id) {
				fmt.Fprintln(c.Out, a)
			}
		}
	}
	return command.Done
}
