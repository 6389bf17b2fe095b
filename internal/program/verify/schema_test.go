package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tombolo-iac/tombolo/internal/program/verify"
)

// TestTestFilesFitTheirJSONSchema checks that the schema for editors and the reader agree.
func TestTestFilesFitTheirJSONSchema(t *testing.T) {
	compiled, err := jsonschema.NewCompiler().Compile("../../../docs/schemas/tombolo-test.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	fits := func(text string) error {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return err
		}
		return compiled.Validate(doc)
	}
	examples, err := filepath.Glob("../../../examples/*/" + verify.FileName)
	if err != nil || len(examples) < 3 {
		t.Fatal(examples, err)
	}
	for _, name := range examples {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	const manifest = `{"protocol": 1, "name": "p", "command": ["p"],
		"schema": {"functions": {"f": {"return_type": "string"}}}}`
	reads := func(text string) bool {
		dir := t.TempDir()
		for file, text := range map[string]string{"tombolo-provider.json": manifest, verify.FileName: text} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, diags := verify.Load(t.Context(), dir, "")
		return !diags.HasErrors()
	}
	for text, want := range map[string]bool{
		`{}`: true,
		`{"$schema": "x", "provider": {"a": 1}, "functions": [{"name": "f", "args": [1], "want": null}]}`:                      true,
		`{"resources": [{"name": "n", "type": "t", "config": {}, "updates": [{}], "replacements": [{}]}]}`:                     true,
		`{"resources": [{"type": "t", "invalid": [{}], "import": "id", "untold": ["a.b"], "fixed": ["a"], "slow": {"a": 1}}]}`: true,
		`{"data": [{"name": "n", "type": "t", "config": {}, "want": {}}], "ephemeral": [{"type": "t"}]}`:                       true,
		`{"lists": [{"name": "n", "type": "t", "config": {}, "invalid": []}], "actions": [{"type": "t"}]}`:                     true,
		`{"resource": []}`:  false,
		`{"resources": {}}`: false,
		`{"resources": [{"type": "t", "update": [{}]}]}`:  false,
		`{"resources": [{"type": "t", "untold": "a"}]}`:   false,
		`{"resources": [{"type": "t", "fixed": "a"}]}`:    false,
		`{"data": [{"type": "t", "invalid": [{}]}]}`:      false,
		`{"lists": [{"type": "t", "want": {}}]}`:          false,
		`{"functions": [{"name": "f", "arguments": []}]}`: false,
	} {
		if got := fits(text) == nil; got != want {
			t.Errorf("the schema accepts %s: %v, want %v", text, got, want)
		}
		if got := reads(text); got != want {
			t.Errorf("the reader accepts %s: %v, want %v", text, got, want)
		}
	}
}
