// Package lockfile reads and writes the dependency lock file, .terraform.lock.hcl: the selected version of each
// provider, the constraints under which it was selected, and the hashes of the packages that may be installed as that
// version.
//
// A File is immutable; With returns a changed one. The result of Bytes is deterministic and equals Terraform's. Parse
// is strict: a lock file with unknown parts is an error, because ignoring a part of it would install packages that were
// never approved.
//
// Package packages computes and interprets hashes; in this package they are texts with a scheme.
package lockfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/hashicorp/hcl/v2/hclwrite"
	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// Name is the name of the file, in the directory of the root module.
const Name = ".terraform.lock.hcl"

// Entry is the entry of one provider in the file.
type Entry struct {
	Provider addr.Provider
	Version  versions.Version
	// Constraints are the constraints under which the version was selected.
	Constraints require.Constraints
	// Hashes are sorted and unique, each "scheme:value". A package may be installed if it has one of them.
	Hashes []Hash
}

// Hash identifies the content of a package: "h1:" for its files, "zh:" for the archive.
type Hash string

// Scheme returns the part before the colon.
func (h Hash) Scheme() string {
	scheme, _, _ := strings.Cut(string(h), ":")
	return scheme
}

// File is the content of a lock file. The zero value is an empty one.
type File struct {
	entries map[addr.Provider]Entry
	writer  flavor.Flavor
}

// Entry returns the entry of a provider, or false if there is none.
func (f File) Entry(p addr.Provider) (Entry, bool) {
	e, ok := f.entries[p]
	return e, ok
}

// Entries returns all entries, sorted as in the file.
func (f File) Entries() []Entry {
	list := slices.Collect(maps.Values(f.entries))
	slices.SortFunc(list, func(a, b Entry) int { return compareProviders(a.Provider, b.Provider) })
	return list
}

// compareProviders orders addresses part by part. Hosts are compared in their ASCII form.
func compareProviders(a, b addr.Provider) int {
	return cmp.Or(strings.Compare(ascii(a.Host), ascii(b.Host)), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Type, b.Type), strings.Compare(a.Host, b.Host))
}

func ascii(host string) string {
	if name, err := svchost.ForComparison(host); err == nil {
		return string(name)
	}
	return host
}

// With returns a file with this entry, which replaces an existing entry of the same provider.
func (f File) With(e Entry) File {
	e.Hashes = sortHashes(e.Hashes)
	entries := make(map[addr.Provider]Entry, len(f.entries)+1)
	maps.Copy(entries, f.entries)
	entries[e.Provider] = e
	return File{entries, f.writer}
}

// For returns the same file for the projects of a tool, whose name is in the text.
func (f File) For(writer flavor.Flavor) File { return File{f.entries, writer} }

// Keep returns a file with the entries of some providers only.
func (f File) Keep(wanted func(addr.Provider) bool) File {
	entries := make(map[addr.Provider]Entry, len(f.entries))
	for p, e := range f.entries {
		if wanted(p) {
			entries[p] = e
		}
	}
	return File{entries, f.writer}
}

