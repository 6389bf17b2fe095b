// Command terraform-provider-pgrows manages PostgreSQL tables and their rows: see package pgrows.
package main

import (
	"github.com/tombolo-iac/tombolo/examples/provider-go/pgrows"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

func main() { schema.Serve(pgrows.Provider) }
