package planning_test

import (
	"context"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// tidy is a provider whose upgrade changes objects although the schema has no new version.
type tidy struct{ provider.Base }

var tidyType = &provider.ResourceType{Block: &provider.Block{Attributes: map[string]*provider.Attribute{
	"made": {Type: cty.String, Computed: true}}}}

func (tidy) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{Provider: &provider.Block{},
		Resources: map[string]*provider.ResourceType{"tidy_thing": tidyType}}, nil
}

func (tidy) UpgradeState(context.Context, provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.UpgradeStateResponse{State: tidyObject("tidy")}
}

func (tidy) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior, Private: req.Private}
}

func (tidy) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: req.Proposed}
}

func tidyObject(made string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"made": cty.StringVal(made)})
}

// TestUpgradedObjectsAreStored plans with a stored object that the provider changes when it upgrades it, and with
// one that it does not change.
func TestUpgradedObjectsAreStored(t *testing.T) {
	for made, edits := range map[string]int{"untidy": 1, "tidy": 0} {
		object, err := state.NewObject(tidyObject(made), tidyType.Block.ImpliedType(), state.Object{})
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t: t}
		at := addr.AbsResourceInstance{Resource: addr.Resource{Mode: addr.Managed, Type: "tidy_thing", Name: "a"}}
		builder := b.prior.Builder()
		builder.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: at},
			Provider: addr.AbsProviderConfig{Provider: addr.DefaultProvider("tidy")}, Object: object}})
		b.prior = builder.State()
		p := b.want(root(`resource "tidy_thing" "a" {}`))
		if len(p.Refreshed) != edits {
			t.Errorf("%s: %d edits, want %d", made, len(p.Refreshed), edits)
		}
		if len(p.Drift) != 0 {
			t.Errorf("%s: what an upgrade changed counts as drift", made)
		}
		b.opts.Mode = plan.RefreshOnly
		if p, diags := b.plan(root(`resource "tidy_thing" "a" {}`)); diags.HasErrors() || p.Applyable() {
			t.Errorf("%s: a plan that only refreshes wants to be applied: %v", made, diags.Err())
		}
		after := p.Prior().Object(addr.Object{Instance: at})
		if v, err := after.Value(tidyType.Block.ImpliedType()); err != nil || !v.RawEquals(tidyObject("tidy")) {
			t.Errorf("%s: the object is %#v then: %v", made, v, err)
		}
	}
}

// TestUnchangedUpgradesAreNotStored plans with an object whose attributes have any type.
func TestUnchangedUpgradesAreNotStored(t *testing.T) {
	b := &bench{t: t}
	b.with("terraform_data.a", "x")
	if p := b.want(root(`resource "terraform_data" "a" { input = "x" }`)); len(p.Refreshed) != 0 {
		t.Errorf("%d edits, want none", len(p.Refreshed))
	}
}
