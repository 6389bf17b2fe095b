package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// blocks has blocks of every kind in the framework, in two levels.
type blocks struct{}

type blocksModel struct {
	ID     types.String `tfsdk:"id"`
	Count  types.Int64  `tfsdk:"rules"`
	Rule   types.List   `tfsdk:"rule"`
	Tag    types.Set    `tfsdk:"tag"`
	Limits types.Object `tfsdk:"limits"`
}

func (*blocks) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_blocks"
}

func (*blocks) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"id":    schema.StringAttribute{Computed: true},
			"rules": schema.Int64Attribute{Computed: true},
		},
		Blocks: map[string]schema.Block{
			"rule": schema.ListNestedBlock{
				PlanModifiers: []planmodifier.List{
					listplanmodifier.RequiresReplaceIf(func(_ context.Context, req planmodifier.ListRequest,
						resp *listplanmodifier.RequiresReplaceIfFuncResponse) {
						resp.RequiresReplace = len(req.PlanValue.Elements()) < len(req.StateValue.Elements())
					}, "fewer rules", "fewer rules")},
				NestedObject: schema.NestedBlockObject{
					Attributes: map[string]schema.Attribute{
						"port": schema.Int64Attribute{Required: true},
						"made": schema.StringAttribute{Computed: true},
					},
					Blocks: map[string]schema.Block{"match": schema.SetNestedBlock{
						NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
							"key":    schema.StringAttribute{Required: true},
							"secret": schema.StringAttribute{Optional: true, Sensitive: true},
						}}}},
				},
			},
			"tag": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{
				Attributes: map[string]schema.Attribute{
					"key":   schema.StringAttribute{Required: true},
					"value": schema.StringAttribute{Optional: true},
				},
				Blocks: map[string]schema.Block{"extra": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
					Attributes: map[string]schema.Attribute{
						"text": schema.StringAttribute{Optional: true},
					}}}},
			}},
			"limits": schema.SingleNestedBlock{
				Attributes: map[string]schema.Attribute{"max": schema.Int64Attribute{Optional: true}},
				Blocks: map[string]schema.Block{"inner": schema.SingleNestedBlock{
					Attributes: map[string]schema.Attribute{
						"min": schema.Int64Attribute{Optional: true},
					}}},
			},
		},
	}
}

func finish(ctx context.Context, m *blocksModel) {
	m.ID = types.StringValue("blocks")
	m.Count = types.Int64Value(int64(len(m.Rule.Elements())))
	rules := make([]attr.Value, 0, len(m.Rule.Elements()))
	for _, e := range m.Rule.Elements() {
		o := e.(types.Object)
		attributes := o.Attributes()
		attributes["made"] = types.StringValue("port " + attributes["port"].String())
		rules = append(rules, types.ObjectValueMust(o.AttributeTypes(ctx), attributes))
	}
	m.Rule = types.ListValueMust(m.Rule.ElementType(ctx), rules)
}

func (*blocks) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m blocksModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	finish(ctx, &m)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (*blocks) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (*blocks) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m blocksModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	finish(ctx, &m)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (*blocks) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// versioned is at its third schema: objects of the first two are upgraded.
type versioned struct{}

type versionedModel struct {
	Words []string `tfsdk:"words"`
	From  int64    `tfsdk:"from"`
}

func (*versioned) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_versioned"
}

func (*versioned) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Version: 2, Attributes: map[string]schema.Attribute{
		"words": schema.ListAttribute{Required: true, ElementType: types.StringType},
		"from":  schema.Int64Attribute{Computed: true},
	}}
}

func (*versioned) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	one := schema.Schema{Version: 1, Attributes: map[string]schema.Attribute{"word": schema.StringAttribute{
		Required: true}}}
	return map[int64]resource.StateUpgrader{
		// The first version is read as it was written.
		0: {StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest,
			resp *resource.UpgradeStateResponse) {
			if len(req.RawState.JSON) == 0 {
				resp.Diagnostics.AddError("Nothing to upgrade", "The state came without JSON.")
			}
			set(ctx, resp, []string{string(req.RawState.JSON)}, 0)
		}},
		1: {PriorSchema: &one, StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest,
			resp *resource.UpgradeStateResponse) {
			var word types.String
			resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("word"), &word)...)
			set(ctx, resp, []string{word.ValueString()}, 1)
		}},
	}
}

func set(ctx context.Context, resp *resource.UpgradeStateResponse, words []string, from int64) {
	resp.Diagnostics.Append(resp.State.Set(ctx, versionedModel{Words: words, From: from})...)
}

func (*versioned) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("from"), 2)...)
}

func (*versioned) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (*versioned) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("from"), 2)...)
}

func (*versioned) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// former is the type from which nested accepts moved objects.
type former struct{}

func (*former) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_former"
}

func formerSchema() schema.Schema {
	return schema.Schema{Attributes: map[string]schema.Attribute{
		"id":    schema.StringAttribute{Computed: true},
		"title": schema.StringAttribute{Required: true},
	}}
}

func (*former) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = formerSchema()
}

func (*former) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), "former")...)
}

func (*former) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (*former) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
}

func (*former) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
