package value

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
)

// markedObject returns a value with many marks.
func markedObject() cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"b": cty.StringVal("x").Mark(Sensitive),
		"a": cty.ListVal([]cty.Value{
			cty.StringVal("0").Mark(Ephemeral), cty.StringVal("1"), cty.StringVal("2").Mark(Ephemeral).Mark(Sensitive),
		}),
		"m": cty.MapVal(map[string]cty.Value{"z": cty.Zero.Mark(Sensitive), "k": cty.Zero.Mark(Sensitive)}),
		"s": cty.SetVal([]cty.Value{cty.StringVal("e").Mark(Sensitive), cty.StringVal("f")}),
		"u": cty.UnknownVal(cty.String).Mark("foreign"),
		"n": cty.NullVal(cty.String).Mark(Sensitive).Mark("foreign"),
	})
}

func pathStrings(paths []cty.Path) []string {
	var texts []string
	for _, path := range paths {
		text := ""
		for _, step := range path {
			switch step := step.(type) {
			case cty.GetAttrStep:
				text += "." + step.Name
			case cty.IndexStep:
				if step.Key.Type() == cty.Number {
					text += "[" + step.Key.AsBigFloat().String() + "]"
				} else {
					text += "[" + step.Key.AsString() + "]"
				}
			}
		}
		texts = append(texts, text)
	}
	return texts
}

func TestUnmarkDeepSortsPathsByMark(t *testing.T) {
	for range 20 { // map iteration order is random
		plain, paths := UnmarkDeep(markedObject())
		if plain.ContainsMarked() {
			t.Fatal("marks are left")
		}
		if diff := cmp.Diff([]string{".a[2]", ".b", ".m[k]", ".m[z]", ".n", ".s"},
			pathStrings(paths.Sensitive)); diff != "" {
			t.Fatalf("sensitive (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{".a[0]", ".a[2]"}, pathStrings(paths.Ephemeral)); diff != "" {
			t.Fatalf("ephemeral (-want +got):\n%s", diff)
		}
		if len(paths.Other) != 2 || paths.None() {
			t.Fatalf("other: %#v", paths.Other)
		}
	}
}

func TestApplyRestoresUnmarkedValues(t *testing.T) {
	for _, v := range []cty.Value{
		markedObject(),
		cty.StringVal("x").Mark(Sensitive).Mark(Ephemeral),
		cty.StringVal("x"),
		cty.DynamicVal.Mark(Sensitive),
		cty.ListVal([]cty.Value{cty.EmptyObjectVal}).Mark(Ephemeral),
	} {
		plain, paths := UnmarkDeep(v)
		if got := paths.Apply(plain); !got.RawEquals(v) {
			t.Errorf("got %#v, want %#v", got, v)
		}
	}
}

func TestApplyIgnoresMissingPaths(t *testing.T) {
	_, paths := UnmarkDeep(cty.ListVal([]cty.Value{cty.Zero, cty.Zero.Mark(Sensitive)}))
	shorter := cty.ListVal([]cty.Value{cty.Zero})
	if got := paths.Apply(shorter); !got.RawEquals(shorter) {
		t.Errorf("got %#v", got)
	}
}

func TestMarkAt(t *testing.T) {
	v := cty.ObjectVal(map[string]cty.Value{"a": cty.Zero, "b": cty.Zero})
	want := cty.ObjectVal(map[string]cty.Value{"a": cty.Zero, "b": cty.Zero.Mark(Sensitive)})
	if got := MarkAt(v, Sensitive, []cty.Path{cty.GetAttrPath("b")}); !got.RawEquals(want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
	if got := MarkAt(v, Sensitive, nil); !got.RawEquals(v) {
		t.Errorf("without paths: got %#v", got)
	}
}

func TestMarkPredicates(t *testing.T) {
	inside := cty.TupleVal([]cty.Value{cty.Zero.Mark(Sensitive), cty.Zero.Mark(Ephemeral)})
	if IsSensitive(inside) || IsEphemeral(inside) {
		t.Error("a mark inside is taken for one of the whole")
	}
	if !HasDeepSensitive(inside) || !HasDeepEphemeral(inside) {
		t.Error("a mark inside is not found")
	}
	if HasDeepSensitive(cty.Zero.Mark(Ephemeral)) || HasDeepEphemeral(cty.Zero.Mark(Sensitive)) {
		t.Error("one mark is taken for the other")
	}
}

func TestWithoutMarkKeepsOthers(t *testing.T) {
	both := cty.TupleVal([]cty.Value{cty.Zero.Mark(Sensitive)}).Mark(Sensitive).Mark(Ephemeral)
	if got, want := WithoutMark(both, Sensitive), cty.TupleVal([]cty.Value{cty.Zero.Mark(Sensitive)}).Mark(
		Ephemeral); !got.RawEquals(want) {
		t.Errorf("shallow: got %#v, want %#v", got, want)
	}
	if got, want := WithoutMarkDeep(both, Sensitive), cty.TupleVal([]cty.Value{cty.Zero}).Mark(
		Ephemeral); !got.RawEquals(want) {
		t.Errorf("deep: got %#v, want %#v", got, want)
	}
	if !both.HasMark(Sensitive) {
		t.Error("the argument was changed")
	}
}

func TestWithheldNamesTheStrongerMark(t *testing.T) {
	for _, test := range []struct {
		v    cty.Value
		want string
	}{
		{cty.Zero, ""},
		{cty.Zero.Mark("foreign"), "(sensitive value)"}, // foreign marks are respected
		{cty.Zero.Mark(Ephemeral), "(ephemeral value)"},
		{cty.Zero.Mark(Sensitive).Mark(Ephemeral), "(sensitive value)"},
	} {
		if got, yes := Withheld(test.v); got != test.want || yes != (test.want != "") {
			t.Errorf("%#v: got %q, %v; want %q", test.v, got, yes, test.want)
		}
	}
}

func TestPathsAreOrderedStepByStep(t *testing.T) {
	ordered := []cty.Path{
		nil,
		cty.GetAttrPath("a"),
		cty.GetAttrPath("a").IndexInt(2),
		cty.GetAttrPath("a").IndexInt(10),
		cty.GetAttrPath("a").IndexString("10"),
		cty.GetAttrPath("b"),
		cty.IndexIntPath(0),
		cty.IndexStringPath("x"),
		cty.IndexPath(cty.ObjectVal(map[string]cty.Value{"a": cty.Zero})),
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := comparePaths(a, b), i-j; (got < 0) != (want < 0) || (got > 0) != (want > 0) {
				t.Errorf("compare %#v with %#v: got %d", a, b, got)
			}
		}
	}
}
