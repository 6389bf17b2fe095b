// Package pins reads and writes the lock file .tombolo.lock.hcl: the installed version of each called module, its
// commit, and the hash of its files; and the permissions that users have granted to sandboxed providers. Terraform and
// OpenTofu do not read the file. Their own lock file cannot have these entries: they refuse unknown entries, or remove
// them when they write the file.
//
// A File is immutable; With and Grant return changed ones. Parse is strict, because ignoring an unknown entry would
// allow unnoticed changes. Hash returns the hash of a package on disk.
package pins

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// Name is the name of the file, in the directory of the root module.
const Name = ".tombolo.lock.hcl"

// MaxSize limits the size of the file in bytes: ten thousand modules fit.
const MaxSize = 4 << 20

// Entry is the lock of one called module.
type Entry struct {
	// Key is the path of the module through the calls, such as "net.subnets".
	Key string `hcl:"key,label"`
	// Source is the source of the call, without secrets.
	Source string `hcl:"source"`
	// Version is the version of a registry module, and Commit that of a package from a repository; otherwise they are
	// "".
	Version string `hcl:"version,optional"`
	Commit  string `hcl:"commit,optional"`
	// Hash is the hash of the package's files, "h1:…".
	Hash string `hcl:"hash"`

	Range hcl.Range `hcl:",def_range"`
}

// grant is the block of a provider.
type grant struct {
	Provider string    `hcl:"provider,label"`
	Granted  []string  `hcl:"granted"`
	Range    hcl.Range `hcl:",def_range"`
}

// File is the content of the file. The zero value is an empty one.
type File struct {
	entries map[string]Entry
	grants  map[string][]string // by the address of the provider
}

// Entry returns the entry of a module, or false if there is none.
func (f File) Entry(key string) (Entry, bool) {
	e, ok := f.entries[key]
	return e, ok
}

// With returns a file with this entry, which replaces an existing entry of the same module.
func (f File) With(e Entry) File {
	entries := make(map[string]Entry, len(f.entries)+1)
	maps.Copy(entries, f.entries)
	entries[e.Key] = e
	return File{entries, f.grants}
}

// WithoutModules returns a file that only has the permissions of providers.
func (f File) WithoutModules() File { return File{nil, f.grants} }

// Granted returns the permissions that a provider has, one line for each.
func (f File) Granted(p addr.Provider) []string { return f.grants[p.String()] }

// Grant returns a file in which a provider has exactly these permissions.
func (f File) Grant(p addr.Provider, lines []string) File {
	grants := maps.Clone(f.grants)
	if grants == nil {
		grants = map[string][]string{}
	}
	grants[p.String()] = slices.Clone(lines)
	return File{f.entries, grants}
}

// Entries returns all entries, sorted as in the file.
func (f File) Entries() []Entry {
	out := make([]Entry, 0, len(f.entries))
	for _, key := range slices.Sorted(maps.Keys(f.entries)) {
		out = append(out, f.entries[key])
	}
	return out
}

// header is the same whatever name the program was called by: projects share the file.
const header = `# This file is maintained automatically by "%s".
# Manual edits may be lost in future updates.
`

