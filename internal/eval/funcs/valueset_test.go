package funcs

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// randomElement returns a value of one of a few types. Few candidates make equal ones frequent.
func randomElement(r *rand.Rand, kind int) cty.Value {
	ty := []cty.Type{cty.String, cty.Number, cty.Bool,
		cty.Object(map[string]cty.Type{"a": cty.String, "n": cty.Number}), cty.Set(cty.String),
		cty.Tuple([]cty.Type{cty.Number, cty.String})}[kind]
	switch r.IntN(16) {
	case 0:
		return cty.NullVal(ty)
	case 1:
		return cty.UnknownVal(ty)
	case 2:
		return cty.UnknownVal(ty).RefineNotNull()
	}
	text := func() cty.Value {
		if r.IntN(20) == 0 {
			return cty.UnknownVal(cty.String)
		}
		return cty.StringVal(fmt.Sprint(r.IntN(9)))
	}
	// the last four have the same first ten digits, and so the same hash in cty
	number := []cty.Value{cty.Zero, cty.MustParseNumberVal("-0"), cty.NumberIntVal(1), cty.NumberFloatVal(0.1),
		cty.MustParseNumberVal("0.1"), cty.NumberIntVal(12345678901), cty.NumberIntVal(12345678902),
		cty.NumberIntVal(12345678903), cty.NumberIntVal(12345678904)}[r.IntN(9)]
	switch kind {
	case 0:
		return text()
	case 1:
		return number
	case 2:
		return cty.BoolVal(r.IntN(2) == 0)
	case 3:
		return cty.ObjectVal(map[string]cty.Value{"a": text(), "n": number})
	case 4:
		return cty.SetVal([]cty.Value{text(), text()})
	}
	return cty.TupleVal([]cty.Value{number, text()})
}

func randomSet(r *rand.Rand, kind int) cty.Value {
	elements := make([]cty.Value, r.IntN(12))
	for i := range elements {
		elements[i] = randomElement(r, kind)
	}
	if r.IntN(20) == 0 {
		elements = append(elements, randomElement(r, kind).Mark("m"))
	}
	set := cty.SetValEmpty(randomElement(r, kind).Type())
	if len(elements) > 0 {
		set = cty.SetVal(elements)
	} else if r.IntN(2) == 0 {
		set = cty.SetValEmpty(cty.DynamicPseudoType)
	}
	switch r.IntN(30) {
	case 0:
		return cty.UnknownVal(set.Type())
	case 1:
		return cty.NullVal(set.Type())
	case 2:
		// the evaluator's value if nothing is known
		return cty.UnknownVal(cty.Set(cty.DynamicPseudoType))
	case 3:
		return set.Mark("n")
	}
	return set
}

func sameOutcome(got, want cty.Value, gotErr, wantErr error) bool {
	if gotErr != nil || wantErr != nil {
		return fmt.Sprint(gotErr) == fmt.Sprint(wantErr)
	}
	if !got.RawEquals(want) {
		return false
	}
	got, _ = got.UnmarkDeep()
	want, _ = want.UnmarkDeep()
	return fmt.Sprintf("%#v", got) == fmt.Sprintf("%#v", want) // the order of elements, and all digits
}

// luck reports whether the library's comparison of objects with unknown parts is random.
func luck(args []cty.Value) bool {
	return args[0].Type().IsSetType() && args[0].Type().ElementType().IsObjectType() &&
		!(args[0].IsWhollyKnown() && args[1].IsWhollyKnown())
}

