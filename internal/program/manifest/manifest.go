// Package manifest reads tombolo-provider.json: the description of a program provider, for use without starting it.
//
// A manifest names the command to run on each operating system, and describes the types of the provider in the words of
// `providers schema -json` together with some of our own (docs/program-protocol.md lists them all). Read finds all
// mistakes of one file together, each with its line and the nearest word that would have been right.
//
//	m, diags := manifest.Load("./notes")
//
// A Manifest is immutable. The package starts nothing and looks at no other file than the one it reads.
package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/provider"
)

// FileName is the name of the file in the folder of a provider.
const FileName = "tombolo-provider.json"

// leftovers are names of files and folders that are no part of a provider: what programs leave behind where they run.
var leftovers = []string{"__pycache__", ".*", "*.pyc", "*.tfstate", "*.tfstate.backup", "terraform.tfstate.d",
	"Thumbs.db"}

// IsLeftover reports whether a file or folder with this name, wherever it is in the folder of a provider, is not part
// of the provider.
func IsLeftover(name string) bool {
	return slices.ContainsFunc(leftovers, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, name) // the patterns are good
		return ok
	})
}

// Protocol is the version of the protocol that this package knows.
const Protocol = 1

// Manifest is the content of a manifest file.
type Manifest struct {
	// Dir is the folder of the provider, absolute; File the name that the manifest was read by.
	Dir, File string

	Name, Version, Description string

	Command Command
	Prepare Command // what is run once before the first use; nil: nothing
	// PrepareFrom are the files and folders of the provider, with ./ in front, that a preparation depends on; nil: all.
	PrepareFrom []string
	Requires    []Requirement
	Mode        Mode
	// HTTP is set for a provider without a program, whose types have requests instead.
	HTTP        *HTTP
	Concurrency int // how many calls at once; 0: as many as the engine makes
	// Implements lists the optional actions that the provider as a whole takes part in: configure, validate, schema.
	Implements []string

	// Schema is nil when it has to be asked for: see the action schema.
	Schema *provider.Schema
	types  map[typeName]*Type
	words  map[*provider.Attribute]*Words
	caches map[*provider.Function]time.Duration
	calls  map[*provider.Function]*Operation
}

// Mode is how programs are run.
type Mode uint8

// The modes.
const (
	OneShot Mode = iota // a process for each call
	Session             // one process for many calls
)

// Command is the command line by platform: "default", an operating system as Go names it, or both with an underscore,
// linux_amd64.
type Command map[string][]string

// For returns the command line for a platform, or nil if there is none.
func (c Command) For(goos, goarch string) []string {
	for _, key := range []string{goos + "_" + goarch, goos, "default"} {
		if argv, ok := c[key]; ok {
			out := make([]string, len(argv))
			for i, word := range argv {
				out[i] = strings.NewReplacer("{os}", goos, "{arch}", goarch).Replace(word)
			}
			return out
		}
	}
	return nil
}

// InPackage returns the words of a command line with those that begin with ./ made names of files in the folder of the
// provider.
func InPackage(dir string, argv []string) []string {
	out := slices.Clone(argv)
	for i, word := range out {
		if rest, ok := strings.CutPrefix(word, "./"); ok {
			out[i] = filepath.Join(dir, filepath.FromSlash(rest))
		}
	}
	return out
}

// Requirement is a program that has to be installed beside the provider.
type Requirement struct {
	Command string
	Hint    string // how to get it
}

type typeName struct {
	kind provider.ResourceKind
	name string
}

// Type holds our own keywords for a resource type, data source, ephemeral resource, list or action.
type Type struct {
	Implements []string
	Timeouts   map[string]time.Duration
	// Import is the attribute that gets the ID of an import; "" for none.
	Import string
	Retry  Retry
	// Cache is how long an answer of a data source is used again; 0: not at all.
	Cache time.Duration
	// ForcesNew reports whether any attribute forces a replacement.
	ForcesNew bool
	// API holds the requests of a provider without a program; nil for others.
	API *API
}

// Does reports whether an action is implemented.
func (t *Type) Does(action string) bool { return t != nil && slices.Contains(t.Implements, action) }

// Retry is how often to repeat a call that only reads and ended with exit status 75, and how long to wait in
// between.
type Retry struct {
	Attempts int
	Delay    time.Duration
}

// Words holds our own keywords for an attribute. Most attributes have none.
type Words struct {
	ForceNew bool
	Stable   bool
	AsText   bool      // encoding: "string"
	Default  cty.Value // cty.NilVal: none
	Check    *Check    // nil: none
	Field    *Field    // nil: as usual
}

var noWords Words

// Words returns our keywords for an attribute of the schema; never nil.
func (m *Manifest) Words(a *provider.Attribute) *Words {
	if w := m.words[a]; w != nil {
		return w
	}
	return &noWords
}

// Type returns our keywords for a type; nil if there is no such type.
func (m *Manifest) Type(kind provider.ResourceKind, name string) *Type {
	return m.types[typeName{kind, name}]
}

// Cache returns how long a result of a function is used again; 0: not at all.
func (m *Manifest) Cache(f *provider.Function) time.Duration { return m.caches[f] }

// Call returns the request of a function; nil for one of a program.
func (m *Manifest) Call(f *provider.Function) *Operation { return m.calls[f] }

// Does reports whether the provider as a whole implements an action.
func (m *Manifest) Does(action string) bool { return slices.Contains(m.Implements, action) }

// WithSchema returns the manifest with the schema that the program told, as JSON in the form of the member "schema".
func (m *Manifest) WithSchema(src []byte) (*Manifest, diag.List) {
	out := *m
	r := &reader{src: src, file: "the answer to the action schema", m: &out, env: map[string]bool{}}
	r.m.types, r.m.words, r.m.caches = map[typeName]*Type{}, map[*provider.Attribute]*Words{},
		map[*provider.Function]time.Duration{}
	r.root(func(v *node) { r.schema(v) })
	return &out, r.diags
}

// maxSize limits the size of a file.
const maxSize = 16 << 20

// Load reads the manifest of the provider in a folder.
func Load(dir string) (*Manifest, diag.List) {
	path := filepath.Join(dir, FileName)
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, diag.FromError("Program provider cannot be used", err)
	}
	src, err := regular.Read(path, maxSize)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, diag.List{}.Errorf(nil, "No program provider found",
			"There is no %s in %s. The folder of a program provider must contain this file.",
			FileName, abs)
	case err != nil:
		return nil, diag.List{}.Errorf(nil, "Program provider cannot be used", "Its manifest cannot be read: %s.", err)
	}
	return Parse(src, path, abs)
}

// Parse reads the text of a manifest; file is its name for messages, dir the folder of the provider. The manifest is
// nil when there are errors.
func Parse(src []byte, file, dir string) (*Manifest, diag.List) {
	r := &reader{src: src, file: file, env: map[string]bool{}, m: &Manifest{
		Dir: dir, File: file, types: map[typeName]*Type{}, words: map[*provider.Attribute]*Words{},
		caches: map[*provider.Function]time.Duration{}, calls: map[*provider.Function]*Operation{},
	}}
	r.root(r.manifest)
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	return r.m, r.diags
}
