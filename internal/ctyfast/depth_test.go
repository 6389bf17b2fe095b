package ctyfast_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

func TestTooDeepCountsEveryWayOfNesting(t *testing.T) {
	for name, wrap := range map[string]func(cty.Value) cty.Value{
		"list":   func(v cty.Value) cty.Value { return cty.ListVal([]cty.Value{v}) },
		"map":    func(v cty.Value) cty.Value { return cty.MapVal(map[string]cty.Value{"k": v}) },
		"tuple":  func(v cty.Value) cty.Value { return cty.TupleVal([]cty.Value{cty.True, v}) },
		"object": func(v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"a": cty.True, "b": v}) },
	} {
		v := cty.StringVal("x")
		for range ctyfast.MaxDepth {
			v = wrap(v)
		}
		if ctyfast.TooDeep(v) {
			t.Errorf("%s: %d levels are too many", name, ctyfast.MaxDepth)
		}
		if v = wrap(v); !ctyfast.TooDeep(v) || !ctyfast.TooDeep(v.Mark("m")) ||
			!ctyfast.TooDeep(cty.NullVal(v.Type())) {
			t.Errorf("%s: one level more is not", name)
		}
	}
}
