package value

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestConforms(t *testing.T) {
	b := withBlocks(provider.NestingList, attrs{"any": optional(cty.DynamicPseudoType)})
	mp := &provider.NestedBlock{Nesting: provider.NestingMap}
	mp.Attributes = attrs{"any": optional(cty.DynamicPseudoType)}
	b.Blocks["m"] = mp
	b.Attributes = attrs{"s": optional(cty.String),
		"l": optional(cty.List(cty.Object(map[string]cty.Type{"x": cty.Number})))}
	good := map[string]cty.Value{"s": nullS, "l": list(object("x", 1)), "b": cty.EmptyTupleVal, "m": cty.EmptyObjectVal}
	with := func(name string, v any) cty.Value {
		vals := map[string]cty.Value{}
		for k, g := range good {
			vals[k] = g
		}
		vals[name] = val(v)
		return cty.ObjectVal(vals)
	}
	for name, test := range map[string]struct {
		in   cty.Value
		want []string
	}{
		"the type":      {in: with("s", "x")},
		"null":          {in: cty.NullVal(b.ImpliedType())},
		"unknown":       {in: cty.UnknownVal(b.ImpliedType())},
		"not an object": {val("x"), []string{`the object: object required, found string`}},
		"of no type":    {cty.DynamicVal, []string{`the object: object required, found dynamic`}},
		"another type":  {with("s", 1), []string{`.s: string required, found number`}},
		"not the same kind": {with("l", set(object("x", 1))), []string{
			`.l: list of object required, found set of object`}},
		"inside of elements": {with("l", list(object("x", "1"))), []string{
			`.l.x: in each element: number required, found string`}},
		"one too many":      {with("z", 1), []string{`.z: the schema has no such attribute`}},
		"blocks as a tuple": {in: with("b", tuple(object("any", 1), object("any", "x")))},
		"blocks as a list":  {in: with("b", list(object("any", 1), object("any", 2)))},
		"blocks unknown":    {in: with("b", cty.DynamicVal)},
		"blocks of bad shape": {with("b", tuple(object("any", 1), object("other", 1))), []string{
			`.b[1].any: the attribute is missing (one without a value must be null)`,
			`.b[1].other: the schema has no such attribute`}},
		"blocks are no tuple": {with("b", true), []string{`.b: a list or tuple of blocks required, found bool`}},
		"labelled blocks":     {in: with("m", object("x", object("any", 1), "y", object("any", true)))},
		"no labelled blocks":  {with("m", tuple()), []string{`.m: a map or object of blocks required, found tuple`}},
		"labelled, bad shape": {with("m", object("x", 1)), []string{`.m["x"]: object required, found number`}},
	} {
		t.Run(name, func(t *testing.T) { wantErrors(t, Conforms(b, test.in), test.want...) })
	}
}

func TestCheckConfig(t *testing.T) {
	rule := attrs{"name": required(cty.String), "id": computed(cty.String)}
	ruleType := cty.Object(map[string]cty.Type{"name": cty.String, "id": cty.String})
	one := func(name any) cty.Value { return object("name", name, "id", nullS) }
	blocks := func(n provider.Nesting, least, most int) *provider.Block {
		b := withBlocks(n, rule)
		b.Blocks["b"].MinItems, b.Blocks["b"].MaxItems = least, most
		return b
	}
	for name, test := range map[string]struct {
		block *provider.Block
		in    cty.Value
		want  []string
	}{
		"complete": {block: block(rule), in: one("x")},
		"required and unset": {block(rule), one(nullS), []string{
			`.name: the attribute is required, but it is not set`}},
		"required and unknown": {block: block(rule), in: one(unknownS)},
		"computed and set": {block(rule), object("name", "x", "id", "1"), []string{
			`.id: the attribute cannot be set: its value is decided by the provider`}},
		"in a nested list": {block(attrs{"n": nested(provider.NestingList, rule)}),
			object("n", list(one("x"), one(nullS))), []string{
				`.n[1].name: the attribute is required, but it is not set`}},
		"in a nested map": {block(attrs{"n": nested(provider.NestingMap, rule)}),
			object("n", mapping("k", one(nullS))), []string{
				`.n["k"].name: the attribute is required, but it is not set`}},
		"in a nested set": {block(attrs{"n": nested(provider.NestingSet, rule)}),
			object("n", set(one(nullS))), []string{
				`.n.name: in an element of the set: the attribute is required, but it is not set`}},
		"in a single block": {blocks(provider.NestingSingle, 0, 0), object("b", one(nullS)), []string{
			`.b.name: the attribute is required, but it is not set`}},
		"too few blocks": {blocks(provider.NestingList, 2, 0), object("b", list(one("x"))), []string{
			`.b: at least 2 blocks required, found 1`}},
		"too many blocks": {blocks(provider.NestingList, 0, 1), object("b", list(one("x"), one(unknownS))),
			[]string{`.b: no more than 1 blocks allowed, found 2`}},
		"a missing single block": {blocks(provider.NestingSingle, 1, 1), object("b", cty.NullVal(ruleType)),
			[]string{`.b: at least 1 blocks required, found 0`}},
		"an unknown number": {block: blocks(provider.NestingList, 2, 0),
			in: object("b", cty.UnknownVal(cty.List(ruleType)))},
		"a set that may yet shrink": {block: blocks(provider.NestingSet, 0, 1),
			in: object("b", set(one("x"), one(unknownS)))},
		"a set that is too large": {blocks(provider.NestingSet, 0, 1), object("b", set(one("x"), one("y"))),
			[]string{`.b: no more than 1 blocks allowed, found 2`}},
		"a wrong type": {block(rule), object("name", 1, "id", nullS), []string{
			`.name: string required, found number`}},
		"a group that is not written": {block: withBlocks(provider.NestingGroup, attrs{"o": optional(cty.String)}),
			in: object("b", object("o", nullS))},
	} {
		t.Run(name, func(t *testing.T) { wantErrors(t, CheckConfig(test.block, test.in), test.want...) })
	}
}
