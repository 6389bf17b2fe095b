// Command tombolo creates, changes and destroys what a configuration in the Terraform language describes.
package main

import (
	"os"

	"github.com/tombolo-iac/tombolo/internal/cli"
)

func main() { os.Exit(cli.Main()) }
