package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseRefusesLossyText(t *testing.T) {
	for text, want := range map[string]string{
		``:                             "the text ends",
		`{} x`:                         "there is text after",
		`{}{}`:                         "there is text after",
		`{"a":1,"a":2}`:                `two members named "a"`,
		`{"a":1,"\u0061":2}`:           `two members named "a"`,
		`{a:1}`:                        "in double quotes",
		`{"a" 1}`:                      "a colon was expected",
		`{"a":1,}`:                     "in double quotes",
		`[1,]`:                         "a JSON value was expected",
		`[1 2]`:                        "a comma or the end of the array",
		`"x`:                           "has no end",
		"\"\xff\"":                     "0xff",
		`"\ud800"`:                     "surrogate",
		`"\ud800\u0041"`:               "surrogate",
		`"\x"`:                         `\x is not an escape`,
		`"\u12"`:                       "four hexadecimal digits",
		"\"a\nb\"":                     "control character 0x0a",
		`01`:                           "not a JSON number",
		`-`:                            "not a JSON number",
		`1.`:                           "after its decimal point",
		`1e`:                           "in its exponent",
		`1e999999999`:                  "exponent of the number is not between",
		`1e-10000`:                     "exponent of the number is not between",
		strings.Repeat("9", 20_000):    "more than 10000 characters",
		strings.Repeat("[", 1_000_000): "nested arrays and objects",
		`nul`:                          "a JSON value was expected",
		"\xff":                         "the byte 0xff, which is not UTF-8",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

func TestParseRecordsPositions(t *testing.T) {
	text := "\xef\xbb\xbf{\n  \"a\": [1.50e3, true, null],\n \"ü\": \"\\u00e9\\ud83d\\ude00/\\n\"}\r\n"
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	a := v.Get("a")
	if a.Kind != Array || len(a.Items) != 3 || a.Items[0].Text != "1.50e3" || !a.Items[1].True ||
		a.Items[2].Kind != Null {
		t.Errorf("got %+v", a)
	}
	if got := v.Get("ü").Text; got != "é😀/\n" {
		t.Errorf("got %q", got)
	}
	if line, column := Position([]byte(text), a.Items[1].Offset); line != 2 || column != 17 {
		t.Errorf("got line %d, column %d", line, column)
	}
}

func FuzzParseAcceptsNothingThatTheStandardLibraryRefuses(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"x\u00e9"],"b":null}`, `"\ud83d\ude00"`, "\xef\xbb\xbf{}", `{}{}`,
		`[[[`, `1e5`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Parse(text)
		if err != nil {
			return
		}
		var other any
		dec := json.NewDecoder(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff")))
		dec.UseNumber()
		if err := dec.Decode(&other); err != nil || dec.More() {
			t.Fatalf("%q was accepted: %s", text, err)
		}
		if s, ok := other.(string); ok && s != v.Text {
			t.Fatalf("got %q, want %q", v.Text, s)
		}
	})
}
