package handler

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// The elements of sets are compared as a text of their parts with force_new, which is always the same for equal sets.
func TestSetWithMapsInsideForcesNoReplacementByChance(t *testing.T) {
	inner := &provider.Attribute{Type: cty.String, Optional: true}
	item := map[string]*provider.Attribute{
		"note": {Type: cty.String, Optional: true},
		"ports": {Optional: true, Nested: &provider.NestedObject{Nesting: provider.NestingMap,
			Attributes: map[string]*provider.Attribute{"kind": inner}}},
	}
	object := func(note string) cty.Value {
		ports := map[string]cty.Value{}
		for _, name := range strings.Split("abcdefgh", "") {
			ports[name] = cty.ObjectVal(map[string]cty.Value{"kind": cty.StringVal(name)})
		}
		one := cty.ObjectVal(map[string]cty.Value{"note": cty.StringVal(note), "ports": cty.MapVal(ports)})
		return cty.ObjectVal(map[string]cty.Value{"items": cty.SetVal([]cty.Value{one})})
	}
	attrs := map[string]*provider.Attribute{
		"items": {Optional: true, Nested: &provider.NestedObject{Nesting: provider.NestingSet, Attributes: item}}}
	for range 20 {
		f := replacementFinder{words: func(a *provider.Attribute) *manifest.Words {
			return &manifest.Words{ForceNew: a == inner}
		}}
		f.object(nil, attrs, nil, object("before"), object("after"))
		if len(f.found) > 0 {
			t.Fatalf("%#v forces a replacement; only the note of an element has changed", f.found)
		}
	}
}
