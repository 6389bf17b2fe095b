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
		Name: "prepare", Short: "Make ready what a program provider needs", Args: "DIR", Mixed: true,
		Long: `Run the command "prepare" of the manifest in the folder DIR, which makes what the program needs, such
as the libraries of its interpreter, in the cache folder of this version of the provider. A manifest
that names none needs none.

The first use of a provider does the same, once on each machine, and so does ~~ init. This command
does it ahead of time, for machines without a network, and again, over what is there.`,
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
		fmt.Fprintf(c.Out, "The manifest of %s names nothing to prepare here.\n", m.Name)
	default:
		fmt.Fprintf(c.Out, "Prepared %s in %s\n", m.Name, cache)
	}
	return diags
}
