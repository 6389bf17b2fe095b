package funcs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Terraform takes minutes or all memory for the expressions that are refused here.
func TestHugeNumbersAreRefused(t *testing.T) {
	table := Table(Options{})
	thousand := make([]cty.Value, 1000)
	for i := range thousand {
		thousand[i] = cty.NumberIntVal(int64(i))
	}
	long, ones := cty.ListVal(thousand), strings.Repeat("1", 4<<20)
	for _, c := range []struct {
		name    string
		args    []cty.Value
		refused bool
	}{
		{"tonumber", []cty.Value{cty.StringVal("1e99999999")}, true},
		{"tonumber", []cty.Value{cty.StringVal("1e-99999999").Mark("secret")}, true},
		{"tonumber", []cty.Value{cty.StringVal("1e99999")}, false},
		{"tonumber", []cty.Value{cty.StringVal("1e-99999").Mark("secret")}, true},
		{"tonumber", []cty.Value{cty.StringVal("1e-9999")}, false},
		{"jsondecode", []cty.Value{cty.StringVal(`[1e-99999]`)}, true},
		{"jsondecode", []cty.Value{cty.StringVal(`{"a":[1,{"b":1e99999999}]}`)}, true},
		{"jsondecode", []cty.Value{cty.StringVal(`{"a":[1,{"b":1e9999}]}`)}, false},
		{"yamldecode", []cty.Value{cty.StringVal("a: [1, 1e99999999]")}, true},
		{"yamldecode", []cty.Value{cty.StringVal("a: [1, 1e9999]")}, false},
		{"tonumber", []cty.Value{cty.StringVal(ones)}, true},
		{"tonumber", []cty.Value{cty.StringVal("-0." + ones + "e1").Mark("secret")}, true},
		{"tonumber", []cty.Value{cty.StringVal(ones + "x")}, true},
		{"jsondecode", []cty.Value{cty.StringVal(`{"a":[1,` + ones + `]}`)}, true},
		{"jsondecode", []cty.Value{cty.StringVal(`{"a":[1,0.` + ones + `]}`)}, true},
		{"jsondecode", []cty.Value{cty.StringVal(`{"a":"` + ones + `"}`)}, false},
		{"yamldecode", []cty.Value{cty.StringVal("a: " + ones)}, true},
		{"yamldecode", []cty.Value{cty.StringVal("a: -" + ones)}, true},
		{"yamldecode", []cty.Value{cty.StringVal("a: '" + ones + "'")}, false},
		{"parseint", []cty.Value{cty.StringVal(ones), cty.NumberIntVal(10)}, true},
		{"parseint", []cty.Value{cty.StringVal(ones[:200_000]), cty.NumberIntVal(2)}, false},
		{"parseint", []cty.Value{cty.StringVal(ones[:200_000]), cty.NumberIntVal(10)}, true},
		{"max", []cty.Value{cty.MustParseNumberVal("1e99999999"), cty.Zero}, true},
		{"max", []cty.Value{cty.MustParseNumberVal("1e9999"), cty.Zero}, false},
		{"format", []cty.Value{cty.StringVal("%99999999s"), cty.StringVal("a")}, true},
		{"format", []cty.Value{cty.StringVal("%.99999999f"), cty.NumberIntVal(1)}, true},
		{"format", []cty.Value{cty.StringVal("%%99999999 %9s"), cty.StringVal("a")}, false},
		{"format", []cty.Value{cty.StringVal("%d"), cty.StringVal("1e99999999")}, true},
		{"format", []cty.Value{cty.StringVal("%s %5.2f"), cty.Zero, cty.StringVal("1e-99999999")}, true},
		{"format", []cty.Value{cty.StringVal("%[2]x"), cty.Zero, cty.StringVal("1e99999999").Mark("secret")}, true},
		{"format", []cty.Value{cty.StringVal("%[2]s %g"), cty.Zero, cty.Zero, cty.StringVal("1e99999999")}, true},
		{"format", []cty.Value{cty.StringVal("%d"), cty.MustParseNumberVal("1e99999999")}, true},
		{"format", []cty.Value{cty.StringVal("%s %d"), cty.StringVal("1e99999999"), cty.Zero}, false},
		{"format", []cty.Value{cty.StringVal("%%d %[2]d %[1]s"), cty.StringVal("1e99999999"), cty.Zero}, false},
		{"format", []cty.Value{cty.StringVal("%d"), cty.StringVal("1e9999")}, false},
		{"formatlist", []cty.Value{cty.StringVal("%d"), cty.ListVal([]cty.Value{cty.StringVal("1"),
			cty.StringVal("1e99999999")})}, true},
		{"formatlist", []cty.Value{cty.StringVal("%d %s"), cty.Zero, cty.ListVal([]cty.Value{
			cty.StringVal("1e99999999")})}, false},
		{"cidrsubnet", []cty.Value{cty.StringVal("10.0.0.0/8"), cty.NumberIntVal(1),
			cty.MustParseNumberVal("1e99999999")}, true},
		{"cidrsubnet", []cty.Value{cty.StringVal("10.0.0.0/8"), cty.NumberIntVal(1), cty.MustParseNumberVal(
			"18446744073709551616")}, true},
		{"cidrsubnet", []cty.Value{cty.StringVal("fd00::/8"), cty.NumberIntVal(70), cty.MustParseNumberVal(
			"18446744073709551617")}, false},
		{"formatlist", []cty.Value{cty.StringVal("%-99999999s"), cty.ListVal([]cty.Value{cty.StringVal("a")})}, true},
		{"setproduct", []cty.Value{long, long, long}, true},
		{"setproduct", []cty.Value{long, long, long, cty.EmptyTupleVal}, false},
		{"setproduct", []cty.Value{long, cty.TupleVal([]cty.Value{cty.True})}, false},
	} {
		out, err := table[c.name].Call(c.args)
		if (err != nil) != c.refused {
			t.Errorf("%s(%.40s) = %.40s, %v", c.name, fmt.Sprintf("%#v", c.args[0]), fmt.Sprintf("%#v", out), err)
		}
		if err != nil && strings.Contains(err.Error(), "9999") {
			t.Errorf("%s: the message %q shows a value", c.name, err)
		}
	}
}

