package stacks

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/stack/terragrunt"
	"github.com/tombolo-iac/tombolo/internal/view"
)

func importCommand() *command.Command {
	return &command.Command{
		Name: "import-terragrunt", Short: "Convert a Terragrunt repository to a stack", Args: "[DIR]", Mixed: true,
		Long: `Read all terragrunt.hcl files in DIR, or in the working directory, and write what a stack needs instead:
the project file with unit blocks, backend blocks, generated files, and root modules that call the modules of the
units. Files that exist are not changed. Everything that could not be converted is listed with its place.`,
		Example: `~ stack import-terragrunt
~ stack import-terragrunt infra`,
		Setup: func(c *command.Call) command.Run {
			return func(context.Context) command.Outcome {
				dir := "."
				switch len(c.Args) {
				case 0:
				case 1:
					dir = c.Args[0]
				default:
					return c.TooMany(1)
				}
				return importTerragrunt(c, dir)
			}
		},
	}
}

func importTerragrunt(c *command.Call, dir string) command.Outcome {
	result, err := terragrunt.Convert(dir)
	if err != nil {
		return c.Finish("Failed to convert the repository", err)
	}
	for _, f := range result.Files {
		err := replace.Own(dir, filepath.Join(dir, filepath.FromSlash(f.Name)), 0o666, func(w io.Writer) error {
			_, err := w.Write(f.Content)
			return err
		})
		if err != nil {
			return c.End(diag.List{}.AppendError("Failed to write a file", err))
		}
		fmt.Fprintf(c.Out, "Wrote %s\n", view.CleanLine(path.Join(filepath.ToSlash(dir), f.Name)))
	}
	fmt.Fprintf(c.Out, "\n%d units were converted.\n", len(result.Units))
	if len(result.Notes) == 0 {
		return command.Done
	}
	fmt.Fprintf(c.Out, "\nNot converted, %d in all. Review each of them before you apply:\n\n", len(result.Notes))
	for _, n := range result.Notes {
		fmt.Fprintf(c.Out, "%s:%d: %s\n", view.CleanLine(path.Join(filepath.ToSlash(dir), n.File)), n.Line,
			view.Clean(n.Text))
	}
	return command.Done
}
