package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// nested has attributes that are nested in every mode, with defaults and computed parts.
type nested struct{ prefix string }

type nestedModel struct {
	ID            types.String  `tfsdk:"id"`
	Name          types.String  `tfsdk:"name"`
	Size          types.Int64   `tfsdk:"size"`
	Ratio         types.Float64 `tfsdk:"ratio"`
	Exact         types.Number  `tfsdk:"exact"`
	Single        types.Object  `tfsdk:"single"`
	List          types.List    `tfsdk:"list"`
	Set           types.Set     `tfsdk:"set"`
	Map           types.Map     `tfsdk:"map"`
	Made          types.List    `tfsdk:"made"`
	Anything      types.Dynamic `tfsdk:"anything"`
	Same          types.Dynamic `tfsdk:"same"`
	Secret        types.String  `tfsdk:"secret"`
	SecretWO      types.String  `tfsdk:"secret_wo"`
	SecretVersion types.Int64   `tfsdk:"secret_version"`
	SecretLength  types.Int64   `tfsdk:"secret_length"`
	Updates       types.Int64   `tfsdk:"updates"`
	Last          types.String  `tfsdk:"last"`
}

var (
	_ resource.ResourceWithConfigure      = &nested{}
	_ resource.ResourceWithImportState    = &nested{}
	_ resource.ResourceWithIdentity       = &nested{}
	_ resource.ResourceWithModifyPlan     = &nested{}
	_ resource.ResourceWithMoveState      = &nested{}
	_ resource.ResourceWithValidateConfig = &nested{}
)

func (*nested) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_nested"
}

func leaf() schema.NestedAttributeObject {
	return schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
		"key":   schema.StringAttribute{Required: true},
		"value": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("default")},
		"deep": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{
			Attributes: map[string]schema.Attribute{
				"x": schema.StringAttribute{Optional: true, Sensitive: true},
				"y": schema.SetAttribute{Optional: true, ElementType: types.NumberType},
			}}},
	}}
}

var madeType = types.ObjectType{AttrTypes: map[string]attr.Type{"n": types.Int64Type, "text": types.StringType}}

func (*nested) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": schema.StringAttribute{Computed: true, PlanModifiers: keep},
		"name": schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{
			stringplanmodifier.RequiresReplace()}},
		"size":  schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(3)},
		"ratio": schema.Float64Attribute{Optional: true},
		"exact": schema.NumberAttribute{Optional: true},
		"single": schema.SingleNestedAttribute{Optional: true, Computed: true, Attributes: map[string]schema.Attribute{
			"a":    schema.StringAttribute{Optional: true},
			"made": schema.StringAttribute{Computed: true, PlanModifiers: keep},
			"fixed": schema.StringAttribute{Optional: true, PlanModifiers: []planmodifier.String{
				stringplanmodifier.RequiresReplaceIfConfigured(),
			}},
			"deep": schema.MapNestedAttribute{Optional: true, NestedObject: leaf()},
		}},
		"list": schema.ListNestedAttribute{Optional: true, NestedObject: leaf()},
		"set":  schema.SetNestedAttribute{Optional: true, NestedObject: leaf()},
		"map":  schema.MapNestedAttribute{Optional: true, Sensitive: true, NestedObject: leaf()},
		"made": schema.ListNestedAttribute{Computed: true, NestedObject: schema.NestedAttributeObject{
			Attributes: map[string]schema.Attribute{"n": schema.Int64Attribute{Computed: true},
				"text": schema.StringAttribute{Computed: true}}}},
		"anything":       schema.DynamicAttribute{Optional: true},
		"same":           schema.DynamicAttribute{Computed: true},
		"secret":         schema.StringAttribute{Optional: true, Sensitive: true},
		"secret_wo":      schema.StringAttribute{Optional: true, WriteOnly: true},
		"secret_version": schema.Int64Attribute{Optional: true},
		"secret_length":  schema.Int64Attribute{Computed: true},
		"updates":        schema.Int64Attribute{Computed: true},
		"last":           schema.StringAttribute{Optional: true, DeprecationMessage: "Nobody needs it."},
	}}
}

func (*nested) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest,
	resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"name": identityschema.StringAttribute{RequiredForImport: true},
	}}
}

func (r *nested) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.prefix, _ = req.ProviderData.(string)
}

