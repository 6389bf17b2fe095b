package mock_test

import (
	"context"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/suite/mock"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

var block = &provider.Block{
	Attributes: map[string]*provider.Attribute{
		"name": {Type: cty.String, Required: true},
		"once": {Type: cty.String, Optional: true, WriteOnly: true},
		"id":   {Type: cty.String, Computed: true},
		"size": {Type: cty.Number, Optional: true, Computed: true},
		"tags": {Type: cty.Map(cty.String), Computed: true},
		"any":  {Type: cty.DynamicPseudoType, Computed: true},
		"inner": {Computed: true, Nested: &provider.NestedObject{Nesting: provider.NestingSingle,
			Attributes: map[string]*provider.Attribute{"on": {Type: cty.Bool, Computed: true}, "text": {
				Type: cty.String, Computed: true}}}},
	},
	Blocks: map[string]*provider.NestedBlock{
		"disk": {Nesting: provider.NestingList, Block: provider.Block{Attributes: map[string]*provider.Attribute{
			"size": {Type: cty.Number, Required: true}, "path": {Type: cty.String, Computed: true}}}},
	},
}

func configuration() cty.Value {
	vals := block.EmptyValue().AsValueMap()
	vals["name"] = cty.StringVal("n")
	vals["once"] = cty.StringVal("secret")
	vals["disk"] = cty.ListVal([]cty.Value{
		cty.ObjectVal(map[string]cty.Value{"size": cty.NumberIntVal(1), "path": cty.NullVal(cty.String)})})
	return cty.ObjectVal(vals)
}

func object(v mock.Values) *mock.Object {
	return mock.NewObject(nil, &provider.ResourceType{Block: block}, v, func() string { return "random12" })
}

// create plans and applies a new object, and checks both responses like the engine.
func create(t *testing.T, o *mock.Object) (planned, applied cty.Value) {
	t.Helper()
	null := cty.NullVal(block.ImpliedType())
	p := o.Plan(context.Background(), provider.PlanRequest{
		Prior: null, Proposed: value.Propose(block, null, configuration()), Config: configuration()})
	if p.Diagnostics.HasErrors() {
		t.Fatal(p.Diagnostics.Err())
	}
	if errs := value.CheckPlan(block, null, configuration(), p.Planned); len(errs) > 0 {
		t.Fatalf("the plan is not acceptable: %v", errs)
	}
	a := o.Apply(context.Background(), provider.ApplyRequest{Prior: null, Planned: p.Planned, Config: configuration()})
	if a.Diagnostics.HasErrors() {
		t.Fatal(a.Diagnostics.Err())
	}
	if errs := value.CheckApplied(block, p.Planned, a.State); len(errs) > 0 {
		t.Fatalf("the result is not acceptable: %v", errs)
	}
	if !a.State.IsWhollyKnown() {
		t.Errorf("something is left open: %#v", a.State)
	}
	return p.Planned, a.State
}

func TestComputedAttributesAreUnknownInPlansAndGeneratedByApply(t *testing.T) {
	planned, applied := create(t,
		object(mock.Values{Attributes: map[string]cty.Value{"size": cty.StringVal("7"),
			"disk": cty.ObjectVal(map[string]cty.Value{"path": cty.StringVal("/dev")})}}))
	if planned.GetAttr("id").IsKnown() {
		t.Error("the plan knows the id")
	}
	disk := applied.GetAttr("disk").Index(cty.Zero)
	for name, ok := range map[string]bool{
		"id": applied.GetAttr("id").AsString() == "random12", "size": applied.GetAttr("size").RawEquals(
			cty.NumberIntVal(7)), "tags": applied.GetAttr("tags").LengthInt() == 0,
		"any": applied.GetAttr("any").IsNull(), "inner": applied.GetAttr("inner").GetAttr("on").False(),
		"disk": disk.GetAttr("path").AsString() == "/dev", "name": applied.GetAttr("name").AsString() == "n",
	} {
		if !ok {
			t.Errorf("%s is wrong in %#v", name, applied)
		}
	}
}

func TestValuesCanBeKnownWhilePlanning(t *testing.T) {
	planned, applied := create(t, object(mock.Values{AtPlan: true, Attributes: map[string]cty.Value{
		"id": cty.StringVal("given")}}))
	if !planned.IsWhollyKnown() || planned.GetAttr("id").AsString() != "given" || !applied.RawEquals(planned) {
		t.Errorf("planned %#v, applied %#v", planned, applied)
	}
}

func TestUpdatesKeepComputedValues(t *testing.T) {
	o := object(mock.Values{})
	_, prior := create(t, o)
	config := configuration().AsValueMap()
	config["name"] = cty.StringVal("other")
	proposed := value.Propose(block, prior, cty.ObjectVal(config))
	p := o.Plan(context.Background(), provider.PlanRequest{Prior: prior, Proposed: proposed,
		Config: cty.ObjectVal(config)})
	a := o.Apply(context.Background(), provider.ApplyRequest{Prior: prior, Planned: p.Planned})
	if id := a.State.GetAttr("id"); !id.RawEquals(prior.GetAttr("id")) ||
		a.State.GetAttr("name").AsString() != "other" {
		t.Errorf("got %#v", a.State)
	}
	gone := o.Apply(context.Background(), provider.ApplyRequest{
		Prior: prior, Planned: cty.NullVal(block.ImpliedType())})
	if !gone.State.IsNull() {
		t.Errorf("a deletion leaves %#v", gone.State)
	}
}

func TestInvalidMockValuesAreReported(t *testing.T) {
	for name, v := range map[string]cty.Value{"size": cty.StringVal("many"), "inner": cty.True, "disk": cty.True} {
		o := object(mock.Values{Attributes: map[string]cty.Value{name: v}})
		resp := o.ReadData(context.Background(), provider.ReadDataRequest{Config: configuration()})
		if !resp.Diagnostics.HasErrors() || len(resp.Diagnostics[0].Path) == 0 {
			t.Errorf("%s: got %v", name, resp.Diagnostics)
		}
	}
}

// onlySchema is a nil provider: every call that is about an object panics.
type onlySchema struct{ provider.Provider }

func (onlySchema) ValidateResource(context.Context, provider.ValidateResourceRequest) diag.List {
	return nil
}

// TestNoObjectReachesTheRealProvider makes every call about an object to a mock and to an override. The real provider,
// which is not configured, would panic.
func TestNoObjectReachesTheRealProvider(t *testing.T) {
	ctx := context.Background()
	rt := &provider.ResourceType{Block: block, Identity: &provider.IdentitySchema{
		Attributes: map[string]*provider.IdentityAttribute{"id": {Type: cty.String}}}}
	schema := &provider.Schema{Resources: map[string]*provider.ResourceType{"t": rt},
		Data: map[string]*provider.ResourceType{"t": rt}}
	random := func() string { return "random12" }
	for name, p := range map[string]provider.Provider{
		"mock":     mock.NewProvider(onlySchema{}, schema, mock.Values{}, random),
		"override": mock.NewObject(onlySchema{}, rt, mock.Values{}, random),
	} {
		null := cty.NullVal(block.ImpliedType())
		planned := p.Plan(ctx, provider.PlanRequest{Type: "t", Prior: null, Proposed: value.Propose(block, null,
			configuration()), Config: configuration()})
		made := p.Apply(ctx, provider.ApplyRequest{Type: "t", Prior: null, Planned: planned.Planned,
			Config: configuration()})
		if made.Diagnostics.HasErrors() || !made.State.GetAttr("once").IsNull() {
			t.Errorf("%s: %v, %#v", name, made.Diagnostics, made.State)
		}
		raw, err := ctyjson.Marshal(made.State, block.ImpliedType())
		if err != nil {
			t.Fatal(err)
		}
		up := p.UpgradeState(ctx, provider.UpgradeStateRequest{Type: "t", Stored: provider.StoredObject{JSON: raw}})
		if up.Diagnostics.HasErrors() || !up.State.RawEquals(made.State) {
			t.Errorf("%s: stored as %s it is upgraded to %#v (%v)", name, raw, up.State, up.Diagnostics)
		}
		if id := p.UpgradeIdentity(ctx, provider.UpgradeIdentityRequest{
			Type: "t", JSON: []byte(`{"id":"i"}`)}); id.Diagnostics.HasErrors() {
			t.Errorf("%s: %v", name, id.Diagnostics)
		}
		p.Read(ctx, provider.ReadRequest{Type: "t", Prior: made.State})
		p.ReadData(ctx, provider.ReadDataRequest{Type: "t", Config: configuration()})
		p.Configure(ctx, provider.ConfigureRequest{})
		if err := p.Stop(ctx); err != nil {
			t.Error(err)
		}
		if gone := p.Apply(ctx, provider.ApplyRequest{Type: "t", Prior: made.State,
			Planned: null}); !gone.State.IsNull() {
			t.Errorf("%s: a deletion leaves %#v", name, gone.State)
		}
		p.MoveState(ctx, provider.MoveStateRequest{TargetType: "t"})
		p.Import(ctx, provider.ImportRequest{Type: "t"})
		p.OpenEphemeral(ctx, provider.OpenEphemeralRequest{Type: "t"})
		p.RenewEphemeral(ctx, provider.RenewEphemeralRequest{Type: "t"})
		p.CloseEphemeral(ctx, provider.CloseEphemeralRequest{Type: "t"})
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
