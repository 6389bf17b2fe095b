// Command terraform-provider-pgrows keeps tables of PostgreSQL and the rows in them: see package pgrows.
package main

import (
	"github.com/tombolo-iac/tombolo/examples/provider-go/pgrows"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

func main() { schema.Serve(pgrows.Provider) }