func (*nested) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest,
	resp *resource.ValidateConfigResponse) {
	var m nestedModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if m.Size.ValueInt64() > 100 {
		resp.Diagnostics.AddAttributeError(path.Root("size"), "Too large", "A hundred is the most.")
	}
	for i, e := range m.List.Elements() {
		if o, ok := e.(types.Object); ok && o.Attributes()["key"].Equal(types.StringValue("bad")) {
			resp.Diagnostics.AddAttributeError(path.Root("list").AtListIndex(i).AtName("key"), "Bad key",
				"This key is bad.")
		}
	}
	if o, ok := m.Map.Elements()["odd"].(types.Object); ok {
		resp.Diagnostics.AddAttributeWarning(path.Root("map").AtMapKey("odd").AtName("key"), "Odd key",
			fmt.Sprintf("With %d attributes.", len(o.Attributes())))
	}
}

// ModifyPlan sets the computed values that follow from the configuration.
func (*nested) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.AddWarning("Going away", "The object is going to be destroyed.")
		return
	}
	var m nestedModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !m.Anything.IsUnknown() && !m.Anything.IsUnderlyingValueUnknown() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("same"), m.Anything)...)
	}
	if m.Name.ValueString() == "refused" {
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Refused", "This name is refused while planning.")
	}
}

// make fills in computed values.
func (r *nested) make(m *nestedModel, config nestedModel, updates int64) {
	m.ID = types.StringValue(r.prefix + "id-" + m.Name.ValueString())
	m.Same = m.Anything
	m.SecretWO = types.StringNull()
	m.SecretLength = types.Int64Value(int64(len(config.SecretWO.ValueString())))
	m.Updates = types.Int64Value(updates)
	made := make([]attr.Value, 0, 2)
	for n := range min(m.Size.ValueInt64(), 3) {
		made = append(made, types.ObjectValueMust(madeType.AttrTypes, map[string]attr.Value{"n": types.Int64Value(n),
			"text": types.StringValue("made " + strconv.FormatInt(n, 10))}))
	}
	m.Made = types.ListValueMust(madeType, made)
	if m.Single.IsUnknown() {
		m.Single = types.ObjectNull(m.Single.AttributeTypes(context.Background()))
	}
	if !m.Single.IsNull() {
		attributes := m.Single.Attributes()
		if attributes["made"].IsUnknown() {
			attributes["made"] = types.StringValue("made of " + m.Name.ValueString())
		}
		m.Single = types.ObjectValueMust(m.Single.AttributeTypes(context.Background()), attributes)
	}
}

func (r *nested) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m, config nestedModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	r.make(&m, config, 0)
	if m.Name.ValueString() == "half" {
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Half done", "The object is there, but not well.")
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("name"), m.Name)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "updates", []byte(`{"n":0}`))...)
}

func (r *nested) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var name types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("name"), &name)...)
	if resp.Identity != nil {
		resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("name"), name)...)
	}
}

func (r *nested) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, config nestedModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	private, diags := req.Private.GetKey(ctx, "updates")
	resp.Diagnostics.Append(diags...)
	var n int64
	fmt.Sscanf(string(private), `{"n":%d}`, &n)
	r.make(&m, config, n+1)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("name"), m.Name)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "updates", fmt.Appendf(nil, `{"n":%d}`, n+1))...)
}

func (*nested) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var name types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("name"), &name)...)
	if name.ValueString() == "stays" {
		resp.Diagnostics.AddError("Cannot delete", "It stays.")
	}
}

// ImportState accepts the name as id, or the identity.
func (*nested) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	name := req.ID
	if name == "" {
		var found types.String
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root("name"), &found)...)
		name = found.ValueString()
	}
	if name == "none" {
		resp.Diagnostics.AddError("No such object", "There is no object of this name.")
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), name)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), "id-"+name)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("size"), 3)...)
}

// MoveState accepts objects of the former type.
func (*nested) MoveState(context.Context) []resource.StateMover {
	old := formerSchema()
	return []resource.StateMover{
		{SourceSchema: &old, StateMover: func(ctx context.Context, req resource.MoveStateRequest,
			resp *resource.MoveStateResponse) {
			if req.SourceTypeName != "shapes_former" || req.SourceState == nil {
				return
			}
			var id, title types.String
			resp.Diagnostics.Append(req.SourceState.GetAttribute(ctx, path.Root("id"), &id)...)
			resp.Diagnostics.Append(req.SourceState.GetAttribute(ctx, path.Root("title"), &title)...)
			resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("id"), id)...)
			resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("name"), title)...)
			resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("size"), 3)...)
		}}}
}