// TestSetFunctionsEqualTheLibrary compares the reimplemented functions, which are too slow in the library,
// with the library's.
func TestSetFunctionsEqualTheLibrary(t *testing.T) {
	table := Table(Options{})
	library := map[string]function.Function{
		"setunion": stdlib.SetUnionFunc, "setintersection": stdlib.SetIntersectionFunc,
		"setsubtract": stdlib.SetSubtractFunc,
		"jsonencode":  stdlib.JSONEncodeFunc, "contains": stdlib.ContainsFunc,
	}
	decided, refused := 0, 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 1))
		kind := r.IntN(6)
		sets := make([]cty.Value, 1+r.IntN(4))
		for i := range sets {
			of := kind
			if r.IntN(8) == 0 {
				of = r.IntN(6)
			}
			sets[i] = randomSet(r, of)
		}
		sought := randomElement(r, kind)
		if sought.IsNull() {
			sought = cty.StringVal("1") // contains intentionally refuses null
		}
		for name, args := range map[string][]cty.Value{
			"setunion": sets, "setintersection": sets, "setsubtract": {sets[0], sets[len(sets)-1]}, "jsonencode": {
				cty.TupleVal(sets)}, "contains": {sets[0], sought},
		} {
			got, gotErr := table[name].Call(args)
			want, wantErr := library[name].Call(args)
			if name == "contains" && luck(args) && got.IsKnown() && !want.IsKnown() {
				if v, _ := got.Unmark(); v.True() {
					t.Fatalf("seed %d: contains(%#v)\ngives        %#v, %v\nthe library: %#v, %v", seed, args, got,
						gotErr, want, wantErr)
				}
				continue
			}
			if !sameOutcome(got, want, gotErr, wantErr) {
				t.Fatalf("seed %d: %s(%#v)\ngives        %#v, %v\nthe library: %#v, %v", seed, name, args, got, gotErr,
					want, wantErr)
			}
			if gotErr != nil {
				refused++
			} else if got.IsKnown() {
				decided++
			}
		}
	}
	if decided < 500 || refused < 100 {
		t.Errorf("only %d results and %d errors were compared", decided, refused)
	}
}

func TestTolistOfASetEqualsTheLibrary(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		kind := r.IntN(6)
		elements := make([]cty.Value, 60+r.IntN(300))
		for i := range elements {
			elements[i] = randomElement(r, kind)
			if seed%3 != 0 && !elements[i].IsWhollyKnown() {
				elements[i] = cty.NullVal(elements[i].Type())
			}
			if kind == 0 && elements[i].IsKnown() && !elements[i].IsNull() {
				elements[i] = cty.StringVal(fmt.Sprint(r.IntN(500)))
			}
		}
		set := cty.SetVal(elements)
		want, wantErr := convert.Convert(set, cty.List(cty.DynamicPseudoType))
		got, gotErr := Table(Options{})["tolist"].Call([]cty.Value{set})
		if !sameOutcome(got, want, gotErr, wantErr) {
			t.Fatalf("seed %d: tolist(%#v)\ngives        %#v, %v\nthe library: %#v, %v", seed, set, got, gotErr, want,
				wantErr)
		}
	}
}

func TestOperatorsCompareTheSameWayEachTime(t *testing.T) {
	unknown := cty.UnknownVal(cty.String)
	ctx := &hcl.EvalContext{Functions: Table(Options{}), Variables: map[string]cty.Value{
		"u": unknown, "s": unknown.Mark("m"), "map": cty.MapVal(map[string]cty.Value{
			"a": unknown, "b": cty.StringVal("1"), "c": unknown}),
	}}
	maybe := cty.UnknownVal(cty.Bool).RefineNotNull()
	for text, want := range map[string]cty.Value{
		"{a = u, b = 1, c = u} == {a = \"x\", b = 2, c = \"x\"}":              cty.False,
		"{a = u, b = 1, c = u} != {a = \"x\", b = 2, c = \"x\"}":              cty.True,
		"{a = u, b = 1, c = u} == {a = \"x\", b = 1, c = \"x\"}":              maybe,
		"{a = u, b = 1, c = u} != {a = \"x\", b = 1, c = \"x\"}":              maybe,
		"{a = s, b = 1, c = s} == {a = \"x\", b = 2, c = \"x\"}":              cty.False.Mark("m"),
		"map != tomap({a = \"x\", b = \"2\", c = \"x\"})":                     cty.True,
		"[{a = u, b = 1}] == [{a = \"x\", b = 2}] ? \"same\" : \"different\"": cty.StringVal("different"),
		"1 == 1 && \"1\" != 1 && null == null && u != null":                   maybe,
	} {
		for range 50 { // Go's random order of map iteration would decide
			got, diags := evaluate(text, ctx)
			if diags.HasErrors() || !got.RawEquals(want) {
				t.Fatalf("%s: got %#v, want %#v, %v", text, got, want, diags)
			}
		}
	}
}
