package value

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestCheckPlan(t *testing.T) {
	rule := attrs{"name": required(cty.String), "id": computed(cty.String)}
	ruleType := cty.Object(map[string]cty.Type{"name": cty.String, "id": cty.String})
	one := func(name, id any) cty.Value { return object("name", name, "id", id) }

	tests := map[string]struct {
		block                  *provider.Block
		prior, config, planned cty.Value
		want                   []string
	}{
		"what is configured may be planned as configured": {
			block:  block(attrs{"a": optional(cty.String), "id": computed(cty.String)}),
			config: object("a", "x", "id", nullS), planned: object("a", "x", "id", unknownS),
		},
		"what is configured must not be planned as something else": {
			block:  block(attrs{"a": optional(cty.String)}),
			config: object("a", "x"), planned: object("a", "y"),
			want: []string{`.a: planned "y", but the configuration has "x"`},
		},
		"a prior value may be kept as meaning the same": {
			block: block(attrs{"a": optional(cty.String)}),
			prior: object("a", "X"), config: object("a", "x"), planned: object("a", "X"),
		},
		"a third value is neither": {
			block: block(attrs{"a": either(cty.String)}),
			prior: object("a", "x"), config: object("a", "y"), planned: object("a", unknownS),
			want: []string{`.a: planned (known after apply), which is neither the configured value "y" nor ` +
				`the prior value "x"`},
		},
		"a removed attribute must not keep its prior value": {
			block: block(attrs{"a": optional(cty.String)}),
			prior: object("a", "x"), config: object("a", nullS), planned: object("a", "x"),
			want: []string{`.a: planned "x", but the attribute is not configured and the schema does not let the ` +
				`provider compute it`},
		},
		"computed attributes may be planned as anything": {
			block: block(attrs{"a": computed(cty.String), "b": either(cty.Number)}),
			prior: object("a", "x", "b", 1), config: object("a", nullS, "b", nullN), planned: object("a", "y", "b",
				cty.UnknownVal(cty.Number)),
		},
		"refinements of unknown values do not matter": {
			block:   block(attrs{"a": optional(cty.String), "l": optional(cty.List(cty.String))}),
			config:  object("a", unknownS.RefineNotNull(), "l", list("x", unknownS.RefineNotNull())),
			planned: object("a", unknownS, "l", list("x", unknownS)),
		},
		"an unknown configured value must not be planned as known": {
			block:  block(attrs{"a": either(cty.String)}),
			config: object("a", unknownS), planned: object("a", "guess"),
			want: []string{`.a: planned "guess", but the configuration has (known after apply)`},
		},
		"several problems come in the order of their paths": {
			block:  block(attrs{"z": optional(cty.String), "a": optional(cty.String), "m": optional(cty.String)}),
			config: object("z", "1", "a", "1", "m", "1"), planned: object("z", "2", "a", "2", "m", nullS),
			want: []string{
				`.a: planned "2", but the configuration has "1"`,
				`.m: planned null, but the configuration has "1"`,
				`.z: planned "2", but the configuration has "1"`,
			},
		},
		"planned absence": {
			block:  block(attrs{"a": optional(cty.String)}),
			config: object("a", "x"),
			want:   []string{`the object: planned to be absent, but the configuration has it`},
		},
		"planned existence": {
			block:   block(attrs{"a": optional(cty.String)}),
			planned: object("a", "x"),
			want:    []string{`the object: planned to exist, but the configuration does not have it`},
		},
		"a wrong type is the only problem reported": {
			block:  block(attrs{"a": optional(cty.Bool), "b": optional(cty.String)}),
			config: object("a", true, "b", "x"), planned: object("a", "true", "b", "y"),
			want: []string{`.a: bool required, found string`},
		},
		"write-only attributes are null in plans": {
			block:  block(attrs{"s": writeOnly(cty.String)}),
			config: object("s", "secret"), planned: object("s", "secret"),
			want: []string{`.s: the attribute is write-only, but the provider set it; it must be null`},
		},
		"null for a write-only attribute is no change": {
			block:  block(attrs{"s": writeOnly(cty.String)}),
			config: object("s", "secret"), planned: object("s", nullS),
		},
		"nested objects are checked inside": {
			block:   block(attrs{"n": nested(provider.NestingList, rule)}),
			config:  object("n", list(one("a", nullS), one("b", nullS))),
			planned: object("n", list(one("a", unknownS), one("c", "1"))),
			want:    []string{`.n[1].name: planned "c", but the configuration has "b"`},
		},
		"nested lists keep their length": {
			block:  block(attrs{"n": nested(provider.NestingList, rule)}),
			config: object("n", list(one("a", nullS))), planned: object("n", list(one("a", nullS), one("b", nullS))),
			want: []string{`.n: planned with 2 elements, but the configuration has 1`},
		},
		"nested maps keep their keys": {
			block:  block(attrs{"n": nested(provider.NestingMap, rule)}),
			config: object("n", mapping("x", one("a", nullS))), planned: object("n", mapping("y", one("a", nullS))),
			want: []string{`.n["x"]: in the configuration, but not planned`,
				`.n["y"]: planned, but not in the configuration`},
		},
		"nested sets keep their length": {
			block:  block(attrs{"n": nested(provider.NestingSet, rule)}),
			config: object("n", set(one("a", nullS))), planned: object("n", set(one("a", "1"), one("b", "2"))),
			want: []string{`.n: planned with 2 elements, but the configuration has 1`},
		},
		"elements of nested sets are the provider's matter": {
			block:  block(attrs{"n": nested(provider.NestingSet, rule)}),
			config: object("n", set(one("a", nullS))), planned: object("n", set(one("z", "1"))),
		},
		"a configured nested attribute must not be planned as unknown": {
			block:  block(attrs{"n": nestedEither(provider.NestingSet, rule)}),
			config: object("n", set(one("a", nullS))), planned: object("n", cty.UnknownVal(cty.Set(ruleType))),
			want: []string{`.n: planned as unknown, but the configuration has [{id = null, name = "a"}]`},
		},
		"a null element of a nested list is one of which all is null": {
			block:   block(attrs{"n": nested(provider.NestingList, attrs{"id": computed(cty.String)})}),
			config:  object("n", list(object("id", nullS))),
			planned: object("n", list(cty.NullVal(cty.Object(map[string]cty.Type{"id": cty.String})))),
		},
		"blocks keep their number": {
			block:  withBlocks(provider.NestingList, rule),
			config: object("b", list(one("a", nullS))), planned: object("b", cty.ListValEmpty(ruleType)),
			want: []string{`.b: planned with 0 elements, but the configuration has 1`},
		},
		"no blocks are an empty collection": {
			block:  withBlocks(provider.NestingList, rule),
			config: object("b", cty.ListValEmpty(ruleType)), planned: object("b", cty.NullVal(cty.List(ruleType))),
			want: []string{`.b: without blocks the planned value must be an empty collection, not null`},
		},
		"a null configuration brought in by ignore_changes counts as empty": {
			block:  withBlocks(provider.NestingList, rule),
			config: object("b", cty.NullVal(cty.List(ruleType))), planned: object("b", cty.ListValEmpty(ruleType)),
		},
		"blocks must not be planned as unknown": {
			block:  withBlocks(provider.NestingList, rule),
			config: object("b", list(one("a", nullS))), planned: object("b", cty.UnknownVal(cty.List(ruleType))),
			want: []string{`.b: nested blocks must not be planned as unknown as a whole; their attributes may be`},
		},
		"a single block of a list must not be planned as unknown": {
			block:  withBlocks(provider.NestingList, rule),
			config: object("b", list(one("a", nullS))), planned: object("b", list(cty.UnknownVal(ruleType))),
			want: []string{`.b[0]: a nested object must not be planned as unknown as a whole; its attributes may be`},
		},
		"blocks of an unknown dynamic block stay unknown": {
			block:   withBlocks(provider.NestingSet, rule),
			config:  object("b", cty.UnknownVal(cty.Set(ruleType))),
			planned: object("b", cty.UnknownVal(cty.Set(ruleType)).RefineNotNull()),
		},
		"blocks of an unknown dynamic block must not be made up": {
			block:  withBlocks(provider.NestingSet, rule),
			config: object("b", cty.UnknownVal(cty.Set(ruleType))), planned: object("b", cty.SetValEmpty(ruleType)),
			want: []string{`.b: planned [] for blocks whose number is not yet known in the configuration`},
		},
		"blocks in a set may change in number": {
			block:  withBlocks(provider.NestingSet, rule),
			config: object("b", set(one("a", nullS))), planned: object("b", set(one("x", "1"), one("y", "2"))),
		},
		"labelled blocks keep their labels": {
			block:   withBlocks(provider.NestingMap, rule),
			config:  object("b", mapping("x", one("a", nullS))),
			planned: object("b", mapping("x", one("z", nullS), "y", one("a", nullS))),
			want: []string{`.b["x"].name: planned "z", but the configuration has "a"`,
				`.b["y"]: planned, but not in the configuration`},
		},
		"a single block comes and goes with the configuration": {
			block:  withBlocks(provider.NestingSingle, rule),
			config: object("b", one("a", nullS)), planned: object("b", cty.NullVal(ruleType)),
			want: []string{`.b: planned to be absent, but the configuration has it`},
		},
		"blocks of any type are compared one by one": {
			block: withBlocks(provider.NestingList, attrs{"any": optional(cty.DynamicPseudoType),
				"id": computed(cty.String)}),
			config: object("b", tuple(object("any", 1, "id", nullS), object("any", "s", "id", nullS))),
			planned: object("b", tuple(object("any", 1, "id", "x"),
				object("any", true, "id", nullS))),
			want: []string{`.b[1].any: planned true, but the configuration has "s"`},
		},
		"blocks of any type that are no tuple do not conform": {
			block:  withBlocks(provider.NestingList, attrs{"any": optional(cty.DynamicPseudoType)}),
			config: object("b", tuple(object("any", 1))), planned: object("b", "blocks"),
			want: []string{`.b: a list or tuple of blocks required, found string`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := test.block
			wantErrors(t, CheckPlan(b, orNull(b, test.prior), orNull(b, test.config), orNull(b, test.planned)),
				test.want...)
		})
	}
}

