package inspect

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// Version is the command version.
func Version() *command.Command {
	return &command.Command{
		Name: "version", Short: "Show the version",
		Long:    "Show the version of the program and of the language it supports.",
		Example: `~ version -json`,
		Setup: func(c *command.Call) command.Run {
			var asJSON bool
			c.Flags.BoolVar(&asJSON, "json", false, "Print a JSON document instead of text.")
			return func(context.Context) command.Outcome { return runVersion(c, asJSON) }
		},
	}
}

func runVersion(c *command.Call, asJSON bool) command.Outcome {
	platform := runtime.GOOS + "_" + runtime.GOARCH
	selections := c.Selections()
	if asJSON {
		info := tfjson.VersionInfo{TerraformVersion: c.LanguageVersion(), Platform: platform,
			ProviderSelections: selections}
		if c.Flavor().ChecksForNewer() {
			info.TerraformOutdated = new(bool)
		}
		if c.CalledAs == flavor.Unset {
			info.TomboloVersion = engine.Version
		}
		return c.Finish("Failed to show the version", tfjson.Version(c.Out, info))
	}
	if c.CalledAs != flavor.Unset {
		fmt.Fprintf(c.Out, "%s v%s\non %s\n", c.Title, c.LanguageVersion(), platform)
	} else {
		fmt.Fprintf(c.Out, "Tombolo v%s\non %s\nspeaks the language of %s v%s\n", engine.Version, platform,
			c.Flavor().Title(), c.LanguageVersion())
	}
	for _, name := range slices.Sorted(maps.Keys(selections)) {
		fmt.Fprintf(c.Out, "+ provider %s v%s\n", name, selections[name])
	}
	return command.Done
}
