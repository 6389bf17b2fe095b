package nesting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Random templates, parsed in pieces and as a whole, have the same value and the same references at the same places.
// The errors of the pieces end with the first piece that has one.
func TestTemplatesInPiecesAreThoseOfTheWhole(t *testing.T) {
	atoms := []string{
		"a", "text\n", "\n", "  ", " \n\t", "%", "$", "$$", "%%", "$${x}", "%%{x}", "{", "}", "é",
		"e\u0301", "\r\n", `"`, `\`,
		"${a}", "${a ~}", "${~ a}", "${~ a ~}", "${\"x${a}\ny\"}", "${<<E\nx\ny\nE\n}", "%{if true}", "%{ if false ~}",
		"%{else}", "%{endif}", "%{~ endif ~}", "%{for x in [1, 2]}", "%{~ for x in [1] ~}",
		"%{endfor}", "${missing}", "100% of $5",
	}
	wrong := []string{"${", "%{", "%{nonsense}", "${a b}", "${}"}
	context := &hcl.EvalContext{Variables: map[string]cty.Value{"a": cty.StringVal(" value\n")}}
	cut := 0
	for seed := range uint64(4000) {
		random := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range random.IntN(60) {
			if random.IntN(200) == 0 {
				b.WriteString(wrong[random.IntN(len(wrong))])
			}
			atom := atoms[random.IntN(len(atoms))]
			b.WriteString(strings.Repeat(atom, 1+random.IntN(3)*random.IntN(3)))
		}
		source, size := []byte(b.String()), 1+random.IntN(4)
		if len(cuts(source, "t", size)) > 0 {
			cut++
		}
		whole, wholeDiags := hclsyntax.ParseTemplate(source, "t", hcl.InitialPos)
		pieces, piecesDiags := parsePieces(source, "t", size)
		if wholeDiags.HasErrors() || piecesDiags.HasErrors() {
			all, found := errorsOf(wholeDiags), errorsOf(piecesDiags)
			if len(found) == 0 || !slices.Contains(all, found[0]) {
				t.Fatalf("seed %d: %q: errors %v, in pieces %v", seed, source, all, found)
			}
			continue
		}
		if difference := cmp.Diff(outline(whole, context), outline(pieces, context)); difference != "" {
			t.Fatalf("seed %d: %q: the whole and the pieces differ (-whole +pieces):\n%s", seed, source, difference)
		}
	}
	if cut < 500 {
		t.Errorf("only %d templates were cut", cut)
	}
}

// errorsOf returns the text and the place of each error.
func errorsOf(diags hcl.Diagnostics) []string {
	var errors []string
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			errors = append(errors, fmt.Sprint(d.Summary, d.Detail, d.Subject))
		}
	}
	return errors
}

// outline returns what users see of a template: its parts with their ranges, its value, its errors.
func outline(e hclsyntax.Expression, context *hcl.EvalContext) []string {
	v, diags := e.Value(context)
	lines := []string{fmt.Sprintf("%T %v %#v", e, e.Range(), v)}
	for _, d := range diags {
		lines = append(lines, fmt.Sprint(d.Summary, d.Detail, d.Subject))
	}
	if template, ok := e.(*hclsyntax.TemplateExpr); ok {
		for _, part := range template.Parts {
			lines = append(lines, fmt.Sprintf("%T %v", part, part.Range()))
		}
	}
	for _, traversal := range e.Variables() {
		lines = append(lines, fmt.Sprint(traversal.RootName(), traversal.SourceRange()))
	}
	return lines
}
