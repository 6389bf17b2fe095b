// Package mock answers in place of providers. A Provider has the schema of a real one and manages nothing: it generates
// the values that a real one would compute, or takes them from the configuration. An Object does the same for one
// object of a real provider.
//
//	m := mock.NewProvider(real, schema, mock.Values{}, random)
//	m.Resources = map[string]mock.Values{"aws_instance": {Attributes: ...}}
//
// Both implement provider.Provider, so the engine needs no special cases, and checks the values like those of all
// providers.
//
// The real provider is not configured and gets no call about an object. Its remaining calls are the methods of
// schemaOnly; all other calls are answered here, or refused.
package mock

import (
	"context"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Values holds the values of computed attributes that are not configured. Missing ones are generated.
type Values struct {
	Attributes map[string]cty.Value
	// AtPlan means that the values are known during planning.
	AtPlan bool
}

// schemaOnly passes on only calls that need just the schema of a real provider: checks of configurations, and
// functions. Everything else is refused.
type schemaOnly struct {
	provider.Base
	real provider.Provider
}

// Schema implements provider.Provider.
func (s schemaOnly) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	return s.real.Schema(ctx)
}

// ValidateResource implements provider.Provider.
func (s schemaOnly) ValidateResource(ctx context.Context, req provider.ValidateResourceRequest) diag.List {
	return s.real.ValidateResource(ctx, req)
}

// CallFunction implements provider.Provider.
func (s schemaOnly) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	return s.real.CallFunction(ctx, name, args)
}

// Object answers for one object, or for all of a type.
type Object struct {
	schemaOnly // serves calls without an object
	Type       *provider.ResourceType
	Values     Values
	// Random returns a text that is unlikely to be given twice.
	Random func() string
}

// NewObject returns the mock of one object.
func NewObject(real provider.Provider, rt *provider.ResourceType, values Values, random func() string) *Object {
	return &Object{schemaOnly: schemaOnly{real: real}, Type: rt, Values: values, Random: random}
}

// UpgradeState returns the stored object unchanged: a mock has no older schemas.
func (o *Object) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(o.Type, req)
}

// UpgradeIdentity returns the stored identity of an object that was created before it was overridden.
func (o *Object) UpgradeIdentity(ctx context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	if o.Type.Identity == nil {
		return o.Base.UpgradeIdentity(ctx, req)
	}
	v, err := ctyjson.Unmarshal(req.JSON, o.Type.Identity.ImpliedType())
	return provider.UpgradeIdentityResponse{Identity: v, Diagnostics: diag.FromError("Invalid identity", err)}
}

// Read returns the object unchanged.
func (o *Object) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity}
}

// Plan leaves computed attributes unknown.
func (o *Object) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	resp := provider.PlanResponse{Planned: req.Proposed, Private: req.PriorPrivate, Identity: req.PriorIdentity}
	if req.Proposed == cty.NilVal || req.Proposed.IsNull() {
		return resp
	}
	f := o.filler()
	if !req.Prior.IsNull() { // computed values do not change
		f.open, f.onlyUnknown = true, true
		resp.Planned = f.block(o.Type.Block, value.ProposeKept(o.Type.Block, req.Prior, req.Config), nil)
		return resp
	}
	f.open = !o.Values.AtPlan
	resp.Planned = f.block(o.Type.Block, req.Config, o.Values.Attributes)
	resp.Diagnostics = f.diags
	return resp
}

// Apply generates the values that are still unknown.
func (o *Object) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Planned.IsNull() {
		return provider.ApplyResponse{State: req.Planned}
	}
	f := o.filler()
	f.onlyUnknown = true
	v := f.block(o.Type.Block, req.Planned, o.Values.Attributes)
	return provider.ApplyResponse{State: v, Private: req.PlannedPrivate, Identity: cty.NilVal, Diagnostics: f.diags}
}

// ReadData generates the result of the data source.
func (o *Object) ReadData(_ context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	f := o.filler()
	v := f.block(o.Type.Block, value.ForPlan(o.Type.Block, req.Config), o.Values.Attributes)
	return provider.ReadDataResponse{State: v, Diagnostics: f.diags}
}

// Import generates the object that is configured, as if it had been created.
func (o *Object) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	f, config := o.filler(), o.Type.Block.EmptyValue()
	if req.Config != nil {
		if v := req.Config(); v != cty.NilVal { // else the planner reports why
			config = v
		}
	}
	v := value.UnknownAsNull(f.block(o.Type.Block, value.ForPlan(o.Type.Block, config), o.Values.Attributes))
	return provider.ImportResponse{Diagnostics: f.diags, Imported: []provider.ImportedObject{
		{Type: req.Type, State: v, Identity: req.Identity}}}
}

