// Command consul is only the agent of Consul: the complete program needs modules that are not published.
package main

import (
	"fmt"
	"os"

	mcli "github.com/mitchellh/cli"

	"github.com/hashicorp/consul/command/agent"
	"github.com/hashicorp/consul/command/cli"
	_ "github.com/hashicorp/consul/service_os"
)

func main() {
	ui := &cli.BasicUI{BasicUi: mcli.BasicUi{Writer: os.Stdout, ErrorWriter: os.Stderr}}
	if len(os.Args) < 2 || os.Args[1] != "agent" {
		fmt.Fprintln(os.Stderr, "only the agent is here")
		os.Exit(1)
	}
	os.Exit(agent.New(ui).Run(os.Args[2:]))
}
