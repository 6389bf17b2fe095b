package format

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// hard returns the hand-written cases: NAME.in, and NAME.want formatted by terraform 1.11.4.
func hard(t testing.TB) (in, want map[string][]byte) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/hard.txtar")
	if err != nil {
		t.Fatal(err)
	}
	in, want = map[string][]byte{}, map[string][]byte{}
	for _, f := range archive.Files {
		// A line that ends in CRLF or blanks would not survive an editor, so they are written as \r and \s at the end
		// of a line.
		data := bytes.ReplaceAll(bytes.ReplaceAll(f.Data, []byte("\\r\n"), []byte("\r\n")), []byte("\\s\n"),
			[]byte(" \n"))
		if name, ok := strings.CutSuffix(f.Name, ".in"); ok {
			in[name] = data
		} else {
			want[strings.TrimSuffix(f.Name, ".want")] = data
		}
	}
	return in, want
}

func TestHardCasesAreFormattedAsRecorded(t *testing.T) {
	in, want := hard(t)
	for name, src := range in {
		got, diags := Source(src, name)
		if diags.HasErrors() {
			t.Errorf("%s: %v", name, diags)
			continue
		}
		if diff := cmp.Diff(string(want[name]), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCommentsInsideInterpolationsLeaveValidText covers a difference: terraform 1.11.4 writes "a = # c", and b on the
// next line.
func TestCommentsInsideInterpolationsLeaveValidText(t *testing.T) {
	got, diags := Source([]byte("a = \"${\n# c\nb}\"\n"), "main.tf")
	if want := "a = ( # c\nb)\n"; diags.HasErrors() || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, diags, want)
	}
}

func TestSyntaxErrorsHaveNoCanonicalForm(t *testing.T) {
	for _, src := range []string{"a = ", "a {", "a = 1 b = 2", "}", "a \"${b}\" {}\n", "a = \"x\n", "\xff"} {
		out, diags := Source([]byte(src), "main.tf")
		if out != nil || !diags.HasErrors() {
			t.Errorf("Source(%q) = %q, %v; want errors and nothing else", src, out, diags)
		}
		for _, d := range diags {
			if d.Subject == nil || d.Subject.Filename != "main.tf" {
				t.Errorf("Source(%q): no place in %v", src, d)
			}
		}
	}
}

// corpus returns all native syntax of the conformance cases.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	cases, err := filepath.Glob("../../conformance/testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cases {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		topic, _ := strings.CutSuffix(filepath.Base(name), ".txtar")
		for i, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".tf") {
				out[fmt.Sprintf("%s_%s_%d", filepath.Base(filepath.Dir(name)), topic, i)] = f.Data
			}
		}
	}
	if len(out) < 100 {
		t.Fatalf("the corpus has only %d files", len(out))
	}
	return out
}

// mangle returns a text with the same meaning in another layout: other blanks, empty lines, comments, quotes.
func mangle(r *rand.Rand, src []byte) []byte {
	tokens, diags := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	if diags.HasErrors() {
		return src
	}
	var out bytes.Buffer
	template := 0 // nesting depth in templates, where blanks matter
	for i, token := range tokens {
		out.Write(token.Bytes)
		switch token.Type {
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			template++
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			template--
		}
		if i+1 == len(tokens) || template > 0 {
			continue
		}
		gap := src[token.Range.End.Byte:tokens[i+1].Range.Start.Byte]
		switch next := tokens[i+1].Type; {
		case token.Type == hclsyntax.TokenNewline || token.Type == hclsyntax.TokenComment &&
			bytes.HasSuffix(token.Bytes, []byte("\n")):
			if r.IntN(8) == 0 {
				out.WriteString(strings.Repeat("\n", 1+r.IntN(3)))
			}
			if r.IntN(16) == 0 {
				out.WriteString([]string{"# note\n", "  // note\n", "/* note */\n", "/* a\n note */\n"}[r.IntN(4)])
			}
			out.WriteString(strings.Repeat(" ", r.IntN(7)))
		case token.Type == hclsyntax.TokenCHeredoc || next == hclsyntax.TokenCHeredoc:
			out.Write(gap)
		case next == hclsyntax.TokenNewline && r.IntN(10) == 0:
			out.WriteString([]string{" # note", "// note", " /* note */", "  "}[r.IntN(4)])
		case r.IntN(3) > 0:
			out.Write(gap)
		case len(gap) == 0 && (token.Type == hclsyntax.TokenIdent || token.Type == hclsyntax.TokenNumberLit ||
			next == hclsyntax.TokenColon):
			out.Write(gap) // provider::f and a call's name have no blanks
		case len(gap) > 0 && (isWord(token.Type) && isWord(next) || r.IntN(2) == 0):
			out.WriteString([]string{"  ", " ", "\t", "    "}[r.IntN(4)])
		case len(gap) > 0 && !isOperator(token.Type) && !isOperator(next):
			// none
		default:
			out.WriteString(" ")
		}
	}
	return out.Bytes()
}

