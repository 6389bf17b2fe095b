package manifest_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/provider"
)

// TestPrintedSchemasCanBeParsed uses the output of `providers schema -json` as the schema of a manifest.
func TestPrintedSchemasCanBeParsed(t *testing.T) {
	m := parse(t, everyWord)
	a, err := addr.ParseProvider("example/p")
	if err != nil {
		t.Fatal(err)
	}
	printed := func(s *provider.Schema) string {
		var out bytes.Buffer
		if err := tfjson.ProviderSchemas(&out, tfjson.Schemas{a: s}); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Schemas map[string]json.RawMessage `json:"provider_schemas"`
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		return string(doc.Schemas[a.String()])
	}
	once := printed(m.Schema)
	again := printed(parse(t, `{"protocol": 1, "name": "p", "command": ["x"], "schema": `+once+`}`).Schema)
	if diff := cmp.Diff(once, again); diff != "" {
		t.Error(diff)
	}
}
