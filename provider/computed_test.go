package provider_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestMarkComputedMarksComputedValues(t *testing.T) {
	attributes := map[string]*provider.Attribute{
		"name": {Type: cty.String, Required: true},
		"note": {Type: cty.String, Optional: true},
		"id":   {Type: cty.String, Computed: true},
		"size": {Type: cty.Number, Optional: true, Computed: true},
	}
	block := &provider.Block{Attributes: map[string]*provider.Attribute{}, Blocks: map[string]*provider.NestedBlock{}}
	nesting := map[string]provider.Nesting{"single": provider.NestingSingle, "group": provider.NestingGroup,
		"list": provider.NestingList, "set": provider.NestingSet, "map": provider.NestingMap}
	for name, n := range nesting {
		block.Attributes["a_"+name] = &provider.Attribute{Optional: true,
			Nested: &provider.NestedObject{Nesting: n, Attributes: attributes}}
		block.Blocks["b_"+name] = &provider.NestedBlock{Nesting: n, Block: provider.Block{Attributes: attributes}}
	}
	for name, a := range attributes {
		block.Attributes[name] = a
	}
	given := map[string]cty.Value{"name": cty.StringVal("n"), "note": cty.NullVal(cty.String),
		"id": cty.NullVal(cty.String), "size": cty.NumberIntVal(3)}
	object := func(of map[string]cty.Value, empty bool) cty.Value {
		values := map[string]cty.Value{}
		one := cty.ObjectVal(of)
		for name, v := range of {
			values[name] = v
		}
		for _, kind := range []string{"a_", "b_"} {
			for name := range nesting {
				switch {
				case name == "single" || name == "group":
					values[kind+name] = one
				case empty:
					values[kind+name] = map[string]cty.Value{"list": cty.ListValEmpty(one.Type()),
						"set": cty.SetValEmpty(one.Type()), "map": cty.MapValEmpty(one.Type())}[name]
				default:
					values[kind+name] = map[string]cty.Value{"list": cty.ListVal([]cty.Value{one}),
						"set": cty.SetVal([]cty.Value{one}), "map": cty.MapVal(map[string]cty.Value{"k": one})}[name]
				}
			}
		}
		return cty.ObjectVal(values)
	}
	marked := map[string]cty.Value{"name": given["name"], "note": given["note"], "size": given["size"],
		"id": cty.UnknownVal(cty.String)}
	for _, empty := range []bool{false, true} {
		got, want := provider.MarkComputed(block, object(given, empty)), object(marked, empty)
		if !got.RawEquals(want) {
			t.Errorf("got  %#v\nwant %#v", got, want)
		}
		if !got.Type().Equals(block.ImpliedType()) {
			t.Errorf("the type is %#v, not that of the block", got.Type())
		}
	}
	for _, v := range []cty.Value{cty.NullVal(block.ImpliedType()), cty.UnknownVal(block.ImpliedType())} {
		if got := provider.MarkComputed(block, v); !got.RawEquals(v) {
			t.Errorf("got %#v", got)
		}
	}
}
