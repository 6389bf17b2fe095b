package remote

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// Kind is a type of backend: the schema of its block, and the function that opens its driver.
type Kind struct {
	// Name is the label of the block: "pg".
	Name string
	// Place is where states are, for people: "a PostgreSQL database".
	Place string
	// Schema is that of the block, and Terraform's: the record of a set-up directory has a hash over its values. All
	// arguments are optional there; what must be set, by argument or environment, is for Open to say.
	Schema *provider.Block
	// More are arguments that Terraform has not: OpenTofu's, or ours. While they are not set, the record does not
	// mention them, so that Terraform takes it for its own.
	More map[string]*provider.Attribute
	// Blocks are arguments with objects that are written as blocks.
	Blocks map[string]bool
	// Needed are arguments of strings without which nothing can be reached, each with the environment variable that
	// takes its place, if there is one. Init asks for them.
	Needed map[string]string
	// Open makes a driver of the values of a block, which conform to the schema. It may look at environment and files,
	// and asks the service only what cannot wait: wrong arguments are reported here, with attribute paths in the
	// diagnostics where there are any. Config is never logged or shown: it may hold passwords.
	Open func(ctx context.Context, config cty.Value, o Surroundings) (Driver, diag.List)
	// Command returns the program that a driver of these values starts; nil for kinds that start none.
	Command func(config cty.Value) []string
}

// Surroundings holds what a driver needs in addition to its arguments.
type Surroundings struct {
	// Getenv returns environment variables.
	Getenv func(string) string
	// Dir is the working directory, for relative names of files; "" for that of the process.
	Dir string
	// Version of the program, for lock information and the like.
	Version string
	// Log takes a line about what is asked of the service, without secrets; it may be nil. It may be called
	// concurrently.
	Log func(format string, args ...any)
}
