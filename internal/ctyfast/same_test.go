package ctyfast

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestSameJSONIgnoresOnlyWhiteSpace(t *testing.T) {
	v := cty.ObjectVal(map[string]cty.Value{
		"a": cty.StringVal("x y\"\\ {\n"), "b": cty.ListVal([]cty.Value{cty.NumberIntVal(1), cty.NumberIntVal(2)}),
		"c": cty.NullVal(cty.Bool), "d": cty.MapVal(map[string]cty.Value{"k k": cty.True}),
	})
	plain, err := MarshalJSON(v, v.Type())
	if err != nil {
		t.Fatal(err)
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, plain, " ", "\t"); err != nil {
		t.Fatal(err)
	}
	for _, same := range [][]byte{plain, spaced.Bytes()} {
		if !SameJSON(v, v.Type(), same) {
			t.Errorf("%s is not the same", same)
		}
	}
	// Every document with one byte added, removed or changed differs, except for white space between tokens.
	for i := range plain {
		for _, other := range [][]byte{
			append(bytes.Clone(plain[:i]), plain[i+1:]...),
			append(append(bytes.Clone(plain[:i]), '7'), plain[i:]...),
			append(append(bytes.Clone(plain[:i]), plain[i]+1), plain[i+1:]...),
		} {
			if SameJSON(v, v.Type(), other) {
				t.Errorf("%s counts as the same as %s", other, plain)
			}
		}
	}
	if SameJSON(v, v.Type(), bytes.Replace(plain, []byte("x y"), []byte("xy"), 1)) {
		t.Error("white space inside of a text does not count")
	}
}
