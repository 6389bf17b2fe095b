package view

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/internal/view/live"
)

var updateGolden = flag.Bool("update", false, "write golden files")

// golden compares got with a file, or updates the file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *updateGolden {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := diffLines(string(want), got); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, d)
	}
}

// cause is the Extra of a diagnostic about an unknown or a sensitive value.
type cause struct{ unknown, sensitive bool }

func (c cause) DiagnosticCausedByUnknown() bool   { return c.unknown }
func (c cause) DiagnosticCausedBySensitive() bool { return c.sensitive }

var evalContext = &hcl.EvalContext{
	Variables: map[string]cty.Value{
		"var": cty.ObjectVal(map[string]cty.Value{
			"str":     cty.StringVal("text"),
			"list":    cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")}),
			"set":     cty.UnknownVal(cty.Set(cty.String)),
			"map":     cty.MapVal(map[string]cty.Value{"x": cty.NumberIntVal(1), "y": cty.NumberIntVal(2)}),
			"one":     cty.ObjectVal(map[string]cty.Value{"a": cty.True}),
			"null":    cty.NullVal(cty.DynamicPseudoType),
			"secret":  cty.StringVal("tops3cret").Mark(value.Sensitive),
			"unknown": cty.DynamicVal,
		}),
	},
	Functions: map[string]function.Function{"tonumber": stdlib.MakeToFunc(cty.Number), "format": stdlib.FormatFunc,
		"cidr": stdlib.StrlenFunc},
}

// found evaluates every attribute of a file and returns the problems.
func found(t *testing.T, source string) diag.List {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(source), "main.tf", hcl.InitialPos)
	var list diag.List
	list = list.AppendHCL(diags)
	var walk func(b *hclsyntax.Body)
	walk = func(b *hclsyntax.Body) {
		attributes, _ := b.JustAttributes()
		names := make([]string, 0, len(attributes))
		for name := range attributes {
			names = append(names, name)
		}
		for _, name := range names {
			e := attributes[name].Expr
			_, diags := e.Value(evalContext)
			list = list.AppendHCL(diags)
			if name == "refused" { // like an engine that finds an unusable value
				rng := e.Range()
				list = append(list, &diag.Diagnostic{
					Severity: diag.Error, Summary: "Invalid for_each argument",
					Detail:  "The value cannot be used here.",
					Subject: &rng, Expression: e, EvalContext: evalContext, Extra: cause{
						unknown: true, sensitive: true},
				})
			}
		}
		for _, nested := range b.Blocks {
			walk(nested.Body)
		}
	}
	walk(file.Body.(*hclsyntax.Body))
	return list.Sorted()
}

