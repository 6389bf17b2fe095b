// Package reference generates the documentation of a provider as Markdown pages, in the layout of provider registries:
// docs/index.md, docs/resources/NAME.md, docs/data-sources/NAME.md, docs/ephemeral-resources/NAME.md,
// docs/list-resources/NAME.md, docs/actions/NAME.md, docs/functions/NAME.md.
//
//	pages, err := reference.Pages(schema, reference.Options{Name: "ledger", Source: os.DirFS(".")})
//
// A page consists of the schema (schema.go), the signature of a function (function.go), and examples from files beside
// the provider's code; authors can also write templates (template.go). The same schema and files result in the same
// bytes. The package writes no files: Compare (compare.go) returns the changes to a directory, and never includes
// hand-written files.
package reference

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/provider"
)

// Options describes the provider of the pages.
type Options struct {
	// Name is the name of the provider in configurations, such as "aws".
	Name string
	// Title is the name in pages; empty means Name.
	Title string
	// Source is the directory of the provider's code, with Examples and Templates in it; may be nil.
	Source fs.FS
	// Examples and Templates are directories in Source; empty means "examples" and "templates".
	Examples, Templates string
}

// Page is a file of the documentation.
type Page struct {
	Path string // relative to the documentation directory, such as "resources/thing.md"
	Text []byte
}

// kind is a family of pages.
type kind struct {
	dir     string // directory of pages, templates and examples
	label   string // name in titles and headings
	example string // the name of the example's file
}

var (
	resources  = kind{"resources", "Resource", "resource.tf"}
	dataKind   = kind{"data-sources", "Data Source", "data-source.tf"}
	ephemerals = kind{"ephemeral-resources", "Ephemeral Resource", "ephemeral-resource.tf"}
	lists      = kind{"list-resources", "List Resource", "list-resource.tfquery.hcl"}
	actions    = kind{"actions", "Action", "action.tf"}
	functions  = kind{"functions", "function", "function.tf"}
	index      = kind{"", "Provider", "provider.tf"}
)

// folders are the directories of pages generated from the schema.
var folders = []string{resources.dir, dataKind.dir, ephemerals.dir, lists.dir, actions.dir, functions.dir}

// Pages returns all pages, in the order of their paths.
func Pages(s *provider.Schema, o Options) ([]Page, error) {
	o.Title = cmp.Or(o.Title, o.Name)
	o.Examples, o.Templates = cmp.Or(o.Examples, "examples"), cmp.Or(o.Templates, "templates")
	if !hclsyntax.ValidIdentifier(o.Name) {
		return nil, fmt.Errorf("%q is not the name of a provider", o.Name)
	}
	w := &writer{options: o, seen: map[string]bool{}}
	block := s.Provider
	if block == nil {
		block = &provider.Block{}
	}
	w.page(index, subject{Name: o.Name, block: block, example: path.Join("provider", index.example), file: "index"})
	for _, family := range []struct {
		kind  kind
		types map[string]*provider.ResourceType
	}{{resources, s.Resources}, {dataKind, s.Data}, {ephemerals, s.Ephemeral}, {lists, s.Lists},
		{actions, s.Actions}} {
		for _, name := range slices.Sorted(maps.Keys(family.types)) {
			t := family.types[name]
			on := subject{Name: name, block: t.Block, file: shortName(name, o.Name), example: path.Join(family.kind.dir,
				name, family.kind.example)}
			if family.kind == resources {
				on.identity, on.imports = t.Identity, path.Join(resources.dir, name)
			}
			w.page(family.kind, on)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Functions)) {
		w.page(functions, subject{Name: name, function: s.Functions[name], file: name, example: path.Join(functions.dir,
			name, functions.example)})
	}
	w.extra()
	slices.SortFunc(w.pages, func(a, b Page) int { return strings.Compare(a.Path, b.Path) })
	return w.pages, errors.Join(w.problems...)
}

// shortName is a type's name without the provider's, as in the names of pages.
func shortName(name, providerName string) string {
	if short, ok := strings.CutPrefix(name, providerName+"_"); ok && short != "" {
		return short
	}
	return name
}

// subject is the subject of a page.
type subject struct {
	Name     string
	block    *provider.Block // nil for a function
	function *provider.Function
	identity *provider.IdentitySchema
	example  string // file in the directory of examples
	imports  string // subdirectory with import examples; "" if it cannot be imported
	file     string // name of the page
}

func (s subject) description() string {
	switch {
	case s.function != nil && s.function.Description != "":
		return strings.TrimSpace(s.function.Description)
	case s.function != nil:
		return strings.TrimSpace(s.function.Summary)
	case s.block != nil:
		return strings.TrimSpace(s.block.Description)
	}
	return ""
}