func isWord(t hclsyntax.TokenType) bool {
	return t == hclsyntax.TokenIdent || t == hclsyntax.TokenNumberLit || t == hclsyntax.TokenOQuote ||
		t == hclsyntax.TokenCQuote
}

// isOperator reports whether a token might form another one together with the next.
func isOperator(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenBang, hclsyntax.TokenEqual, hclsyntax.TokenSlash, hclsyntax.TokenStar, hclsyntax.TokenLessThan,
		hclsyntax.TokenGreaterThan,
		hclsyntax.TokenColon, hclsyntax.TokenDoubleColon, hclsyntax.TokenDot, hclsyntax.TokenEllipsis,
		hclsyntax.TokenComment, hclsyntax.TokenMinus:
		return true
	}
	return false
}

var (
	reference = regexp.MustCompile(`(?m)^(\s*\w+\s*=\s*)([a-z]\w*(?:\.\w+)*(?:\([^\n()]*\))?)[ \t]*$`)
	label     = regexp.MustCompile(`(?m)^(\s*[a-z]\w* )"(\w+)"`)
)

// outdate returns a text with the outdated forms: expressions in interpolations, and labels without quotes.
func outdate(src []byte) []byte {
	return label.ReplaceAll(reference.ReplaceAll(src, []byte(`$1"$${$2}"`)), []byte("$1$2"))
}

// TestOutputEqualsTerraform formats the corpus, hard cases and mangled variants of both with terraform.
func TestOutputEqualsTerraform(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("needs terraform 1.11.4 on PATH to compare with")
	}
	if version, _ := exec.Command(terraform, "version").Output(); !bytes.Contains(version, []byte("v1.11.4")) {
		t.Skip("needs terraform 1.11.4 on PATH: it is another version")
	}
	inputs := corpus(t)
	in, _ := hard(t)
	for name, src := range in {
		inputs["hard_"+name] = src
	}
	dir := t.TempDir()
	variants := 1
	if testing.Short() {
		variants = 0
	}
	all := map[string][]byte{"no_newline.tf": []byte("a=1"), "only_comment.tf": []byte("  # x"),
		"bom.tf": []byte("\ufeffa=1\n"), "tabs.tf": []byte("a=1\t\n \t\nb{\t\n}\n")}
	for name, src := range inputs {
		all[name+".tf"] = src
		r := rand.New(rand.NewPCG(1, uint64(len(src))))
		for i := range variants {
			all[fmt.Sprintf("%s_%d.tf", name, i)] = mangle(r, src)
			all[fmt.Sprintf("%s_old_%d.tf", name, i)] = outdate(mangle(r, src))
		}
	}
	for name, src := range all {
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(terraform, "fmt", "-list=false", dir)
	cmd.Env = programtest.Environ()
	cmd.Run() // files with syntax errors, some of which are in the corpus, are not changed
	formatted := 0
	for name, src := range all {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, diags := Source(src, name)
		if diags.HasErrors() {
			got = src
		} else {
			formatted++
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-terraform +tombolo):\n%s\nof:\n%s", name, diff, src)
		}
	}
	t.Logf("%d of %d texts have no syntax errors", formatted, len(all))
}

