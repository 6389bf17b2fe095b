package author

import (
	"context"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

func cmdServe() *command.Command {
	return &command.Command{
		Name: "serve", Short: "Serve a program provider for others to attach to", Args: "DIR", Mixed: true,
		Long: `Serve the program provider in the folder DIR until you interrupt it. The command prints the value to
set TF_REATTACH_PROVIDERS to, so that Terraform or OpenTofu can use the provider without a package. ~~ itself does not
need this: see TOMBOLO_PROGRAM_PROVIDERS.

The program's messages are printed as log lines. The manifest is read again for each run that attaches. The schema
must not change while the command runs.`,
		Example: "~ provider serve ./notes -source example/notes",
		Setup: func(c *command.Call) command.Run {
			source := c.Flags.String("source", "",
				"The source `ADDRESS` of the provider in configurations. The default is local/NAME.")
			return func(context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("Wrong number of arguments",
						"Expected one, the folder of the provider, and got %d.", len(c.Args))
				}
				return serveProvider(c, c.Args[0], *source)
			}
		},
	}
}

func serveProvider(c *command.Call, dir, source string) command.Outcome {
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		return c.End(diags)
	}
	if source == "" {
		source = "local/" + m.Name
	}
	address, err := addr.ParseProvider(source)
	if err != nil {
		return c.Finish("Invalid provider address", err)
	}
	c.Report(diags)
	if generic.Serve(dir, c.RemoteState(), serve.Options{Debug: true, Address: address.String()}) != 0 {
		return command.Failed
	}
	return command.Done
}
