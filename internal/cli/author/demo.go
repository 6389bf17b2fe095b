package author

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/examples"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

// Demo is the command demo.
func Demo() *command.Command {
	return &command.Command{
		Name: "demo", Short: "Write an example to try", Args: "[DIRECTORY]",
		Long: `Write a small configuration into a new folder, which is demo unless DIRECTORY names another. It manages a
folder of text files with shell scripts: nothing has to be installed, and nothing outside of the folder is touched.`,
		Example: "~ demo\n~ -chdir=demo apply",
		Setup: func(c *command.Call) command.Run {
			return func(context.Context) command.Outcome {
				dir := "demo"
				switch len(c.Args) {
				case 0:
				case 1:
					dir = c.Args[0]
				default:
					return c.Misuse("Wrong number of arguments", "Expected at most one, the folder to write to, and "+
						"got %d.", len(c.Args))
				}
				return c.End(writeDemo(c, dir))
			}
		},
	}
}

func writeDemo(c *command.Call, dir string) (diags diag.List) {
	const cannot = "The example cannot be written"
	files, err := examples.Quickstart()
	if err != nil {
		return diags.AppendError(cannot, err)
	}
	if diags = writeNew(c, cannot, dir, "Choose another one: "+c.Program+" demo DIRECTORY.", files); diags.HasErrors() {
		return diags
	}
	fmt.Fprintf(c.Out, "\nRead %[1]s/main.tf. Then create what it describes:\n\n  %[2]s -chdir=%[1]s apply\n\nChange "+
		"something, and see what apply would do:\n\n  %[2]s -chdir=%[1]s plan\n\nRemove everything again:\n\n  %[2]s "+
		"-chdir=%[1]s destroy\n", dir, c.Program)
	return diags
}