func TestDeepNestingIsAnError(t *testing.T) {
	for _, open := range []string{"[", "{a=", "(", "-", "a {\n"} {
		if _, diags := Source([]byte("a = "+strings.Repeat(open, 1_000_000)), "main.tf"); !diags.HasErrors() {
			t.Errorf("a million of %q are formatted", open)
		}
	}
}

// Terraform 1.11.4 drops the label of each of these.
func TestLabelsWithSingleTemplateMarksAreKept(t *testing.T) {
	for in, want := range map[string]string{
		`a "b%2f" c {}`: `a "b%2f" "c" {}`, `a "$" "%" "%%" {}`: `a "$" "%" "%%" {}`,
		`a "b$$c\u0064" {}`: `a "b$$cd" {}`, `a "%\n$${%" {}`: `a "%\n$${%" {}`, `a "$${x}" {}`: `a "$${x}" {}`,
		`a "%%{x}" {}`: `a "%%{x}" {}`, `a "$$$${x" {}`: `a "$$$${x" {}`,
		"a \"x\" {\n  b \"%a%\" c {\n  }\n}": "a \"x\" {\n  b \"%a%\" \"c\" {\n  }\n}",
	} {
		if got, diags := Source([]byte(in), "main.tf"); string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, diags, want)
		}
	}
}

