package schema_test

import (
	"context"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	. "github.com/tombolo-iac/tombolo/sdk/schema"
)

// measured is a typical resource: a dozen attributes and some blocks.
func measured() *Provider {
	text := func() *Schema { return &Schema{Type: TypeString, Optional: true} }
	set := func(d *ResourceData) error {
		for _, key := range []string{"name", "size", "zone", "tags", "words", "rule"} {
			if err := d.Set(key, d.Get(key)); err != nil {
				return err
			}
		}
		return d.Set("etag", "v1")
	}
	r := keeper(map[string]*Schema{
		"name": {Type: TypeString, Required: true, ForceNew: true}, "size": {Type: TypeInt, Optional: true, Default: 3},
		"zone": text(), "note": text(), "kind": text(), "owner": text(),
		"tags": {Type: TypeMap, Optional: true}, "words": {Type: TypeList, Optional: true, Elem: &Schema{
			Type: TypeString}}, "etag": {Type: TypeString, Computed: true},
		"rule": {Type: TypeList, Optional: true, Elem: &Resource{
			Schema: map[string]*Schema{"port": {Type: TypeInt, Required: true}, "text": text()}}},
	}, func(op string, d *ResourceData) error {
		if op == "delete" {
			return nil
		}
		return set(d)
	})
	return &Provider{ResourcesMap: map[string]*Resource{typ: r}}
}

// bare is a minimal hand-written provider with the same responses.
type bare struct {
	provider.Base
	schema *provider.Schema
}

func (b bare) Schema(context.Context) (*provider.Schema, diag.List) { return b.schema, nil }

func (b bare) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	vals := req.Proposed.AsValueMap()
	vals["size"] = cty.NumberIntVal(3)
	if req.Prior.IsNull() {
		vals["id"], vals["etag"] = cty.UnknownVal(cty.String), cty.UnknownVal(cty.String)
	}
	return provider.PlanResponse{Planned: cty.ObjectVal(vals)}
}

func (b bare) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	vals := req.Planned.AsValueMap()
	vals["id"], vals["etag"] = cty.StringVal("1"), cty.StringVal("v1")
	return provider.ApplyResponse{State: cty.ObjectVal(vals)}
}

// BenchmarkCall measures a call of each kind through the framework, and to a provider without it, over each transport.
func BenchmarkCall(b *testing.B) {
	described := New(measured())
	schema, _ := described.Schema(b.Context())
	makers := map[string]provider.Factory{
		"schema": Factory(measured),
		"bare":   func(context.Context) (provider.Provider, error) { return bare{schema: schema}, nil },
	}
	block := schema.Resources[typ].Block
	config := block.EmptyValue().AsValueMap()
	config["name"], config["zone"] = str("a name"), str("north")
	config["tags"] = cty.MapVal(attrs{"a": str("b"), "c": str("d")})
	config["words"] = cty.ListVal([]cty.Value{str("x"), str("y")})
	config["rule"] = cty.ListVal([]cty.Value{rule(80, "a"), rule(443, "b"), rule(22, "c")})
	wanted := cty.ObjectVal(config)
	null := cty.NullVal(block.ImpliedType())
	for _, transport := range []string{"in process", "protocol 5", "protocol 6"} {
		for _, made := range []string{"bare", "schema"} {
			p, err := transports[transport](makers[made])(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			plan := provider.PlanRequest{Type: typ, Prior: null, Config: wanted, Proposed: value.Propose(block, null,
				wanted)}
			planned := p.Plan(b.Context(), plan)
			apply := provider.ApplyRequest{Type: typ, Prior: null, Config: wanted, Planned: planned.Planned}
			state := p.Apply(b.Context(), apply).State
			again := provider.PlanRequest{Type: typ, Prior: state, Config: wanted, Proposed: value.Propose(block, state,
				wanted)}
			read := provider.ReadRequest{Type: typ, Prior: state}
			for _, call := range []struct {
				name string
				do   func() diag.List
			}{
				{"plan a creation", func() diag.List { return p.Plan(b.Context(), plan).Diagnostics }},
				{"plan no change", func() diag.List { return p.Plan(b.Context(), again).Diagnostics }},
				{"create", func() diag.List { return p.Apply(b.Context(), apply).Diagnostics }},
				{"read", func() diag.List { return p.Read(b.Context(), read).Diagnostics }},
			} {
				b.Run(transport+"/"+call.name+"/"+made, func(b *testing.B) {
					b.ReportAllocs()
					for range b.N {
						if diags := call.do(); diags.HasErrors() {
							b.Fatal(diags.Err())
						}
					}
				})
			}
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
