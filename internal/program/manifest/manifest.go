// Package manifest reads tombolo-provider.json: the description of a program provider, with which it can be used
// without starting it.
//
// A manifest contains the command for each operating system, and describes the types of the provider in the format of
// `providers schema -json` with additional keywords (docs/program-protocol.md lists all of them). Parse reports all
// mistakes in a file together, each with its line and the most similar valid name.
//
//	m, diags := manifest.Load("./notes")
//
// A Manifest is immutable. The package runs no programs and reads only the manifest file.
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

// FileName is the name of the manifest in the folder of a provider.
const FileName = "tombolo-provider.json"

// leftovers are name patterns of files and folders that do not belong to a provider: files that programs create where
// they run.
var leftovers = []string{"__pycache__", ".*", "*.pyc", "*.tfstate", "*.tfstate.backup", "terraform.tfstate.d",
	"Thumbs.db"}

// IsLeftover reports whether a file or folder with this name, anywhere in the folder of a provider, does not belong to
// the provider.
func IsLeftover(name string) bool {
	return slices.ContainsFunc(leftovers, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, name) // the patterns are valid
		return ok
	})
}

// Protocol is the supported version of the protocol.
const Protocol = 1

// Manifest is the content of a manifest file.
type Manifest struct {
	// Dir is the absolute path of the provider's folder; File is the name of the manifest.
	Dir, File string

	Name, Version, Description string

	Command Command
	Prepare Command // runs once before the first use; nil if there is none
	// PrepareFrom are the files and folders of the provider, with a leading ./, on which a preparation depends; nil
	// means all.
	PrepareFrom []string
	Requires    []Requirement
	Mode        Mode
	// Wasm is the file of a WASI module, relative to Dir and with slashes, which is the program instead of Command; ""
	// means none. Memory limits its memory, in MiB; 0 means the usual limit.
	Wasm        string
	Memory      int
	Permissions Permissions
	// HTTP is set for a provider without a program, whose types have requests instead.
	HTTP        *HTTP
	Concurrency int // maximum number of concurrent calls; 0 means no limit
	// Implements lists the optional actions that the provider as a whole implements: configure, validate, schema.
	Implements []string

	// Schema is nil if the program reports it: see the action schema.
	Schema *provider.Schema
	types  map[typeName]*Type
	words  map[*provider.Attribute]*Words
	caches map[*provider.Function]time.Duration
	calls  map[*provider.Function]*Operation
}

// Mode selects how programs are run.
type Mode uint8

// Modes of running programs.
const (
	OneShot Mode = iota // a process for each call
	Session             // one process for many calls
)

// Command maps platforms to command lines: "default", an operating system as Go names it, or both system and
// architecture, such as linux_amd64.
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

// InPackage returns a command line in which words that begin with ./ are replaced with file names in the folder of the
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

// Requirement is a program that must be installed for the provider.
type Requirement struct {
	Command string
	Hint    string // how to install it
}

type typeName struct {
	kind provider.ResourceKind
	name string
}

// Type holds the additional keywords of a resource type, data source, ephemeral resource, list or action.
type Type struct {
	Implements []string
	Timeouts   map[string]time.Duration
	// Import is the attribute for the ID of an import, or "".
	Import string
	Retry  Retry
	// Cache is how long an answer of a data source may be reused; 0 means not at all.
	Cache time.Duration
	// ForcesNew reports whether any attribute forces a replacement.
	ForcesNew bool
	// API holds the requests of a provider without a program; it is nil for others.
	API *API
}

// Does reports whether an action is implemented.
func (t *Type) Does(action string) bool { return t != nil && slices.Contains(t.Implements, action) }

// Retry is how often a call that only reads is repeated if it ends with exit status 75, and the pause between tries.
type Retry struct {
	Attempts int
	Delay    time.Duration
}

// Words holds the additional keywords of an attribute. Most attributes have none.
type Words struct {
	ForceNew bool
	Stable   bool
	AsText   bool      // encoding: "string"
	Default  cty.Value // cty.NilVal if there is none
	Check    *Check    // nil if there is none
	Field    *Field    // nil means the defaults
}

var noWords Words

// Words returns the additional keywords of an attribute of the schema. It never returns nil.
func (m *Manifest) Words(a *provider.Attribute) *Words {
	if w := m.words[a]; w != nil {
		return w
	}
	return &noWords
}

// Type returns the additional keywords of a type, or nil if the type does not exist.
func (m *Manifest) Type(kind provider.ResourceKind, name string) *Type {
	return m.types[typeName{kind, name}]
}

// Cache returns how long a result of a function may be reused; 0 means not at all.
func (m *Manifest) Cache(f *provider.Function) time.Duration { return m.caches[f] }

// Call returns the request of a function, or nil if the program implements it.
func (m *Manifest) Call(f *provider.Function) *Operation { return m.calls[f] }

// Does reports whether the provider as a whole implements an action.
func (m *Manifest) Does(action string) bool { return slices.Contains(m.Implements, action) }

// WithSchema returns the manifest with the schema that the program reported, which is JSON in the format of the member
// "schema".
func (m *Manifest) WithSchema(src []byte) (*Manifest, diag.List) {
	out := *m
	r := &reader{src: src, file: "the answer to the action schema", m: &out, env: map[string]bool{}}
	r.m.types, r.m.words, r.m.caches = map[typeName]*Type{}, map[*provider.Attribute]*Words{},
		map[*provider.Function]time.Duration{}
	r.root(func(v *node) { r.schema(v) })
	return &out, r.diags
}

// maxSize limits the size of a manifest, in bytes.
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

// Parse decodes a manifest; file is its name in messages, and dir the folder of the provider. The manifest is nil if
// there are errors.
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
