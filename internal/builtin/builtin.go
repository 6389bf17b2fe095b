// Package builtin holds the provider that is part of every engine of the language, terraform.io/builtin/terraform: the
// resource type terraform_data, the data source terraform_remote_state, and functions that read and write the syntax of
// the language.
//
// It reads states through a function of the caller, and does not implement backends.
package builtin

import (
	"context"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Options holds the provider's dependencies.
type Options struct {
	// RemoteState returns the state at a backend configuration, for a data source. The backend's own settings are in
	// config.
	RemoteState func(ctx context.Context, of addr.Object, backend, workspace string, config cty.Value) (*state.State,
		diag.List)
	// Backends are the backends that RemoteState supports, with the types of their arguments; nil leaves all checks to
	// RemoteState.
	Backends map[string]cty.Type
	// NewID returns the ID of a new terraform_data; nil means a random UUID.
	NewID func() string
}

// The names of the provider's types.
const (
	typeData        = "terraform_data"
	typeRemoteState = "terraform_remote_state"
)

// New returns the provider.
func New(o Options) provider.Provider {
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return &terraform{opts: o}
}

type terraform struct {
	provider.Base
	opts Options
	// planned and applied are the types of the last objects.
	planned, applied ctyfast.LastType
}

var dataBlock = &provider.Block{Attributes: map[string]*provider.Attribute{
	"input":            {Type: cty.DynamicPseudoType, Optional: true},
	"output":           {Type: cty.DynamicPseudoType, Computed: true},
	"triggers_replace": {Type: cty.DynamicPseudoType, Optional: true},
	"id":               {Type: cty.String, Computed: true},
}, Blocks: map[string]*provider.NestedBlock{"store": storeBlock}}

var remoteStateBlock = &provider.Block{Attributes: map[string]*provider.Attribute{
	"backend": {Type: cty.String, Required: true,
		Description:     "The type of the backend that keeps the state, such as `local`.",
		DescriptionKind: provider.Markdown},
	"config": {Type: cty.DynamicPseudoType, Optional: true,
		Description:     "The arguments of the backend, as in its `backend` block.",
		DescriptionKind: provider.Markdown},
	"defaults": {Type: cty.DynamicPseudoType, Optional: true,
		Description: "Default values for outputs that the state does not have.", DescriptionKind: provider.Markdown},
	"outputs": {Type: cty.DynamicPseudoType, Computed: true,
		Description: "The outputs of the root module in that state, as an object.", DescriptionKind: provider.Markdown},
	"workspace": {Type: cty.String, Optional: true,
		Description:     "The workspace whose state is read, where the backend has workspaces.",
		DescriptionKind: provider.Markdown},
}}

// dataIdentity lets import blocks identify an object by identity. As in Terraform, it is not stored, because it equals
// the id.
var dataIdentity = &provider.IdentitySchema{Attributes: map[string]*provider.IdentityAttribute{
	"id": {Type: cty.String, RequiredForImport: true, Description: "The ID of the object."},
}}

// types are shared: schemas are immutable, and deriving types from one is expensive once.
var types = struct{ data, remoteState *provider.ResourceType }{
	&provider.ResourceType{Block: dataBlock, Identity: dataIdentity, Newer: []string{"store"}},
	&provider.ResourceType{Block: remoteStateBlock}}

// Schema implements provider.Provider.
func (t *terraform) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{
		Provider:  &provider.Block{}, // its blocks have no arguments
		Resources: map[string]*provider.ResourceType{typeData: types.data},
		Data:      map[string]*provider.ResourceType{typeRemoteState: types.remoteState},
		Functions: signatures(),
		StateOnly: true,
	}, nil
}

// UpgradeState implements provider.Provider: there is one schema version.
func (t *terraform) UpgradeState(ctx context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	if req.Type != typeData {
		return t.Base.UpgradeState(ctx, req)
	}
	return provider.DecodeStored(types.data, req) // a stored object may lack the block "store"
}

