// Command tombolo-host is the plugin in packages of program providers: it serves the provider that the manifest beside
// it describes to Terraform, OpenTofu and Tombolo. The command tombolo can do the same, and is four times as large: it
// also reads states of other configurations for programs, from all backends, which this command refuses.
//
// It is built for one kind of providers (release/hosts.go): with the tags without_http and without_modules for
// programs, without_http for WASI modules, and without_modules for HTTP manifests.
package main

import (
	"fmt"
	"os"

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
	os.Exit(generic.Serve(dir, generic.RefuseStates, serve.Options{Debug: len(os.Args) == 2 &&
		(os.Args[1] == "-debug" || os.Args[1] == "--debug")}))
}
