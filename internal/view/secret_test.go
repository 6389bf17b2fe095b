package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/tfjson/tfjsontest"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// TestSecretsNeverShow puts a secret in every kind of place, as before, after and both, in every action, and searches
// every output of a view for it.
func TestSecretsNeverShow(t *testing.T) {
	secret := cty.StringVal("x " + tfjsontest.Canary)
	pair := cty.ObjectVal(map[string]cty.Value{"k": secret, "open": cty.StringVal("y")})
	block := &provider.Block{
		Attributes: map[string]*provider.Attribute{
			"declared": {Type: cty.String, Sensitive: true, Optional: true},
			"any":      {Type: cty.DynamicPseudoType, Optional: true},
			"list":     {Type: cty.List(cty.String), Optional: true},
			"set":      {Type: cty.Set(cty.String), Optional: true},
			"map":      {Type: cty.Map(cty.String), Optional: true},
			"json":     {Type: cty.String, Optional: true},
			"nested": {Optional: true, Nested: &provider.NestedObject{Nesting: provider.NestingList,
				Attributes: map[string]*provider.Attribute{"k": {Type: cty.String, Sensitive: true}}}},
			"nestset": {Optional: true, Nested: &provider.NestedObject{Nesting: provider.NestingSet,
				Attributes: map[string]*provider.Attribute{"k": {Type: cty.String, Sensitive: true}}}},
		},
		Blocks: map[string]*provider.NestedBlock{
			"one": {Nesting: provider.NestingSingle, Block: provider.Block{Attributes: map[string]*provider.Attribute{
				"k": {Type: cty.String, Sensitive: true}}}},
			"bag": {Nesting: provider.NestingSet, Block: provider.Block{Attributes: map[string]*provider.Attribute{
				"k": {Type: cty.String, Sensitive: true}}}},
			"many": {Nesting: provider.NestingList, Block: provider.Block{Attributes: map[string]*provider.Attribute{
				"k": {Type: cty.String}}}},
		},
	}
	one := cty.ObjectVal(map[string]cty.Value{"k": secret})
	v := cty.ObjectVal(map[string]cty.Value{
		"declared": secret, "any": cty.TupleVal([]cty.Value{pair, cty.StringVal("y")}),
		"list": cty.ListVal([]cty.Value{cty.StringVal("y"), secret}),
		"set":  cty.SetVal([]cty.Value{secret, cty.StringVal("y")}), "map": cty.MapVal(map[string]cty.Value{
			"k": secret, "open": cty.StringVal("y")}),
		"json":   cty.StringVal(`{"k":"` + tfjsontest.Canary + `"}`),
		"nested": cty.ListVal([]cty.Value{one}), "nestset": cty.SetVal([]cty.Value{one}),
		"one": one, "bag": cty.SetVal([]cty.Value{one}), "many": cty.ListVal([]cty.Value{one}),
	})
	paths := []cty.Path{
		cty.GetAttrPath("any").IndexInt(0).GetAttr("k"), cty.GetAttrPath("list").IndexInt(1),
		cty.GetAttrPath("set").Index(secret),
		cty.GetAttrPath("map").IndexString("k"), cty.GetAttrPath("json"), cty.GetAttrPath("many").IndexInt(0).GetAttr(
			"k"),
	}
	ty := block.ImpliedType()
	p := addr.DefaultProvider("t")
	schemas := tfjson.Schemas{p: {Resources: map[string]*provider.ResourceType{"t_x": {Block: block}}}}
	whole := plan.Value{Value: v, Sensitive: paths}
	none := plan.Value{Value: cty.NullVal(ty)}
	other := plan.Value{Value: cty.UnknownVal(ty)}
	other.Value = block.EmptyValue()
	object := objectAt(t, "t_x.a")
	for _, c := range []struct {
		action        plan.Action
		before, after plan.Value
	}{
		{plan.Create, none, whole}, {plan.Delete, whole, none}, {plan.Update, whole, other},
		{plan.Update, other, whole},
		{plan.DeleteThenCreate, whole, other}, {plan.Forget, whole, none}, {plan.NoOp, whole, whole},
		{plan.Read, none, whole},
	} {
		change := &plan.Change{
			Object: object, PrevAddr: new(objectAt(t, "t_x.old").Instance),
			Provider: &addr.AbsProviderConfig{Provider: p},
			Action:   c.action,
			Before:   c.before, After: c.after, Type: ty,
		}
		pl := &plan.Plan{
			Changes: []*plan.Change{change}, Drift: []*plan.Change{change}, Mode: plan.RefreshOnly,
			Outputs: []*plan.OutputChange{
				{Name: "now", Action: plan.Update, Before: cty.StringVal("y"), After: secret, Sensitive: true},
				{Name: "was", Action: plan.Update, Before: secret, After: cty.StringVal("y"), BeforeSensitive: true},
			},
		}
		for _, o := range []Options{{}, {JSON: true}, {Color: true}} {
			var out bytes.Buffer
			o.Out = &out
			view := New(o)
			view.Plan(pl, schemas)
			view.Close()
			if strings.Contains(out.String(), tfjsontest.Canary) {
				t.Errorf("%s, %+v: a secret was written:\n%s", c.action, o, out.String())
			}
			if !o.JSON && !strings.Contains(out.String(), "t_x") {
				t.Errorf("%s: nothing was written", c.action)
			}
		}
	}
	for _, c := range []struct{ before, after plan.Value }{{none, whole}, {whole, none}, {whole, other}} {
		var out bytes.Buffer
		pl := &plan.Plan{Changes: []*plan.Change{{Object: object, PrevAddr: new(objectAt(t, "t_x.old").Instance),
			Provider: &addr.AbsProviderConfig{Provider: p}, Action: plan.DeleteThenCreate, Before: c.before,
			After: c.after, Type: ty}}, Outputs: []*plan.OutputChange{
			{Name: "now", Action: plan.Create, After: secret, Sensitive: true}}}
		if err := Markdown(Options{Out: &out}, pl, schemas, 0, ""); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, tfjsontest.Canary) || !strings.Contains(text, "t_x.a") {
			t.Errorf("as Markdown, a secret was written, or nothing:\n%s", text)
		}
	}
	stored, err := state.NewObject(v, ty, state.Object{Sensitive: paths})
	if err != nil {
		t.Fatal(err)
	}
	b := (*state.State)(nil).Builder()
	b.Fold(
		state.Edit{Put: &state.PutObject{Addr: object, Provider: addr.AbsProviderConfig{Provider: p}, Object: stored}},
		state.Edit{Output: &state.SetOutput{Name: "o", Value: &state.Output{Value: secret, Sensitive: true}}},
	)
	var out bytes.Buffer
	if err := State(Options{Out: &out}, b.State(), schemas); err != nil {
		t.Fatal(err)
	}
	if err := Object(Options{Out: &out}, b.State(), object.Instance, schemas); err != nil {
		t.Fatal(err)
	}
	if err := Outputs(Options{Out: &out}, b.State()); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]plan.Value{{none, whole}, {whole, none}, {whole, other}, {other, whole}} {
		change := &plan.Change{Object: object, Action: plan.Update, Before: c[0],
			After: c[1], Provider: &addr.AbsProviderConfig{Provider: p}, Type: ty}
		changes := []*plan.Change{change}
		out.WriteString(details(t, &plan.Plan{Changes: changes, Drift: changes}, b.State(), schemas))
	}
	if strings.Contains(out.String(), tfjsontest.Canary) {
		t.Errorf("a secret was written:\n%s", out.String())
	}
}