func TestOperatorsRefuseHugeNumbers(t *testing.T) {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{
		"unknown": cty.UnknownVal(cty.Number), "secret": cty.StringVal("1e99999999").Mark("secret"),
		"none": cty.NullVal(cty.Number), "big": cty.MustParseNumberVal("1e99999"),
	}}
	for text, want := range map[string]string{
		`"1e99999999" + 0`: "more than 5 digits", `1 - "1e-99999999"`: "more than 5 digits",
		`-"1e99999999"`:    "more than 5 digits",
		`7 % "1e99999999"`: "more than 5 digits", `secret * 1`: "more than 5 digits", `big * big`: "more than 5 digits",
		`1 / big / big`: "more than 5 digits", `1 / big`: "more than 5 digits",
		`big / big`: "", `big % 10`: "", `1 / 0`: "", `(1 / 0) % 3`: "not a real number", `3 % (1 / 0)`: "infinity",
		`-1 + 2 * 3`: "", `unknown + big`: "", `-unknown`: "", `none + 1`: "null", `"x" * 2`: "a number is required",
	} {
		v, diags := mustExpr(t, text).Value(ctx)
		if diags.HasErrors() != (want != "") || diags.HasErrors() && !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s = %s: %v, want %q", text, v.Type().FriendlyName(), diags, want)
		}
	}
	if v, _ := mustExpr(t, "unknown + 1").Value(ctx); !v.Range().DefinitelyNotNull() {
		t.Error("a sum may be null")
	}
}

func TestSumEqualsTheOperator(t *testing.T) {
	inf := cty.PositiveInfinity
	for _, c := range []struct {
		list cty.Value
		want string
	}{
		{cty.TupleVal([]cty.Value{inf, inf.Negate()}), "opposing infinities"},
		{cty.TupleVal([]cty.Value{cty.StringVal("1e99999999"), cty.Zero}), "more than 5 digits"},
		{cty.TupleVal([]cty.Value{inf, cty.Zero}), ""},
		{cty.TupleVal([]cty.Value{cty.UnknownVal(cty.Number), cty.StringVal("1")}), ""},
	} {
		v, err := sumFunc.Call([]cty.Value{c.list})
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%#v: %v, want %q", c.list, err, c.want)
		}
		if err == nil && (v.Type() != cty.Number || !v.Range().DefinitelyNotNull()) {
			t.Errorf("%#v: %#v", c.list, v)
		}
	}
}

func TestCountingFunctionsRefuseHugeNumbers(t *testing.T) {
	table := fixedTable()
	long, zero := cty.MustParseNumberVal("1e99999999"), cty.Zero
	for name, args := range map[string][]cty.Value{
		"range":    {zero, long.Mark("secret")},
		"cidrhost": {cty.StringVal("10.0.0.0/8"), long},
	} {
		if _, err := table[name].Call(args); err == nil || !strings.Contains(err.Error(), "more than 5 digits") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v, err := table["range"].Call([]cty.Value{zero, cty.UnknownVal(cty.Number)}); err != nil || v.IsKnown() {
		t.Errorf("range to what is not known: %#v, %v", v, err)
	}
	if v, err := table["cidrhost"].Call([]cty.Value{cty.StringVal("10.0.0.0/8"), cty.NumberIntVal(5)}); err != nil ||
		v.AsString() != "10.0.0.5" {
		t.Errorf("cidrhost: %#v, %v", v, err)
	}
}

func mustExpr(t *testing.T, text string) hcl.Expression {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(text), "x.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return expr
}
