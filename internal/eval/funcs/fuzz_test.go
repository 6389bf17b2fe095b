package funcs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// FuzzParsingFunctions passes arbitrary text to functions that parse a syntax: they return a result or an error, and
// never panic.
func FuzzParsingFunctions(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"a":[1,null]}`, "a: [1, x]\nb: &c\n  d: *c", "a,b\n1,2",
		"YYYY-MM-DD'T'hh:mm:ssZ", "10.0.0.0/8", "fd00::/64", "(a)(?P<b>c)", "zz", "YQ==", "2020-01-01T00:00:00Z",
		"1h30m", "%d %s %[2]q", "**/*.{a,b}", "é\xff", "- - - -", "&a [*a]"} {
		f.Add(seed, int64(2))
	}
	table := Table(Options{BaseDir: f.TempDir()})
	text, number := func(s string) cty.Value { return cty.StringVal(s) }, cty.NumberIntVal
	f.Fuzz(func(t *testing.T, s string, n int64) {
		for name, args := range map[string][]cty.Value{
			"jsondecode": {text(s)}, "yamldecode": {text(s)}, "csvdecode": {text(s)}, "base64decode": {text(s)},
			"textdecodebase64": {text(s), text("UTF-16LE")}, "textencodebase64": {text("x"), text(s)}, "parseint": {
				text(s), number(n)},
			"formatdate": {text(s), text("2020-01-01T00:00:00Z")}, "timeadd": {text("2020-01-01T00:00:00Z"), text(s)},
			"timecmp":  {text(s), text("2020-01-01T00:00:00Z")},
			"cidrhost": {text(s), number(n)}, "cidrsubnet": {text(s), number(n % 64), number(n)}, "cidrsubnets": {
				text(s), number(n)}, "cidrnetmask": {text(s)},
			"regex": {text(s), text("abc")}, "regexall": {text(s), text("abc")}, "replace": {
				text("abc"), text("/" + s + "/"), text("$1")},
			"format": {text(s), number(n), text("x")}, "tonumber": {text(s)}, "uuidv5": {text(s), text("x")},
			"rsadecrypt": {text(s), text(s)}, "fileset": {text("."), text(s)},
			"substr": {text(s), number(n), number(2)}, "title": {text(s)}, "strrev": {text(s)}, "indent": {
				number(n % 100), text(s)}, "yamlencode": {text(s)}, "jsonencode": {text(s)},
		} {
			v, err := table[name].Call(args)
			if _, panicked := errors.AsType[function.PanicError](err); panicked {
				t.Errorf("%s(%q, %d) panics: %v", name, s, n, err)
			}
			if err == nil && !v.IsWhollyKnown() {
				t.Errorf("%s(%q, %d) is not known: %#v", name, s, n, v)
			}
		}
		ctx := &hcl.EvalContext{Functions: table, Variables: map[string]cty.Value{"s": text(s)}}
		_, _ = evaluate(`templatestring(s, {a = 1, b = [s]})`, ctx) // must not panic
	})
}

// TestYamlencodeRefusesWhatIsNotUTF8 uses strings that the language cannot write, but that the command line and
// providers can pass.
func TestYamlencodeRefusesWhatIsNotUTF8(t *testing.T) {
	f := Table(Options{})["yamlencode"]
	for _, s := range []string{"\xff", "a\xffb", "\xed\xa0\x80", "\xf0\x9f"} {
		if _, err := f.Call([]cty.Value{cty.TupleVal([]cty.Value{cty.StringVal(s)})}); err == nil ||
			!strings.Contains(err.Error(), "not valid UTF-8") {
			t.Errorf("%q: %v", s, err)
		}
	}
	if v, err := f.Call([]cty.Value{cty.StringVal("é").Mark("m")}); err != nil || !v.HasMark("m") {
		t.Errorf("%#v, %v", v, err)
	}
}

func TestYamldecodeRefusesMoreLevelsThanJSONMayHave(t *testing.T) {
	f := Table(Options{})["yamldecode"]
	brackets := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	right := func(levels, each int) string { // each line is indented further, and nests more than once
		var b strings.Builder
		for i := 0; i < levels; i += each {
			b.WriteString(strings.Repeat(" ", 2*i) + strings.Repeat("- ", each) + "\n")
		}
		return b.String() + strings.Repeat(" ", 2*levels) + "x"
	}
	for text, refused := range map[string]bool{
		strings.Repeat("[", 1_000_000): true, strings.Repeat("{a: ", 100_000): true,
		brackets(nesting.MaxYAML + 1):     true,
		strings.Repeat(`["]", `, 100_000): true, strings.Repeat("[']', ", 100_000): true,
		strings.Repeat("[ # ]\n", 100_000):                   true,
		strings.Repeat("- ", 1_000_000) + "x":                true,
		"a\u2028: b\n" + strings.Repeat("- ", 100_000):       false, // not a document
		right(20_000, 5_000):                                 true,
		"a:\n\u2028" + strings.Repeat("- ", 1_000_000) + "x": true,
		brackets(1000): false,
		"[" + strings.Repeat("[],", 20_000) + "]":        false,
		strings.Repeat("- ", 1000) + "x":                 false,
		right(4_000, 500):                                false,
		"a: |\n" + strings.Repeat(" ", 20_000) + "- x\n": false,
		"a: '" + strings.Repeat("[", 20_000) + "'":       false,
		strings.Repeat("- ", nesting.MaxYAML-1) + "x":    false,
		"a: b # " + strings.Repeat("- ", 20_000):         false,
		"--- " + strings.Repeat("-", 20_000):             false,
	} {
		start := func() string { return text[:min(len(text), 20)] }
		_, err := f.Call([]cty.Value{cty.StringVal(text)})
		deep := err != nil && strings.Contains(err.Error(), "levels deep")
		if deep != refused || !refused && err != nil && !strings.HasPrefix(text, "a\u2028") {
			t.Errorf("%q… of %d bytes: %v", start(), len(text), err)
		}
	}
}

func TestYamldecodeRefusesAliasesThatMultiply(t *testing.T) {
	bomb := "a: &a [x]\n"
	for name := 'b'; name < 'z'; name++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c]\n", name, name, name-1, name-1, name-1)
	}
	f := Table(Options{})["yamldecode"]
	if _, err := f.Call([]cty.Value{cty.StringVal(bomb)}); err == nil || !strings.Contains(err.Error(),
		"more than 1000000 values") {
		t.Errorf("got %v", err)
	}
	many := "a: &a [x, {y: 1}]\n"
	for i := range 5000 {
		many += fmt.Sprintf("b%d: *a\n", i)
	}
	if v, err := f.Call([]cty.Value{cty.StringVal(many)}); err != nil || v.LengthInt() != 5001 {
		t.Errorf("what is mentioned often is not multiplied: %v", err)
	}
}
