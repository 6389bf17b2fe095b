// Command tombolo creates, changes and destroys the objects that a configuration in the Terraform language declares.
//
// If it is called terraform-provider-NAME and has a manifest beside it, it is the plugin for the provider in the
// manifest: see package generic.
package main

import (
	"os"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	_ "github.com/tombolo-iac/tombolo/internal/startup" // disables garbage collection during start
	"github.com/tombolo-iac/tombolo/provider/serve"
)

func main() {
	if dir, ok := generic.Started(os.Args[0]); ok {
		os.Exit(generic.Serve(dir, cli.RemoteState(), serve.Options{Debug: len(os.Args) == 2 &&
			(os.Args[1] == "-debug" || os.Args[1] == "--debug")}))
	}
	os.Exit(cli.Main())
}
