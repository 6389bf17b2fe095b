package handler

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Wherever an answer is cut off, and however its secrets are nested, no secret is shown, and everything else is.
func TestTruncatedAnswersShowNoSecrets(t *testing.T) {
	block := &provider.Block{Attributes: map[string]*provider.Attribute{
		"name":   {Type: cty.String, Optional: true},
		"secret": {Type: cty.DynamicPseudoType, Optional: true, Sensitive: true},
		"nested": {Nested: &provider.NestedObject{Nesting: provider.NestingList,
			Attributes: map[string]*provider.Attribute{
				"key": {Type: cty.String, Optional: true, WriteOnly: true}}}, Optional: true},
	}, Blocks: map[string]*provider.NestedBlock{"b": {Block: provider.Block{Attributes: map[string]*provider.Attribute{
		"pin": {Type: cty.Number, Optional: true, Sensitive: true}}}}}}
	for _, secret := range []any{"c4nary", `c4nary"quoted\`, "c4nary\nlines c4nary", []any{"c4nary", "c4nary2"}, nil,
		map[string]any{"c4nary": []any{map[string]any{"x": "c4nary}"}}}, true, "c4nary: {[\""} {
		answer := map[string]any{"name": "shown", "state": map[string]any{"secret": secret, "name": "shown too",
			"nested": []any{map[string]any{"key": "c4nary"}, map[string]any{"key": nil}},
			"b":      []any{map[string]any{"pin": 4012345}}}, "z": "shown at the end"}
		for _, indent := range []string{"", "  "} {
			text, err := json.MarshalIndent(answer, "", indent)
			if err != nil {
				t.Fatal(err)
			}
			if indent == "" {
				text, _ = json.Marshal(answer)
			}
			for cut := range len(text) + 1 {
				r := &request{block: block, secrets: &value.Secrets{}}
				got := string(r.conceal(text[:cut]))
				if strings.Contains(got, "c4nary") || strings.Contains(got, "4012345") {
					t.Fatalf("%s\nis shown as\n%s", text[:cut], got)
				}
			}
			r := &request{block: block, secrets: &value.Secrets{}}
			if got := string(r.conceal(text)); strings.Count(got, "shown") != 3 || !json.Valid([]byte(got)) {
				t.Errorf("%s\nis shown as\n%s", text, got)
			}
		}
	}
	r := &request{block: block, secrets: &value.Secrets{}}
	r.conceal([]byte(`{"state": {"secret": ["first-word", {"a": "second-word"}], "b": [{"pin": 4012345}]}}`))
	if got := r.secrets.Redact("it said first-word, second-word, 4012345"); strings.Contains(got, "word") ||
		strings.Contains(got, "4012345") {
		t.Errorf("elsewhere they are shown: %s", got)
	}
}
