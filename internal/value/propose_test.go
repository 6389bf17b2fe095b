package value

import (
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestPropose(t *testing.T) {
	rule := attrs{"name": required(cty.String), "id": computed(cty.String)}
	ruleType := cty.Object(map[string]cty.Type{"name": cty.String, "id": cty.String})
	one := func(name string, id any) cty.Value { return object("name", name, "id", id) }

	tests := map[string]struct {
		block               *provider.Block
		prior, config, want cty.Value
	}{
		"a new object is the configuration, computed attributes null": {
			block:  block(attrs{"name": required(cty.String), "id": computed(cty.String), "size": either(cty.Number)}),
			config: object("name", "a", "id", nullS, "size", nullN),
			want:   object("name", "a", "id", nullS, "size", nullN),
		},
		"computed attributes keep their prior value": {
			block:  block(attrs{"name": required(cty.String), "id": computed(cty.String), "size": either(cty.Number)}),
			prior:  object("name", "a", "id", "1", "size", 3),
			config: object("name", "b", "id", nullS, "size", nullN),
			want:   object("name", "b", "id", "1", "size", 3),
		},
		"a configured value wins over the prior one": {
			block:  block(attrs{"size": either(cty.Number)}),
			prior:  object("size", 3),
			config: object("size", 4),
			want:   object("size", 4),
		},
		"removing an attribute that is not computed makes it null": {
			block:  block(attrs{"name": optional(cty.String)}),
			prior:  object("name", "a"),
			config: object("name", nullS),
			want:   object("name", nullS),
		},
		"unknown configuration stays unknown": {
			block:  block(attrs{"name": either(cty.String)}),
			prior:  object("name", "a"),
			config: object("name", unknownS),
			want:   object("name", unknownS),
		},
		"write-only values are proposed, for the provider to null": {
			block:  block(attrs{"secret": writeOnly(cty.String)}),
			prior:  object("secret", nullS),
			config: object("secret", "s"),
			want:   object("secret", "s"),
		},
		"an attribute of any type keeps its prior value of whatever type": {
			block:  block(attrs{"in": optional(cty.DynamicPseudoType), "out": computed(cty.DynamicPseudoType)}),
			prior:  object("in", 1, "out", list("x")),
			config: object("in", "one", "out", cty.NullVal(cty.DynamicPseudoType)),
			want:   object("in", "one", "out", list("x")),
		},
		"a single nested object merges member by member": {
			block:  block(attrs{"n": nested(provider.NestingSingle, rule)}),
			prior:  object("n", one("a", "1")),
			config: object("n", one("b", nullS)),
			want:   object("n", one("b", "1")),
		},
		"lists of nested objects match by index": {
			block:  block(attrs{"n": nested(provider.NestingList, rule)}),
			prior:  object("n", list(one("a", "1"), one("b", "2"))),
			config: object("n", list(one("b", nullS), one("a", nullS), one("c", nullS))),
			want:   object("n", list(one("b", "1"), one("a", "2"), one("c", nullS))),
		},
		"maps of nested objects match by key": {
			block:  block(attrs{"n": nested(provider.NestingMap, rule)}),
			prior:  object("n", mapping("x", one("a", "1"), "y", one("b", "2"))),
			config: object("n", mapping("y", one("c", nullS), "z", one("d", nullS))),
			want:   object("n", mapping("y", one("c", "2"), "z", one("d", nullS))),
		},
		"sets of nested objects match by what is not computed": {
			block:  block(attrs{"n": nested(provider.NestingSet, rule)}),
			prior:  object("n", set(one("a", "1"), one("b", "2"))),
			config: object("n", set(one("b", nullS), one("c", nullS))),
			want:   object("n", set(one("b", "2"), one("c", nullS))),
		},
		"an unknown nested attribute stays unknown": {
			block:  block(attrs{"n": nested(provider.NestingList, rule)}),
			prior:  object("n", list(one("a", "1"))),
			config: object("n", cty.UnknownVal(cty.List(ruleType))),
			want:   object("n", cty.UnknownVal(cty.List(ruleType))),
		},
		"a nested attribute that only the provider can have set is kept": {
			block:  block(attrs{"n": nestedEither(provider.NestingSingle, attrs{"id": computed(cty.String)})}),
			prior:  object("n", object("id", "1")),
			config: object("n", cty.NullVal(cty.Object(map[string]cty.Type{"id": cty.String}))),
			want:   object("n", object("id", "1")),
		},
		"a nested attribute that was configured goes when its configuration goes": {
			block:  block(attrs{"n": nestedEither(provider.NestingSingle, rule)}),
			prior:  object("n", one("a", "1")),
			config: object("n", cty.NullVal(ruleType)),
			want:   object("n", cty.NullVal(ruleType)),
		},
		"a nested attribute that was configured deep inside goes, too": {
			block: block(attrs{"n": nestedEither(provider.NestingList, attrs{
				"deep": nestedEither(provider.NestingMap, attrs{"x": required(cty.String)}),
			})}),
			prior: object("n", list(object("deep", mapping("k", object("x", "set"))))),
			config: object("n", cty.NullVal(cty.List(cty.Object(map[string]cty.Type{
				"deep": cty.Map(cty.Object(map[string]cty.Type{"x": cty.String}))})))),
			want: object("n", cty.NullVal(cty.List(cty.Object(map[string]cty.Type{
				"deep": cty.Map(cty.Object(map[string]cty.Type{"x": cty.String}))})))),
		},
		"a removed single block is null": {
			block:  withBlocks(provider.NestingSingle, rule),
			prior:  object("b", one("a", "1")),
			config: object("b", cty.NullVal(ruleType)),
			want:   object("b", cty.NullVal(ruleType)),
		},
		"a single block merges": {
			block:  withBlocks(provider.NestingSingle, rule),
			prior:  object("b", one("a", "1")),
			config: object("b", one("a", nullS)),
			want:   object("b", one("a", "1")),
		},
		"a group merges although nothing is written": {
			block:  withBlocks(provider.NestingGroup, attrs{"id": computed(cty.String)}),
			prior:  object("b", object("id", "1")),
			config: object("b", object("id", nullS)),
			want:   object("b", object("id", "1")),
		},
		"blocks in a list match by index": {
			block:  withBlocks(provider.NestingList, rule),
			prior:  object("b", list(one("a", "1"), one("b", "2"))),
			config: object("b", list(one("a", nullS))),
			want:   object("b", list(one("a", "1"))),
		},
		"blocks with attributes of any type make a tuple": {
			block: withBlocks(provider.NestingList, attrs{"any": optional(cty.DynamicPseudoType),
				"id": computed(cty.String)}),
			prior: object("b", tuple(object("any", 1, "id", "1"), object("any", true, "id", "2"))),
			config: object("b", tuple(object("any", "one", "id", nullS), object("any", true, "id", nullS),
				object("any", 3, "id", nullS))),
			want: object("b", tuple(object("any", "one", "id", "1"), object("any", true, "id", "2"),
				object("any", 3, "id", nullS))),
		},
		"labelled blocks with attributes of any type make an object": {
			block: withBlocks(provider.NestingMap, attrs{"any": optional(cty.DynamicPseudoType),
				"id": computed(cty.String)}),
			prior:  object("b", object("x", object("any", 1, "id", "1"), "y", object("any", 2, "id", "2"))),
			config: object("b", object("x", object("any", "s", "id", nullS), "z", object("any", 3, "id", nullS))),
			want:   object("b", object("x", object("any", "s", "id", "1"), "z", object("any", 3, "id", nullS))),
		},
		"blocks in a set match by what is not computed": {
			block: withBlocks(provider.NestingSet, attrs{"name": required(cty.String), "id": computed(cty.String),
				"size": either(cty.Number)}),
			prior: object("b", set(object("name", "a", "id", "1", "size", 5), object("name", "b", "id", "2", "size",
				6))),
			config: object("b", set(object("name", "a", "id", nullS, "size", nullN), object("name", "b", "id", nullS,
				"size", 7))),
			want: object("b", set(object("name", "a", "id", "1", "size", 5), object("name", "b", "id", nullS, "size",
				7))),
		},
		"each prior element of a set is used once": {
			block:  withBlocks(provider.NestingSet, attrs{"name": either(cty.String), "id": computed(cty.String)}),
			prior:  object("b", set(one("a", "1"))),
			config: object("b", set(one("a", nullS), object("name", nullS, "id", nullS))),
			want:   object("b", set(one("a", "1"), object("name", nullS, "id", nullS))),
		},
		"computed sets inside of set elements prevent a match": {
			block: withBlocks(provider.NestingSet, attrs{"name": required(cty.String),
				"tags": computed(cty.Set(cty.String))}),
			prior: object("b", set(object("name", "a", "tags", set("x")))),
			config: object("b", set(object("name", "a", "tags",
				cty.NullVal(cty.Set(cty.String))))),
			want: object("b", set(object("name", "a", "tags", cty.NullVal(cty.Set(cty.String))))),
		},
		"unknown blocks of a dynamic block stay unknown": {
			block:  withBlocks(provider.NestingSet, rule),
			prior:  object("b", set(one("a", "1"))),
			config: object("b", cty.UnknownVal(cty.Set(ruleType))),
			want:   object("b", cty.UnknownVal(cty.Set(ruleType))),
		},
		"a null prior collection of blocks counts as empty": {
			block:  withBlocks(provider.NestingList, rule),
			prior:  object("b", cty.NullVal(cty.List(ruleType))),
			config: object("b", list(one("a", nullS))),
			want:   object("b", list(one("a", nullS))),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantValue(t, Propose(test.block, orNull(test.block, test.prior), test.config), test.want)
		})
	}
}

