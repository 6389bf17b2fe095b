package value

import (
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// dataBlock returns the schema of terraform_data.
func dataBlock() *provider.Block {
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"id":               {Type: cty.String, Computed: true},
		"input":            {Type: cty.DynamicPseudoType, Optional: true},
		"output":           {Type: cty.DynamicPseudoType, Computed: true},
		"triggers_replace": {Type: cty.DynamicPseudoType, Optional: true},
	}}
}

func dataObject(id, input, output cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"id": id, "input": input, "output": output, "triggers_replace": cty.NullVal(cty.DynamicPseudoType),
	})
}

var (
	noID     = cty.NullVal(cty.String)
	nothing  = cty.NullVal(cty.DynamicPseudoType)
	hello    = cty.StringVal("hello")
	goodbye  = cty.StringVal("goodbye")
	someID   = cty.StringVal("2b7c9d0e-6f0a-4d59-93c2-5c8b58b1a0aa")
	benchOut cty.Value
)

// bigBlock returns a block like that of a large cloud resource: many attributes, lists and sets of blocks.
func bigBlock() *provider.Block {
	b := &provider.Block{Attributes: map[string]*provider.Attribute{}, Blocks: map[string]*provider.NestedBlock{}}
	for i := range 40 {
		a := &provider.Attribute{Type: cty.String, Optional: true}
		switch i % 4 {
		case 1:
			a.Computed = true
		case 2:
			a.Type = cty.Map(cty.String)
		case 3:
			a.Optional, a.Computed = false, true
		}
		b.Attributes[fmt.Sprintf("attribute_%02d", i)] = a
	}
	rule := func() map[string]*provider.Attribute {
		return map[string]*provider.Attribute{
			"name": {Type: cty.String, Required: true}, "port": {Type: cty.Number, Optional: true},
			"cidrs": {Type: cty.List(cty.String), Optional: true}, "id": {Type: cty.String, Computed: true},
		}
	}
	list, set := &provider.NestedBlock{Nesting: provider.NestingList}, &provider.NestedBlock{
		Nesting: provider.NestingSet}
	list.Attributes, set.Attributes = rule(), rule()
	b.Blocks["listed"], b.Blocks["unordered"] = list, set
	b.Attributes["nested"] = &provider.Attribute{Optional: true, Nested: &provider.NestedObject{
		Nesting: provider.NestingMap, Attributes: rule()}}
	return b
}

// bigConfig returns a value with n rules in each collection.
func bigConfig(b *provider.Block, n int) cty.Value {
	vals := b.EmptyValue().AsValueMap()
	for name, a := range b.Attributes {
		switch {
		case !a.Optional || a.Nested != nil:
		case a.Type == cty.String:
			vals[name] = cty.StringVal("value of " + name)
		default:
			vals[name] = cty.MapVal(map[string]cty.Value{"one": cty.StringVal("1"), "two": cty.StringVal("2")})
		}
	}
	rules, nested := make([]cty.Value, n), make(map[string]cty.Value, n)
	for i := range n {
		rules[i] = cty.ObjectVal(map[string]cty.Value{
			"name": cty.StringVal(fmt.Sprintf("rule %d", i)), "port": cty.NumberIntVal(int64(i)), "id": noID,
			"cidrs": cty.ListVal([]cty.Value{cty.StringVal("10.0.0.0/8"), cty.StringVal("192.168.0.0/16")}),
		})
		nested[fmt.Sprintf("key %d", i)] = rules[i]
	}
	vals["listed"], vals["unordered"], vals["nested"] = cty.ListVal(rules), cty.SetVal(rules), cty.MapVal(nested)
	return cty.ObjectVal(vals)
}

// fill simulates an apply: unknown values become known.
func fill(v cty.Value) cty.Value {
	n := 0
	return replaceUnknown(v, func(u cty.Value) cty.Value {
		n++
		if u.Type() == cty.String {
			return cty.StringVal(fmt.Sprintf("computed %d", n))
		}
		return cty.NullVal(u.Type())
	})
}

// lifecycles returns the three cases of a run: create, no change, update.
func lifecycles(b *provider.Block, before, after cty.Value) map[string][3]cty.Value {
	null := cty.NullVal(b.ImpliedType())
	applied := fill(SetUnknowns(b, Propose(b, null, before)))
	return map[string][3]cty.Value{
		"create": {null, before, SetUnknowns(b, before)},
		"noop":   {applied, before, applied},
		"update": {applied, after, SetUnknowns(b, Propose(b, applied, after))},
	}
}

func benchmarkCases(b *testing.B, run func(b *testing.B, block *provider.Block, prior, config, planned cty.Value)) {
	data, big := dataBlock(), bigBlock()
	changed := bigConfig(big, 101)
	for _, c := range []struct {
		name          string
		block         *provider.Block
		before, after cty.Value
	}{
		{"data", data, dataObject(noID, hello, nothing), dataObject(noID, goodbye, nothing)},
		{"big", big, bigConfig(big, 100), changed},
	} {
		for name, v := range lifecycles(c.block, c.before, c.after) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				run(b, c.block, v[0], v[1], v[2])
			})
		}
	}
}

func BenchmarkPropose(b *testing.B) {
	benchmarkCases(b, func(b *testing.B, block *provider.Block, prior, config, _ cty.Value) {
		for b.Loop() {
			benchOut = Propose(block, prior, config)
		}
	})
}

func BenchmarkCheckPlan(b *testing.B) {
	benchmarkCases(b, func(b *testing.B, block *provider.Block, prior, config, planned cty.Value) {
		for b.Loop() {
			if errs := CheckPlan(block, prior, config, planned); errs != nil {
				b.Fatal(errs)
			}
		}
	})
}

func BenchmarkCheckApplied(b *testing.B) {
	benchmarkCases(b, func(b *testing.B, block *provider.Block, _, _, planned cty.Value) {
		actual := fill(planned)
		for b.Loop() {
			if errs := CheckApplied(block, planned, actual); errs != nil {
				b.Fatal(errs)
			}
		}
	})
}

// BenchmarkLargeSets shows that the cost of matching set elements does not grow with the square of their number.
func BenchmarkLargeSets(b *testing.B) {
	block := bigBlock()
	null := cty.NullVal(block.ImpliedType())
	for _, n := range []int{100, 1000, 10000} {
		config := bigConfig(block, n)
		planned := SetUnknowns(block, Propose(block, null, config))
		applied := fill(planned)
		b.Run(fmt.Sprintf("Propose/%d", n), func(b *testing.B) {
			for b.Loop() {
				benchOut = Propose(block, applied, config)
			}
		})
		b.Run(fmt.Sprintf("CheckApplied/%d", n), func(b *testing.B) {
			for b.Loop() {
				if errs := CheckApplied(block, planned, applied); errs != nil {
					b.Fatal(errs)
				}
			}
		})
	}
}
