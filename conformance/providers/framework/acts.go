package main

import (
	"context"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/action"
	actionschema "github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ provider.ProviderWithActions       = &shapes{}
	_ provider.ProviderWithListResources = &shapes{}
	_ action.ActionWithModifyPlan        = &ring{}
	_ action.ActionWithValidateConfig    = &ring{}
)

// Actions returns the actions of the provider.
func (*shapes) Actions(context.Context) []func() action.Action {
	return []func() action.Action{func() action.Action { return &ring{} }}
}

// ListResources returns the list resources of the provider.
func (*shapes) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{func() list.ListResource { return &found{} }}
}

// ring is an action that appends its text to the file rung.log.
type ring struct{}

type ringModel struct {
	Text types.String `tfsdk:"text"`
	How  types.Object `tfsdk:"how"`
}

func (*ring) Metadata(_ context.Context, _ action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = "shapes_ring"
}

func (*ring) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = actionschema.Schema{Attributes: map[string]actionschema.Attribute{
		"text": actionschema.StringAttribute{Required: true},
		"how": actionschema.SingleNestedAttribute{Optional: true, Attributes: map[string]actionschema.Attribute{
			"loud": actionschema.BoolAttribute{Optional: true},
		}},
	}}
}

func (*ring) ValidateConfig(ctx context.Context, req action.ValidateConfigRequest,
	resp *action.ValidateConfigResponse) {
	var m ringModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if m.Text.ValueString() == "invalid" {
		resp.Diagnostics.AddAttributeError(path.Root("text"), "Invalid text", "It cannot be rung.")
	}
}

func (*ring) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var m ringModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if m.Text.ValueString() == "unplanned" {
		resp.Diagnostics.AddAttributeError(path.Root("text"), "Cannot plan", "Nobody would hear it.")
	}
}

func (*ring) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m ringModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	resp.SendProgress(action.InvokeProgressEvent{Message: "ringing " + m.Text.ValueString()})
	if m.Text.ValueString() == "broken" {
		resp.Diagnostics.AddError("Cannot ring", "It is broken.")
		return
	}
	f, err := os.OpenFile("rung.log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(m.Text.ValueString() + "\n")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		resp.Diagnostics.AddError("Cannot ring", err.Error())
	}
}

// found lists objects of the type shapes_nested, always the same.
type found struct{}

func (*found) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "shapes_nested"
}

func (*found) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest,
	resp *list.ListResourceSchemaResponse) {
	resp.Schema = listschema.Schema{Attributes: map[string]listschema.Attribute{
		"prefix": listschema.StringAttribute{Optional: true},
	}}
}

func (*found) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var prefix types.String
	diags := req.Config.GetAttribute(ctx, path.Root("prefix"), &prefix)
	if prefix.ValueString() == "broken" {
		diags.AddError("Cannot list", "There is no such prefix.")
	}
	if diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		sent := int64(0)
		for _, name := range []string{"one", "two", "other"} {
			if !strings.HasPrefix(name, prefix.ValueString()) {
				continue
			}
			if sent++; sent > req.Limit {
				return
			}
			r := req.NewListResult(ctx)
			r.DisplayName = "the object " + name
			r.Diagnostics.Append(r.Identity.SetAttribute(ctx, path.Root("name"), name)...)
			if req.IncludeResource {
				r.Diagnostics.Append(r.Resource.SetAttribute(ctx, path.Root("name"), name)...)
				r.Diagnostics.Append(r.Resource.SetAttribute(ctx, path.Root("id"), "id-"+name)...)
			}
			if !push(r) {
				return
			}
		}
	}
}
