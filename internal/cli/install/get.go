package install

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/fetch"
	"github.com/tombolo-iac/tombolo/internal/fetch/download"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Get is the command get.
func Get() *command.Command {
	return &command.Command{
		Name: "get", Short: "Install the modules of the configuration",
		Long: "Install the modules that the configuration calls. The command init does this, too.",
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.LineFlags()
			var update bool
			c.Flags.BoolVar(&update, "update", false, "Install modules again.")
			tests := command.TestFlag(c)
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.Say("Too many command line arguments. Did you mean to use -chdir?")
				}
				o := engine.ModuleOptions{Upgrade: update}
				return c.End(command.TestDirectory(*tests).Extend(fetchModules(ctx, c, o, *tests)))
			})
		},
	}
}

// installModules installs the modules of the configuration, and reports whether it succeeded.
func installModules(ctx context.Context, c *command.Call, calls int, o engine.ModuleOptions, tests string) bool {
	switch {
	case calls == 0: // a copied module: an empty record stays
	case o.Upgrade:
		announce(c, "upgrading_modules_message", c.Bold("Upgrading modules..."))
	default:
		announce(c, "initializing_modules_message", c.Bold("Initializing modules..."))
	}
	diags := fetchModules(ctx, c, o, tests)
	if !diags.HasErrors() {
		return true // warnings are shown once, when the whole configuration is read
	}
	return c.Report(diags)
}

// fetchModules installs the modules of the configuration and its test files.
func fetchModules(ctx context.Context, c *command.Call, o engine.ModuleOptions, tests string) diag.List {
	files, diags := c.TestFiles(tests)
	if diags.HasErrors() {
		return diags
	}
	o.Calls, o.Progress = callsOf(files), func(line string) { announce(c, "", view.Clean(line)) }
	return c.InstallModules(ctx, o)
}

// callsOf returns the modules that test files use.
func callsOf(files []*testfile.File) (calls []config.Place) {
	for _, run := range testfile.Calls(files) {
		calls = append(calls, *run.Place())
	}
	return calls
}

// copyModule copies a module into the working directory, and reports whether it succeeded.
func copyModule(ctx context.Context, c *command.Call, source string) bool {
	announce(c, "copying_configuration_message",
		c.Bold(fmt.Sprintf("Copying configuration from %q...", download.Shown(source))))
	return c.Report(fetch.CopyModule(ctx, source, ".", fetch.Online(c.Web(), c.Environ)))
}
