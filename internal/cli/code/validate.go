package code

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// Validate is the command validate.
func Validate() *command.Command {
	return &command.Command{
		Name: "validate", Short: "Check the configuration", Main: true,
		Long: `Check that the configuration is valid in itself: syntax, names, references, argument names and
types. Values of variables, the state and real objects are not looked at.`,
		Setup: func(c *command.Call) command.Run {
			var asJSON, noTests bool
			var testDir string
			c.Flags.BoolVar(&asJSON, "json", false, "Print a JSON document for programs.")
			c.Flags.BoolVar(&noTests, "no-tests", false, "Leave test files alone, as this version always does.")
			c.Flags.StringVar(&testDir, "test-directory", "tests", "The `DIR` of test files, which this version does not look at.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany()
				}
				return runValidate(ctx, c, asJSON)
			}
		},
	}
}

func runValidate(ctx context.Context, c *command.Call, asJSON bool) command.Outcome {
	diags := validate(ctx, c)
	if asJSON {
		c.ReadSources(diags)
		if err := tfjson.Validate(c.Out, diags.Sorted(), c.Sources()); err != nil {
			return c.Finish("Failed to show the result", err)
		}
		if diags.HasErrors() {
			return command.Failed
		}
		return command.Done
	}
	ok := c.Report(diags)
	if !ok {
		return command.Failed
	}
	qualified := ""
	if len(diags) > 0 {
		qualified = ", but there were some validation warnings\nas shown above"
	}
	fmt.Fprintf(c.Out, "%s The configuration is valid%s.\n\n", c.Green("Success!"), qualified)
	return command.Done
}

func validate(ctx context.Context, c *command.Call) diag.List {
	project, diags := c.Load(ctx, command.ProjectOptions{})
	if diags.HasErrors() {
		return diags
	}
	defer project.Close()
	return diags.Extend(project.Validate(ctx))
}