// Plan implements provider.Provider for terraform_data: output follows input, and a change of triggers_replace, or of
// the stored value if the block says so, requires a replacement.
func (t *terraform) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	if req.Type != typeData {
		return t.Base.Plan(ctx, req)
	}
	if req.Proposed.IsNull() {
		return provider.PlanResponse{Planned: req.Proposed, Private: req.PriorPrivate}
	}
	input, store := ctyfast.Attr(req.Proposed, "input"), ctyfast.Attr(req.Proposed, "store")
	resp := provider.PlanResponse{Private: req.PriorPrivate}
	renewed, prior := req.Prior.IsNull(), cty.NullVal(store.Type())
	if !renewed {
		prior = ctyfast.Attr(req.Prior, "store")
		if !ctyfast.RawEquals(ctyfast.Attr(req.Proposed, "triggers_replace"),
			ctyfast.Attr(req.Prior, "triggers_replace")) {
			resp.RequiresReplace = []cty.Path{cty.GetAttrPath("triggers_replace")}
			renewed = true
		}
	}
	same := !renewed && ctyfast.RawEquals(input, ctyfast.Attr(req.Prior, "input"))
	if config := ctyfast.Attr(req.Config, "store"); same && config.IsNull() && ctyfast.RawEquals(config, store) {
		resp.Planned = req.Proposed // a copy would take memory for each unchanged object
		return resp
	}
	planned := req.Proposed.AsValueMap()
	var replaces bool
	planned["store"], replaces, resp.Diagnostics = planStore(prior, ctyfast.Attr(req.Config, "store"), renewed)
	if replaces {
		resp.RequiresReplace = append(resp.RequiresReplace, cty.GetAttrPath("store").GetAttr("input"))
		renewed = true
	}
	if renewed {
		planned["id"] = cty.UnknownVal(cty.String).RefineNotNull()
		planned["output"] = outputOf(input)
	} else if !same {
		planned["output"] = cty.UnknownVal(input.Type()) // even if the input was removed
	}
	resp.Planned = t.planned.Share(cty.ObjectVal(planned))
	return resp
}

// outputOf returns the planned value of output: unknown, with the type of input, unless there is no input.
func outputOf(input cty.Value) cty.Value {
	if input.IsKnown() && input.IsNull() {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return cty.UnknownVal(input.Type())
}

// Apply implements provider.Provider for terraform_data.
func (t *terraform) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Type != typeData {
		return t.Base.Apply(ctx, req)
	}
	if req.Planned.IsNull() {
		return provider.ApplyResponse{State: req.Planned}
	}
	vals := req.Planned.AsValueMap()
	if !vals["id"].IsKnown() {
		vals["id"] = cty.StringVal(t.opts.NewID())
	}
	vals["output"] = vals["input"]
	vals["store"] = applyStore(vals["store"], ctyfast.Attr(req.Config, "store"))
	return provider.ApplyResponse{State: t.applied.Share(cty.ObjectVal(vals)), Private: req.PlannedPrivate}
}

// Import implements provider.Provider: the id is used unchanged.
func (t *terraform) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	if req.Type != typeData {
		return t.Base.Import(ctx, req)
	}
	id := req.ID
	if req.Identity != cty.NilVal {
		if v := ctyfast.Attr(req.Identity, "id"); !v.IsNull() {
			id = v.AsString()
		}
	}
	if id == "" {
		return provider.ImportResponse{Diagnostics: diag.List{}.Errorf(nil, "Cannot import terraform_data",
			"An id is required; it can be any string that is not empty.")}
	}
	v := cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal(id), "input": cty.NullVal(cty.DynamicPseudoType),
		"output": cty.NullVal(cty.DynamicPseudoType), "triggers_replace": cty.NullVal(cty.DynamicPseudoType),
		"store": cty.NullVal(storeBlock.Block.ImpliedType()),
	})
	return provider.ImportResponse{Imported: []provider.ImportedObject{{Type: req.Type, State: v}}}
}
