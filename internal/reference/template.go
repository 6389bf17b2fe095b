package reference

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"
)

// Templates are what authors write by hand. They are looked for in this order:
//
//	templates/resources/NAME.md.tmpl   for one page, with what stands in data (NAME without the provider's name)
//	templates/resources/NAME.md        the page itself
//	templates/resources.md.tmpl        for all pages of the family that have none of their own
//
// and likewise for the other families, templates/index.md.tmpl, and anything else, such as templates/guides/NAME.md.
// Names of fields and functions are those that authors of providers know, so that existing templates work.

// data is what a template is given.
type data struct {
	Name, Type, Description                    string
	ProviderName, ProviderShortName            string
	RenderedProviderName                       string
	HasExample, HasImport                      bool
	ExampleFile, ImportFile                    string
	SchemaMarkdown                             string
	Summary                                    string
	HasVariadic                                bool
	FunctionSignatureMarkdown                  string
	FunctionArgumentsMarkdown                  string
	FunctionVariadicArgumentMarkdown           string
	HasImportIDConfig, HasImportIdentityConfig bool
	ImportIDConfigFile                         string
	ImportIdentityConfigFile                   string
	IdentitySchemaMarkdown                     string
	Deprecated                                 string
}

// template finds the template of a subject's page.
func (w *writer) template(k kind, s subject) (name, text string, ok bool) {
	candidates := []string{path.Join(k.dir, s.file+".md.tmpl"), path.Join(k.dir, s.file+".md")}
	if k != index {
		candidates = append(candidates, k.dir+".md.tmpl")
	}
	for _, c := range candidates {
		name := path.Join(w.options.Templates, c)
		if text, ok := w.read(name); ok {
			return name, text, true
		}
	}
	return "", "", false
}

// data collects what the template of a page may use.
func (w *writer) data(k kind, s subject) data {
	o := w.options
	d := data{
		Name: s.Name, Type: k.label, Description: s.description(), Summary: s.summary(), Deprecated: s.deprecation(),
		ProviderName: "terraform-provider-" + o.Name, ProviderShortName: o.Name, RenderedProviderName: o.Title,
	}
	file := func(name string) (string, bool) {
		name = path.Join(o.Examples, name)
		_, ok := w.read(name)
		return name, ok
	}
	d.ExampleFile, d.HasExample = file(s.example)
	if s.imports != "" {
		d.ImportFile, d.HasImport = file(path.Join(s.imports, "import.sh"))
		d.ImportIDConfigFile, d.HasImportIDConfig = file(path.Join(s.imports, "import-by-string-id.tf"))
		d.ImportIdentityConfigFile, d.HasImportIdentityConfig = file(path.Join(s.imports, "import-by-identity.tf"))
	}
	if s.identity != nil {
		d.IdentitySchemaMarkdown = identitySection(s.identity)
	}
	if f := s.function; f != nil {
		d.FunctionSignatureMarkdown = Signature(s.Name, f)
		fixed := *f
		fixed.VarParam = nil
		d.FunctionArgumentsMarkdown = Arguments(&fixed)
		if f.VarParam != nil {
			fixed.Params, fixed.VarParam = nil, f.VarParam
			d.HasVariadic, d.FunctionVariadicArgumentMarkdown = true, Arguments(&fixed)
		}
		return d
	}
	d.SchemaMarkdown = SchemaSection(s.block)
	return d
}

// execute makes a page of a template; a file without the ending of templates is one already.
func (w *writer) execute(name, text string, d data) string {
	if !strings.HasSuffix(name, ".tmpl") {
		return text
	}
	file := func(language string) func(string) (string, error) {
		return func(name string) (string, error) {
			code := w.code(language, path.Clean(name))
			if code == "" {
				return "", fmt.Errorf("there is no file %s", name)
			}
			return code, nil
		}
	}
	t, err := template.New(path.Base(name)).Option("missingkey=error").Funcs(template.FuncMap{
		"tffile":        file("terraform"),
		"codefile":      func(language, name string) (string, error) { return file(language)(name) },
		"trimspace":     strings.TrimSpace,
		"plainmarkdown": plain,
		"lower":         strings.ToLower,
		"upper":         strings.ToUpper,
		"split":         strings.Split,
		"prefixlines": func(prefix, text string) string {
			return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix)
		},
	}).Parse(text)
	if err != nil {
		w.fail("the template %s cannot be used: %w", name, err)
		return ""
	}
	var b strings.Builder
	if err := t.Execute(&b, d); err != nil {
		w.fail("the template %s cannot be used: %w", name, err)
	}
	return b.String()
}

// extra adds the pages that are not about one thing of the provider: guides, and whatever else has a place in the
// templates.
func (w *writer) extra() {
	if w.options.Source == nil {
		return
	}
	err := fs.WalkDir(w.options.Source, w.options.Templates, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		place := strings.TrimPrefix(name, w.options.Templates+"/")
		page := strings.TrimSuffix(place, ".tmpl")
		dir, _, below := strings.Cut(strings.TrimSuffix(page, ".md"), "/")
		switch {
		case !strings.HasSuffix(page, ".md") || w.seen[page]:
			return nil
		case isFolder(dir) && below:
			w.fail("the file %s is the template of a page for something that the provider does not have", name)
			return nil
		case isFolder(dir):
			return nil // for pages that have no template of their own
		}
		if text, ok := w.read(name); ok {
			w.add(page, w.execute(name, text, data{ProviderName: "terraform-provider-" + w.options.Name,
				ProviderShortName: w.options.Name, RenderedProviderName: w.options.Title}))
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.fail("%w", err)
	}
}
