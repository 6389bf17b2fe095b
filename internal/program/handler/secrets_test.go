package handler_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
)

const secretive = `{"protocol": 1, "name": "toy", "command": ["toy"], "schema": {"resource_schemas": {
  "toy_box": {"attributes": {
    "id": {"type": "string", "computed": true}, "text": {"type": "string", "optional": true}, "tags": {"type": ["map", "string"], "computed": true},
    "pin": {"type": "number", "optional": true, "sensitive": true}, "word": {"type": "string", "optional": true, "sensitive": true}
  }}
}}}`

// ordinary are secrets that are frequent words in our own sentences.
var ordinary = []string{"program", "asked", "create", "answered", "state", "attribute", "something", "object",
	"standard", "output", "Expected", "string"}

// TestSecretsAreNotRemovedFromOurSentences uses an ordinary word as a secret: it is only removed from the program's
// text.
func TestSecretsAreNotRemovedFromOurSentences(t *testing.T) {
	for _, answer := range []string{
		`{"state": {"id": 7}}`, `{}`, `{"state": null}`, `{"state": {"id": "1", "nmae": 1}}`, `garbage`,
		`{"state": {"id": "1", "text": "other"}}`, `failure `,
		`{"diagnostics": [{"attribute": ["none"]}]}`, `{"diagnostics": 7}`,
	} {
		texts := map[string]bool{}
		for _, word := range append([]string{"xyzzy"}, ordinary...) {
			d := driveAnswers(t, secretive, says("create", answer), handler.Options{Redact: func(text string) string {
				return text
			}})
			resp := d.apply(t.Context(), "toy_box", d.null("toy_box"), d.config("toy_box", map[string]cty.Value{
				"word": cty.StringVal(word), "text": cty.StringVal("mine")}))
			for _, found := range resp.Diagnostics {
				if !found.Clean {
					t.Errorf("%s is cleaned once more: %s", answer, found)
				}
				own, _, _ := strings.Cut(found.Detail, "\n\nProgram: ") // the rest is the program's
				texts[found.Summary+own] = true
			}
		}
		if len(texts) != 1 {
			t.Errorf("%s: the texts depend on the secret: %v", answer, texts)
		}
	}
}

// TestOutputOfProgramsHidesSecrets puts a secret into everything that a program writes and that is shown.
func TestOutputOfProgramsHidesSecrets(t *testing.T) {
	for _, secret := range []string{"s3cr3t", "state", "1234567", `quo"ted`} {
		quoted := strings.ReplaceAll(secret, `"`, `\"`)
		for _, answer := range []string{
			`{"state": {"id": "1", "SECRET": 1}}`, `{"state": {"id": "1", "tags": {"SECRET": 1}}}`,
			`{"state": {"id": "1", "text": "SECRET"}}`, `{"SECRET": 1, "SECRET": 2}`,
			`{"diagnostics": [{"summary": "SECRET", "detail": "SECRET", "attribute": ["SECRET"]}]}`, `SECRET`,
			`{"state": {"id": "SECRET`, `{"state": {"id": "1", "tags": {"a": {"SECRET": 1}}}}`,
		} {
			d := driveAnswers(t, secretive, says("create", strings.ReplaceAll(answer, "SECRET", quoted)),
				handler.Options{Redact: func(text string) string { return text }})
			given := map[string]cty.Value{"word": cty.StringVal(secret), "text": cty.StringVal("mine")}
			if secret == "1234567" {
				given["word"], given["pin"] = cty.NullVal(cty.String), cty.NumberIntVal(1234567)
			}
			resp := d.apply(t.Context(), "toy_box", d.null("toy_box"), d.config("toy_box", given))
			got := texts(resp.Diagnostics)
			if !strings.Contains(got, "(sensitive value)") || secret != "state" && (strings.Contains(got, secret) ||
				strings.Contains(got, quoted)) {
				t.Errorf("%s is shown of %s:\n%s", secret, answer, got)
			}
		}
	}
}

// TestTheEnginesSecretsAreHiddenBeforeAnythingIsCut: a part of a secret would not be recognized.
func TestTheEnginesSecretsAreHiddenBeforeAnythingIsCut(t *testing.T) {
	redact := func(text string) string { return strings.ReplaceAll(text, "fromavariable", "(hidden)") }
	d := driveAnswers(t, secretive, says("create", strings.Repeat("x", 195)+"fromavariable"), handler.Options{
		Redact: redact})
	resp := d.apply(t.Context(), "toy_box", d.null("toy_box"), d.config("toy_box", nil))
	if got := texts(resp.Diagnostics); strings.Contains(got, "froma") || !strings.Contains(got, "x(hidd") {
		t.Errorf("got %s", got)
	}
}
