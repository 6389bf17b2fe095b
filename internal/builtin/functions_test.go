package builtin

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestEncodeExprHasPrefixOfUnknownText(t *testing.T) {
	unknown := cty.UnknownVal(cty.String)
	for _, test := range []struct {
		arg    cty.Value
		prefix string
	}{
		{unknown.RefineNotNull(), `"`},
		{unknown, ""},
		{cty.TupleVal([]cty.Value{unknown}), "["},
		{cty.ListVal([]cty.Value{unknown}), "["},
		{cty.ObjectVal(map[string]cty.Value{"a": unknown}), "{"},
		{cty.UnknownVal(cty.Number).RefineNotNull(), ""},
		{cty.DynamicVal, ""},
	} {
		got, err := encodeExprFunc.Call([]cty.Value{test.arg})
		if err != nil || got.IsKnown() || !got.Range().DefinitelyNotNull() ||
			got.Range().StringPrefix() != test.prefix {
			t.Errorf("encode_expr(%#v) = %#v, %v; want an unknown string that begins with %q", test.arg, got, err,
				test.prefix)
		}
	}
}

func TestDeepTextIsRefused(t *testing.T) {
	_, err := decodeTfvarsFunc.Call([]cty.Value{cty.StringVal("a = " + strings.Repeat("[", 1000000))})
	if err == nil || !strings.Contains(err.Error(), "Nesting too deep") {
		t.Errorf("error %.200v", err)
	}
}

func TestDecodeTfvarsNamesTheFirstWrongDefinition(t *testing.T) {
	for range 20 {
		_, err := decodeTfvarsFunc.Call([]cty.Value{cty.StringVal("d = w\nc = x\nb = y\na = z\ne = 1\n")})
		if err == nil || !strings.Contains(err.Error(), `variable "a"`) {
			t.Fatalf("got %v; want an error of a, the first by name", err)
		}
	}
}
