package author

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/view"
)

func cmdPrepare() *command.Command {
	return &command.Command{
		Name: "prepare", Short: "Run the preparation of a program provider", Args: "DIR", Mixed: true,
		Long: `Run the command "prepare" from the manifest in the folder DIR. It installs what the program needs,
such as libraries for its interpreter, into the cache folder of this version of the provider. Without such a command
in the manifest, there is nothing to prepare.

~~ init and the first use of a provider also run it, once on each machine. Use this command to prepare a machine that
will have no network, or to prepare again.`,
		Example: "~ provider prepare ./notes",
		Setup: func(c *command.Call) command.Run {
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("Wrong number of arguments",
						"Expected one, the folder of the provider, and got %d.", len(c.Args))
				}
				return c.End(prepare(ctx, c, c.Args[0]))
			})
		},
	}
}

func prepare(ctx context.Context, c *command.Call, dir string) diag.List {
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		return diags
	}
	say := func(line string) { fmt.Fprintln(c.Err, view.Clean(line)) }
	cache, ran, err := handler.Prepare(ctx, m, handler.Surroundings{}, true, say)
	switch {
	case err != nil:
		return diags.AppendError("The provider cannot be prepared", err)
	case !ran:
		fmt.Fprintf(c.Out, "The manifest of %s has no preparation for this platform.\n", m.Name)
	default:
		fmt.Fprintf(c.Out, "Prepared %s in %s\n", m.Name, cache)
	}
	return diags
}
