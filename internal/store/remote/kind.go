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
	// Place is the kind of storage, for messages: "a PostgreSQL database".
	Place string
	// Schema is the schema of the block. It must equal Terraform's, because the record of an initialized directory
	// contains a hash of its values. All arguments are optional; Open checks that required ones are set by an argument
	// or the environment.
	Schema *provider.Block
	// More are arguments that Terraform does not have: those of OpenTofu or Tombolo. The record does not contain them
	// while they are not set, so that Terraform accepts it.
	More map[string]*provider.Attribute
	// Blocks are arguments of object types that are written as blocks: one block, or any number for a set.
	Blocks map[string]bool
	// Needed maps the required string arguments to the environment variables that can replace them, or "". The command
	// init prompts for them.
	Needed map[string]string
	// Locating are the arguments that say where a state is. Others, such as a region or a profile, say how it is
	// reached. If it is empty, all arguments count.
	Locating []string
	// Unset are the locating arguments that need not be set, with what replaces them.
	Unset map[string]Unset
	// Location, if it is not nil, replaces both: it returns a text that is the same for the same state, or "" if the
	// arguments and the environment do not say where the state of a workspace is. It sends no requests.
	Location func(config cty.Value, workspace string, o Surroundings) string
	// Open returns a driver for the values of a block, which conform to the schema. It may read the environment and
	// files, but sends only requests that cannot be deferred. It reports invalid arguments, with attribute paths if
	// possible. Config must not be logged or shown, because it may contain passwords.
	Open func(ctx context.Context, config cty.Value, o Surroundings) (Driver, diag.List)
	// Programs returns the programs that a driver with these values starts, and the user's tokens that it sends,
	// because the working directory names them, in its block or in a file that the block names. What the user's own
	// files name does not count. It is nil for kinds that do neither.
	Programs func(config cty.Value, o Surroundings) []Program
}

// Unset is the replacement of an argument that is not set: a variable of the environment, or else a value.
type Unset struct {
	Variable, Value string
}

// Program is a command that a backend starts, or a token of the user that it sends to a service.
type Program struct {
	// Argument is the argument of the block that names the command, or the file that contains it.
	Argument string
	// Line is the command for messages, or for a token the line that names it.
	Line string
	// Token means that no program is started, but a token of the user is sent to a service.
	Token bool
	// Usual marks a token in a variable that is meant for the service of any block. It is sent without approval if
	// input is not interactive, as in a pipeline.
	Usual bool
}

// Surroundings holds the inputs of a driver in addition to its arguments.
type Surroundings struct {
	// Getenv returns an environment variable.
	Getenv func(string) string
	// Dir is the directory for relative file names; "" means the working directory of the process.
	Dir string
	// Flavor is the tool to which the project belongs.
	Flavor flavor.Flavor
	// Version is the version of the program, for lock information and similar uses.
	Version string
	// Hosts finds services of hosts and the user's tokens. If it is nil, there are none.
	Hosts Hosts
	// Log is called with a line about each request to the service, without secrets. It may be nil. It may be called
	// concurrently.
	Log func(format string, args ...any)
}

// Hosts finds services and tokens in the CLI configuration and on the network.
type Hosts interface {
	// Service returns the address of the first of these services that a host announces, ending in a slash. It fails if
	// the user's token must not be sent there: without TLS, or if another host has chosen the address.
	Service(ctx context.Context, host string, ids ...string) (*url.URL, error)
	// Token returns the user's token for exactly this host, or "".
	Token(ctx context.Context, host string) (string, error)
}

// Path resolves a file name: relative names are below Dir, and "~/" is the user's home folder.
func (o Surroundings) Path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && o.Getenv != nil {
		return filepath.Join(o.Getenv("HOME"), rest)
	}
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(o.Dir, name)
}

// FromProject reports whether a file that a block names may come with the working directory: its name is relative, or
// the file is in that directory. All other files belong to the user.
func (o Surroundings) FromProject(name string) bool {
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
		return false // no file is read then
	}
	in, err := filepath.Rel(top, file)
	return err == nil && filepath.IsLocal(in)
}

// Own reports whether a file named by the working directory is outside of that directory, so that it did not come with
// it. For a link, its target counts; a missing target is not such a file.
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
	return err != nil || !o.FromProject(full)
}

// Setting is a setting in a file with lines such as "key = value".
type Setting struct{ Key, Value, Line string }

// Settings returns those settings of a file whose keys contain one of the given words. It ignores sections, because
// they refer to each other.
func Settings(text []byte, words ...string) (all []Setting) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		for _, word := range words {
			if strings.Contains(strings.ToLower(key), word) {
				all = append(all, Setting{Key: word, Value: strings.TrimSpace(value), Line: line})
			}
		}
	}
	return all
}
