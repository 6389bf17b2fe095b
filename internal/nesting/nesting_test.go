package nesting_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/internal/nesting"
)

func TestWideTextIsNotDeep(t *testing.T) {
	const many = 50000
	r := strings.Repeat
	for name, src := range map[string]string{
		"list":             "locals {\n  a = [" + r("[1], ", many) + "]\n}\n",
		"lines":            "locals {\n" + lines(many, "  a%d = -1 + x[1] ? 2 : 3\n") + "}\n",
		"blocks":           lines(many, "resource \"a_b\" \"c%d\" {\n  x = \"${1 + 1}\"\n}\n"),
		"brackets in text": "locals {\n  a = \"" + r("[({", many) + "\"\n}\n",
		"brackets in lines": "locals {\n  a = <<E\n" + r("[({ \" << $${ %%{ \n", many) + "E\n  b = <<-E\n  " +
			r("[", many) + "\n  E\n}\n",
		"comments": "# " + r("[", many) + "\n// " + r("{", many) + "\n/* " + r("(\n", many) +
			" */ locals {\n}\n",
		"templates":        "locals {\n  a = <<E\n" + r("%{ if true }${x}%{ else }b%{ endif }\n", many) + "E\n}\n",
		"object lines":     "locals {\n  a = {\n" + lines(many, "    a%d = { b = [1] }\n") + "  }\n}\n",
		"attributes":       "locals {\n  a = x" + r(".y", many) + "\n}\n",
		"deep but legible": "locals {\n  a = " + r("[", 900) + r("]", 900) + "\n}\n",
		"quotes":           "locals {\n  a = \"" + r(`\"[`, many) + "\"\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if diags := nesting.Check([]byte(src), "main.tf"); len(diags) > 0 {
				t.Errorf("refused: %v", diags.Err())
			}
		})
	}
	if diags := nesting.Check([]byte(`{"a": "`+r("[", many)+`", "b": [`+r(`{"c": "${x[1]}", "d": [[]]},`, many)+`1]}`),
		"main.tf.json"); len(diags) > 0 {
		t.Errorf("refused: %v", diags.Err())
	}
}

func TestChainsOfOperatorsAreDeep(t *testing.T) {
	for _, op := range []string{"+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "&&", "||"} {
		t.Run(op, func(t *testing.T) {
			if diags := nesting.Check([]byte("a = 1"+strings.Repeat(op+"1", 20000)+"\n"),
				"main.tf"); !diags.HasErrors() {
				t.Error("accepted")
			}
		})
	}
}

func TestHugeNumbersAreRefused(t *testing.T) {
	for text, ok := range map[string]bool{
		"a = 1e99999": true, "a = 12.5E-0001": true, "a = 1e-9999": true, "a = 1e-10000": false,
		"a = 0." + strings.Repeat("0", 10_001) + "1": false, "a = 1." + strings.Repeat("0", 9_999) + "1": true,
		"a = x1e9999999": true, "a = \"1e9999999\"": true,
		"# 1e9999999": true, "a = 0x1": true,
		"a = 1e100000": false, "a = [1.5E+9999999]": false, "a = \"${1e-9999999}\"": false, "a = -1e9999999": false,
		"a = 1e9999999": false, "a = " + strings.Repeat("1", 99_999): true,
		"a = " + strings.Repeat("1", 100_002):          false,
		"a = 0." + strings.Repeat("1", 100_002) + "e1": false,
	} {
		if got := !nesting.Check([]byte(text), "x.tf").HasErrors(); got != ok {
			t.Errorf("%.60s: accepted is %t", text, got)
		}
	}
	for text, ok := range map[string]bool{
		`{"a": [1e99999, 12.5E-0001, "1e9999999", "a\n1e9999999{}", "$${1e9999999}"]}`: true,
		`{"a": 1e100000}`: false, `[1e-10000]`: false, `[1.5E+9999999]`: false, `-1e-9999999`: false, `{"a": "${1e9999999}"}`: false,
		`{"a": "\u0024\u007b1e9999999}"}`:             false,
		`{"a": "%{ if 1e9999999 > 1 }"}`:              false,
		`{"a": ` + strings.Repeat("1", 100_002) + `}`: false, `{"a": "` + strings.Repeat("1", 100_002) + `"}`: true,
	} {
		if got := !nesting.Check([]byte(text), "x.json").HasErrors(); got != ok {
			t.Errorf("%.60s: accepted is %t", text, got)
		}
	}
	if !nesting.CheckQuoted("1e9999999", hcl.Range{}).HasErrors() {
		t.Error("a number in a quoted expression was accepted")
	}
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func BenchmarkCheck(b *testing.B) {
	src := []byte(lines(10000, "resource \"a_b\" \"c%d\" {\n  x = \"${1 + 1}\"\n  y = [local.a, { b = 1 }]\n}\n"))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		nesting.Check(src, "main.tf")
	}
}

// FuzzCheck checks that the scan ends, and that accepted text does not exceed the limits.
func FuzzCheck(f *testing.F) {
	f.Add("a = [{(\"${<<E\n%{ if x }\nE\n}\")}]", true)
	f.Add(`{"a": ["${[1]}"]}`, false)
	for _, text := range []string{"1e999999999", "\"${1e9999999}\"", "1e", "0e+", "1.e9999999", "\xff${\xfe", "\\",
		"\"\\", "<<", "<<-", "<<E", "<<E\n E\r\n", "%{~", "\"%{ endif }", "/*", "/", "${", "}", "\"\n\"["} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, native bool) {
		name := "x.json"
		if native {
			name = "x.tf"
		}
		if diags := nesting.Check([]byte(text), name); len(diags) > 0 && diags[0].Summary == "Nesting too deep" &&
			len(text) <= 1000 {
			t.Errorf("a short text cannot be too deep: %v", diags.Err())
		} else if len(diags) > 0 && diags[0].Summary == "Number too large" &&
			!regexp.MustCompile(`[eE][+-]?\d{6}`).MatchString(text) && !strings.Contains(text, `\u`) {
			t.Errorf("no number of this is large: %v", diags.Err())
		}
	})
}