// FuzzSource checks that formatting only changes what the package documents, and that formatting again changes nothing.
func FuzzSource(f *testing.F) {
	in, _ := hard(f)
	for _, src := range in {
		f.Add(string(src))
	}
	f.Add("a = \"${b}\"")
	f.Add("a \"\x12\" {}")
	for _, text := range []string{
		`a "b%2f" c {}`, `a "$" "%%" "%%%{" {}`, "a \"e\u0301\" {}\r\nb = \"\ufffd\"", "\ufeffa = 1",
		"a = <<-E\n\t${b}\r\n  E\n", "a = \"%{ if b ~}x%{ endif }\"", "a {\n b=1 # c\n bb=2// d\n\n\n c {}}",
		"a = \"${\nb\n}\"", "a = \"${ # c\nb}\"", "a = (\n# c\n1\n)", "a = [\n1,#c\n2]", "a = {b=1,\nc:2}", "a=b?c:d",
		"a = -1 - -b", "a=[for a in b:a...]", "a.b[*].c=1", "a = b. c .0.0", "a\t=\u00a01", "a = \"\\u0000\"",
		"a \"b\xed\xa0\x80\" \"\xff\" {}", "a b\xffc {}", "a \u212a {}", "A\"\"\xd4$\xd40\xd40{}",
		"a = [0. 00, b. 0 .1]", "a = <<E\n\xff${\xff}\nE", "# \xff",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		out, diags := Source([]byte(text), "main.tf")
		if diags.HasErrors() || looseNumber([]byte(text)) {
			return
		}
		if again, diags := Source(out, "main.tf"); diags.HasErrors() {
			t.Errorf("the canonical form of %q is %q, which has errors: %v", text, out, diags)
		} else if !bytes.Equal(out, again) && !strings.Contains(string(out), `"${`) {
			t.Errorf("the canonical form of %q is %q, and of that it is %q", text, out, again)
		}
		if strings.Contains(text, "variable") || strings.ContainsAny(text+string(out), `\`) ||
			strings.Contains(text, "/*") {
			return // expected differences: types, and labels with other escapes and without comments
		}
		if diff := cmp.Diff(essence([]byte(text)), essence(out)); diff != "" {
			t.Errorf("formatting %q changed its tokens (-before +after):\n%s", text, diff)
		}
	})
}

// looseNumber reports whether white space separates a number from a point: hclwrite removes it, which may result in
// another number.
func looseNumber(src []byte) bool {
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	for i := range len(tokens) - 1 {
		a, b := tokens[i], tokens[i+1]
		dot, number := hclsyntax.TokenDot, hclsyntax.TokenNumberLit
		if (a.Type == dot && b.Type == number || a.Type == number && b.Type == dot) &&
			a.Range.End.Byte != b.Range.Start.Byte {
			return true
		}
	}
	return false
}

// essence returns the tokens of a text, in valid UTF-8 and normalization form C like labels, without tokens that the
// package may add or remove: quotes, interpolation marks, parentheses, line breaks. Consecutive literal parts of a
// string are joined: whether the lexer splits them at a single $ or % depends on invalid UTF-8.
func essence(src []byte) (list []string) {
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	literal := func(i int) bool {
		return i >= 0 && (tokens[i].Type == hclsyntax.TokenQuotedLit || tokens[i].Type == hclsyntax.TokenStringLit)
	}
	for i, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOQuote, hclsyntax.TokenCQuote, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateSeqEnd,
			hclsyntax.TokenOParen, hclsyntax.TokenCParen, hclsyntax.TokenNewline:
		case hclsyntax.TokenOHeredoc, hclsyntax.TokenCHeredoc, hclsyntax.TokenComment:
			list = append(list, string(bytes.TrimSpace(token.Bytes)))
		default:
			switch text := string([]rune(string(token.Bytes))); {
			case text == "":
			case literal(i) && literal(i-1):
				list[len(list)-1] += text
			default:
				list = append(list, text)
			}
		}
	}
	for i, text := range list {
		list[i] = cty.NormalizeString(text)
	}
	return list
}

func TestDiffEqualsTheDiffTool(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{"a=1\n", "a = 1\n", "--- old/x\n+++ new/x\n@@ -1 +1 @@\n-a=1\n+a = 1\n"},
		{"a\n\n@@ 1,1 @@\nb=1", "a\n\n@@ 1,1 @@\nb = 1", "--- old/x\n+++ new/x\n@@ -1,4 +1,4 @@\n a\n \n @@ 1,1 @@\n" +
			"-b=1\n\\ No newline at end of file\n+b = 1\n\\ No newline at end of file\n"},
		{"a\n", "a\n", ""},
	} {
		if diff := cmp.Diff(tt.want, string(Diff("x", []byte(tt.before), []byte(tt.after)))); diff != "" {
			t.Errorf("%q and %q (-want +got):\n%s", tt.before, tt.after, diff)
		}
	}
}

func TestScriptTransformsTheText(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	text := func() []byte {
		var b bytes.Buffer
		for range r.IntN(40) {
			fmt.Fprintln(&b, r.IntN(6))
		}
		return b.Bytes()
	}
	for range 2000 {
		before, after := text(), text()
		var old, new []byte
		changes := 0
		for _, e := range script(lines(before), lines(after)) {
			if e.op != '+' {
				old = append(old, e.line...)
			}
			if e.op != '-' {
				new = append(new, e.line...)
			}
			if e.op != ' ' {
				changes++
			}
		}
		if !bytes.Equal(old, before) || !bytes.Equal(new, after) {
			t.Fatalf("the script of\n%s\nand\n%s\nis wrong", before, after)
		}
		if most := shortest(lines(before), lines(after)); changes != most {
			t.Fatalf("the script of\n%s\nand\n%s\nhas %d changes, %d are enough", before, after, changes, most)
		}
	}
}

// shortest returns the minimum number of changes between two texts, by dynamic programming.
func shortest(a, b [][]byte) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			next := min(row[j], row[j+1]) + 1
			if bytes.Equal(a[i], b[j]) {
				next = diagonal
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

func TestDiffOfLongTextsIsNotQuadratic(t *testing.T) {
	var before, after bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&before, "a%d=1\n", i)
		fmt.Fprintf(&after, "a%d = 1\n", i)
	}
	if out := Diff("x", before.Bytes(), after.Bytes()); bytes.Count(out, []byte("\n")) != 200_003 {
		t.Errorf("the difference of 100 000 lines has %d lines", bytes.Count(out, []byte("\n")))
	}
}
