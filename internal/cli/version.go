package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdVersion() *command {
	return &command{
		name: "version", short: "Show the version",
		long: "Show the version of the program and of the language that it speaks.",
		setup: func(c *call) func(context.Context) outcome {
			var asJSON bool
			c.flags.BoolVar(&asJSON, "json", false, "Print a JSON document for programs.")
			return func(context.Context) outcome { return c.runVersion(asJSON) }
		},
	}
}

func (c *call) runVersion(asJSON bool) outcome {
	platform := runtime.GOOS + "_" + runtime.GOARCH
	if asJSON {
		return c.finish("Failed to show the version", tfjson.Version(c.out, tfjson.VersionInfo{
			TerraformVersion: state.LanguageVersion, Platform: platform, ProviderSelections: map[string]string{},
		}))
	}
	if c.program == "terraform" {
		fmt.Fprintf(c.out, "Terraform v%s\non %s\n", state.LanguageVersion, platform)
		return done
	}
	fmt.Fprintf(c.out, "Tombolo v%s\non %s\nspeaks the language of Terraform v%s\n", tombolo.Version, platform, state.LanguageVersion)
	return done
}
