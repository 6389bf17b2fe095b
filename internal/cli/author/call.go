package author

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/program/invoke"
	"github.com/tombolo-iac/tombolo/provider"
)

func cmdCall() *command.Command {
	return &command.Command{
		Name: "call", Short: "Make one call to a provider, in JSON", Args: "ACTION [TYPE]", Mixed: true,
		Long: `Make one call to a provider of any kind. The request, on standard input, and the answer are JSON in the
format of the protocol of program providers. ACTION is ` + strings.Join(invoke.Actions[:len(invoke.Actions)-1],
			", ") + ` or ` + invoke.Actions[len(invoke.Actions)-1] + `;
TYPE is the type to use, or the function for the action call.

Missing parts of a request get defaults: a create or update without "planned" is planned first, and a missing
configuration is an empty one. The member "provider" is the configuration of the provider. The action schema has no
request, and answers in the form of "providers schema -json".`,
		Exits:   "0 The provider answered without errors.\n1  It answered with errors, or the call failed.",
		Example: "~ provider call -provider ./notes create notes_note -input new.json",
		Setup: func(c *command.Call) command.Run {
			subject := c.Flags.String("provider", ".", "The provider: the folder of a program provider, the file of "+
				"a plugin, or the `ADDRESS` of a provider that is installed in the working directory.")
			input := c.Flags.String("input", "-", "Read the request from `FILE` instead of standard input.")
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) < 1 || len(c.Args) > 2 {
					return c.Misuse("Wrong number of arguments", "Expected an action and a type, and got %d arguments.",
						len(c.Args))
				}
				return call(ctx, c, *subject, *input)
			})
		},
	}
}

func call(ctx context.Context, c *command.Call, subject, input string) command.Outcome {
	params, err := []byte("{}"), error(nil)
	if c.Args[0] != "schema" || input != "-" { // which ended without a problem
		params, err = request(ctx, c, input)
	}
	if err != nil {
		return c.Finish("The request cannot be read", err)
	}
	p, diags := named(ctx, c, subject)
	if diags.HasErrors() {
		return c.End(diags)
	}
	typ := ""
	if len(c.Args) == 2 {
		typ = c.Args[1]
	}
	answer, ok, err := invoke.Ask(ctx, p, c.Args[0], typ, params)
	if err == nil {
		fmt.Fprintf(c.Out, "%s\n", answer)
	} else {
		diags = diags.AppendError("The provider cannot be called", err)
	}
	if err := p.Close(); err != nil {
		diags = diags.AppendError("The provider did not stop cleanly", err)
	}
	if outcome := c.End(diags); outcome != command.Done || !ok {
		return command.Failed
	}
	return command.Done
}

// request reads the request. An empty file is an empty request.
func request(ctx context.Context, c *command.Call, input string) ([]byte, error) {
	var text []byte
	var err error
	if input == "-" {
		text, err = c.In.All(ctx, "the request", c.Err)
	} else {
		text, err = os.ReadFile(input)
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		text = []byte("{}")
	}
	return text, err
}

// named starts the provider of the flag -provider. An existing file or folder takes precedence over an address.
func named(ctx context.Context, c *command.Call, subject string) (provider.Provider, diag.List) {
	if _, err := os.Stat(subject); err != nil && !strings.HasPrefix(subject, ".") {
		if address, err := addr.ParseProvider(subject); err == nil {
			return installed(ctx, c, address)
		}
	}
	_, p, diags := started(ctx, c, subject, addr.Provider{})
	return p, diags
}
