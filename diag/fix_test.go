package diag

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestFixReplacesAUniqueWord(t *testing.T) {
	at := func(from, to int) hcl.Range { return stretch(hcl.Range{Filename: "main.tf"}, from, to) }
	const source = "a = 1\nb = var.naem + var.other\nc = 3\n"
	for _, test := range []struct {
		what string
		fix  Fix
		want string // the line, or "" for no change
	}{
		{"a word", Fix{{at(10, 18), "naem", "name"}}, "b = var.name + var.other"},
		{"a part of a word", Fix{{at(10, 18), "nae", "nam"}}, ""},
		{"a word that is there twice", Fix{{at(10, 30), "var", "local"}}, ""},
		{"a word that is not there", Fix{{at(10, 18), "other", "name"}}, ""},
		{"around", Around(at(10, 18), "f(", ")"), "b = f(var.naem) + var.other"},
		{"edits in the wrong order", Fix{{at(21, 24), "var", "x"}, {at(10, 13), "var", "x"}}, ""},
		{"beyond the end", Fix{{at(10, 4000), "", "x"}}, ""},
		{"nothing", nil, ""},
	} {
		lines, start, ok := test.fix.Lines([]byte(source))
		if lines != test.want && ok || ok != (test.want != "") || ok && start != 6 {
			t.Errorf("%s: %q at %d, %v", test.what, lines, start, ok)
		}
	}
}

// FuzzRepair looks for a text whose repaired form cannot be parsed, or on which the parser panics.
func FuzzRepair(f *testing.F) {
	for _, seed := range []string{"a = ['x', “y”]\n", "a: 1\n", "a {\n b \"c\"\n}\n", "a = [1 2\n", "a = f(1 2)\n",
		"a = 1;\n", "a = {b c}\n", "a = x & y\n", "a == 1,\n", "a = \"x\n", "a = b b\n", "'", "“", "= (",
		"a = 1 === 1\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		_, diags := hclsyntax.ParseConfig(src, "main.tf", hcl.InitialPos)
		for _, d := range List(nil).AppendSyntax(diags, src) {
			if d.Fix == nil {
				continue
			}
			text, ok := d.Fix.Applied(string(src))
			if !ok {
				t.Fatalf("%q: the fix does not fit: %+v", d.Summary, d.Fix)
			}
			if _, after := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos); after.HasErrors() {
				t.Fatalf("%q leads to %q: %s", d.Summary, text, after)
			}
		}
	})
}
