package value

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// path parses a path in the syntax of ignore_changes.
func path(t *testing.T, s string) cty.Path {
	t.Helper()
	traversal, diags := hclsyntax.ParseTraversalAbs([]byte(s), "path", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, err := TraversalPath(traversal)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func paths(t *testing.T, in ...string) []cty.Path {
	t.Helper()
	var out []cty.Path
	for _, s := range in {
		out = append(out, path(t, s))
	}
	return out
}

func TestIgnoreChanges(t *testing.T) {
	emptyMap, nullMap := cty.MapValEmpty(cty.String), cty.NullVal(cty.Map(cty.String))
	tests := map[string]struct {
		paths               []string
		prior, config, want cty.Value
	}{
		"an attribute keeps its prior value": {[]string{"a"}, object("a", "x", "b", 1), object("a", "y", "b", 2),
			object("a", "x", "b", 2)},
		"a new object has nothing to keep": {[]string{"a"}, cty.NilVal, object("a", "y"), object("a", "y")},
		"an unknown value is taken back": {[]string{"a"}, object("a", "x"), object("a", unknownS),
			object("a", "x")},
		"a removed value comes back": {[]string{"a"}, object("a", "x"), object("a", nullS), object("a", "x")},
		"an added value is taken back": {[]string{"a"}, object("a", nullS), object("a", "x"),
			object("a", nullS)},
		"a changed key": {[]string{`m["k"]`}, object("m", mapping("k", "1", "l", "1")),
			object("m", mapping("k", "2", "l", "2")), object("m", mapping("k", "1", "l", "2"))},
		"an added key": {[]string{`m["k"]`}, object("m", mapping("l", "1")),
			object("m", mapping("k", "2", "l", "2")), object("m", mapping("l", "2"))},
		"a removed key": {[]string{`m["k"]`}, object("m", mapping("k", "1", "l", "1")),
			object("m", mapping("l", "2")), object("m", mapping("k", "1", "l", "2"))},
		"several keys": {[]string{`m["k"]`, `m["l"]`}, object("m", mapping("k", "1")),
			object("m", mapping("l", "2", "n", "3")), object("m", mapping("k", "1", "n", "3"))},
		"a key with a null value": {[]string{`m["k"]`}, object("m", mapping("k", nullS)),
			object("m", mapping("k", "2")), object("m", mapping("k", nullS))},
		"the only key of a new map": {[]string{`m["k"]`}, object("m", nullMap),
			object("m", mapping("k", "2")), object("m", emptyMap)},
		"a key of a removed map": {[]string{`m["k"]`}, object("m", mapping("k", "1", "l", "1")),
			object("m", nullMap), object("m", mapping("k", "1"))},
		"another key of a removed map": {[]string{`m["z"]`}, object("m", mapping("k", "1")),
			object("m", nullMap), object("m", nullMap)},
		"a key of an unknown map": {[]string{`m["k"]`}, object("m", mapping("k", "1")),
			object("m", cty.UnknownVal(cty.Map(cty.String))), object("m", cty.UnknownVal(cty.Map(cty.String)))},
		"an unknown map": {[]string{`m`}, object("m", mapping("k", "1")),
			object("m", cty.UnknownVal(cty.Map(cty.String))), object("m", cty.UnknownVal(cty.Map(cty.String)))},
		"a whole map": {[]string{`m`}, object("m", mapping("k", "1")),
			object("m", mapping("l", "2")), object("m", mapping("k", "1"))},
		"a whole map and a key": {[]string{`m`, `m["k"]`}, object("m", mapping("k", "1")),
			object("m", mapping("l", "2")), object("m", mapping("k", "1"))},
		"an attribute of an object": {[]string{"o.a"}, object("o", object("a", 1, "b", 1)),
			object("o", object("a", 2, "b", 2)), object("o", object("a", 1, "b", 2))},
		"a key of an object is all of it": {[]string{`o["a"]`}, object("o", object("a", 1, "b", 1)),
			object("o", object("a", 2, "b", 2)), object("o", object("a", 1, "b", 1))},
		"an attribute of a map is nothing": {[]string{`m.k`}, object("m", mapping("k", "1")),
			object("m", mapping("k", "2")), object("m", mapping("k", "2"))},
		"an element of a list": {[]string{"l[1].a"}, object("l", list(object("a", 1), object("a", 2))),
			object("l", list(object("a", 3), object("a", 4))), object("l", list(object("a", 3), object("a", 2)))},
		"an element that is not there": {[]string{"l[1].a"}, object("l", list(object("a", 1), object("a", 2))),
			object("l", list(object("a", 3))), object("l", list(object("a", 3)))},
		"a set as a whole": {[]string{"s"}, object("s", set("x")), object("s", set("y")),
			object("s", set("x"))},
		"an attribute that does not exist": {[]string{"z", "a.b.c"}, object("a", "x"), object("a", "y"),
			object("a", "y")},
		"a value of another type": {[]string{"d"}, object("d", list(1)), object("d", "s"),
			object("d", list(1))},
		"a key where the map was an object": {[]string{`d["k"]`}, object("d", object("k", "1", "l", 1)),
			object("d", mapping("k", "2")), object("d", mapping("k", "1"))},
		"a key whose old value does not suit": {[]string{`d["k"]`}, object("d", mapping("k", 1)),
			object("d", mapping("k", "2", "l", "2")), object("d", mapping("k", "2", "l", "2"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := &provider.Block{}
			prior := orNull(b, test.prior)
			wantValue(t, IgnoreChanges(b, prior, test.config, paths(t, test.paths...), false), test.want)
			wantValue(t, IgnorePlanned(prior, test.config, paths(t, test.paths...), false), test.want)
		})
	}
}

func TestIgnoringAllConfiguresThePriorObject(t *testing.T) {
	b := withBlocks(provider.NestingList, attrs{"name": optional(cty.String), "id": computed(cty.String)})
	b.Attributes = attrs{"a": either(cty.String), "id": computed(cty.String)}
	prior := object("a", "x", "id", "1", "b", list(object("name", "n", "id", "2")))
	config := object("a", nullS, "id", nullS, "b", b.Blocks["b"].EmptyValue())
	want := object("a", "x", "id", nullS, "b", list(object("name", "n", "id", nullS)))
	wantValue(t, IgnoreChanges(b, prior, config, nil, true), want)
	wantValue(t, IgnoreChanges(b, cty.NullVal(b.ImpliedType()), config, nil, true), config)
	wantValue(t, IgnorePlanned(prior, config, nil, true), prior)
	wantValue(t, IgnorePlanned(cty.NullVal(b.ImpliedType()), config, nil, true), config)
}
