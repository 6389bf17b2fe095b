// Command terraform-provider-external is the provider `external` as a plugin for Terraform and OpenTofu: data sources
// and objects from programs in any language. Tombolo has the same provider built in.
package main

import (
	"context"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/tombolo-iac/tombolo/internal/external"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

func main() {
	// The standard error of programs goes to the host's log: Terraform reads lines of this format from a plugin's
	// standard error.
	log := hclog.New(&hclog.LoggerOptions{Name: "external", Level: hclog.Trace, Output: os.Stderr, JSONFormat: true})
	serve.Main(serve.Options{
		Address: "registry.terraform.io/hashicorp/external",
		New: func(context.Context) (provider.Provider, error) {
			return external.New(external.Options{Stderr: func(l external.Line) {
				log.Trace(l.Text, "program", l.Label)
			}}), nil
		},
	})
}