// Bytes returns the text of the file.
func (f File) Bytes() []byte {
	out := hclwrite.NewEmptyFile()
	body := out.Body()
	for _, e := range f.Entries() {
		body.AppendNewline()
		block := body.AppendNewBlock("module", []string{e.Key}).Body()
		for _, arg := range [][2]string{{"source", e.Source}, {"version", e.Version}, {"commit", e.Commit},
			{"hash", e.Hash}} {
			if arg[1] != "" {
				block.SetAttributeValue(arg[0], cty.StringVal(arg[1]))
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(f.grants)) {
		body.AppendNewline()
		var lines []cty.Value
		for _, line := range f.grants[p] {
			lines = append(lines, cty.StringVal(line))
		}
		body.AppendNewBlock("provider", []string{p}).Body().SetAttributeValue("granted", cty.TupleVal(lines))
	}
	top := fmt.Sprintf(header, diag.Named(diag.Program).Command(diag.Run("init")))
	return append([]byte(top), hclwrite.Format(out.Bytes())...)
}

var (
	hashForm   = regex.Lazy(`^h1:[A-Za-z0-9+/]{43}=$`)
	commitForm = regex.Lazy(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
)

// IsCommit reports whether a text is a complete commit ID.
func IsCommit(text string) bool { return commitForm().MatchString(text) }

// Parse parses a lock file. It reports all problems, each with its position.
func Parse(filename string, src []byte) (File, diag.List) {
	if diags := nesting.Check(src, filename); diags.HasErrors() {
		return File{}, diags
	}
	parsed, hclDiags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return File{}, diags
	}
	var content struct {
		Modules   []Entry `hcl:"module,block"`
		Providers []grant `hcl:"provider,block"`
	}
	if diags = diags.AppendHCL(gohcl.DecodeBody(parsed.Body, nil, &content)); diags.HasErrors() {
		return File{}, diags
	}
	entries := make(map[string]Entry, len(content.Modules))
	for _, e := range content.Modules {
		const summary, advice = "Invalid lock of a module", "Restore the file from version control. Or remove the " +
			"block: init then writes it again for the module that it downloads."
		switch first, again := entries[e.Key]; {
		case again:
			diags = diags.Errorf(&e.Range, summary, "The module %q is locked at %s already. Remove one of the two "+
				"blocks.", e.Key, first.Range)
		case e.Key == "" || e.Source == "":
			diags = diags.Errorf(&e.Range, summary, "The block must name a module and its source. %s", advice)
		case !hashForm().MatchString(e.Hash):
			diags = diags.Errorf(&e.Range, summary, "The hash of the module %q is %q: expected \"h1:\" and a hash. %s",
				e.Key, e.Hash, advice)
		case e.Commit != "" && !IsCommit(e.Commit):
			diags = diags.Errorf(&e.Range, summary, "The commit of the module %q is %q: expected the full name of a "+
				"commit. %s", e.Key, e.Commit, advice)
		default:
			entries[e.Key] = e
		}
	}
	grants := make(map[string][]string, len(content.Providers))
	for _, g := range content.Providers {
		const summary = "Invalid permissions of a provider"
		p, mistakes := addr.ParseProvider(g.Provider)
		_, again := grants[g.Provider]
		switch {
		case mistakes != nil || p.String() != g.Provider:
			diags = diags.Errorf(&g.Range, summary, "%q is not the full address of a provider, such as "+
				"\"registry.terraform.io/example/dns\". Remove the block: init then asks again.", g.Provider)
		case again:
			diags = diags.Errorf(&g.Range, summary, "There are two blocks for the provider %q. Remove one of them.",
				g.Provider)
		case slices.ContainsFunc(g.Granted, noPermission):
			diags = diags.Errorf(&g.Range, summary, "A permission of the provider %q has several lines or a comma, or "+
				"is \"*\". Remove the block: init then asks again.", g.Provider)
		default:
			grants[g.Provider] = g.Granted
		}
	}
	if diags.HasErrors() {
		return File{}, diags
	}
	return File{entries, grants}, diags
}

// Load reads the lock file in a directory; if it is missing, it returns an empty File.
func Load(dir string) (File, diag.List) {
	path := filepath.Join(dir, Name)
	src, err := regular.Read(path, MaxSize)
	const summary = "Failed to read the lock file of modules"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{}, nil
	case errors.Is(err, regular.ErrKind) || errors.Is(err, regular.ErrSize):
		return File{}, diag.List{}.Errorf(nil, summary, "%s cannot be used: %s. Remove it, or restore it from version "+
			"control.", Name, errors.Unwrap(err))
	case err != nil:
		return File{}, diag.List{}.Errorf(nil, summary, "%s cannot be read: %s.", Name, err)
	}
	return Parse(filepath.ToSlash(path), src)
}

// Save replaces the lock file in a directory atomically. It does not create a file for an empty File.
func (f File) Save(dir string) error {
	path, text := filepath.Join(dir, Name), f.Bytes()
	old, err := regular.Read(path, MaxSize)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: %w", Name, err)
	case err != nil && len(f.entries)+len(f.grants) == 0 || err == nil && string(old) == string(text):
		return nil
	}
	return replace.OwnExact(dir, path, 0o644, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// noPermission reports whether a line cannot be a single permission.
func noPermission(line string) bool { return strings.ContainsAny(line, "\n,") || line == "*" }