func TestDiagnosticsShowPlaceSourceAndOperands(t *testing.T) {
	const path = "testdata/diagnostics.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	source := string(archive.Files[0].Data)
	list := found(t, source)
	sources := map[string][]byte{"main.tf": []byte(source)}
	options := Options{Sources: func() map[string][]byte { return sources }}
	doc, err := json.MarshalIndent(tfjson.Diagnostics(list, sources), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	colored := options
	colored.Color = true
	got := &txtar.Archive{Comment: archive.Comment, Files: []txtar.File{
		archive.Files[0],
		{Name: "text", Data: []byte(Diagnostics(options, list))},
		{Name: "frame", Data: []byte(strings.ReplaceAll(Diagnostics(colored, list[:2]), "\x1b", "^"))},
		{Name: "json", Data: append(doc, '\n')},
	}}
	out := string(txtar.Format(got))
	if strings.Contains(out, "tops3cret") {
		t.Errorf("a secret was written:\n%s", out)
	}
	golden(t, path, out)
}

func TestDiagnosticsText(t *testing.T) {
	rng := func(line int) *hcl.Range {
		return &hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: line, Column: 1, Byte: 0}, End: hcl.Pos{
			Line: line, Column: 2, Byte: 1}}
	}
	long := "The name warn is odd and this text is long enough to be wrapped because it runs beyond the width of an " +
		"ordinary terminal.\n\n" +
		"  preformatted stays as it is, even if it is very long, beyond the width of an ordinary terminal.\n\nEnd."
	for _, c := range []struct {
		name string
		list diag.List
		want string
	}{
		{"summary alone", diag.List{{Severity: diag.Error, Summary: "No destroying today"}},
			"\nError: No destroying today\n\n"},
		{"address alone", diag.List{{Severity: diag.Error, Summary: "S", Detail: "D.", Address: "t.a[0]"}},
			"\nError: S\n\n  with t.a[0]\n\nD.\n"},
		{
			"no source", diag.List{{Severity: diag.Error, Summary: "S", Detail: "D.", Address: "t.a", Subject: rng(3)}},
			"\nError: S\n\n  with t.a,\n  on main.tf line 3:\n  (source code not available)\n\nD.\n",
		},
		{
			"wrapped", diag.List{{Severity: diag.Warning, Summary: "Odd name", Detail: long}},
			"\nWarning: Odd name\n\nThe name warn is odd and this text is long enough to be wrapped because it\n" +
				"runs beyond the width of an ordinary terminal.\n\n" +
				"  preformatted stays as it is, even if it is very long, beyond the width of an ordinary terminal.\n" +
				"\nEnd.\n",
		},
		{
			"similar warnings", diag.List{
				{Severity: diag.Warning, Summary: "W", Subject: rng(1)}, {Severity: diag.Warning, Summary: "W",
					Subject: rng(2)},
				{Severity: diag.Warning, Summary: "V", Subject: rng(2)},
			},
			"\nWarning: W\n\n  on main.tf line 1:\n  (source code not available)\n\n\n(and one more similar warning " +
				"elsewhere)\n" +
				"\nWarning: V\n\n  on main.tf line 2:\n  (source code not available)\n\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Diagnostics(Options{}, c.list); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestDiagnosticsGoToTheRightStream(t *testing.T) {
	list := diag.List{{Severity: diag.Error, Summary: "E"}, {Severity: diag.Warning, Summary: "W", Detail: "Long."}}
	var out, errs bytes.Buffer
	v := New(Options{Out: &out, Err: &errs, CompactWarnings: true})
	v.Diagnostics(list)
	if out.String() != "\nWarning: W\n\nLong.\n" || errs.String() != "\nError: E\n\n" {
		t.Errorf("Out %q, Err %q", out.String(), errs.String())
	}
	out.Reset()
	v.Diagnostics(list[1:])
	want := "\nWarnings:\n\n- W\n\nTo see the full warning notes, run Tombolo without -compact-warnings.\n"
	if out.String() != want {
		t.Errorf("compact: got %q, want %q", out.String(), want)
	}
}

func TestExcerptsOfLongLinesAreCutAroundTheSubject(t *testing.T) {
	const million = 1000000
	source := "locals {\n  a = " + strings.Repeat("[", million) + "\n}\n"
	at := hcl.Pos{Line: 2, Column: 1015, Byte: 1024}
	list := diag.List(nil).Errorf(&hcl.Range{Filename: "main.tf", Start: at, End: at}, "Nesting too deep", "Too deep.")
	sources := map[string][]byte{"main.tf": []byte(source)}
	text := Diagnostics(Options{Sources: func() map[string][]byte { return sources }}, list)
	if len(text) > 1000 || !strings.Contains(text, "   2: ...[[[") || !strings.Contains(text, "[[[...\n") {
		t.Errorf("%d bytes: %.500s", len(text), text)
	}
	doc := tfjson.Diagnostics(list, sources)
	if doc[0].Snippet.HighlightEndOffset != doc[0].Snippet.HighlightStartOffset+1 {
		t.Errorf("highlight %+v", doc[0].Snippet.HighlightStartOffset)
	}
}

// A problem at a line break is marked after the line, once. A line of megabytes is cut as for any other problem.
func TestProblemsAtLineBreaksAreMarkedOnce(t *testing.T) {
	source := []byte("a {\n  b = \"" + strings.Repeat("x", 1<<20) + "\n}\n")
	at := func(n, line int) hcl.Pos { return hcl.Pos{Line: line, Column: 1, Byte: n} }
	end := bytes.LastIndex(source, []byte("\n}"))
	list := diag.List{}.Errorf(&hcl.Range{Filename: "main.tf", Start: at(end, 2), End: at(end+1, 3)}, "Invalid", "text")
	list[0].Context = &hcl.Range{Filename: "main.tf", Start: at(0, 1), End: at(end+1, 3)}
	text := Diagnostics(Options{Width: 600, Sources: func() map[string][]byte {
		return map[string][]byte{"main.tf": source}
	}}, list)
	if len(text) > 2000 || strings.Count(text, "^") != 1 || strings.Contains(text, "   3: ") {
		t.Errorf("%d bytes:\n%.2000s", len(text), text)
	}
}

// A provider or a program knows what it means: its words are not changed, even if they look like places of files.
func TestWordsOfOthersAboutPlacesAreNotChanged(t *testing.T) {
	const words = "See x.tf:3,4-9, rules.json:12,1-13,2 and main.tf line 3."
	list := diag.List{{Severity: diag.Error, Summary: "API error", Detail: words, Foreign: true}}
	if text := Diagnostics(Options{Width: 100}, list); !strings.Contains(text, words) {
		t.Error(text)
	}
}

// cells returns the characters of a line of a terminal by column. A wide character occupies two of them; marks that
// combine with the character before have none.
func cells(line string) (out []rune) {
	for _, r := range line {
		switch wide := live.Width(string(r)); {
		case r == '\t':
			for first := true; first || len(out)%8 != 0; first = false {
				out = append(out, r)
			}
		default:
			for range wide {
				out = append(out, r)
			}
		}
	}
	return out
}

// For random lines and ranges in them, what an error marks is exactly the range: at every width, underlined in color,
// and by carets in the columns below it without. There is no mark only if it would not fit, or if the range is the
// entire line.
func TestMarksAreExactlyTheRange(t *testing.T) {
	alphabet := []string{"a", "name", " ", " ", "=", `"`, "{", "\t", "é", "e\u0301", "日本", "\x01", "\u200b", "’",
		"${x}"}
	marks := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		var words []string
		for range 1 + r.IntN(25) {
			words = append(words, alphabet[r.IntN(len(alphabet))])
		}
		i := r.IntN(len(words))
		j := i + 1 + r.IntN(len(words)-i)
		before, subject := strings.Join(words[:i], ""), strings.Join(words[i:j], "")
		after := strings.Join(words[j:], "")
		first := "x = 1\n"
		source := first + before + subject + after + "\ny = 2\n"
		at := func(text string) hcl.Pos {
			return hcl.Pos{Line: 2, Column: 1 + len(text), Byte: len(first) + len(text)}
		}
		marked := hcl.Range{Filename: "main.tf", Start: at(before), End: at(before + subject)}
		list := diag.List{}.Errorf(&marked, "S", "D")
		for _, o := range []Options{{Width: 20}, {Width: 60}, {Width: 160}, {Width: 60, Color: true}} {
			o.Sources = func() map[string][]byte { return map[string][]byte{"main.tf": []byte(source)} }
			text := Diagnostics(o, list)
			fail := func(why string) {
				t.Helper()
				t.Fatalf("seed %d, width %d: %s: %q|%q|%q\n%q\n%s", seed, o.Width, why, before, subject, after, text,
					text)
			}
			_, shown, ok := strings.Cut(text, "   2: ")
			line, rest, _ := strings.Cut(shown, "\n")
			if !ok {
				fail("the line is not shown")
			}
			if o.Color {
				under := underlined.FindAllStringSubmatch(line, -1)
				if len(under) != 1 || under[0][1] != clean(subject) {
					fail("something else is underlined")
				}
				continue
			}
			if line != clean(before)+clean(subject)+clean(after) {
				fail("the line is changed")
			}
			pointer, _, _ := strings.Cut(rest, "\n")
			start := len(cells("   2: " + clean(before)))
			end := len(cells("   2: " + clean(before) + clean(subject)))
			if !strings.Contains(pointer, "^") {
				rest := strings.TrimSpace(after)
				entire := strings.TrimSpace(before) == "" && (rest == "" || rest == "{")
				if end < o.Width && end > start && !entire {
					fail("there is no mark")
				}
				continue
			}
			marks++
			for column, c := range cells(pointer) {
				if inside := start <= column && column < end; inside != (c == '^') {
					fail(fmt.Sprintf("column %d, of %d to %d", column, start, end))
				}
			}
			if len(cells(pointer)) != end {
				fail("the mark is too short")
			}
		}
	}
	if marks < 2000 {
		t.Errorf("only %d marks", marks)
	}
}

var underlined = regexp.MustCompile("\x1b\\[4m(.*?)\x1b\\[0m")
