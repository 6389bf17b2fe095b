// Package author has the subcommands of "provider", one file each, and of "store" (store.go), for authors of providers
// and of state stores. They use providers like the engine, through provider.Provider.
package author

import "github.com/tombolo-iac/tombolo/internal/cli/command"

// Provider is the command provider.
func Provider() *command.Command {
	return &command.Command{
		Name: "provider", Short: "Develop and publish providers",
		Long: "Commands for developers of providers.",
		Members: []*command.Command{cmdBuild(), cmdCall(), cmdDev(), cmdDocs(), cmdFromOpenAPI(),
			cmdNew(), cmdPrepare(), cmdPublish(), cmdServe(), cmdTest(), cmdTypes()},
	}
}
