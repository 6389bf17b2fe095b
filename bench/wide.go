package main

import (
	"context"
	"fmt"
	"io"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// wide is a provider of large objects: with sets of objects in each of the three forms that a schema supports, and
// other large collections. It stores nothing and takes no time, so that only the engines and the plugin's decoding and
// encoding are measured.
type wide struct{ provider.Base }

const wideSource = "tombolo/wide"

// part is the type of the elements of all collections of objects.
var part = map[string]cty.Type{"name": cty.String, "port": cty.Number, "open": cty.Bool, "zone": cty.String,
	"note": cty.String}

func wideSchema() *provider.Schema {
	attrs := make(map[string]*provider.Attribute, len(part))
	for name, ty := range part {
		attrs[name] = &provider.Attribute{Type: ty, Optional: true}
	}
	nested := func(n provider.Nesting) *provider.Attribute {
		return &provider.Attribute{Nested: &provider.NestedObject{Nesting: n, Attributes: attrs}, Optional: true}
	}
	plain := func(ty cty.Type) *provider.Attribute { return &provider.Attribute{Type: ty, Optional: true} }
	blocks := func(n provider.Nesting) *provider.NestedBlock {
		return &provider.NestedBlock{Nesting: n, Block: provider.Block{Attributes: attrs}}
	}
	return &provider.Schema{
		PlanDestroy: true,
		Resources: map[string]*provider.ResourceType{"wide_thing": {Block: &provider.Block{
			Attributes: map[string]*provider.Attribute{
				"id": {Type: cty.String, Computed: true}, "text": plain(cty.String),
				"set": plain(cty.Set(cty.Object(part))), "nested": nested(provider.NestingSet),
				"names": plain(cty.Set(cty.String)),
				"list":  nested(provider.NestingList), "map": nested(provider.NestingMap),
				"labels": plain(cty.Map(cty.String)),
			},
			Blocks: map[string]*provider.NestedBlock{"rule": blocks(provider.NestingSet),
				"step": blocks(provider.NestingList)},
		}}, "wide_record": {Block: recordBlock()}},
	}
}

var schemaOfWide = wideSchema()

// recordBlock returns a block with a name and a hundred attributes that are not configured, like those of large clouds.
func recordBlock() *provider.Block {
	attrs := map[string]*provider.Attribute{"name": {Type: cty.String, Required: true}}
	for i, ty := range []cty.Type{
		cty.String, cty.String, cty.String, cty.String, cty.String, cty.Number, cty.Bool, cty.List(cty.String),
		cty.Map(cty.String), cty.List(cty.Object(part)),
	} {
		for k := range 10 {
			attrs[fmt.Sprintf("found_%d_%d", i, k)] = &provider.Attribute{Type: ty, Computed: true}
		}
	}
	return &provider.Block{Attributes: attrs}
}

// found returns the value of an attribute that is not configured.
func found(name string, ty cty.Type) cty.Value {
	text := cty.StringVal("found out for " + name)
	switch {
	case ty == cty.String:
		return text
	case ty == cty.Number:
		return cty.NumberIntVal(8080)
	case ty == cty.Bool:
		return cty.True
	case ty.IsListType():
		return cty.ListVal([]cty.Value{found(name, ty.ElementType()), found(name+" again", ty.ElementType())})
	case ty.IsMapType():
		return cty.MapVal(map[string]cty.Value{"name": text, "owner": text})
	}
	vals := map[string]cty.Value{}
	for member, mty := range ty.AttributeTypes() {
		vals[member] = found(member, mty)
	}
	return cty.ObjectVal(vals)
}

// Schema implements provider.Provider.
func (wide) Schema(context.Context) (*provider.Schema, diag.List) { return schemaOfWide, nil }

// UpgradeState implements provider.Provider.
func (wide) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(schemaOfWide.Resources[req.Type], req)
}

// Plan implements provider.Provider: computed attributes of a new object are unknown, the others as proposed.
func (wide) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	planned := req.Proposed
	if req.Prior.IsNull() {
		planned = complete(req.Type, planned, func(_ string, ty cty.Type) cty.Value { return cty.UnknownVal(ty) })
	}
	return provider.PlanResponse{Planned: planned}
}

// Apply implements provider.Provider.
func (wide) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	state := req.Planned
	if req.Prior.IsNull() {
		state = complete(req.Type, state, found)
	}
	return provider.ApplyResponse{State: state}
}

// complete sets every attribute that is not configured.
func complete(typ string, obj cty.Value, with func(name string, ty cty.Type) cty.Value) cty.Value {
	vals := obj.AsValueMap()
	for name, a := range schemaOfWide.Resources[typ].Block.Attributes {
		if a.Computed {
			vals[name] = with(name, a.Type)
		}
	}
	return cty.ObjectVal(vals)
}

// wideShape returns a shape with count objects of the provider, one element of which a variable can change, and an
// output.
func wideShape(name, about string, count int, arguments func(n int) string) shape {
	return shape{
		name: name, about: about, objects: func(int) int { return count }, plugin: wideSource, steps: wideSteps,
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "terraform {\n  required_providers {\n    wide = { source = %q }\n  }\n}\n",
				"registry.terraform.io/"+wideSource)
			fmt.Fprint(w, "variable \"change\" { default = \"no\" }\n")
			fmt.Fprintf(w, "resource \"wide_thing\" \"a\" {\n  count = %d\n%s}\n", count, arguments(n))
			// not printed after apply
			fmt.Fprint(w, "output \"first\" {\n  value     = wide_thing.a[0]\n  sensitive = true\n}\n")
		},
	}
}

// parts returns an expression for n elements, with keys for a map.
func parts(n int, key string) string {
	return fmt.Sprintf("for k in %s : %s{ name = k, port = length(k) * 100, open = true, zone = \"zone-${k}\", "+
		"note = k == \"key-0-0\" ? var.change : \"some text about ${k}\" }", keys(n), key)
}

// writeRecords writes n records.
func writeRecords(w io.Writer, n int) {
	fmt.Fprintf(w, "terraform {\n  required_providers {\n    wide = { source = %q }\n  }\n}\n",
		"registry.terraform.io/"+wideSource)
	fmt.Fprintf(w, "resource \"wide_record\" \"a\" {\n  count = %d\n  name  = \"record-${count.index}\"\n}\n", n)
}

func setArguments(n int) string {
	list := "[" + parts(n, "") + "]"
	return fmt.Sprintf("  set    = %s\n  nested = %s\n", list, list) + blockArguments("rule", n)
}

func collectionArguments(n int) string {
	return fmt.Sprintf("  labels = { for k in %s : k => \"label of ${k}\" }\n  list   = [%s]\n  map    = { %s }\n",
		keys(n), parts(n, ""), parts(n, "k => ")) +
		blockArguments("step", n)
}

func blockArguments(name string, n int) string {
	args := ""
	for _, a := range []string{"name", "port", "open", "zone", "note"} {
		args += fmt.Sprintf("      %s = %s.value.%s\n", a, name, a)
	}
	return fmt.Sprintf("  dynamic %q {\n    for_each = [%s]\n    content {\n%s    }\n  }\n", name, parts(n, ""), args)
}
