package install

import (
	"context"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

func cmdProvidersSchema() *command.Command {
	return &command.Command{
		Name: "schema", Short: "Print the schemas of the providers",
		Long:    "Print the schemas of all providers that the configuration and the state need as a JSON document.",
		Example: `~ providers schema -json`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			var asJSON bool
			c.Flags.BoolVar(&asJSON, "json", false,
				"Print a JSON document. Required, because there is no other format.")
			return func(ctx context.Context) command.Outcome {
				if !asJSON {
					return c.WrongUse("The `" + c.Program + " providers schema` command requires the `-json` flag.\n")
				}
				return runSchema(ctx, c)
			}
		},
	}
}

func runSchema(ctx context.Context, c *command.Call) command.Outcome {
	project, diags := c.Project(ctx, command.ProjectOptions{})
	if diags.HasErrors() {
		return c.End(diags)
	}
	defer project.Close()
	wanted, more := engine.Wanted(project.Config())
	diags = diags.Extend(more)
	snapshot, more := c.SnapshotOf(ctx, project.Store())
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	needed := map[addr.Provider]bool{}
	for p := range wanted {
		needed[p] = true
	}
	if snapshot.State != nil {
		for _, r := range snapshot.State.Resources() {
			needed[r.Provider.Provider] = true
		}
	}
	schemas := tfjson.Schemas{}
	for _, p := range engine.SortedProviders(needed) {
		schema, more := project.Schema(p)
		if diags = diags.Extend(more); schema != nil {
			schemas[p] = schema
		}
	}
	if diags.HasErrors() {
		return c.End(diags)
	}
	return c.Finish("Failed to write the schemas", tfjson.ProviderSchemas(c.Out, schemas))
}
