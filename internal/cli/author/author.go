// Package author has the commands for those who write providers, as members of the command provider, a file each, and
// for those who write stores of states (store.go).
//
// Its members use a provider from outside, as the engine does, through provider.Provider.
package author

import "github.com/tombolo-iac/tombolo/internal/cli/command"

// Provider is the command provider.
func Provider() *command.Command {
	return &command.Command{
		Name: "provider", Short: "Develop and publish providers",
		Long:    "Commands for developers of providers.",
		Members: []*command.Command{cmdBuild(), cmdCall(), cmdDocs(), cmdNew(), cmdPrepare(), cmdServe(), cmdTest()},
	}
}
