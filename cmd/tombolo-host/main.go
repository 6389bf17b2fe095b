// Command tombolo-host is the plugin in packages of program providers: it serves the provider that the manifest beside
// it describes to Terraform, OpenTofu and Tombolo. The command tombolo can do the same, and is four times as large: it
// also reads states of other configurations for programs, from all backends, which this command refuses.
//
// It is built for one kind of providers (release/hosts.go): with the tags without_http and without_modules for
// programs, without_http for WASI modules, and without_modules for HTTP manifests.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	_ "github.com/tombolo-iac/tombolo/internal/startup" // disables garbage collection during start
	"github.com/tombolo-iac/tombolo/provider/serve"
)

func main() {
	dir, ok := generic.Started(os.Args[0])
	if !ok {
		fmt.Fprintln(os.Stderr, "This program is the host in packages of providers. \"tombolo provider build\" takes "+
			"it with -host or -hosts. It does nothing under this name.")
		os.Exit(1)
	}
	os.Exit(generic.Serve(dir, refuseStates, serve.Options{Debug: len(os.Args) == 2 &&
		(os.Args[1] == "-debug" || os.Args[1] == "--debug")}))
}

// refuseStates is asked for states of other configurations. Their backends are most of the command tombolo.
func refuseStates(context.Context, string, string, cty.Value) (cty.Value, diag.List) {
	return cty.NilVal, diag.List{}.Errorf(nil, "Cannot read a remote state for a program", "The package of the "+
		"provider has a small host, which has no backends. The author of the provider can make one that reads states: "+
		"omit -hosts from \"tombolo provider build\", or set -host with the tombolo binary of each platform.")
}
