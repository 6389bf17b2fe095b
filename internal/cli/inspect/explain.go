package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/explain"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Explain is the command explain.
func Explain() *command.Command {
	return &command.Command{
		Name: "explain", Short: "Explain a code of an error", Args: "[CODE | WORDS]",
		Long: `Print what the code of an error or a warning means. The pages about the most common ones have a
configuration that fails, its exact output, and how to fix it; other pages list the commands that
report it and its text, and many show an example. With words instead of a code, find the
codes whose titles have these words; without arguments, list all codes. No network is used.`,
		Example: `~ explain TB0401
~ explain for_each`,
		Setup: func(c *command.Call) command.Run {
			return func(context.Context) command.Outcome { return explained(c, strings.Join(c.Args, " ")) }
		},
	}
}

func explained(c *command.Call, asked string) command.Outcome {
	if page, ok := explain.Of(asked); ok {
		fmt.Fprint(c.Out, page.Text(explain.Words{Program: c.Program, Title: c.Title, Bold: c.Bold,
			Wrap: func(text string) string { return view.Wrap(text, c.Width) }}))
		return command.Done
	}
	found := explain.About(asked)
	switch len(found) {
	case 0:
		return c.End(diag.List{}.Errorf(nil, "No such code", "%q is not a code, and no title of a problem contains "+
			"these words. Codes look like %s.", asked, diag.Kinds()[0].Code).
			Advise("For a list of all codes, run \"%s\".", diag.Run("explain")))
	case 1:
		return explained(c, found[0].Code)
	}
	for _, k := range found {
		retired, says := "", ""
		if k.Retired {
			retired = " (retired)"
		}
		if k.Says != "" {
			says = ": \"" + k.Says + "\""
		}
		fmt.Fprintf(c.Out, "%s  %s%s%s\n", c.Bold(k.Code), k.Title, says, retired)
	}
	return command.Done
}
