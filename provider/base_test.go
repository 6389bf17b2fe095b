package provider

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestDecodeStoredFitsObjectsOfOtherSchemas(t *testing.T) {
	block := &Block{
		Attributes: map[string]*Attribute{"name": {Type: cty.String, Optional: true}, "size": {
			Type: cty.Number, Optional: true}},
		Blocks: map[string]*NestedBlock{"rule": {Nesting: NestingList, Block: Block{Attributes: map[string]*Attribute{
			"port": {Type: cty.Number, Optional: true}, "hint": {Type: cty.String, Optional: true},
		}}}},
	}
	rt := &ResourceType{Block: block}
	rule := func(port, hint cty.Value) cty.Value {
		return cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"port": port, "hint": hint})})
	}
	noHint, noSize := cty.NullVal(cty.String), cty.NullVal(cty.Number)
	big := cty.MustParseNumberVal("12345678901234567890123")
	for name, test := range map[string]struct {
		stored string
		want   cty.Value // NilVal if it must fail
	}{
		"an attribute that is gone": {`{"name":"a","size":1,"old":[{}],"rule":[]}`, cty.ObjectVal(map[string]cty.Value{
			"name": cty.StringVal("a"), "size": cty.NumberIntVal(1),
			"rule": cty.ListValEmpty(block.Blocks["rule"].Block.ImpliedType())})},
		"one that is gone from a block": {`{"name":"a","size":null,"rule":[{"port":80,"hint":null,"old":true}]}`,
			cty.ObjectVal(map[string]cty.Value{
				"name": cty.StringVal("a"), "size": noSize, "rule": rule(cty.NumberIntVal(80), noHint)})},
		"ones that are new, and a long number": {`{"name":"a","rule":[{"port":12345678901234567890123}]}`,
			cty.ObjectVal(map[string]cty.Value{
				"name": cty.StringVal("a"), "size": noSize, "rule": rule(big, noHint)})},
		"a number that takes long to write": {`{"name":"a","size":1e9999}`, cty.ObjectVal(map[string]cty.Value{
			"name": cty.StringVal("a"), "size": cty.MustParseNumberVal("1e9999"),
			"rule": cty.NullVal(cty.List(block.Blocks["rule"].Block.ImpliedType()))})},
		"one that takes too long": {`{"name":"a","size":1e99999}`, cty.NilVal},
		"a value of another type": {`{"name":{},"rule":[]}`, cty.NilVal},
		"no object":               {`[]`, cty.NilVal},
		"something behind it":     {`{"name":"a"}}`, cty.NilVal},
		"half of it":              {`{"name":`, cty.NilVal},
	} {
		t.Run(name, func(t *testing.T) {
			resp := DecodeStored(rt, UpgradeStateRequest{Type: "x", Stored: StoredObject{JSON: []byte(test.stored)}})
			if failed := resp.Diagnostics.HasErrors(); failed != (test.want == cty.NilVal) {
				t.Fatalf("diagnostics: %v", resp.Diagnostics.Err())
			}
			if test.want != cty.NilVal && !resp.State.RawEquals(test.want) {
				t.Errorf("got  %#v\nwant %#v", resp.State, test.want)
			}
		})
	}
}
