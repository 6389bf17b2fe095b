package diag

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// TestAdviceListsExistingKeys evaluates expressions with wrong keys, and expects the existing keys in the advice,
// except for secret ones.
func TestAdviceListsExistingKeys(t *testing.T) {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"v": cty.ObjectVal(map[string]cty.Value{
		"map":    cty.MapVal(map[string]cty.Value{"small": cty.StringVal("a"), "large": cty.StringVal("b")}),
		"none":   cty.MapValEmpty(cty.String),
		"list":   cty.TupleVal([]cty.Value{cty.True, cty.StringVal("x"), cty.NullVal(cty.String)}),
		"one":    cty.ListVal([]cty.Value{cty.True}),
		"secret": cty.MapVal(map[string]cty.Value{"tops3cret": cty.True}).Mark("sensitive"),
		"key":    cty.StringVal("smal"),
		"object": cty.ObjectVal(map[string]cty.Value{"subnet": cty.EmptyObjectVal}),
		"later":  cty.UnknownVal(cty.Object(map[string]cty.Type{"subnet": cty.String})),
		"hidden": cty.ObjectVal(map[string]cty.Value{"tops3cret": cty.True}).Mark("sensitive"),
	})}}
	for expr, want := range map[string]string{
		`v.map["medium"]`:     `Its keys are "large", "small".`,
		`v.map[v.key]`:        `Did you mean "small"?`,
		`v["map"]["x"]`:       `Its keys are "large", "small".`,
		`v.none["x"]`:         `It is empty.`,
		`v.list[3]`:           `It has 3 elements, with the indices 0 to 2.`,
		`v.one[1]`:            `It has one element, whose index is 0.`,
		`v.list[1 + 5]`:       `It has 3 elements`,
		`true ? v.one[5] : 1`: ``,
		`v.object.subnets`:    `Did you mean "subnet"?`,
		`[v][0].object.subne`: `Did you mean "subnet"?`,
		`[v][0].map["x"]`:     `Its keys are "large", "small".`,
		`v.later.subne`:       `Did you mean "subnet"?`,
		`v.object.subnet.x`:   `does not have an attribute named "x".`,
	} {
		got := details(t, expr, ctx)
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", expr, got)
		}
	}
	for _, expr := range []string{`v.secret["x"]`, `v.secret[v.key]`, `v.hidden.tops3cre`} {
		if got := details(t, expr, ctx); strings.Contains(got, "tops3cret") {
			t.Errorf("%s tells a secret: %s", expr, got)
		}
	}
}

func TestAdviceIsGivenOnce(t *testing.T) {
	if got := details(t, `1 + null`, nil); got == "" {
		t.Error("no diagnostic")
	}
	d := details(t, `"x${null}"`, nil)
	if strings.Count(d, "coalesce") != 1 {
		t.Errorf("got %q", d)
	}
}

func details(t *testing.T, src string, ctx *hcl.EvalContext) string {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(src), "x.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	_, diags = expr.Value(ctx)
	var all []string
	for _, d := range (List)(nil).AppendHCL(diags) {
		all = append(all, d.Detail)
	}
	return strings.Join(all, "\n")
}