func (o *Object) filler() *filler { return &filler{random: o.Random} }

// Provider answers for all objects of a provider configuration.
type Provider struct {
	// the real one, which is not configured: it checks configurations and calls functions
	schemaOnly
	Schemas         *provider.Schema // of the real one
	Resources, Data map[string]Values
	Other           Values // of types that are not in the maps
	Random          func() string
}

// NewProvider returns a mock of a provider.
func NewProvider(real provider.Provider, schemas *provider.Schema, other Values, random func() string) *Provider {
	return &Provider{schemaOnly: schemaOnly{real: real}, Schemas: schemas, Other: other, Random: random}
}

// UpgradeState returns the stored object unchanged.
func (p *Provider) UpgradeState(ctx context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	if o := p.Object(provider.ManagedResource, req.Type); o != nil {
		return o.UpgradeState(ctx, req)
	}
	return provider.UpgradeStateResponse{Diagnostics: unknownType(req.Type)}
}

// UpgradeIdentity is Object.UpgradeIdentity for the type of the object.
func (p *Provider) UpgradeIdentity(ctx context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	if o := p.Object(provider.ManagedResource, req.Type); o != nil {
		return o.UpgradeIdentity(ctx, req)
	}
	return provider.UpgradeIdentityResponse{Diagnostics: unknownType(req.Type)}
}

// ValidateConfig accepts everything.
func (p *Provider) ValidateConfig(_ context.Context,
	req provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	return provider.ValidateConfigResponse{Prepared: req.Config}
}

// Configure does nothing.
func (p *Provider) Configure(context.Context, provider.ConfigureRequest) provider.ConfigureResponse {
	return provider.ConfigureResponse{}
}

// Object returns the mock for the objects of a type, or nil if the provider has no such type.
func (p *Provider) Object(kind provider.ResourceKind, typ string) *Object {
	rt := p.Schemas.Type(kind, typ)
	if rt == nil {
		return nil
	}
	of := p.Resources
	if kind == provider.DataSource {
		of = p.Data
	}
	values, ok := of[typ]
	if !ok {
		values = p.Other
	}
	return &Object{schemaOnly: p.schemaOnly, Type: rt, Values: values, Random: p.Random}
}

func unknownType(typ string) diag.List {
	return diag.List{}.Errorf(nil, "Unknown type", "The provider that is mocked has no type %q.", typ)
}

// Read returns every object unchanged.
func (p *Provider) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity}
}

// Plan is Object.Plan for the type of the object.
func (p *Provider) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	if o := p.Object(provider.ManagedResource, req.Type); o != nil {
		return o.Plan(ctx, req)
	}
	return provider.PlanResponse{Diagnostics: unknownType(req.Type)}
}

// Apply is Object.Apply for the type of the object.
func (p *Provider) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if o := p.Object(provider.ManagedResource, req.Type); o != nil {
		return o.Apply(ctx, req)
	}
	return provider.ApplyResponse{State: req.Prior, Diagnostics: unknownType(req.Type)}
}

// ReadData is Object.ReadData for the type of the object.
func (p *Provider) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	if o := p.Object(provider.DataSource, req.Type); o != nil {
		return o.ReadData(ctx, req)
	}
	return provider.ReadDataResponse{Diagnostics: unknownType(req.Type)}
}

// Import returns an error: a mock has no existing objects.
func (p *Provider) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	return provider.ImportResponse{Diagnostics: diag.List{}.Errorf(nil, "Invalid import request", "The provider is "+
		"mocked, and a mock cannot import objects. Override the object with an override_resource block, or use a "+
		"real provider.")}
}

// PlanAction accepts every action.
func (p *Provider) PlanAction(context.Context, provider.PlanActionRequest) provider.PlanActionResponse {
	return provider.PlanActionResponse{}
}

// InvokeAction does nothing.
func (p *Provider) InvokeAction(context.Context, provider.InvokeActionRequest) provider.InvokeActionResponse {
	return provider.InvokeActionResponse{}
}

// OpenEphemeral returns an error: an ephemeral object cannot be generated.
func (p *Provider) OpenEphemeral(_ context.Context, req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	return provider.OpenEphemeralResponse{Diagnostics: diag.List{}.Errorf(nil, "Called OpenEphemeralResource on a mock",
		"The provider of the ephemeral resource type %q is mocked, and mocks have no ephemeral objects. Override its "+
			"module, or use a real provider.", req.Type)}
}

// Stop does nothing, like Close: the real provider is stopped by its owner.
func (p *Provider) Stop(context.Context) error { return nil }

// Close does nothing.
func (p *Provider) Close() error { return nil }