func TestLegacyProvidersAreForgivenValuesOnly(t *testing.T) {
	b := block(attrs{"a": optional(cty.String), "s": writeOnly(cty.String)})
	null := cty.NullVal(b.ImpliedType())
	config := object("a", "x", "s", nullS)
	for name, test := range map[string]struct {
		errs      []PathError
		tolerable bool
	}{
		"plan: other value":    {CheckPlan(b, null, config, object("a", "y", "s", nullS)), true},
		"plan: type":           {CheckPlan(b, null, config, object("a", 1, "s", nullS)), false},
		"plan: null":           {CheckPlan(b, null, config, null), false},
		"plan: write-only":     {CheckPlan(b, null, config, object("a", "x", "s", "z")), false},
		"plan: unknown":        {CheckPlan(b, null, config, cty.UnknownVal(b.ImpliedType())), false},
		"applied: other value": {CheckApplied(b, config, object("a", "y", "s", nullS)), true},
		"applied: type":        {CheckApplied(b, config, object("a", 1, "s", nullS)), false},
		"applied: null":        {CheckApplied(b, config, null), false},
		"applied: unknown":     {CheckApplied(b, config, object("a", unknownS, "s", nullS)), false},
		"applied: write-only":  {CheckApplied(b, config, object("a", "x", "s", "z")), false},
		"second plan":          {CheckReplanned(b, config, object("a", "y", "s", nullS)), false},
		"read: unknown":        {CheckRefreshed(b, object("a", unknownS, "s", nullS)), false},
	} {
		if len(test.errs) != 1 {
			t.Errorf("%s: want one problem, got %v", name, test.errs)
			continue
		}
		if hard := len(AlwaysErrors(test.errs)) > 0; hard == test.tolerable {
			t.Errorf("%s: tolerable %v, want %v", name, !hard, test.tolerable)
		}
	}
}

