package builtin

import (
	"context"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
	"github.com/tombolo-iac/tombolo/state"
)

func TestConformance(t *testing.T) {
	remote := func(_ context.Context, _ addr.Object, backend, _ string, _ cty.Value) (*state.State, diag.List) {
		if backend != "local" {
			return nil, diag.List{}.Errorf(nil, "Unsupported backend", "There is no backend %q.", backend)
		}
		b := (*state.State)(nil).Builder()
		b.Fold(state.Edit{Output: &state.SetOutput{Name: "port", Value: &state.Output{Value: cty.NumberIntVal(80)}}})
		return b.State(), nil
	}
	null := cty.NullVal(cty.DynamicPseudoType)
	id := func(v cty.Value) string { return v.GetAttr("id").AsString() }
	identity := func(v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"id": v.GetAttr("id")}) }
	imported := &providertest.Import{
		ID: id, Identity: identity,
		// An import only returns the id.
		Want: func(v cty.Value) cty.Value {
			return cty.ObjectVal(map[string]cty.Value{"id": v.GetAttr("id"), "input": null, "output": null,
				"triggers_replace": null, "store": cty.NullVal(storeBlock.Block.ImpliedType())})
		},
	}
	providertest.Run(t, providertest.Options{
		New: func(context.Context) (provider.Provider, error) { return New(Options{RemoteState: remote}), nil },
		Resources: []providertest.Resource{{
			Type: "terraform_data",
			Config: func(n int) providertest.Attrs {
				return providertest.Attrs{
					"input": cty.ObjectVal(map[string]cty.Value{"n": cty.NumberIntVal(int64(n)),
						"list": cty.TupleVal([]cty.Value{cty.True, cty.StringVal("x")})})}
			},
			Updates: []providertest.Update{
				{Name: "input", Change: providertest.Attrs{"input": cty.StringVal("another type")}},
				{Name: "no input", Change: providertest.Attrs{"input": null}},
				{Name: "trigger", Change: providertest.Attrs{"triggers_replace": cty.TupleVal([]cty.Value{cty.Zero})},
					Replaces: true},
			},
			Import: imported,
		}, {
			Name:   "with a store",
			Type:   "terraform_data",
			Config: func(n int) providertest.Attrs { return store("input", cty.NumberIntVal(int64(n))) },
			Updates: []providertest.Update{
				{Name: "input", Change: store("input", cty.StringVal("another"))},
				{Name: "version", Change: store("input", cty.StringVal("another"), "version", cty.Zero)},
				{Name: "secret", Change: store("input", cty.EmptyTupleVal, "sensitive", cty.True)},
				{Name: "replaced", Change: store("input", cty.StringVal("new"), "replace", cty.True), Replaces: true},
				{Name: "no store", Change: providertest.Attrs{"store": cty.NullVal(types.data.Block.ImpliedType().
					AttributeType("store"))}},
			},
			Import: imported,
		}, {
			Name:   "without arguments",
			Type:   "terraform_data",
			Config: func(int) providertest.Attrs { return nil },
			Import: &providertest.Import{ID: id, Identity: identity},
		}},
		Data: []providertest.Data{{
			Type: "terraform_remote_state",
			Config: providertest.Attrs{"backend": cty.StringVal("local"),
				"defaults": cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("n")})},
			Want: providertest.Attrs{
				"outputs": cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("n"),
					"port": cty.NumberIntVal(80)})},
			Invalid: []providertest.Invalid{
				{Name: "backend", Change: providertest.Attrs{"backend": cty.StringVal("other")}},
				{Name: "defaults", Change: providertest.Attrs{"defaults": cty.StringVal("x")},
					Path: cty.GetAttrPath("defaults")},
			},
		}},
	})
}

// store returns a configuration of terraform_data with a block store, with these arguments and their values.
func store(pairs ...any) providertest.Attrs {
	block := map[string]cty.Value{}
	for name, attr := range storeBlock.Block.Attributes {
		block[name] = cty.NullVal(attr.Type)
	}
	for i := 0; i < len(pairs); i += 2 {
		block[pairs[i].(string)] = pairs[i+1].(cty.Value)
	}
	return providertest.Attrs{"store": cty.ObjectVal(block)}
}
