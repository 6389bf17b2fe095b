package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// Base implements every call except Schema: calls that need no work succeed, and calls that the provider does not
// support return an error. Implementations embed it and override the calls that they support.
type Base struct{}

func missing(what, typ string) diag.List {
	return diag.List{}.Errorf(nil, "Not supported by this provider", "The provider cannot %s %q.", what, typ)
}

// ValidateConfig accepts every configuration unchanged.
func (Base) ValidateConfig(_ context.Context, req ValidateConfigRequest) ValidateConfigResponse {
	return ValidateConfigResponse{Prepared: req.Config}
}

// ValidateResource accepts everything.
func (Base) ValidateResource(context.Context, ValidateResourceRequest) diag.List { return nil }

// Configure does nothing.
func (Base) Configure(context.Context, ConfigureRequest) ConfigureResponse {
	return ConfigureResponse{}
}

// UpgradeState fails, because Base has no schema; see DecodeStored for providers with a single schema version.
func (Base) UpgradeState(_ context.Context, req UpgradeStateRequest) UpgradeStateResponse {
	return UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: missing("upgrade the stored state of", req.Type)}
}

// UpgradeIdentity fails: the provider has no identities.
func (Base) UpgradeIdentity(_ context.Context, req UpgradeIdentityRequest) UpgradeIdentityResponse {
	return UpgradeIdentityResponse{Diagnostics: missing("upgrade the identity of", req.Type)}
}

// MoveState fails.
func (Base) MoveState(_ context.Context, req MoveStateRequest) MoveStateResponse {
	return MoveStateResponse{Diagnostics: missing("move another resource type to", req.TargetType)}
}

// Import fails.
func (Base) Import(_ context.Context, req ImportRequest) ImportResponse {
	return ImportResponse{Diagnostics: missing("import", req.Type)}
}

// Read reports the object unchanged.
func (Base) Read(_ context.Context, req ReadRequest) ReadResponse {
	return ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity}
}

// Plan fails.
func (Base) Plan(_ context.Context, req PlanRequest) PlanResponse {
	return PlanResponse{Planned: req.Proposed, Diagnostics: missing("plan", req.Type)}
}

// Apply fails and returns the object unchanged.
func (Base) Apply(_ context.Context, req ApplyRequest) ApplyResponse {
	return ApplyResponse{State: req.Prior, Diagnostics: missing("apply", req.Type)}
}

// GenerateConfig fails.
func (Base) GenerateConfig(_ context.Context, req GenerateConfigRequest) GenerateConfigResponse {
	return GenerateConfigResponse{Diagnostics: missing("write the configuration of", req.Type)}
}

// List fails.
func (Base) List(_ context.Context, req ListRequest) ListResponse {
	return ListResponse{Diagnostics: missing("list objects of", req.Type)}
}

// PlanAction accepts everything.
func (Base) PlanAction(context.Context, PlanActionRequest) PlanActionResponse {
	return PlanActionResponse{}
}

// InvokeAction fails.
func (Base) InvokeAction(_ context.Context, req InvokeActionRequest) InvokeActionResponse {
	return InvokeActionResponse{Diagnostics: missing("invoke the action", req.Type)}
}

// ReadData fails.
func (Base) ReadData(_ context.Context, req ReadDataRequest) ReadDataResponse {
	return ReadDataResponse{Diagnostics: missing("read the data source", req.Type)}
}

// OpenEphemeral fails.
func (Base) OpenEphemeral(_ context.Context, req OpenEphemeralRequest) OpenEphemeralResponse {
	return OpenEphemeralResponse{Diagnostics: missing("open the ephemeral resource", req.Type)}
}

// RenewEphemeral fails.
func (Base) RenewEphemeral(_ context.Context, req RenewEphemeralRequest) RenewEphemeralResponse {
	return RenewEphemeralResponse{Diagnostics: missing("renew the ephemeral resource", req.Type)}
}

// CloseEphemeral does nothing.
func (Base) CloseEphemeral(context.Context, CloseEphemeralRequest) diag.List { return nil }

// CallFunction fails.
func (Base) CallFunction(_ context.Context, name string, _ []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, fmt.Errorf("the provider has no function %q", name)
}

// Stop does nothing.
func (Base) Stop(context.Context) error { return nil }

// Close does nothing.
func (Base) Close() error { return nil }

// DecodeStored decodes a stored object of the current schema version, for UpgradeState of providers without upgrades.
// Attributes that the schema does not have are left out; missing ones are null.
func DecodeStored(rt *ResourceType, req UpgradeStateRequest) UpgradeStateResponse {
	if rt == nil {
		return UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: missing("upgrade the stored state of",
			req.Type)}
	}
	if req.Stored.JSON == nil {
		return UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: diag.List{}.Errorf(nil,
			"Unsupported state format",
			"The stored object of type %q is in the flat format of very old states, which this provider never wrote.",
			req.Type)}
	}
	ty := rt.Block.ImpliedType()
	if v, ok := ctyfast.ReadKeptJSON(req.Stored.JSON, ty); ok {
		return UpgradeStateResponse{State: v, AsStored: true}
	}
	if !json.Valid(req.Stored.JSON) {
		return UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: diag.List{}.Errorf(nil, "Invalid stored object",
			"The stored object of type %q is not valid JSON.", req.Type)}
	}
	v, err := decodeJSON(req.Stored.JSON, ty)
	if err != nil {
		// The schema may have changed since: removed attributes are left out, new ones are null.
		v, err = decodeJSON(fitted(req.Stored.JSON, ty), ty)
	}
	if err != nil {
		return UpgradeStateResponse{State: cty.DynamicVal, Diagnostics: diag.List{}.Errorf(nil, "Invalid stored object",
			"The stored object of type %q does not fit the provider's schema: %s.", req.Type, err)}
	}
	return UpgradeStateResponse{State: v}
}

func decodeJSON(data []byte, ty cty.Type) (cty.Value, error) {
	if v, ok := ctyfast.ReadJSON(data, ty); ok { // which does not read long numbers
		return v, nil
	}
	if err := CheckNumbers(data, ty, ctyjson.Unmarshal); err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal(data, ty)
}

// fitted removes the members of a stored object that its type does not have, and adds missing ones, at any depth.
// Members of another kind are left to the decoder.
func fitted(stored []byte, ty cty.Type) []byte {
	dec := json.NewDecoder(bytes.NewReader(stored))
	dec.UseNumber()
	var raw any
	if err := dec.Decode(&raw); err != nil {
		return stored
	}
	out, err := json.Marshal(fit(raw, ty))
	if err != nil {
		return stored
	}
	return out
}

func fit(raw any, ty cty.Type) any {
	switch v := raw.(type) {
	case map[string]any:
		switch {
		case ty.IsMapType():
			for k, e := range v {
				v[k] = fit(e, ty.ElementType())
			}
		case ty.IsObjectType():
			members := make(map[string]any, len(ty.AttributeTypes()))
			for name, aty := range ty.AttributeTypes() {
				members[name] = fit(v[name], aty)
			}
			return members
		}
	case []any:
		if ty.IsListType() || ty.IsSetType() {
			for i, e := range v {
				v[i] = fit(e, ty.ElementType())
			}
		}
	}
	return raw
}