// summary returns the description of a page for lists and search: one paragraph without markup.
func (s subject) summary() string {
	text := s.description()
	if s.function != nil && s.function.Summary != "" {
		text = s.function.Summary
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	return plain(first)
}

// deprecation returns the text about the replacement of a deprecated subject, or "".
func (s subject) deprecation() string {
	switch {
	case s.function != nil:
		return s.function.Deprecated
	case s.block != nil && s.block.Deprecated:
		return cmp.Or(s.block.DeprecationMessage, "It will be removed in a later version.")
	}
	return ""
}

// writer collects pages.
type writer struct {
	options  Options
	pages    []Page
	seen     map[string]bool // paths
	problems []error
}

func (w *writer) fail(format string, args ...any) {
	w.problems = append(w.problems, fmt.Errorf(format, args...))
}

func (w *writer) add(name, text string) {
	if w.seen[name] {
		w.fail("two objects would have the page %s", name)
		return
	}
	w.seen[name] = true
	w.pages = append(w.pages, Page{Path: name, Text: []byte(marked(text))})
}

// page returns the page of a subject, from its template if there is one.
func (w *writer) page(k kind, s subject) {
	// The name comes from a program, and becomes the name of a file.
	if !hclsyntax.ValidIdentifier(s.Name) {
		w.fail("the provider has a %s named %q, which is not a valid name", strings.ToLower(k.label), s.Name)
		return
	}
	name := path.Join(k.dir, s.file+".md")
	if source, text, ok := w.template(k, s); ok {
		w.add(name, w.execute(source, text, w.data(k, s)))
		return
	}
	w.add(name, w.standard(k, s))
}

// standard returns the page of a subject without a template.
func (w *writer) standard(k kind, s subject) string {
	var b strings.Builder
	b.WriteString(frontMatter(k, s, w.options.Title))
	fmt.Fprintf(&b, "# %s\n", heading(k, s, w.options.Title))
	section := func(title, text string) {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		if title != "" {
			title += "\n\n"
		}
		fmt.Fprintf(&b, "\n%s%s\n", title, text)
	}
	if why := s.deprecation(); why != "" {
		section("", "~> **Deprecated** "+strings.ReplaceAll(strings.TrimSpace(why), "\n", " "))
	}
	section("", s.description())
	section("## Example Usage", w.code("terraform", path.Join(w.options.Examples, s.example)))
	if s.function != nil {
		section("## Signature", Signature(s.Name, s.function))
		section("## Arguments", Arguments(s.function))
		return b.String()
	}
	section("", SchemaSection(s.block))
	section("## Import", w.importing(s))
	return b.String()
}

func heading(k kind, s subject, title string) string {
	switch k {
	case index:
		return title + " Provider"
	case functions:
		return "function: " + s.Name
	}
	return fmt.Sprintf("%s (%s)", s.Name, k.label)
}

// frontMatter returns the part of a page that a registry reads: YAML between lines of three dashes.
func frontMatter(k kind, s subject, title string) string {
	var b strings.Builder
	b.WriteString("---\n" + marker + "\n")
	if k == index {
		fmt.Fprintf(&b, "page_title: %s\n", quoted(title+" Provider"))
	} else {
		fmt.Fprintf(&b, "page_title: %s\nsubcategory: \"\"\n", quoted(s.Name+" "+k.label+" - "+title))
	}
	b.WriteString("description: |-\n")
	for line := range strings.Lines(cmp.Or(s.summary(), heading(k, s, title)) + "\n") {
		b.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	b.WriteString("---\n\n")
	return b.String()
}

// quoted returns a text as a YAML string.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}

var (
	link      = regex.Lazy(`\[([^\]\n]*)\]\([^)\n]*\)`)
	emphasis  = regex.Lazy("[*`]+")
	invisible = regex.Lazy(`[\x00-\x09\x0b-\x1f\x7f]`)
)

// plain returns a text without markup.
func plain(s string) string {
	s = invisible().ReplaceAllString(strings.ReplaceAll(s, "\t", " "), "")
	return strings.TrimSpace(emphasis().ReplaceAllString(link().ReplaceAllString(s, "$1"), ""))
}

// importing returns the section about imports, made from the examples; for an identity, even without one.
func (w *writer) importing(s subject) string {
	if s.imports == "" {
		return ""
	}
	dir := path.Join(w.options.Examples, s.imports)
	var parts []string
	if s.identity != nil {
		if text := w.code("terraform", path.Join(dir, "import-by-identity.tf")); text != "" {
			parts = append(parts, "An [`import` block](https://developer.hashicorp.com/terraform/language/import) "+
				"takes the identity of the object, in Terraform 1.12 and later:", text)
		}
		parts = append(parts, strings.TrimSpace(identitySection(s.identity)))
	}
	if text := w.code("terraform", path.Join(dir, "import-by-string-id.tf")); text != "" {
		parts = append(parts, "An [`import` block](https://developer.hashicorp.com/terraform/language/import) takes "+
			"the id of the object:", text)
	}
	if text := w.code("shell", path.Join(dir, "import.sh")); text != "" {
		parts = append(parts, "The command [`import`](https://developer.hashicorp.com/terraform/cli/commands/import) "+
			"takes the id of the object:", text)
	}
	return strings.Join(parts, "\n\n")
}

// code returns a file as a code block, or "" if there is none.
func (w *writer) code(language, name string) string {
	text, ok := w.read(name)
	if !ok {
		return ""
	}
	return fenced(language, text)
}

// fenced returns a text between fences that do not occur in it.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n") + "\n" + fence
}

// read returns the text of a file of the source, or false if there is none.
func (w *writer) read(name string) (string, bool) {
	if w.options.Source == nil || !fs.ValidPath(name) {
		return "", false
	}
	text, err := fs.ReadFile(w.options.Source, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false
	case err != nil:
		w.fail("%w", err)
		return "", false
	}
	return string(text), true
}
