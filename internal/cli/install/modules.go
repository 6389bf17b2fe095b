package install

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Modules is the command modules.
func Modules() *command.Command {
	return &command.Command{
		Name: "modules", Short: "Show the modules of the configuration",
		Long: `Show the tree of modules that the configuration calls, with the source and the installed version of
each.`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			var asJSON bool
			c.Flags.BoolVar(&asJSON, "json", false, "Print a JSON document instead of text.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany(0)
				}
				return runModules(ctx, c, asJSON)
			}
		},
	}
}

func runModules(ctx context.Context, c *command.Call, asJSON bool) command.Outcome {
	project, diags := c.Load(ctx, command.ProjectOptions{NoPlugins: true})
	if diags.HasErrors() {
		return c.End(diags)
	}
	root := project.Config().Root
	switch {
	case asJSON:
		return c.Finish("Failed to write the modules", tfjson.Modules(c.Out, root))
	case len(root.Children) == 0:
		fmt.Fprintln(c.Out, "No modules found in configuration.")
		return command.Done
	}
	fmt.Fprint(c.Out, "\nModules declared by configuration:\n.\n")
	moduleTree(c, root, "")
	fmt.Fprintln(c.Out)
	return command.Done
}

// moduleTree prints the calls of a module as a tree, with a prefix before each line.
func moduleTree(c *command.Call, m *config.Module, prefix string) {
	children := m.SortedChildren()
	for i, child := range children {
		branch, below := branches(i == len(children)-1)
		text := fmt.Sprintf("%q[%s]", child.Call.Name, config.ShownSource(child.Call.Source))
		if child.Version != "" {
			text += " " + child.Version
		}
		if child.Call.Version.Text != "" {
			text += " (" + child.Call.Version.Text + ")"
		}
		fmt.Fprintln(c.Out, prefix+branch+view.CleanLine(text))
		moduleTree(c, child, prefix+below)
	}
}
