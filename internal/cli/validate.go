package cli

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

func cmdValidate() *command {
	return &command{
		name: "validate", short: "Check the configuration", main: true,
		long: `Check that the configuration is valid in itself: syntax, names, references, argument names and
types. Values of variables, the state and real objects are not looked at.`,
		setup: func(c *call) func(context.Context) outcome {
			var asJSON, noTests bool
			var testDir string
			c.flags.BoolVar(&asJSON, "json", false, "Print a JSON document for programs.")
			c.flags.BoolVar(&noTests, "no-tests", false, "Leave test files alone, as this version always does.")
			c.flags.StringVar(&testDir, "test-directory", "tests", "The `DIR` of test files, which this version does not look at.")
			return func(ctx context.Context) outcome {
				if len(c.args) > 0 {
					return c.tooMany()
				}
				return c.runValidate(ctx, asJSON)
			}
		},
	}
}

func (c *call) runValidate(ctx context.Context, asJSON bool) outcome {
	diags := c.validate(ctx)
	if asJSON {
		c.readSources(diags)
		if err := tfjson.Validate(c.out, diags.Sorted(), c.shown.sources); err != nil {
			return c.finish("Failed to show the result", err)
		}
		if diags.HasErrors() {
			return failed
		}
		return done
	}
	ok := c.report(diags)
	if !ok {
		return failed
	}
	qualified := ""
	if len(diags) > 0 {
		qualified = ", but there were some\nvalidation warnings as shown above"
	}
	fmt.Fprintf(c.out, "%s The configuration is valid%s.\n\n", c.green("Success!"), qualified)
	return done
}

func (c *call) validate(ctx context.Context) diag.List {
	project, diags := c.load(ctx, projectOptions{})
	if diags.HasErrors() {
		return diags
	}
	defer project.Close()
	return diags.Extend(project.Validate(ctx))
}

func (c *call) green(text string) string {
	if c.color() {
		return "\x1b[32m\x1b[1m" + text + "\x1b[0m"
	}
	return text
}
