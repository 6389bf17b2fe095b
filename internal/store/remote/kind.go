package remote

import (
	"context"
	"path/filepath"
	"strings"

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
	// Blocks are arguments with objects that are written as blocks: one block, or any number where it is a set.
	Blocks map[string]bool
	// Needed are arguments of strings without which nothing can be reached, each with the environment variable that
	// takes its place, if there is one. Init asks for them.
	Needed map[string]string
	// Open makes a driver of the values of a block, which conform to the schema. It may look at environment and files,
	// and asks the service only what cannot wait: wrong arguments are reported here, with attribute paths in the
	// diagnostics where there are any. Config is never logged or shown: it may hold passwords.
	Open func(ctx context.Context, config cty.Value, o Surroundings) (Driver, diag.List)
	// Programs returns what a driver of these values starts because the working directory says so, in its block or in a
	// file that the block names; nil for kinds that start nothing. What the user's own files say does not count.
	Programs func(config cty.Value, o Surroundings) []Program
}

// Program is a command that a backend starts.
type Program struct {
	// Argument of the block names the command, or the file that does.
	Argument string
	// Line is the command, for people.
	Line string
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

// Path returns a name of a file as one of the process: relative ones are in the working directory, and "~/" is the
// folder of the user.
func (o Surroundings) Path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && o.Getenv != nil {
		return filepath.Join(o.Getenv("HOME"), rest)
	}
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(o.Dir, name)
}

// Brought reports whether a file that a block names may come with the working directory: its name is relative, or it is
// in that directory. Any other belongs to the user.
func (o Surroundings) Brought(name string) bool {
	if name == "" || strings.HasPrefix(name, "~") {
		return false
	}
	if !filepath.IsAbs(name) {
		return true
	}
	top, err := filepath.Abs(o.Dir)
	if err == nil {
		top, err = filepath.EvalSymlinks(top)
	}
	file, fileErr := filepath.EvalSymlinks(name)
	if err != nil || fileErr != nil {
		return false // nothing is read there
	}
	in, err := filepath.Rel(top, file)
	return err == nil && filepath.IsLocal(in)
}
