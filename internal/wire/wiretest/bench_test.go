package wiretest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
)

// still is a provider that plans the proposed value.
type still struct{ provider.Base }

var block = &provider.Block{
	Attributes: map[string]*provider.Attribute{
		"id": {Type: cty.String, Computed: true}, "name": {Type: cty.String, Required: true}, "size": {
			Type: cty.Number, Optional: true},
		"tags": {Type: cty.Map(cty.String), Optional: true},
	},
	Blocks: map[string]*provider.NestedBlock{"rule": {Nesting: provider.NestingList, Block: provider.Block{
		Attributes: map[string]*provider.Attribute{
			"port": {Type: cty.Number, Required: true}, "text": {Type: cty.String, Optional: true},
		}}}},
}

func (still) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{Provider: &provider.Block{}, Resources: map[string]*provider.ResourceType{
		"still": {Block: block}}}, nil
}

func (still) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: req.Proposed}
}

func object(rules int) cty.Value {
	list := make([]cty.Value, rules)
	for i := range list {
		list[i] = cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(int64(i)),
			"text": cty.StringVal("some text")})
	}
	vals := map[string]cty.Value{
		"id": cty.UnknownVal(cty.String), "name": cty.StringVal("a name"), "size": cty.MustParseNumberVal("0.1"),
		"tags": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("b"), "c": cty.StringVal("d")}),
		"rule": cty.ListValEmpty(block.Blocks["rule"].ImpliedType().ElementType()),
	}
	if rules > 0 {
		vals["rule"] = cty.ListVal(list)
	}
	return cty.ObjectVal(vals)
}

// One plan is a call with three objects in the request and one in the response.
func BenchmarkPlan(b *testing.B) {
	for _, rules := range []int{0, 100} {
		for _, protocol := range []int{5, 6} {
			b.Run(fmt.Sprintf("protocol %d/%d blocks", protocol, rules), func(b *testing.B) {
				p, err := wiretest.Over(func(context.Context) (provider.Provider, error) { return still{}, nil },
					protocol)(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				defer p.Close()
				v := object(rules)
				req := provider.PlanRequest{Type: "still", Prior: cty.NullVal(block.ImpliedType()), Proposed: v,
					Config: v}
				b.ReportAllocs()
				for b.Loop() {
					if resp := p.Plan(b.Context(), req); resp.Diagnostics != nil {
						b.Fatal(resp.Diagnostics.Err())
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			})
		}
	}
}
