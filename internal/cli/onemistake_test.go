package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// slip is a file with one mistake.
type slip struct {
	what string
	text string // the file with the mistake
	// line is the line of the mistake.
	line int
}

// slips are the kinds of mistakes. Each function gets the file, its tokens and one token, and returns the new text for
// that token, or unfit if the mistake is impossible there.
var slips = []struct {
	what string
	make func(r *rand.Rand, token hclsyntax.Token) (text string, fit bool)
}{
	{"a name is misspelt", func(r *rand.Rand, t hclsyntax.Token) (string, bool) {
		b := bytes.Clone(t.Bytes)
		if t.Type != hclsyntax.TokenIdent || len(b) < 3 {
			return "", false
		}
		i := r.IntN(len(b) - 1)
		b[i], b[i+1] = b[i+1], b[i]
		return string(b), !bytes.Equal(b, t.Bytes)
	}},
	{"a letter of a name is missing", func(r *rand.Rand, t hclsyntax.Token) (string, bool) {
		i := r.IntN(len(t.Bytes) + 1)
		if t.Type != hclsyntax.TokenIdent || len(t.Bytes) < 3 || i == len(t.Bytes) {
			return "", false
		}
		return string(t.Bytes[:i]) + string(t.Bytes[i+1:]), true
	}},
	{"a token is missing", func(_ *rand.Rand, t hclsyntax.Token) (string, bool) {
		return "", t.Type != hclsyntax.TokenNewline
	}},
	{"a bracket or a quote is missing", func(_ *rand.Rand, t hclsyntax.Token) (string, bool) {
		return "", strings.ContainsAny(string(t.Bytes), "{}[]()\"") && len(t.Bytes) < 3
	}},
	{"a quote is a single one", func(_ *rand.Rand, t hclsyntax.Token) (string, bool) {
		return "'", t.Type == hclsyntax.TokenOQuote || t.Type == hclsyntax.TokenCQuote
	}},
	{"a comma is missing", func(_ *rand.Rand, t hclsyntax.Token) (string, bool) {
		return "", t.Type == hclsyntax.TokenComma
	}},
	{"a colon is in place of an equals sign", func(_ *rand.Rand, t hclsyntax.Token) (string, bool) {
		return ":", t.Type == hclsyntax.TokenEqual
	}},
	{"a number is a list", func(_ *rand.Rand, t hclsyntax.Token) (string, bool) {
		return "[]", t.Type == hclsyntax.TokenNumberLit
	}},
	{"a strange character", func(r *rand.Rand, t hclsyntax.Token) (string, bool) {
		return string(t.Bytes) + []string{" @", " ;", " $"}[r.IntN(3)], t.Type == hclsyntax.TokenIdent ||
			t.Type == hclsyntax.TokenCQuote
	}},
	{"a token is there twice", func(_ *rand.Rand, t hclsyntax.Token) (string, bool) {
		return string(t.Bytes) + " " + string(t.Bytes), t.Type != hclsyntax.TokenNewline
	}},
}

// randomSlip makes one random mistake in a file.
func randomSlip(t *testing.T, r *rand.Rand, source []byte) slip {
	tokens, diags := hclsyntax.LexConfig(source, "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for {
		kind, token := slips[r.IntN(len(slips))], tokens[r.IntN(len(tokens))]
		if len(token.Bytes) == 0 {
			continue
		}
		if text, fit := kind.make(r, token); fit {
			at := token.Range
			return slip{kind.what, string(source[:at.Start.Byte]) + text + string(source[at.End.Byte:]), at.Start.Line}
		}
	}
}

// problem is an error in validate's output.
type problem struct {
	title, text string
	from, to    int // its lines; 0 for none
	// fixed is the line to change, and code its new text; 0 for none.
	fixed int
	code  string
}

var (
	errorPlace = regexp.MustCompile(`(?m)^  on \S+ line (\d+)`)
	errorLine  = regexp.MustCompile(`(?m)^ *(\d+): `)
	errorFix   = regexp.MustCompile(`(?m)^Change line (\d+) to:\n    (.*)$`)
)

