package ctyfast

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestEqualsIsDeterministic(t *testing.T) {
	object := func(a cty.Value, n int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"a": a, "n": cty.NumberIntVal(n), "z": a})
	}
	unknown, text := cty.UnknownVal(cty.String), cty.StringVal("x")
	list := func(vals ...cty.Value) cty.Value { return cty.ListVal(vals) }
	maybe := cty.UnknownVal(cty.Bool).RefineNotNull()
	for name, c := range map[string]struct{ a, b, want cty.Value }{
		"a member differs":       {object(unknown, 1), object(text, 2), cty.False},
		"what is known is equal": {object(unknown, 1), object(text, 1), maybe},
		"all is known":           {object(text, 1), object(text, 1), cty.True},
		"an object in a list":    {list(object(unknown, 1)), list(object(text, 2)), cty.False},
		"after an object that may be equal": {list(object(unknown, 1), object(text, 1)),
			list(object(text, 1), object(text, 2)), maybe},
		"an object in a tuple in an object": {
			cty.ObjectVal(map[string]cty.Value{"o": cty.TupleVal([]cty.Value{object(unknown, 1)})}),
			cty.ObjectVal(map[string]cty.Value{"o": cty.TupleVal([]cty.Value{object(text, 2)})}), cty.False},
		"an element of a map": {
			cty.MapVal(map[string]cty.Value{"a": unknown, "b": text, "c": unknown}),
			cty.MapVal(map[string]cty.Value{"a": text, "b": cty.StringVal("y"), "c": text}), cty.False},
		"a key of a map": {
			cty.MapVal(map[string]cty.Value{"a": unknown, "b": text, "c": unknown}),
			cty.MapVal(map[string]cty.Value{"a": text, "d": text, "c": text}), cty.False},
		"keys of a map": {cty.MapVal(map[string]cty.Value{"a": unknown}),
			cty.MapVal(map[string]cty.Value{"a": text, "b": text}), cty.False},
		"secret":                               {object(unknown.Mark("s"), 1), object(text, 2), cty.False.Mark("s")},
		"of a type that is not known":          {object(cty.DynamicVal, 1), object(cty.DynamicVal, 2), maybe},
		"one is unknown":                       {cty.UnknownVal(object(text, 1).Type()), object(text, 1), maybe},
		"one is null":                          {cty.NullVal(object(text, 1).Type()), object(unknown, 1), cty.False},
		"different types":                      {object(unknown, 1), cty.EmptyObjectVal, cty.False},
		"null in place of a member":            {object(cty.NullVal(cty.String), 1), object(unknown, 2), cty.False},
		"null in place of a member, else like": {object(cty.NullVal(cty.String), 1), object(unknown, 1), maybe},
	} {
		t.Run(name, func(t *testing.T) {
			for range 50 { // the library's result depends on Go's random map order
				if got := Equals(c.a, c.b); !got.RawEquals(c.want) {
					t.Fatalf("gives %#v, not %#v", got, c.want)
				}
				if got := Equals(c.b, c.a); !got.RawEquals(c.want) {
					t.Fatalf("the other way round: gives %#v, not %#v", got, c.want)
				}
			}
		})
	}
}
