package author

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/view"
)

func cmdPrepare() *command.Command {
	return &command.Command{
		Name: "prepare", Short: "Make ready what a program provider needs", Args: "DIR", Mixed: true,
		Long: `Run the command "prepare" of the manifest in the folder DIR, which makes what the program needs, such
as the libraries of its interpreter, in the cache folder of this version of the provider. It is run
each time that it is asked for, and never by other commands. A manifest that names none needs none.`,
		Example: "~ provider prepare ./notes",
		Setup: func(c *command.Call) command.Run {
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("Wrong number of arguments", "Expected one, the folder of the provider, and got %d.", len(c.Args))
				}
				return c.End(prepare(ctx, c, c.Args[0]))
			})
		},
	}
}

func prepare(ctx context.Context, c *command.Call, dir string) diag.List {
	const cannot = "The provider cannot be prepared"
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		return diags
	}
	start, err := handler.NewPreparation(m, handler.Surroundings{})
	if err != nil {
		return diags.AppendError(cannot, err)
	}
	if start.Argv == nil {
		fmt.Fprintf(c.Out, "The manifest of %s names nothing to prepare.\n", m.Name)
		return diags
	}
	if err := command.MakeDir(start.Cache); err != nil {
		return diags.AppendError(cannot, err)
	}
	say := func(line string) { fmt.Fprintln(c.Err, view.Clean(line)) }
	result, err := program.Run(ctx, program.Command{Argv: start.Argv, Env: start.Env, Stderr: say})
	if err != nil {
		return diags.AppendError(cannot, err)
	}
	if text := view.Clean(string(result.Stdout)); text != "" {
		fmt.Fprintln(c.Out, text)
	}
	if result.ExitCode != 0 {
		return diags.Errorf(nil, cannot, "%q ended with %s.", start.Argv, result.State)
	}
	fmt.Fprintf(c.Out, "Prepared %s in %s\n", m.Name, start.Cache)
	return diags
}
