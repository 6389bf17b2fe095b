package value

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// everyNesting returns a block with the given attributes and a nested block of every nesting mode with the same
// attributes.
func everyNesting(a attrs) *provider.Block {
	b := &provider.Block{Attributes: a, Blocks: map[string]*provider.NestedBlock{}}
	for name, n := range map[string]provider.Nesting{"single": provider.NestingSingle, "group": provider.NestingGroup,
		"list": provider.NestingList, "set": provider.NestingSet, "map": provider.NestingMap} {
		nb := &provider.NestedBlock{Nesting: n}
		nb.Attributes = a
		b.Blocks[name] = nb
		b.Attributes = attrs{}
	}
	for name, at := range a {
		b.Attributes[name] = at
	}
	return b
}

// everywhere returns an object of everyNesting with the same object in every nesting.
func everywhere(o cty.Value) cty.Value {
	vals := o.AsValueMap()
	vals["single"], vals["group"], vals["list"], vals["set"], vals["map"] = o, o, list(o), set(o), mapping("k", o)
	return cty.ObjectVal(vals)
}

func TestRewritesReachEveryPlace(t *testing.T) {
	deep := attrs{"x": computed(cty.String)}
	b := everyNesting(attrs{
		"s": writeOnly(cty.String), "id": computed(cty.String), "e": either(cty.String), "o": optional(cty.String),
		"n": nested(provider.NestingList, deep),
	})
	one := func(s, id, e, o, x any) cty.Value {
		return object("s", s, "id", id, "e", e, "o", o, "n", list(object("x", x)))
	}
	for name, test := range map[string]struct {
		rewrite  func(*provider.Block, cty.Value) cty.Value
		in, want cty.Value
	}{
		"NullWriteOnly": {NullWriteOnly, one("s", "i", "e", "o", "x"), one(nullS, "i", "e", "o", "x")},
		"NullReadOnly":  {NullReadOnly, one("s", "i", "e", "o", "x"), one("s", nullS, "e", "o", nullS)},
		"SetUnknowns": {SetUnknowns, one(nullS, nullS, nullS, nullS, nullS), one(nullS, unknownS, unknownS,
			nullS, unknownS)},
		"SetUnknowns on the full": {SetUnknowns, one("s", "i", "e", "o", "x"), one("s", "i", "e", "o", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			wantValue(t, test.rewrite(b, everywhere(test.in)), everywhere(test.want))
			null := cty.NullVal(b.ImpliedType())
			wantValue(t, test.rewrite(b, null), null)
			unknown := cty.UnknownVal(b.ImpliedType())
			wantValue(t, test.rewrite(b, unknown), unknown)
		})
	}
}

func TestNormalizeRead(t *testing.T) {
	a := attrs{"x": optional(cty.String)}
	b := everyNesting(a)
	ty := cty.Object(map[string]cty.Type{"x": cty.String})
	x := object("x", unknownS)
	with := func(single, group, lst, st, mp cty.Value) cty.Value {
		return object("x", nullS, "single", single, "group", group, "list", lst, "set", st, "map", mp)
	}
	null, noMap := cty.NullVal(ty), cty.NullVal(cty.Map(ty))
	got := NormalizeRead(b, with(null, null, cty.NullVal(cty.List(ty)), cty.NullVal(cty.Set(ty)), noMap))
	wantValue(t, got, with(null, object("x", nullS), cty.ListValEmpty(ty), cty.SetValEmpty(ty), noMap))

	unknown := cty.UnknownVal(ty)
	got = NormalizeRead(b, with(unknown, unknown, cty.UnknownVal(cty.List(ty)), cty.UnknownVal(cty.Set(ty)), noMap))
	wantValue(t, got, with(x, x, list(x), set(x), noMap))

	outer := &provider.NestedBlock{Nesting: provider.NestingList}
	outer.Block.Blocks = map[string]*provider.NestedBlock{"in": b.Blocks["set"]}
	deep := &provider.Block{Blocks: map[string]*provider.NestedBlock{"out": outer}}
	wantValue(t, NormalizeRead(deep, object("out", list(object("in", cty.NullVal(cty.Set(ty)))))),
		object("out", list(object("in", cty.SetValEmpty(ty)))))

	any := withBlocks(provider.NestingGroup, attrs{"x": optional(cty.DynamicPseudoType)})
	asIs := object("b", cty.NullVal(any.Blocks["b"].ImpliedType()))
	wantValue(t, NormalizeRead(any, asIs), asIs)
}

func TestUnknownAsNull(t *testing.T) {
	in := object("a", unknownS.Mark(Sensitive), "l", list("x", unknownS), "t", tuple(1, cty.DynamicVal), "m",
		mapping("k", unknownS),
		"s", set("x", unknownS), "e", cty.ListValEmpty(cty.String), "n", nullS)
	want := object("a", nullS.Mark(Sensitive), "l", list("x", nullS), "t", tuple(1, cty.NullVal(cty.DynamicPseudoType)),
		"m", mapping("k", nullS), "s", set("x", nullS), "e", cty.ListValEmpty(cty.String), "n", nullS)
	wantValue(t, UnknownAsNull(in), want)
	wantPaths(t, UnknownPaths(in), ".a", ".l[1]", `.m["k"]`, ".s", ".t[1]")
}

func TestRewritesWithoutChangesDoNotAllocate(t *testing.T) {
	b := dataBlock()
	v := dataObject(someID, hello, hello)
	for name, run := range map[string]func(){
		"NullWriteOnly":  func() { benchOut = NullWriteOnly(b, v) },
		"NormalizeRead":  func() { benchOut = NormalizeRead(b, v) },
		"SetUnknowns":    func() { benchOut = SetUnknowns(b, v) },
		"MarkSensitive":  func() { benchOut = MarkSensitive(v, SensitivePaths(b, v, nil)) },
		"IgnoreChanges":  func() { benchOut = IgnoreChanges(b, v, v, nil, false) },
		"CheckRefreshed": func() { _ = CheckKnown(v) },
	} {
		if n := testing.AllocsPerRun(100, run); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
