package funcs

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// All pairs of operands: true, false, null, unknown and invalid. Terraform 1.11.4 has the same results with two
// exceptions: here, mistakes in the right operand do not matter if the left one decides, and an operand that decides
// makes the result known on either side.
func TestLogicalOperators(t *testing.T) {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{
		"t": cty.True, "f": cty.False, "n": cty.NullVal(cty.Bool), "d": cty.NullVal(cty.DynamicPseudoType),
		"u": cty.UnknownVal(cty.Bool), "e": cty.EmptyTupleVal,
	}}
	const wrong = "wrong"
	or := map[string]string{
		"tt": "true", "tf": "true", "tn": "true", "td": "true", "tu": "true", "te": "true",
		"ft": "true", "ff": "false", "fu": "unknown",
		"ut": "true", "uf": "unknown", "uu": "unknown",
	}
	and := map[string]string{
		"ff": "false", "ft": "false", "fn": "false", "fd": "false", "fu": "false", "fe": "false",
		"tt": "true", "tf": "false", "tu": "unknown",
		"uf": "false", "ut": "unknown", "uu": "unknown",
	}
	for operator, table := range map[string]map[string]string{"||": or, "&&": and} {
		for _, left := range "tfndue" {
			for _, right := range "tfndue" {
				operand := map[rune]string{'e': "e[1]"}
				for _, name := range "tfndu" {
					operand[name] = string(name)
				}
				text := operand[left] + " " + operator + " " + operand[right]
				expr, diags := hclsyntax.ParseExpression([]byte(text), "x.tf", hcl.InitialPos)
				if diags.HasErrors() {
					t.Fatal(diags)
				}
				want, ok := table[string(left)+string(right)]
				if !ok {
					want = wrong
				}
				got := wrong
				if v, diags := expr.Value(ctx); diags.HasErrors() {
					got = wrong
				} else if !v.IsKnown() {
					got = "unknown"
				} else if v.True() {
					got = "true"
				} else {
					got = "false"
				}
				if got != want {
					t.Errorf("%s is %s, want %s", text, got, want)
				}
			}
		}
	}
}
