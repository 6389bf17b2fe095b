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
		Name: "serve", Short: "Run a program provider for other programs to attach to", Args: "DIR", Mixed: true,
		Long: `Serve the program provider in the folder DIR until it is interrupted, and say what to set
TF_REATTACH_PROVIDERS to, so that Terraform or OpenTofu use it from there without a package. ~~
itself needs no such thing: see TOMBOLO_PROGRAM_PROVIDERS.

What the program says is shown here, as lines of a log. The manifest is read again with each run
of the other side; its schema has to stay as it is meanwhile.`,
		Example: "~ provider serve ./notes -source example/notes",
		Setup: func(c *command.Call) command.Run {
			source := c.Flags.String("source", "",
				"The `ADDRESS` by which configurations name the provider; local/NAME without it.")
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
