package inspect

import (
	"context"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// Metadata is the command metadata.
func Metadata() *command.Command {
	return &command.Command{
		Name: "metadata", Short: "Describe the language for other programs",
		Long:    "These commands print descriptions of the language for editors and other programs.",
		Members: []*command.Command{cmdMetadataFunctions()},
	}
}

func cmdMetadataFunctions() *command.Command {
	return &command.Command{
		Name: "functions", Short: "Describe all functions",
		Long:    "Print the signatures and descriptions of all functions of the language as a JSON document.",
		Example: `~ metadata functions -json`,
		Setup: func(c *command.Call) command.Run {
			var asJSON bool
			c.Flags.BoolVar(&asJSON, "json", false,
				"Print a JSON document. Required, because there is no other format.")
			return func(context.Context) command.Outcome {
				switch {
				case len(c.Args) > 0:
					return c.TooMany(0)
				case !asJSON:
					return c.WrongUse("The `" + c.Program + " metadata functions` command requires the `-json` flag.\n")
				}
				table := funcs.Table(funcs.Options{})
				for _, gone := range []string{"list", "map"} { // which only explain the alternative
					delete(table, gone)
					delete(table, "core::"+gone)
				}
				return c.Finish("Failed to write the functions", tfjson.Functions(c.Out, table))
			}
		},
	}
}
