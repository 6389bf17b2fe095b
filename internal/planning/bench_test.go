package planning_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// broad has objects of a hundred attributes and blocks, like those of large clouds: most of them are computed and not
// configured.
type broad struct{ provider.Base }

var broadType = &provider.ResourceType{Block: broadBlock()}

func broadBlock() *provider.Block {
	b := &provider.Block{Attributes: map[string]*provider.Attribute{
		"any": {Type: cty.DynamicPseudoType, Optional: true}}, Blocks: map[string]*provider.NestedBlock{}}
	rule := cty.Object(map[string]cty.Type{"from": cty.Number, "to": cty.Number, "protocol": cty.String,
		"cidr": cty.List(cty.String)})
	for i, ty := range []cty.Type{
		cty.String, cty.String, cty.String, cty.String, cty.String, cty.Number, cty.Bool, cty.List(cty.String),
		cty.Map(cty.String), cty.Set(cty.String), cty.List(rule), cty.Set(rule),
	} {
		for j := range 8 {
			b.Attributes[fmt.Sprintf("attribute_%02d_%d", i, j)] = &provider.Attribute{Type: ty, Optional: true,
				Computed: true}
		}
	}
	for i := range 3 {
		b.Blocks[fmt.Sprintf("block_%d", i)] = &provider.NestedBlock{Nesting: provider.NestingList,
			Block: provider.Block{Attributes: map[string]*provider.Attribute{
				"name": {Type: cty.String, Optional: true}, "size": {Type: cty.Number, Optional: true}, "on": {
					Type: cty.Bool, Optional: true}}}}
	}
	return b
}

// broadObject is a stored object.
func broadObject(n int) cty.Value {
	text := func(s string) cty.Value { return cty.StringVal(fmt.Sprintf("%s-%d", s, n)) }
	rule := func(i int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"from": cty.NumberIntVal(1000 * i),
			"to": cty.NumberIntVal(1000*i + 99), "protocol": cty.StringVal("tcp"),
			"cidr": cty.ListVal([]cty.Value{cty.StringVal("10.0.0.0/8"), cty.StringVal("192.168.0.0/16")})})
	}
	rules := []cty.Value{rule(1), rule(2), rule(3)}
	texts := []cty.Value{text("one"), text("two"), text("three")}
	vals := map[string]cty.Value{"any": cty.TupleVal([]cty.Value{text("any"), cty.True})}
	for name, a := range broadType.Block.Attributes {
		switch {
		case a.Type == cty.String && name[len(name)-1] < '2':
			vals[name] = cty.NullVal(cty.String)
		case a.Type == cty.String:
			vals[name] = text("arn:partition:service:region:account:resource/" + name)
		case a.Type == cty.Number:
			vals[name] = cty.NumberIntVal(int64(n))
		case a.Type == cty.Bool:
			vals[name] = cty.True
		case a.Type.IsMapType():
			vals[name] = cty.MapVal(map[string]cty.Value{"Name": text("name"), "Environment": cty.StringVal("test"),
				"Owner": cty.StringVal("someone")})
		case a.Type.IsListType() && a.Type.ElementType() == cty.String:
			vals[name] = cty.ListVal(texts)
		case a.Type.IsSetType() && a.Type.ElementType() == cty.String:
			vals[name] = cty.SetVal(texts)
		case a.Type.IsListType():
			vals[name] = cty.ListVal(rules)
		case a.Type.IsSetType():
			vals[name] = cty.SetVal(rules)
		}
	}
	for name := range broadType.Block.Blocks {
		vals[name] = cty.ListVal([]cty.Value{
			cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name), "size": cty.NumberIntVal(10),
				"on": cty.True})})
	}
	return cty.ObjectVal(vals)
}

func (broad) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{Provider: &provider.Block{}, Resources: map[string]*provider.ResourceType{
		"broad_thing": broadType}}, nil
}

func (broad) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(broadType, req)
}

func (broad) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior, Private: req.Private}
}

func (broad) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: req.Proposed}
}

// BenchmarkPlanOfBroadObjects plans 2 000 objects of a hundred attributes without changes. The state is in the form of
// a state file.
func BenchmarkPlanOfBroadObjects(b *testing.B) {
	const count = 2000
	var builder = (*state.State)(nil).Builder()
	for i := range count {
		object, err := state.NewObject(broadObject(i), broadType.Block.ImpliedType(), state.Object{})
		if err != nil {
			b.Fatal(err)
		}
		a := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "broad_thing", Name: "a"}}
		builder.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: a.Instance(addr.IntKey(i))},
			Provider: addr.AbsProviderConfig{Provider: addr.DefaultProvider("broad")}, Object: object}})
	}
	var file strings.Builder
	if err := builder.State().Encode(&file); err != nil {
		b.Fatal(err)
	}
	src := fmt.Sprintf(`resource "broad_thing" "a" {
  count = %d
  any = ["any-${count.index}", true]
  attribute_00_2 = "arn:partition:service:region:account:resource/attribute_00_2-${count.index}"
  attribute_08_0 = { Name = "name-${count.index}", Environment = "test", Owner = "someone" }
  dynamic "block_0" {
    for_each = [1]
    content {
      name = "block_0"
      size = 10
      on = true
    }
  }
  block_1 {
    name = "block_1"
    size = 10
    on = true
  }
  block_2 {
    name = "block_2"
    size = 10
    on = true
  }
}`, count)
	b.ReportAllocs()
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		prior, err := state.Decode([]byte(file.String()))
		if err != nil {
			b.Fatal(err)
		}
		t := &bench{t: b, prior: prior}
		p, diags := t.plan(map[string]string{"main.tf": src})
		if diags.HasErrors() {
			b.Fatal(diags.Err())
		}
		for _, c := range p.Changes {
			if c.Action != plan.NoOp {
				b.Fatal(c.Object, c.Action)
			}
		}
	}
}
