//go:build unix

package liar

import (
	"context"
	"os"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// complete is the honest provider with the features added after terraform 1.11: identities, lists and actions. Its
// ephemeral resources must be renewed.
type complete struct{ honest }

func (c complete) Schema(ctx context.Context) (*provider.Schema, diags) {
	s := schemaOf(c.nested)
	identity := &provider.IdentitySchema{Attributes: map[string]*provider.IdentityAttribute{
		"name":   {Type: cty.String, RequiredForImport: true},
		"region": {Type: cty.String, OptionalForImport: true}}}
	for _, rt := range s.Resources {
		rt.Identity = identity
	}
	config := &provider.ResourceType{Block: &provider.Block{Attributes: map[string]*provider.Attribute{
		"text": attribute(optional)}}}
	s.Lists = map[string]*provider.ResourceType{"liar_thing": config}
	s.Actions = map[string]*provider.ResourceType{"liar_ring": config}
	return s, nil
}

func identityOf(v cty.Value) cty.Value {
	if v == cty.NilVal || v.IsNull() {
		return cty.NilVal
	}
	return cty.ObjectVal(map[string]cty.Value{"name": v.GetAttr("name"), "region": cty.StringVal("here")})
}

func (c complete) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	resp := c.honest.Plan(ctx, req)
	if resp.Identity = identityOf(resp.Planned); resp.Identity == cty.NilVal {
		resp.Identity = req.PriorIdentity
	}
	return resp
}

func (c complete) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if os.Getenv(fieldEnv) == "renew" {
		time.Sleep(2500 * time.Millisecond) // it is renewed meanwhile
	}
	resp := c.honest.Apply(ctx, req)
	if resp.Identity = identityOf(resp.State); resp.Identity == cty.NilVal {
		resp.Identity = req.PlannedIdentity
	}
	return resp
}

func (c complete) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior, Identity: identityOf(req.Prior), Private: req.Private}
}

func (c complete) UpgradeIdentity(_ context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	return provider.UpgradeIdentityResponse{Identity: cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a"),
		"region": cty.StringVal("here")})}
}

func (c complete) MoveState(ctx context.Context, req provider.MoveStateRequest) provider.MoveStateResponse {
	resp := c.honest.MoveState(ctx, req)
	resp.Identity = identityOf(resp.State)
	return resp
}

func (c complete) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	name := req.ID
	if req.Identity != cty.NilVal && !req.Identity.IsNull() {
		name = req.Identity.GetAttr("name").AsString()
	}
	o := object(c.nested, name)
	return provider.ImportResponse{Imported: []provider.ImportedObject{
		{Type: req.Type, State: o, Identity: identityOf(o)}}}
}

func (c complete) OpenEphemeral(ctx context.Context,
	req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	resp := c.honest.OpenEphemeral(ctx, req)
	resp.RenewAt, resp.Private = time.Now().Add(time.Second), []byte("lent")
	return resp
}

func (c complete) RenewEphemeral(_ context.Context,
	req provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	return provider.RenewEphemeralResponse{RenewAt: time.Now().Add(time.Hour), Private: req.Private}
}

func (c complete) CloseEphemeral(context.Context, provider.CloseEphemeralRequest) diags { return nil }

func (c complete) List(_ context.Context, req provider.ListRequest) provider.ListResponse {
	var resp provider.ListResponse
	for _, name := range []string{"a", "b"} {
		o := object(c.nested, name)
		one := provider.Listed{Identity: identityOf(o), DisplayName: "the thing " + name}
		if req.IncludeObject {
			one.Object = o
		}
		resp.Results = append(resp.Results, one)
	}
	return resp
}

func (c complete) PlanAction(context.Context, provider.PlanActionRequest) provider.PlanActionResponse {
	return provider.PlanActionResponse{}
}

func (c complete) InvokeAction(_ context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	if req.Progress != nil {
		req.Progress("ringing")
	}
	return provider.InvokeActionResponse{}
}
