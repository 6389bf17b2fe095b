package remote

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/provider"
)

// Kind is a type of backend: the schema of its block, and the function that opens its driver.
type Kind struct {
	// Name is the label of the block: "pg".
	Name string
	// Place is where states are, for people: "a PostgreSQL database".
	Place string
	// Schema is the schema of the block, which must be Terraform's: the record of an initialized directory has a hash
	// over its values. All arguments are optional there; Open checks which must be set, by argument or environment.
	Schema *provider.Block
	// More are arguments that Terraform has not: OpenTofu's, or ours. While they are not set, the record does not
	// mention them, so that Terraform takes it for its own.
	More map[string]*provider.Attribute
	// Blocks are arguments with objects that are written as blocks: one block, or any number where it is a set.
	Blocks map[string]bool
	// Needed holds the required string arguments, each with the environment variable that can replace it, if there is
	// one. Init asks for them.
	Needed map[string]string
	// Open returns a driver of the values of a block, which conform to the schema. It may read environment and files,
	// and sends only requests that cannot wait: wrong arguments are reported here, with attribute paths in the
	// diagnostics where there are any. Config is never logged or shown: it may hold passwords.
	Open func(ctx context.Context, config cty.Value, o Surroundings) (Driver, diag.List)
	// Programs returns the programs that a driver of these values starts, and the tokens of the user that it sends,
	// because the working directory names them, in its block or in a file that the block names; nil for kinds that do
	// neither. What the user's own files say does not count.
	Programs func(config cty.Value, o Surroundings) []Program
}

// Program is a command that a backend starts, or a token of the user that it sends somewhere.
type Program struct {
	// Argument of the block names the command, or the file that does.
	Argument string
	// Line is the command, for people; of a token, the line that names it.
	Line string
	// Token is set when nothing is started: something of the user's goes to a service.
	Token bool
	// Usual is set for a token in a variable that is meant for the service of whatever block there is. Where nobody can
	// be asked, as in a pipeline, it is sent.
	Usual bool
}

// Surroundings holds the inputs of a driver in addition to its arguments.
type Surroundings struct {
	// Getenv returns environment variables.
	Getenv func(string) string
	// Dir is the working directory, for relative names of files; "" for that of the process.
	Dir string
	// Flavor says whose project it is.
	Flavor flavor.Flavor
	// Version of the program, for lock information and the like.
	Version string
	// Hosts knows services of hosts, and the user's tokens; nil knows none.
	Hosts Hosts
	// Log gets a line about each request to the service, without secrets; it may be nil. It may be called concurrently.
	Log func(format string, args ...any)
}

// Hosts are those of the CLI configuration and of the network.
type Hosts interface {
	// Service returns the address of the first of these services that a host announces, with a slash at its end. It
	// fails where the user's token may not go there: without TLS, or where another host has chosen the address.
	Service(ctx context.Context, host string, ids ...string) (*url.URL, error)
	// Token returns the token that the user has for exactly this host; "" for none.
	Token(ctx context.Context, host string) (string, error)
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

// Own reports whether a file that something in the working directory names is outside of that directory: it did not
// come with the directory. A link counts as what it leads to; a name that leads nowhere is no such file.
func (o Surroundings) Own(name string) bool {
	if strings.HasPrefix(name, "~") {
		return true
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(o.Dir, name)
	}
	if _, err := filepath.EvalSymlinks(name); err != nil {
		return false
	}
	full, err := filepath.Abs(name)
	return err != nil || !o.Brought(full)
}

// Said is a setting of a file of lines such as "key = value".
type Said struct{ Key, Value, Line string }

// Settings returns the lines of a file of settings that have one of the given words in their key. Sections do not
// matter: they refer to each other.
func Settings(text []byte, words ...string) (all []Said) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		for _, word := range words {
			if strings.Contains(strings.ToLower(key), word) {
				all = append(all, Said{Key: word, Value: strings.TrimSpace(value), Line: line})
			}
		}
	}
	return all
}
