package iteration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// collections are the kinds of values that can be iterated over, each unmarked, as a secret, and with a secret in it.
func collections() map[string]cty.Value {
	text := cty.StringVal
	kinds := map[string]cty.Value{
		"list":   cty.ListVal([]cty.Value{text("a"), text("b"), text("a")}),
		"set":    cty.SetVal([]cty.Value{text("a"), text("b")}),
		"tuple":  cty.TupleVal([]cty.Value{text("a"), cty.NumberIntVal(1), cty.NullVal(cty.String)}),
		"map":    cty.MapVal(map[string]cty.Value{"a": text("x"), "b": text("y")}),
		"object": cty.ObjectVal(map[string]cty.Value{"a": text("x"), "b": cty.True}),
		"deep": cty.ListVal([]cty.Value{cty.SetVal([]cty.Value{text("a"), text("b")}),
			cty.SetVal([]cty.Value{text("c")})}),
		"maps":  cty.SetVal([]cty.Value{cty.MapVal(map[string]cty.Value{"a": text("x")})}),
		"empty": cty.SetValEmpty(cty.String),
		"null":  cty.NullVal(cty.List(cty.String)),
		"later": cty.UnknownVal(cty.List(cty.String)),
		"any":   cty.DynamicVal,
		"some":  cty.SetVal([]cty.Value{text("a"), cty.UnknownVal(cty.String)}),
	}
	out := map[string]cty.Value{}
	for name, v := range kinds {
		out[name] = v
		out[name+", secret"] = v.Mark("sensitive")
		out[name+", twice"] = v.Mark("sensitive").Mark("ephemeral")
	}
	out["list with a secret"] = cty.ListVal([]cty.Value{text("a"), text("b").Mark("sensitive")})
	out["list with a secret, secret"] = out["list with a secret"].Mark("ephemeral")
	return out
}

// expressions are for expressions over c, of every form, with o as an outer value.
var expressions = []string{
	`[for v in c : v]`,
	`[for k, v in c : k]`,
	`[for k, v in c : [k, v]]`,
	`[for v in c : { x = v, y = [v, o] }]`,
	`[for v in c : v if v != "a"]`,
	`[for k, v in c : o if k != o]`,
	`{ for k, v in c : k => v }`,
	`{ for k, v in c : "x${k}" => v... }`,
	`{ for k, v in c : o => k... if true }`,
	`[for v in c : [for w in [v, o] : w]]`,
	`[for v in c : [for k, w in v : { (k) = w }]]`,
	`[for v in c : same(v)]`,
	`[for v in [for w in c : same(w)] : v]`,
	`"%{ for v in c }${same(o)},%{ endfor }"`,
	`"%{ for k, v in c }${k}=${v},%{ endfor }"`,
	`[for v in c : v][*]`,
	`length([for v in c : v])`,
	`[for k, k in c : k]`,
	`[for c in c : c]`,
}

// TestResultsEqualTheLibrary evaluates every expression over every collection with and without Guard, and compares
// values, marks and problems.
func TestResultsEqualTheLibrary(t *testing.T) {
	same := function.New(&function.Spec{
		Params: []function.Parameter{{Name: "v", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true,
			AllowMarked: true, AllowDynamicType: true}},
		Type: func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return args[0], nil },
	})
	functions := map[string]function.Function{"same": same, "length": stdlib.LengthFunc}
	for name, c := range collections() {
		for _, src := range expressions {
			ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"c": c, "o": cty.StringVal("out")},
				Functions: functions}
			want, wantDiags := parse(t, src).Value(ctx)
			guarded := parse(t, src)
			before := fmt.Sprint(guarded.Variables())
			Guard(guarded)
			Guard(guarded) // a second time changes nothing
			if after := fmt.Sprint(guarded.Variables()); after != before {
				t.Errorf("%s: refers to %s, guarded to %s", src, before, after)
			}
			got, gotDiags := guarded.Value(ctx)
			if !got.RawEquals(want) {
				t.Errorf("%s over %s:\n got %#v\nwant %#v", src, name, got, want)
			}
			if len(gotDiags) != len(wantDiags) {
				t.Errorf("%s over %s:\n got %v\nwant %v", src, name, gotDiags, wantDiags)
			}
		}
	}
}

// TestElementsAndKeysAreMarkedInside calls a function on everything that comes from a secret, however it was derived.
func TestElementsAndKeysAreMarkedInside(t *testing.T) {
	for _, src := range []string{
		`[for v in c : see(v)]`,
		`[for k, v in c : see(v)]`,
		`[for v in c : see(upper(v))]`,
		`[for v in c : see("x${v}")]`,
		`[for v in c : 1 if see(v) == ""]`,
		`{ for v in c : see(v) => 1 }`,
		`{ for v in c : "k" => see(v)... }`,
		`[for v in c : [for w in split("", v) : see(w)]]`,
		`[for v in c : see(join("", [for w in split("", v) : w]))]`,
		`[for v in [for w in c : upper(w)] : see(v)]`,
		`"%{ for v in c }${see(v)}%{ endfor }"`,
		`"%{ for v in c }%{ if see(v) == "" }x%{ endif }%{ endfor }"`,
		`[for v in c : { x = see(v) }.x]`,
	} {
		for name, c := range map[string]cty.Value{
			"list":  cty.ListVal([]cty.Value{cty.StringVal("s")}),
			"set":   cty.SetVal([]cty.Value{cty.StringVal("s")}),
			"tuple": cty.TupleVal([]cty.Value{cty.StringVal("s")}),
			"map":   cty.MapVal(map[string]cty.Value{"s": cty.StringVal("s")}),
		} {
			checkMarked(t, src, name, c)
			if keyed := strings.Replace(src, "[for v in c", "[for v, x in c", 1); name != "list" && name != "tuple" &&
				keyed != src {
				checkMarked(t, keyed, name, c)
			}
		}
	}
}

func checkMarked(t *testing.T, src, name string, c cty.Value) {
	t.Helper()
	called := 0
	see := function.New(&function.Spec{
		Params: []function.Parameter{{Name: "v", Type: cty.String, AllowMarked: true}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if called++; !args[0].IsMarked() {
				t.Errorf("%s over a secret %s: the function sees a bare %#v", src, name, args[0])
			}
			return args[0], nil
		},
	})
	ctx := &hcl.EvalContext{
		Variables: map[string]cty.Value{"c": c.Mark("sensitive")},
		Functions: map[string]function.Function{"see": see, "upper": stdlib.UpperFunc, "split": stdlib.SplitFunc,
			"join": stdlib.JoinFunc},
	}
	e := parse(t, src)
	Guard(e)
	if _, diags := e.Value(ctx); diags.HasErrors() || called == 0 {
		t.Errorf("%s over %s: %d calls, %v", src, name, called, diags)
	}
}

func parse(t *testing.T, src string) hclsyntax.Expression {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(src), "x.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", src, diags)
	}
	return e
}
