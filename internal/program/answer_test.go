package program

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestReadStringsAcceptsWhatTheDataSourceAccepts(t *testing.T) {
	tests := map[string]struct {
		in   string
		want map[string]string
	}{
		"empty object":              {`{}`, map[string]string{}},
		"strings":                   {`{"a":"b","c":""}`, map[string]string{"a": "b", "c": ""}},
		"white space around":        {" \t{\"a\":\"b\"}\n\n", map[string]string{"a": "b"}},
		"CRLF around":               {"\r\n{\"a\":\r\n\"b\"}\r\n", map[string]string{"a": "b"}},
		"null value":                {`{"a":null}`, map[string]string{"a": ""}},
		"null":                      {`null`, nil},
		"duplicate key":             {`{"a":"1","a":"2"}`, map[string]string{"a": "2"}},
		"empty key":                 {`{"":"x"}`, map[string]string{"": "x"}},
		"keys differing in case":    {`{"a":"1","A":"2"}`, map[string]string{"a": "1", "A": "2"}},
		"invalid UTF-8":             {"{\"a\":\"x\xffy\"}", map[string]string{"a": "x\uFFFDy"}},
		"lone surrogate":            {`{"a":"\ud800"}`, map[string]string{"a": "\uFFFD"}},
		"surrogate pair":            {`{"a":"\ud83d\ude00"}`, map[string]string{"a": "😀"}},
		"NUL as an escape sequence": {`{"a":"\u0000"}`, map[string]string{"a": "\x00"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ReadStrings([]byte(test.in))
			if err != nil {
				t.Fatalf("%q: %v", test.in, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

func TestReadStringsHasErrorsOfEncodingJSON(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"nothing":          {"", "unexpected end of JSON input"},
		"white space":      {" \n", "unexpected end of JSON input"},
		"half an object":   {`{"a":"b"`, "unexpected end of JSON input"},
		"trailing text":    {"{} x", "invalid character 'x' after top-level value"},
		"two objects":      {"{}{}", "invalid character '{' after top-level value"},
		"number":           {`{"a":1}`, "json: cannot unmarshal number into Go value of type string"},
		"bool":             {`{"a":true}`, "json: cannot unmarshal bool into Go value of type string"},
		"array":            {`{"a":[]}`, "json: cannot unmarshal array into Go value of type string"},
		"object":           {`{"a":{}}`, "json: cannot unmarshal object into Go value of type string"},
		"top-level array":  {`[]`, "json: cannot unmarshal array into Go value of type map[string]string"},
		"top-level string": {`"x"`, "json: cannot unmarshal string into Go value of type map[string]string"},
		"byte order mark":  {"\ufeff{}", "invalid character 'ï' looking for beginning of value"},
		"raw NUL":          {"{\"a\":\"\x00\"}", `invalid character '\x00' in string literal`},
		"too deep": {strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000),
			"invalid character '[' exceeded max depth"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ReadStrings([]byte(test.in))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, error %v\nwant error %s", got, err, test.want)
			}
		})
	}
}

func TestReadObjectRefusesDuplicateMembers(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"duplicate member":        {`{"id":"1","result":{},"id":"2"}`, `an object has two members named "id"`},
		"duplicate member inside": {`{"a":[{"b":"x"},{"b":{"c":1,"c":2}}]}`, `an object has two members named "c"`},
		"same through an escape":  {`{"a":"1","\u0061":"2"}`, `an object has two members named "a"`},
		"array":                   {`[]`, "an object was expected, not an array"},
		"string":                  {`"x"`, "an object was expected, not a string"},
		"number":                  {`-1`, "an object was expected, not a number"},
		"boolean":                 {`true`, "an object was expected, not a boolean"},
		"two objects":             {"{}{}", "invalid character '{' after top-level value"},
		"nothing":                 {"", "unexpected end of JSON input"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ReadObject([]byte(test.in))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, error %v\nwant error %s", got, err, test.want)
			}
		})
	}
}

