package view

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

func TestTextsOfAnyDepthAndWithAnyNumberAreShown(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"a": [1, "1e9999999"]}`: true, `{"a": 1e9999999}`: false, `[1e-9999999]`: false,
		strings.Repeat("[", 3_000_000): false, strings.Repeat("[", 3_000_000) + strings.Repeat("]", 3_000_000): false,
	} {
		if _, got := parseEmbedded(cty.StringVal(text)); got != ok {
			t.Errorf("%.40q: read is %t", text, got)
		}
	}
}

// long matches numbers with large exponents.
var long = regexp.MustCompile(`[eE][+-]?\d{4}`)

// FuzzEmbedded parses texts as JSON: every accepted text can be written again, and invalid JSON is not accepted.
func FuzzEmbedded(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, ` [1, "x", null, {"a": true}]\n`, `{"a": 1, "a": "x"}`, `{"a": 1, "a": 2}`, `{"": {}}`,
		`[1e999, -0, 1e-400, 0.10]`, `{"\u00e9": 1, "e\u0301": 2}`, `["\ud800", "\u0000"]`, "[\"\xff\"]",
		"{\"\xff\": 1}", `[1e999999]`, `{} x`, `[`, "\ufeff{}", "\f[]", "\u00a0{}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if long.MatchString(text) {
			return // writing it takes time quadratic in the exponent
		}
		v, ok := parseEmbedded(cty.StringVal(text))
		if !ok {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is not JSON, but was read as %#v", text, v)
		}
		if written, err := ctyjson.Marshal(v, v.Type()); err != nil || !json.Valid(written) {
			t.Fatalf("%q is read as %#v, which is written as %q, %v", text, v, written, err)
		}
	})
}