func TestProposeAbsence(t *testing.T) {
	b := block(attrs{"name": optional(cty.String)})
	null := cty.NullVal(b.ImpliedType())
	wantValue(t, Propose(b, object("name", "a"), null), null)
	wantValue(t, Propose(b, null, null), null)
}

func TestProposeMatchesLargeSetsInAnyOrder(t *testing.T) {
	b := withBlocks(provider.NestingSet, attrs{
		"name": required(cty.String), "port": optional(cty.Number), "on": optional(cty.Bool),
		"id": computed(cty.String)})
	var config, prior []any
	for i := range 500 {
		name, port, on := fmt.Sprintf("rule %d", i/3), i%3, i%2 == 0
		config = append(config, object("name", name, "port", port, "on", on, "id", nullS))
		prior = append(prior, object("name", name, "port", port, "on", on, "id", fmt.Sprint("id ", i)))
	}
	got := Propose(b, object("b", set(prior...)), object("b", set(config[100:]...)))
	wantValue(t, got, object("b", set(prior[100:]...)))
}

func TestProposeReturnsTheConfigurationOrThePriorObjectItself(t *testing.T) {
	b := dataBlock()
	prior := dataObject(someID, hello, hello)
	config := dataObject(noID, hello, nothing)
	for name, p := range map[string]cty.Value{"create": cty.NullVal(b.ImpliedType()), "no change": prior} {
		if n := testing.AllocsPerRun(100, func() { benchOut = Propose(b, p, config) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestPlannedForDataLeavesComputedAttributesUnknown(t *testing.T) {
	rule := attrs{"name": optional(cty.String), "id": computed(cty.String)}
	one := func(name, id any) cty.Value { return object("name", name, "id", id) }
	b := block(attrs{
		"id": computed(cty.String), "filter": optional(cty.String), "zone": either(cty.String),
		"region": either(cty.String),
		"single": nested(provider.NestingSingle, rule), "list": nested(provider.NestingList, rule),
		"map": nested(provider.NestingMap, rule), "set": nested(provider.NestingSet, rule),
		"whole": {Computed: true, Nested: &provider.NestedObject{Nesting: provider.NestingList, Attributes: rule}},
	})
	config := object("id", nullS, "filter", nullS, "zone", "z", "region", nullS,
		"single", one("a", nullS), "list", list(one("b", nullS)), "map", mapping("k", one("c", nullS)), "set",
		set(one("d", nullS)),
		"whole", cty.NullVal(b.Attributes["whole"].ImpliedType()))
	want := object("id", unknownS, "filter", nullS, "zone", "z", "region", unknownS,
		"single", one("a", unknownS), "list", list(one("b", unknownS)), "map", mapping("k", one("c", unknownS)),
		"set", set(one("d", unknownS)), "whole", cty.UnknownVal(b.Attributes["whole"].ImpliedType()))
	wantValue(t, PlannedForData(b, config), want)
}