func TestReadObjectDoesNotDecodeValues(t *testing.T) {
	got, err := ReadObject([]byte(`{"id": 12345678901234567890123, "a": {"a": {"a": "a"}}, "n": null}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]json.RawMessage{
		"id": json.RawMessage("12345678901234567890123"),
		"a":  json.RawMessage(`{"a": {"a": "a"}}`),
		"n":  json.RawMessage("null"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := ReadObject([]byte("null\n")); got != nil || err != nil {
		t.Errorf("null: got %v, %v", got, err)
	}
}

func TestWriteStringsIsCompactSortedAndEscaped(t *testing.T) {
	tests := map[string]struct {
		in   map[string]string
		want string
	}{
		"no map":       {nil, `{}`},
		"empty map":    {map[string]string{}, `{}`},
		"sorted":       {map[string]string{"b": "2", "a": "1", "B": ""}, `{"B":"","a":"1","b":"2"}`},
		"escapes":      {map[string]string{"a": "<>&\u2028\u2029"}, `{"a":"\u003c\u003e\u0026\u2028\u2029"}`},
		"raw UTF-8":    {map[string]string{"ä": "日本😀"}, `{"ä":"日本😀"}`},
		"control code": {map[string]string{"a": "\x00\n\t\x1b"}, `{"a":"\u0000\n\t\u001b"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(WriteStrings(test.in)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestExcerptIsShortAndPrintable(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"nothing":        {" \n", "(nothing)"},
		"text":           {"hello\n", "hello"},
		"lines":          {"a\nb\r\n\tc", `a\nb\r\n\tc`},
		"quotes":         {`{"a":"b"} 'x'`, `{"a":"b"} 'x'`},
		"escape codes":   {"\x1b[2Jx\x07", `\x1b[2Jx\a`},
		"bidi":           {"a\u202eb", `a\u202eb`},
		"BOM":            {"\ufeff{}", `\ufeff{}`},
		"invalid UTF-8":  {"a\xffb", `a\xffb`},
		"long":           {strings.Repeat("x", 300), strings.Repeat("x", 200) + " ... (300 bytes in all)"},
		"cut in a rune":  {strings.Repeat("x", 199) + "日本", strings.Repeat("x", 199) + " ... (205 bytes in all)"},
		"cut after rune": {strings.Repeat("x", 197) + "日本", strings.Repeat("x", 197) + "日 ... (203 bytes in all)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Excerpt([]byte(test.in)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

var seeds = []string{
	`{}`, `null`, `{"a":"b"}`, `{"a":null,"a":"x"}`, `{"a":1}`, `[{"a":1,"a":2}]`, `{} x`, "\ufeff{}",
	"{\"a\":\"\xff\"}", `{"\ud800":"\udc00"}`,
	`{"id":"7","arguments":{"foo":"baz"},"result":{}}`, strings.Repeat("[", 11000),
	`{"a":{"b":[[],{"c":{"d":1e999}}]}}`,
}

// Decoding and encoding is idempotent, and only a single complete JSON value is ever accepted.
func FuzzReadStrings(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ReadStrings(in)
		if err != nil {
			return
		}
		if !json.Valid(in) {
			t.Fatalf("%q was read, but is not JSON", in)
		}
		for k, v := range got {
			if !utf8.ValidString(k) || !utf8.ValidString(v) {
				t.Fatalf("%q gives invalid UTF-8: %q = %q", in, k, v)
			}
		}
		again, err := ReadStrings(WriteStrings(got))
		if err != nil {
			t.Fatal(err)
		}
		if got != nil && !cmp.Equal(got, again) {
			t.Fatalf("%q\nread    %q\nreread  %q", in, got, again)
		}
	})
}

func FuzzReadObject(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !utf8.ValidString(Excerpt(in)) || len(Excerpt(in)) > 4*200+50 {
			t.Fatalf("bad excerpt of %q: %q", in, Excerpt(in))
		}
		object, err := ReadObject(in)
		if err != nil {
			return
		}
		for name, raw := range object {
			if !json.Valid(raw) {
				t.Fatalf("%q: member %q is not JSON: %q", in, name, raw)
			}
		}
		if strs, err := ReadStrings(in); err == nil && len(strs) != len(object) {
			t.Fatalf("%q: %d strings, %d members", in, len(strs), len(object))
		}
	})
}
