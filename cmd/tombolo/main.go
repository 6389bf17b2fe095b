// Command tombolo creates, changes and destroys what a configuration in the Terraform language describes.
//
// Under the name of a plugin, terraform-provider-NAME, and beside a manifest it is the provider that the manifest
// describes: see package generic.
package main

import (
	"os"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	_ "github.com/tombolo-iac/tombolo/internal/startup" // collects no garbage while the program starts
	"github.com/tombolo-iac/tombolo/provider/serve"
)

func main() {
	if dir, ok := generic.Started(os.Args[0]); ok {
		os.Exit(generic.Serve(dir, cli.RemoteState(), serve.Options{Debug: len(os.Args) == 2 &&
			(os.Args[1] == "-debug" || os.Args[1] == "--debug")}))
	}
	os.Exit(cli.Main())
}