// validated returns the errors of the project in a directory.
func validated(t *testing.T, dir string) []problem {
	t.Helper()
	var out bytes.Buffer
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	a := &command.App{Surroundings: engine.Surroundings{Program: "tombolo", Title: "Tombolo", StartDir: dir},
		In: command.NewInput(in), Out: &out, Err: &out}
	catchPanic(a, func() command.Outcome { return start(t.Context(), a, []string{"validate"}) })
	return errorsIn(out.String())
}

// errorsIn returns the errors in a command's output.
func errorsIn(output string) (list []problem) {
	for _, text := range strings.Split("\n"+output, "\n\nError: ")[1:] {
		e := problem{text: text}
		e.title, _, _ = strings.Cut(text, "\n")
		if m := errorPlace.FindStringSubmatch(text); m != nil {
			e.from, _ = strconv.Atoi(m[1])
			e.to = e.from
		}
		for _, m := range errorLine.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(m[1])
			e.to = max(e.to, n)
		}
		if m := errorFix.FindStringSubmatch(text); m != nil {
			e.fixed, _ = strconv.Atoi(m[1])
			e.code = m[2]
		}
		list = append(list, e)
	}
	return list
}

// TestOneMistakeIsOneError makes one mistake in a valid project. There must be exactly one error, at the line of the
// mistake, with a code and a text.
func TestOneMistakeIsOneError(t *testing.T) {
	seeds := uint64(400)
	if os.Getenv("TOMBOLO_SLIPS") != "" {
		fmt.Sscan(os.Getenv("TOMBOLO_SLIPS"), &seeds)
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/mistakes/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	m := newMistake(t)
	if err := os.CopyFS(m.dir, os.DirFS(filepath.Join(home, "testdata/mistakes"))); err != nil {
		t.Fatal(err)
	}
	if text := m.line("tombolo init"); !strings.HasSuffix(text, "[exit 0]\n") {
		t.Fatal(text)
	}
	if list := validated(t, m.dir); len(list) > 0 {
		t.Fatalf("the project without a mistake: %+v", list)
	}
	mistakes, fixes := 0, 0
	for seed := range seeds {
		s := randomSlip(t, rand.New(rand.NewPCG(seed, 24)), source)
		m.write("main.tf", []byte(s.text))
		list := validated(t, m.dir)
		if len(list) > 0 {
			mistakes++
		}
		if problem := wrongly(s, list); problem != "" {
			t.Errorf("seed %d: %s in line %d: %s\n  %s", seed, s.what, s.line, problem,
				strings.Split(s.text, "\n")[s.line-1])
			for _, e := range list {
				t.Logf("Error: %s", e.text)
			}
		}
		for _, e := range list {
			if e.fixed > 0 {
				fixes++
				lines := strings.Split(s.text, "\n")
				lines[e.fixed-1] = e.code
				m.write("main.tf", []byte(strings.Join(lines, "\n")))
				checkFixed(t, fmt.Sprintf("seed %d: %s in line %d", seed, s.what, s.line), e, list, validated(t, m.dir))
			}
		}
	}
	t.Logf("%d projects had an error, %d lines were suggested", mistakes, fixes)
	if fixes < int(seeds)/20 {
		t.Errorf("only %d lines were suggested", fixes)
	}
	if mistakes < int(seeds)/2 {
		t.Errorf("only %d of %d projects had an error", mistakes, seeds)
	}
}

// checkFixed fails if the suggested line does not remove the error, or causes others.
func checkFixed(t *testing.T, what string, fixed problem, before, after []problem) {
	t.Helper()
	for _, e := range after {
		known := slices.ContainsFunc(before, func(b problem) bool { return b.title == e.title && b.from == e.from }) ||
			e.title == fixed.title && severalFor[e.title] != "" // one of several uses is correct now
		if !known || e.title == fixed.title && e.from == fixed.from && e.text == fixed.text {
			t.Errorf("%s: %q in line %d, and line %d was suggested to be\n  %s\nwhich leads to\nError: %s", what,
				fixed.title, fixed.from, fixed.fixed, fixed.code, e.text)
		}
	}
}

// wrongly returns the problem with the errors about one mistake, or "" if they are as expected.
func wrongly(s slip, list []problem) string {
	switch {
	case len(list) == 0:
		return "" // an unused name, or a token without effect
	case len(list) > 1 && !slices.ContainsFunc(list, func(h problem) bool { return severalFor[h.title] == "" }):
		return ""
	case len(list) > 1:
		return fmt.Sprintf("%d errors", len(list))
	}
	e := list[0]
	switch {
	case e.from == 0:
		return "no place"
	case !strings.Contains(e.text, "More: tombolo explain TB"):
		return "no code"
	case elsewhereFor[e.title] != "" || strings.Contains(e.text, fmt.Sprintf("line %d", s.line)):
		return ""
	case e.from > s.next() || e.to < s.line:
		return fmt.Sprintf("it stands in lines %d to %d", e.from, e.to)
	}
	return ""
}

// next returns the first line after the mistake that is not empty, where missing text is detected.
func (s slip) next() int {
	lines := strings.Split(s.text, "\n")
	n := s.line
	for n < len(lines) && strings.TrimSpace(lines[n]) == "" {
		n++
	}
	return n + 1
}

// severalFor are the errors that one mistake may cause several times, with the reason.
var severalFor = map[string]string{
	"Reference to undeclared local value":             "one for each use of a name that is declared as another",
	"Reference to undeclared input variable":          "one for each use of a name that is declared as another",
	"Reference to undeclared resource":                "one for each use of a name that is declared as another",
	"Unsupported attribute":                           "one for each use of a name that is declared as another",
	`Reference to "each" in context without for_each`: "one for each use, if for_each has another name",
	"each.value cannot be used in this context":       "one for each use, if for_each has another name",
	"each.key cannot be used in this context":         "one for each use, if for_each has another name",
	`Reference to "count" in non-counted context`:     "one for each use, if count has another name",
	"Unsupported argument":                            "the argument that should be for_each or count, beside its uses",
	"Invalid variable name":                           "the condition refers to the variable by its right name",
	"Invalid variable validation condition":           "the variable has another name",
	"Invalid module instance name":                    "the module was installed under its right name",
	"Module source has changed":                       "the module was installed under its right name",
	"Missing required argument":                       "the argument became a block",
	"Unsupported block type":                          "the argument became a block",
	"Missing key/value separator":                     "the rest of a template lacks the directive that it ends",
	"Invalid template directive":                      "the rest of a template lacks the directive that it ends",
	"Unexpected end of template":                      "the rest of a template lacks the directive that it ends",
	"Invalid character":                               "a quote that does not belong to the text swallows what follows",
	"Invalid multi-line string":                       "a quote that does not belong to the text swallows what follows",
}

// elsewhereFor are the errors that are not at the mistake, with the reason.
var elsewhereFor = map[string]string{
	"Reference to undeclared local value":         "the declaration has another name; it may be the right one",
	"Reference to undeclared input variable":      "the declaration has another name; it may be the right one",
	"Reference to undeclared resource":            "the declaration has another name; it may be the right one",
	"Unsupported attribute":                       "the declaration has another name; it may be the right one",
	"Unclosed configuration block":                "it stands at the open brace, and names the line behind",
	"Invalid default value for variable":          "the type may be the right one",
	"Missing required argument":                   "it stands at the block in which the argument is missing",
	"Invalid multi-line string":                   "which of several quotes is too much nobody knows",
	`Reference to "count" in non-counted context`: "the argument count may be missing",
	"Argument or block definition required":       "a closing brace too much is noticed at the one that is left over",
	"Missing newline after argument":              "a closing bracket too much is noticed where it stands",
	"Missing key/value separator":                 "an object without an end goes on; the text names its brace",
	"Unterminated template string":                "a heredoc without an end goes on; the text names its beginning",
}
