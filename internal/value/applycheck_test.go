package value

import (
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestCheckApplied(t *testing.T) {
	rule := attrs{"name": required(cty.String), "id": computed(cty.String)}
	ruleType := cty.Object(map[string]cty.Type{"name": cty.String, "id": cty.String})
	one := func(name, id any) cty.Value { return object("name", name, "id", id) }
	attr := func(ty cty.Type) *provider.Block { return block(attrs{"a": either(ty)}) }
	a := func(v any) cty.Value { return object("a", v) }

	tests := map[string]struct {
		block           *provider.Block
		planned, actual cty.Value
		want            []string
	}{
		"known values stay": {block: attr(cty.String), planned: a("x"), actual: a("x")},
		"known values do not change": {
			block: attr(cty.String), planned: a("x"), actual: a("y"),
			want: []string{`.a: was planned as "x", but is "y" now`},
		},
		"known values do not vanish": {
			block: attr(cty.String), planned: a("x"), actual: a(nullS),
			want: []string{`.a: was planned as "x", but is null now`},
		},
		"null stays null": {
			block: attr(cty.String), planned: a(nullS), actual: a("x"),
			want: []string{`.a: was planned as null, but is "x" now`},
		},
		"unknown becomes anything": {block: attr(cty.String), planned: a(unknownS), actual: a("x")},
		"unknown becomes null":     {block: attr(cty.String), planned: a(unknownS), actual: a(nullS)},
		"numbers are equal by value": {block: attr(cty.Number), planned: a(cty.MustParseNumberVal("0.10")),
			actual: a(cty.NumberFloatVal(0.1))},
		"not null was promised": {block: attr(cty.String), planned: a(unknownS.RefineNotNull()), actual: a(nullS),
			want: []string{`.a: is null now, which the plan excluded for the unknown value`}},
		"a prefix was promised": {
			block: attr(cty.String), planned: a(unknownS.Refine().StringPrefixFull("id-").NewValue()),
			actual: a("name"), want: []string{`.a: is "name" now, which the plan excluded for the unknown value`}},
		"the prefix is kept": {
			block: attr(cty.String), planned: a(unknownS.Refine().StringPrefixFull("id-").NewValue()),
			actual: a("id-1")},
		"a length was promised": {block: attr(cty.List(cty.String)),
			planned: a(cty.UnknownVal(cty.List(cty.String)).Refine().CollectionLengthUpperBound(1).NewValue()),
			actual:  a(list("x", "y")), want: []string{
				`.a: is ["x", "y"] now, which the plan excluded for the unknown value`}},
		"a number range was promised": {
			block: attr(cty.Number), planned: a(cty.UnknownVal(cty.Number).Refine().NumberRangeLowerBound(val(1),
				true).NewValue()), actual: a(0), want: []string{
				`.a: is 0 now, which the plan excluded for the unknown value`}},
		"nothing is unknown in the end": {
			block: attr(cty.List(cty.String)), planned: a(cty.UnknownVal(cty.List(cty.String))),
			actual: a(list("x", unknownS)),
			want:   []string{`.a[1]: the value is still unknown`},
		},
		"a value of no announced type may be of any": {block: attr(cty.DynamicPseudoType), planned: a(cty.DynamicVal),
			actual: a(list(1))},
		"a value of an announced type keeps it": {
			block: attr(cty.DynamicPseudoType), planned: a(unknownS), actual: a(1),
			want: []string{`.a: was planned as string, but is number now`},
		},
		"null of no type promises nothing": {block: attr(cty.DynamicPseudoType),
			planned: a(cty.NullVal(cty.DynamicPseudoType)), actual: a("x")},
		"lists are compared by index": {
			block: attr(cty.List(cty.String)), planned: a(list("x", unknownS, "z")), actual: a(list("x", "y", "w")),
			want: []string{`.a[2]: was planned as "z", but is "w" now`},
		},
		"lists keep their length": {
			block: attr(cty.List(cty.String)), planned: a(list("x")), actual: a(list("x", "y")),
			want: []string{`.a[1]: was not planned, but has appeared as "y"`},
		},
		"maps keep their keys": {
			block: attr(cty.Map(cty.String)), planned: a(mapping("k", "x", "l", "y")),
			actual: a(mapping("k", "z", "m", "y")),
			want: []string{`.a["k"]: was planned as "x", but is "z" now`,
				`.a["l"]: was planned as "y", but has vanished`, `.a["m"]: was not planned, but has appeared as "y"`},
		},
		"objects are compared by attribute": {
			block:   attr(cty.Object(map[string]cty.Type{"x": cty.String, "y": cty.String})),
			planned: a(object("x", "1", "y", unknownS)), actual: a(object("x", "2", "y", "3")),
			want: []string{`.a.x: was planned as "1", but is "2" now`},
		},
		"sets of values are compared as sets": {
			block: attr(cty.Set(cty.String)), planned: a(set("x", "y")), actual: a(set("y", "z")),
			want: []string{`.a: the planned element "x" has no counterpart now`},
		},
		"an element that was not planned": {
			block: attr(cty.Set(cty.String)), planned: a(set("x", unknownS)), actual: a(set("x", "y", "z")),
			want: []string{`.a: was planned with 2 elements, but has 3 now`},
		},
		"unknown elements may turn out to be equal": {block: attr(cty.Set(cty.String)),
			planned: a(set("x", unknownS, cty.UnknownVal(cty.String).RefineNotNull())), actual: a(set("x"))},
		"unknown elements match whatever is left": {block: attr(cty.Set(cty.String)), planned: a(set("x", unknownS)),
			actual: a(set("x", "y"))},
		"blocks of a set match with unknown parts": {
			block:   withBlocks(provider.NestingSet, rule),
			planned: object("b", set(one("a", unknownS), one("b", unknownS))),
			actual:  object("b", set(one("b", "1"), one("a", "2"))),
		},
		"blocks of a set keep what is known": {
			block:   withBlocks(provider.NestingSet, rule),
			planned: object("b", set(one("a", unknownS))), actual: object("b", set(one("c", "1"))),
			want: []string{`.b: the planned element {id = (known after apply), name = "a"} has no counterpart now`},
		},
		"a block that corresponds to no planned one": {
			block:   withBlocks(provider.NestingSet, rule),
			planned: object("b", set(one("a", unknownS), one("a", "2"))),
			actual:  object("b", set(one("a", "2"), one("z", "1"))),
			want: []string{
				`.b: the element {id = "1", name = "z"} has appeared, which was not planned`},
		},
		"blocks of a list keep their number": {
			block:   withBlocks(provider.NestingList, rule),
			planned: object("b", list(one("a", unknownS))), actual: object("b", cty.ListValEmpty(ruleType)),
			want: []string{`.b: was planned with 1 blocks, but has 0 now`},
		},
		"blocks of a list are compared inside": {
			block:   withBlocks(provider.NestingList, rule),
			planned: object("b", list(one("a", unknownS))), actual: object("b", list(one("b", "1"))),
			want: []string{`.b[0].name: was planned as "a", but is "b" now`},
		},
		"null for no blocks is forgiven": {
			block:   withBlocks(provider.NestingList, rule),
			planned: object("b", cty.ListValEmpty(ruleType)), actual: object("b", cty.NullVal(cty.List(ruleType))),
		},
		"unknown blocks may become any number": {
			block:   withBlocks(provider.NestingList, rule),
			planned: object("b", cty.UnknownVal(cty.List(ruleType))),
			actual:  object("b", list(one("a", "1"), one("b", "2"))),
		},
		"an unknown single block may become none": {
			block:   withBlocks(provider.NestingSingle, rule),
			planned: object("b", cty.UnknownVal(ruleType)), actual: object("b", cty.NullVal(ruleType)),
		},
		"a single block stays": {
			block:   withBlocks(provider.NestingSingle, rule),
			planned: object("b", one("a", "1")), actual: object("b", cty.NullVal(ruleType)),
			want: []string{`.b: was planned to be present, but is absent now`},
		},
		"labelled blocks keep their labels": {
			block:   withBlocks(provider.NestingMap, rule),
			planned: object("b", mapping("x", one("a", "1"))), actual: object("b", mapping("y", one("a", "1"))),
			want: []string{`.b["x"]: was planned, but has vanished`, `.b["y"]: was not planned, but has appeared`},
		},
		"labelled blocks of any type": {
			block:   withBlocks(provider.NestingMap, attrs{"any": either(cty.DynamicPseudoType)}),
			planned: object("b", object("x", object("any", cty.DynamicVal), "y", object("any", 1))),
			actual:  object("b", object("x", object("any", list("s")), "y", object("any", 2))),
			want:    []string{`.b["y"].any: was planned as 1, but is 2 now`},
		},
		"nested attributes are values like others": {
			block:   block(attrs{"n": nested(provider.NestingList, rule)}),
			planned: object("n", list(one("a", unknownS))), actual: object("n", list(one("b", "1"))),
			want: []string{`.n[0].name: was planned as "a", but is "b" now`},
		},
		"an object that is not there": {
			block: attr(cty.String), planned: a("x"),
			want: []string{`the object: was planned to be present, but is absent now`},
		},
		"an object that should be gone": {
			block: attr(cty.String), actual: a("x"),
			want: []string{`the object: was planned to be absent, but is present now`},
		},
		"an object that is gone as planned": {block: attr(cty.String)},
		"write-only attributes stay null": {
			block: block(attrs{"s": writeOnly(cty.String)}), planned: object("s", nullS), actual: object("s", "x"),
			want: []string{`.s: the attribute is write-only, but the provider set it; it must be null`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := test.block
			wantErrors(t, CheckApplied(b, orNull(b, test.planned), orNull(b, test.actual)), test.want...)
		})
	}
}

func TestCheckReplanned(t *testing.T) {
	b := block(attrs{"a": either(cty.String), "l": either(cty.Set(cty.String))})
	planned := object("a", unknownS, "l", set("x", unknownS))
	for name, test := range map[string]struct {
		replanned cty.Value
		want      []string
	}{
		"still unknown": {replanned: planned},
		"known by now":  {replanned: object("a", "x", "l", set("x", "y"))},
		"partly known":  {replanned: object("a", unknownS.RefineNotNull(), "l", set("x", unknownS.RefineNotNull()))},
		"other elements": {object("a", unknownS, "l", set("y", unknownS)), []string{
			`.l: the planned element "x" has no counterpart now`}},
		"more elements": {object("a", unknownS, "l", set("x", "y", "z")), []string{
			`.l: was planned with 2 elements, but has 3 now`}},
	} {
		t.Run(name, func(t *testing.T) {
			wantErrors(t, CheckReplanned(b, planned, test.replanned), test.want...)
		})
	}
	known := object("a", "x", "l", set("x"))
	wantErrors(t, CheckReplanned(b, known, object("a", unknownS, "l", set("x"))),
		`.a: was planned as "x", but is unknown now`)
	wantErrors(t, CheckReplanned(b, known, cty.UnknownVal(b.ImpliedType())),
		`the object: was planned, but is unknown as a whole now`)
}

// Large sets are matched by hash, which must not affect the result.
func TestLargeSetsAreMatchedLikeSmallOnes(t *testing.T) {
	b := withBlocks(provider.NestingSet, attrs{"name": required(cty.String), "port": optional(cty.Number),
		"id": computed(cty.String)})
	for _, n := range []int{2, 5, 8, 9, 50, 200} {
		var planned, actual []any
		for i := range n {
			port := any(i)
			if i%3 == 0 {
				port = cty.UnknownVal(cty.Number) // unknown in some elements, so not a reliable key
			}
			planned = append(planned, object("name", fmt.Sprint(i), "port", port, "id", unknownS))
			actual = append(actual, object("name", fmt.Sprint(i), "port", i, "id", fmt.Sprint("id ", i)))
		}
		good := object("b", set(actual...))
		wantErrors(t, CheckApplied(b, object("b", set(planned...)), good))
		actual[n/2] = object("name", "other", "port", 0, "id", "x")
		if errs := CheckApplied(b, object("b", set(planned...)), object("b", set(actual...))); len(errs) != 1 {
			t.Errorf("%d elements: want one problem, got %v", n, errs)
		}
		var strings, others []any
		for i := range n {
			strings = append(strings, fmt.Sprint(i))
			others = append(others, fmt.Sprint(i+1))
		}
		sb := block(attrs{"s": optional(cty.Set(cty.String))})
		wantErrors(t, CheckApplied(sb, object("s", set(strings...)), object("s", set(others...))),
			`.s: the planned element "0" has no counterpart now`)
	}
}

func TestCheckRefreshedAndData(t *testing.T) {
	b := withBlocks(provider.NestingList, attrs{"s": writeOnly(cty.String), "id": computed(cty.String)})
	b.Attributes = attrs{"tags": computed(cty.Map(cty.Set(cty.String)))}
	tags := cty.NullVal(cty.Map(cty.Set(cty.String)))
	one := func(s, id any) cty.Value { return object("s", s, "id", id) }
	tests := map[string]struct {
		in   cty.Value
		want []string
	}{
		"complete": {in: object("tags", mapping("a", set("x")), "b", list(one(nullS, "1")))},
		"unknown": {object("tags", mapping("a", set("x", unknownS)), "b", list(one(nullS, unknownS))), []string{
			`.b[0].id: the value is still unknown`, `.tags["a"]: the value is still unknown`}},
		"write-only": {object("tags", tags, "b", list(one("x", "1"))), []string{
			`.b[0].s: the attribute is write-only, but the provider set it; it must be null`}},
		"type": {object("tags", tags, "b", "x"), []string{`.b: list of object required, found string`}},
		"missing": {object("tags", tags), []string{
			`.b: the attribute is missing (one without a value must be null)`}},
		"no value": {cty.NilVal, []string{`the object: there is no value`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantErrors(t, CheckRefreshed(b, test.in), test.want...)
			wantErrors(t, CheckData(b, test.in), test.want...)
		})
	}
	wantErrors(t, CheckWriteOnly(b, tests["unknown"].in))
	wantErrors(t, CheckWriteOnly(b, tests["write-only"].in), tests["write-only"].want...)
	null := cty.NullVal(b.ImpliedType())
	wantErrors(t, CheckRefreshed(b, null))
	wantErrors(t, CheckData(b, null), `the object: the provider returned no object`)
}

func TestCheckOpened(t *testing.T) {
	b := block(attrs{"s": optional(cty.String), "d": either(cty.String), "id": computed(cty.String)})
	problem := ": the value is not the configured one, and the provider may only set computed attributes"
	for name, test := range map[string]struct {
		config, in cty.Value
		want       []string
	}{
		"filled in": {object("s", "x", "d", nullS, "id", nullS), object("s", "x", "d", "y", "id", "1"), nil},
		"changed": {object("s", "x", "d", "y", "id", nullS), object("s", "z", "d", "y", "id", "1"), []string{
			".s" + problem}},
		"changed, though computed": {object("s", "x", "d", "y", "id", nullS), object("s", "x", "d", "z", "id", "1"),
			[]string{".d" + problem}},
		"lost": {object("s", "x", "d", nullS, "id", nullS), object("s", nullS, "d", "y", "id", "1"), []string{
			".s" + problem}},
		"not configured": {object("s", nullS, "d", nullS, "id", nullS), object("s", "x", "d", nullS, "id", "1"),
			[]string{".s" + problem}},
		"unknown": {object("s", "x", "d", nullS, "id", nullS), object("s", "x", "d", nullS, "id", unknownS),
			[]string{".id: the value is still unknown"}},
	} {
		t.Run(name, func(t *testing.T) { wantErrors(t, CheckOpened(b, test.config, test.in), test.want...) })
	}
	config := object("s", "x", "d", nullS, "id", nullS)
	wantErrors(t, CheckOpened(b, config, cty.NullVal(b.ImpliedType())), `the object: the provider returned no object`)
}