// sortHashes removes duplicates and sorts by scheme, then value.
func sortHashes(hashes []Hash) []Hash {
	sorted := slices.Clone(hashes)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// Equal reports whether two files have the same content, whichever program wrote them.
func (f File) Equal(other File) bool { return bytes.Equal(f.Bytes(), other.For(f.writer).Bytes()) }

// SameProviders reports whether two files have entries for the same providers.
func (f File) SameProviders(other File) bool {
	return maps.EqualFunc(f.entries, other.entries, func(Entry, Entry) bool { return true })
}

const header = `# This file is maintained automatically by "%s init".
# Manual edits may be lost in future updates.
`

// Writer returns the tool to which the project of a lock file belongs: the one that its first line names or, without
// such a line, the one whose registry all providers come from. It returns the zero value if neither identifies a tool.
func Writer(src []byte) flavor.Flavor {
	line, _, _ := bytes.Cut(src, []byte("\n"))
	for _, f := range []flavor.Flavor{flavor.Terraform, flavor.OpenTofu} {
		if bytes.HasPrefix(line, []byte("#")) && bytes.Contains(line, []byte(`"`+f.Command()+` init"`)) {
			return f
		}
	}
	file, diags := Parse(Name, src)
	if diags.HasErrors() {
		return flavor.Unset
	}
	found := flavor.Unset
	for _, e := range file.Entries() {
		of := flavor.OfRegistry(e.Provider.Host)
		if of == flavor.Unset || found != flavor.Unset && found != of {
			return flavor.Unset
		}
		found = of
	}
	return found
}

// Bytes returns the text of the file.
func (f File) Bytes() []byte {
	out := hclwrite.NewEmptyFile()
	body := out.Body()
	for _, e := range f.Entries() {
		body.AppendNewline()
		block := body.AppendNewBlock("provider", []string{e.Provider.String()}).Body()
		block.SetAttributeValue("version", cty.StringVal(e.Version.String()))
		if !e.Constraints.IsEmpty() {
			block.SetAttributeValue("constraints", cty.StringVal(e.Constraints.String()))
		}
		if len(e.Hashes) > 0 {
			block.SetAttributeRaw("hashes", hashTokens(e.Hashes))
		}
	}
	return append(fmt.Appendf(nil, header, f.writer.Command()), hclwrite.Format(out.Bytes())...)
}

// hashTokens returns a list with one hash per line.
func hashTokens(hashes []Hash) hclwrite.Tokens {
	var text bytes.Buffer
	text.WriteString("x = [\n")
	for _, h := range hashes {
		text.Write(hclwrite.TokensForValue(cty.StringVal(string(h))).Bytes())
		text.WriteString(",\n")
	}
	text.WriteString("]\n")
	file, diags := hclwrite.ParseConfig(text.Bytes(), "", noPos)
	if diags.HasErrors() {
		panic("lockfile: a list of strings is not valid: " + diags.Error())
	}
	return file.Body().GetAttribute("x").Expr().BuildTokens(nil)
}

// Load reads the lock file in a directory; if it is missing, it returns an empty File.
func Load(dir string) (File, diag.List) {
	path := filepath.Join(dir, Name)
	src, err := regular.Read(path, MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{}, nil
	case errors.Is(err, regular.ErrKind) || errors.Is(err, regular.ErrSize):
		return File{}, problem("%s cannot be used: %s. Remove it, or restore it from version control.", Name,
			errors.Unwrap(err))
	case err != nil:
		return File{}, problem("%s cannot be read: %s.", Name, err)
	}
	return Parse(path, src)
}

// MaxSize limits the size of a lock file in bytes: a thousand providers with the hashes of twenty platforms fit.
const MaxSize = 2 << 20

func problem(format string, args ...any) diag.List {
	return diag.List{{Severity: diag.Error, Summary: "Failed to read dependency lock file",
		Detail: fmt.Sprintf(format, args...)}}
}

// Save replaces the lock file in a directory atomically. It does not create a file for an empty File.
func (f File) Save(dir string) error { return f.save(dir, false) }

// SaveEvenEmpty is like Save, but also creates a file for an empty File, for callers that need one.
func (f File) SaveEvenEmpty(dir string) error { return f.save(dir, true) }

func (f File) save(dir string, empty bool) error {
	path := filepath.Join(dir, Name)
	old, err := regular.Read(path, MaxSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", Name, err)
	}
	text := f.Bytes()
	if err != nil && len(f.entries) == 0 && !empty || err == nil && bytes.Equal(old, text) {
		return nil
	}
	// A link in its place is replaced, as in Terraform. The file is readable by everyone, as in Terraform, because it
	// is kept with the configuration.
	return replace.OwnExact(dir, path, 0o644, func(w io.Writer) error { _, err := w.Write(text); return err })
}
