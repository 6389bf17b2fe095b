package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/sdk/schema/schematest"
)

func TestProvider(t *testing.T) {
	if err := Provider().InternalValidate(); err != nil {
		t.Fatal(err)
	}
}

func TestNote(t *testing.T) {
	dir := t.TempDir()
	config := func(text string) string {
		return fmt.Sprintf(`
provider "notes" {
  dir = %q
}
resource "notes_note" "hello" {
  title = "hello"
  text  = %q
}
`, dir, text)
	}
	schematest.Run(t, schematest.Case{Provider: Provider, Steps: []schematest.Step{{
		Config: config("one two"),
		Plan:   schematest.Actions{"notes_note.hello": schematest.Create},
		Check:  schematest.Attr("notes_note.hello", "words", 2),
	}, {
		Import: &schematest.Import{Address: "notes_note.hello"},
	}, {
		Config: config("one two three"),
		Plan:   schematest.Actions{"notes_note.hello": schematest.Update},
		Check:  schematest.Attr("notes_note.hello", "words", 3),
	}, {
		Before: func() error { return os.Remove(filepath.Join(dir, "hello.txt")) }, // another program
		Plan:   schematest.Actions{"notes_note.hello": schematest.Create},
	}}})
}