// A secret value at the wrong path must not be in the message about it.
func TestNoMessageShowsASensitiveValue(t *testing.T) {
	const secret = "hunter2"
	rule := func() attrs { return attrs{"pass": sensitive(optional(cty.String)), "id": computed(cty.String)} }
	one := func(v any) cty.Value { return object("pass", v, "id", nullS) }
	b := block(attrs{
		"plain": optional(cty.String), "pass": sensitive(optional(cty.String)), "map": optional(cty.Map(cty.String)),
		"list": nested(provider.NestingList, rule()), "set": nested(provider.NestingSet, rule()),
		"whole": nestedEither(provider.NestingSet, rule()),
		"outer": sensitive(nested(provider.NestingSingle, attrs{"in": optional(cty.String)})),
	})
	nb := &provider.NestedBlock{Nesting: provider.NestingSet}
	nb.Attributes = rule()
	b.Blocks = map[string]*provider.NestedBlock{"blocks": nb}
	make := func(s string, more ...any) cty.Value {
		return object("plain", s, "pass", s, "map", mapping("k", s), "list", list(one(s)), "set",
			set(append(more, one(s))...),
			"whole", set(one(s)), "outer", object("in", s), "blocks", set(append(more, one(s))...))
	}
	hidden := []cty.Path{cty.GetAttrPath("plain"), cty.GetAttrPath("map").IndexString("k")}
	config, other := make(secret), make(secret+"!", one("more of "+secret))
	null := cty.NullVal(b.ImpliedType())
	checks := map[string][]PathError{
		"plan":       CheckPlan(b, null, config, other, hidden...),
		"prior":      CheckPlan(b, make(secret+"?"), config, other, hidden...),
		"applied":    CheckApplied(b, config, other, hidden...),
		"vanished":   CheckApplied(b, other, config, hidden...),
		"replanned":  CheckReplanned(b, config, other, hidden...),
		"not hidden": CheckPlan(b, null, config, other, hidden[1]),
	}
	for name, errs := range checks {
		if len(errs) < 4 {
			t.Errorf("%s: only %v", name, errs)
		}
		shown := false
		for _, e := range errs {
			shown = shown || strings.Contains(e.Error(), secret)
		}
		if shown != (name == "not hidden") {
			t.Errorf("%s: secret shown: %v, in %v", name, shown, errs)
		}
	}
}

func TestBriefIsShort(t *testing.T) {
	long := strings.Repeat("é", 500)
	many := make([]cty.Value, 10000)
	for i := range many {
		many[i] = cty.StringVal(long)
	}
	for name, test := range map[string]struct {
		in   cty.Value
		want string
	}{
		"string":    {cty.StringVal("a\nb"), `"a\nb"`},
		"number":    {cty.NumberFloatVal(1.5), `1.5`},
		"unknown":   {unknownS, `(known after apply)`},
		"object":    {object("b", list(1, 2), "a", nullS), `{a = null, b = [1, 2]}`},
		"sensitive": {object("a", cty.StringVal("x").Mark(Sensitive), "b", 1), `{a = (sensitive value), b = 1}`},
		"ephemeral": {cty.StringVal("x").Mark(Ephemeral), `(ephemeral value)`},
	} {
		if got := Brief(test.in); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
	for _, v := range []cty.Value{cty.StringVal(long), cty.ListVal(many)} {
		if got := []rune(Brief(v)); len(got) > 130 || !strings.HasSuffix(string(got), "...") {
			t.Errorf("%d characters: %s", len(got), string(got))
		}
	}
}
