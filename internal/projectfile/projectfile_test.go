package projectfile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/internal/projectfile"
)

func TestProjectFileIsDecoded(t *testing.T) {
	for text, want := range map[string]projectfile.File{
		"":                                {},
		"# nothing\n":                     {},
		"modules {}\n":                    {Modules: &projectfile.Modules{}},
		"modules {\n  lock = true\n}\n":   {Modules: &projectfile.Modules{Lock: true}},
		"modules {\n  lock = !true\n}\n":  {Modules: &projectfile.Modules{}},
		"modules {\n  lock = \"true\"\n}": {Modules: &projectfile.Modules{Lock: true}},
	} {
		got, diags := projectfile.Parse(projectfile.Name, []byte(text))
		if len(diags) > 0 {
			t.Errorf("%q: %s", text, diags)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// Each mistake is reported with its line, and the error says what was expected.
func TestUnknownSettingsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"\nmodule {\n}\n":                             `2: Blocks of type "module" are not expected here. Did you mean "m`,
		"modules {\n  lok = true\n}\n":                `2: An argument named "lok" is not expected here. Did you mean "l`,
		"lock = true\n":                               `1: An argument named "lock" is not expected here.`,
		"modules \"a\" {\n}\n":                        `1: No labels are expected for modules blocks.`,
		"modules {\n}\nmodules {\n}\n":                `3: Only one modules block is allowed`,
		"modules {\n  lock = \"maybe\"\n}\n":          `2: Unsuitable value: a bool is required`,
		"modules {\n  lock = null\n}\n":               `2: Unsuitable value`,
		"modules {\n  lock = var.a\n}\n":              `2: Variables may not be used here.`,
		"modules {\n  lock = upper(\"a\")\n}\n":       `2: Functions may not be called here.`,
		"modules {\n  lock = true\n  lock = false\n}": `3: The argument "lock" was already set`,
		"modules {\n":                                 `1: There is no closing brace`,
		"refresh {\n  max_age = \"1 day\"\n}\n":       `2: max_age is "1 day". Expected a duration greater than zero, such as "90s"`,
		"refresh {\n  max_age = \"-1h\"\n}\n":         `2: max_age is "-1h".`,
		"\nresources \"a b\" {\n}\n":                  `2: `,
		"resources \"data.a.b\" {\n}\n":               `1: "data.a.b" is not a managed resource`,
		"resources \"a.[\" {\n}\n":                    `1: `,
		"resources {\n  refresh = false\n}\n":         `1: All resources blocks must have 1 labels`,
		strings.Repeat("[", 100000):                   `1: `,
	} {
		got, diags := projectfile.Parse(projectfile.Name, []byte(text))
		if !diags.HasErrors() || diags[0].Subject == nil {
			t.Errorf("%.80q: gives %+v and %v, want an error with a place", text, got, diags)
			continue
		}
		found := fmt.Sprintf("%d: %s", diags[0].Subject.Start.Line, diags[0].Detail)
		if !strings.HasPrefix(found, want) {
			t.Errorf("%.80q: %s\nwant %s", text, found, want)
		}
		if !cmp.Equal(got, projectfile.File{}) {
			t.Errorf("%.80q: something of a wrong file counts: %+v", text, got)
		}
	}
}

func TestOnlyAFileOfBoundedSizeIsRead(t *testing.T) {
	dir := t.TempDir()
	if f, diags := projectfile.Load(dir); len(diags) > 0 || f.LocksModules() {
		t.Errorf("without a file: %+v, %s", f, diags)
	}
	name := filepath.Join(dir, projectfile.Name)
	text := "modules {\n  lock = true\n}\n"
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	if f, diags := projectfile.Load(dir); len(diags) > 0 || !f.LocksModules() {
		t.Errorf("%+v, %s", f, diags)
	}
	write(text + strings.Repeat("#", projectfile.MaxSize))
	if _, diags := projectfile.Load(dir); !diags.HasErrors() || !strings.Contains(fmt.Sprint(diags), "tombolo.hcl") {
		t.Errorf("a file that is too large: %s", diags)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, diags := projectfile.Load(dir); !diags.HasErrors() {
		t.Error("a folder in its place is taken for nothing")
	}
}

// The page has a row for each argument of each block, with the text in the schema.
func TestTheFileIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/extensions/tombolo-hcl.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows(reflect.TypeFor[projectfile.File](), "") {
		if !bytes.Contains(page, []byte(row)) {
			t.Errorf("docs/extensions/tombolo-hcl.md has no row\n%s", row)
		}
	}
}

// rows returns the rows of a table of blocks and arguments.
func rows(t reflect.Type, within string) (out []string) {
	for f := range fieldsOf(t) {
		name, kind, _ := strings.Cut(f.Tag.Get("hcl"), ",")
		if kind == "label" || strings.HasSuffix(kind, "_range") {
			continue
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer || kind == "block" && inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		what := inner.String()
		switch {
		case kind == "block":
			what = "block"
		case inner == reflect.TypeFor[hcl.Attribute]():
			what = "expression"
		}
		out = append(out, fmt.Sprintf("| `%s` | %s | %s |", within+name, what, f.Tag.Get("doc")))
		if kind == "block" && !strings.HasPrefix(f.Tag.Get("doc"), "the same") {
			out = append(out, rows(inner, within+name+".")...)
		}
	}
	return out
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("hcl") != "" && !yield(f) {
				return
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("modules {\n  lock = true\n}\n")
	f.Add("modules {\n  lok = 1\n}\n")
	f.Add("unit \"a\" {\n  source = \"a\"\n  variables = { x = unit.b.outputs.y }\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, diags := projectfile.Parse(projectfile.Name, []byte(text))
		again, more := projectfile.Parse(projectfile.Name, []byte(text))
		if len(diags) != len(more) || !reflect.DeepEqual(got, again) {
			t.Errorf("read twice: %+v %s, then %+v %s", got, diags, again, more)
		}
		for _, d := range diags {
			if d.Summary == "" || d.Detail == "" {
				t.Errorf("a problem without words: %+v", d)
			}
		}
	})
}

// A link to nothing is an error: otherwise the policies of the file would be ignored.
func TestLinkToAMissingFileIsReported(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("missing.hcl", filepath.Join(dir, projectfile.Name)); err != nil {
		t.Skipf("needs symbolic links: %s", err)
	}
	if _, diags := projectfile.Load(dir); !strings.Contains(fmt.Sprint(diags), "is a link to a file") {
		t.Errorf("Load reports %v", diags)
	}
}
