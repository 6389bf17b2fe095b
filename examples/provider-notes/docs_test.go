package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/sdk/schema"
	"github.com/tombolo-iac/tombolo/sdk/schema/schematest"
)

// docs is the page that begins with this provider.
func docs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/providers-in-go.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDocumentationShowsTheseFiles(t *testing.T) {
	text := docs(t)
	for _, name := range []string{"main.go", "main_test.go", "examples/resources/notes_note/resource.tf"} {
		file, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "\n"+string(file)+"```\n") {
			t.Errorf("docs/providers-in-go.md does not show %s as it is", name)
		}
	}
}

func TestDocumentedConfigurationWorks(t *testing.T) {
	_, rest, _ := strings.Cut(docs(t), "$ cat >main.tf <<'END'\n")
	config, _, ok := strings.Cut(rest, "\nEND\n")
	if !ok {
		t.Fatal("docs/providers-in-go.md has no main.tf")
	}
	config = strings.Replace(config, `"my-notes"`, fmt.Sprintf("%q", t.TempDir()), 1)
	schematest.Run(t, schematest.Case{Provider: Provider, Steps: []schematest.Step{
		{Config: config, Check: schematest.Output("words", 2)}}})
}

// The reference names every field that an author can set.
func TestReferenceIsComplete(t *testing.T) {
	reference, err := os.ReadFile("../../docs/providers-in-go-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, word := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(string(reference), -1) {
		named[word[1]] = true
	}
	for _, v := range []any{schema.Provider{}, schema.Resource{}, schema.ResourceImporter{}, schema.Schema{},
		schema.Function{}, schema.Parameter{},
		schema.EphemeralResource{}, schema.ResourceIdentity{}, schematest.Case{}, schematest.Step{}} {
		for field := range reflect.TypeOf(v).Fields() {
			if field.IsExported() && !named[field.Name] && !named[strings.TrimSuffix(field.Name, "Context")] {
				t.Errorf("docs/providers-in-go-reference.md does not mention %T.%s", v, field.Name)
			}
		}
	}
}
