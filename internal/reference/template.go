package reference

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/reference/fill"
)

// Templates are hand-written. They are searched for in this order:
//
//	templates/resources/NAME.md.tmpl   for one page, with the fields of data (NAME without the provider's name)
//	templates/resources/NAME.md        the page itself
//	templates/resources.md.tmpl        for all pages of the family without their own template
//
// and likewise for the other families, templates/index.md.tmpl, and anything else, such as templates/guides/NAME.md.
// Fields and functions have the names that existing templates use.

// data is the data of a template.
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

// template returns the template of a subject's page.
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

// data returns the data for the template of a page.
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

// execute returns the page that a template produces; a file without the extension of templates is a complete page.
func (w *writer) execute(name, text string, d data) string {
	if !strings.HasSuffix(name, ".tmpl") {
		return text
	}
	file := func(language, name string) (string, error) {
		code := w.code(language, path.Clean(name))
		if code == "" {
			return "", fmt.Errorf("there is no file %s", name)
		}
		return code, nil
	}
	page, err := fill.Template(path.Base(name), text, d.fields(), functionsOf(file))
	if err != nil {
		w.fail("the template %s cannot be used: %w", name, err)
	}
	return page
}

// functionsOf returns the functions of templates, in addition to the standard ones. file returns an example file as a
// code block in a language.
func functionsOf(file func(language, name string) (string, error)) map[string]fill.Func {
	texts := func(count int, f func(args []string) (any, error)) fill.Func {
		return func(args []any) (any, error) {
			given, err := fill.Texts(args, count)
			if err != nil {
				return nil, err
			}
			return f(given)
		}
	}
	changed := func(change func(string) string) fill.Func {
		return texts(1, func(args []string) (any, error) { return change(args[0]), nil })
	}
	return map[string]fill.Func{
		"tffile":        texts(1, func(args []string) (any, error) { return file("terraform", args[0]) }),
		"codefile":      texts(2, func(args []string) (any, error) { return file(args[0], args[1]) }),
		"trimspace":     changed(strings.TrimSpace),
		"plainmarkdown": changed(plain),
		"lower":         changed(strings.ToLower),
		"upper":         changed(strings.ToUpper),
		"split":         texts(2, func(args []string) (any, error) { return strings.Split(args[0], args[1]), nil }),
		"prefixlines": texts(2, func(args []string) (any, error) {
			return args[0] + strings.ReplaceAll(args[1], "\n", "\n"+args[0]), nil
		}),
	}
}

// fields returns the data by the names in templates.
func (d data) fields() map[string]any {
	fields := map[string]any{}
	for v, i := reflect.ValueOf(d), 0; i < v.NumField(); i++ {
		fields[v.Type().Field(i).Name] = v.Field(i).Interface()
	}
	return fields
}

// extra adds the pages that are not about one type of the provider: guides and other files among the templates.
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
			w.fail("the file %s is a page template for something that the provider does not have", name)
			return nil
		case isFolder(dir):
			return nil // for pages without their own template
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
