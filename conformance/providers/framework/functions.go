package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	ephemeralschema "github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// join is variadic; its separator may be null.
type join struct{}

func (join) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "join"
}

func (join) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary:           "Joins",
		Parameters:        []function.Parameter{function.StringParameter{Name: "separator", AllowNullValue: true}},
		VariadicParameter: function.StringParameter{Name: "parts"},
		Return:            function.StringReturn{},
	}
}

func (join) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var separator *string
	var parts []string
	if resp.Error = req.Arguments.Get(ctx, &separator, &parts); resp.Error != nil {
		return
	}
	if separator == nil {
		separator = new(string)
		*separator = "(null)"
	}
	resp.Error = resp.Result.Set(ctx, strings.Join(parts, *separator))
}

// describe accepts any value, including unknown ones, and returns an object.
type describe struct{}

func (describe) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "describe"
}

func (describe) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Parameters: []function.Parameter{function.DynamicParameter{Name: "value", AllowNullValue: true,
			AllowUnknownValues: true}},
		Return:             function.ObjectReturn{AttributeTypes: describedType},
		DeprecationMessage: "Look for yourself.",
	}
}

func (describe) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var v types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &v); resp.Error != nil {
		return
	}
	d := described{Known: !v.IsUnknown() && !v.IsUnderlyingValueUnknown(), Null: v.IsNull() ||
		v.IsUnderlyingValueNull()}
	if d.Known && !d.Null {
		text := fmt.Sprintf("%s %s", v.UnderlyingValue().Type(ctx), v.UnderlyingValue())
		d.Text = &text
	}
	resp.Error = resp.Result.Set(ctx, d)
}

// divide fails with an error for an argument, or a general one.
type divide struct{}

func (divide) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "divide"
}

func (divide) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Parameters: []function.Parameter{function.Int64Parameter{Name: "a"}, function.Int64Parameter{Name: "b"}},
		Return:     function.Int64Return{},
	}
}

func (divide) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var a, b int64
	if resp.Error = req.Arguments.Get(ctx, &a, &b); resp.Error != nil {
		return
	}
	switch {
	case b == 0:
		resp.Error = function.NewArgumentFuncError(1, "nothing is divided by zero")
	case a%b != 0:
		resp.Error = function.NewFuncError("a remainder is left")
	default:
		resp.Error = resp.Result.Set(ctx, a/b)
	}
}

// echo is a data source with nested attributes and a dynamic one.
type echo struct{}

func (*echo) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_echo"
}

func (*echo) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = dataschema.Schema{
		Attributes: map[string]dataschema.Attribute{
			"in":  dataschema.DynamicAttribute{Optional: true},
			"out": dataschema.DynamicAttribute{Computed: true},
			"pairs": dataschema.MapNestedAttribute{Optional: true, NestedObject: dataschema.NestedAttributeObject{
				Attributes: map[string]dataschema.Attribute{
					"a": dataschema.StringAttribute{Optional: true},
					"b": dataschema.StringAttribute{Computed: true, Sensitive: true},
				}}},
		},
	}
}

func (*echo) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var in types.Dynamic
	var pairs map[string]pair
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("in"), &in)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("pairs"), &pairs)...)
	for k, p := range pairs {
		p.B = types.StringValue("of " + k)
		pairs[k] = p
	}
	if in.UnderlyingValue() != nil && in.UnderlyingValue().Equal(types.StringValue("fail")) {
		resp.Diagnostics.AddAttributeError(path.Root("in"), "Cannot read", "Told to fail.")
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("in"), in)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("out"), in)...)
	if pairs != nil {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("pairs"), pairs)...)
	}
}

// token is ephemeral: it writes to the file "log" when it is opened, renewed and closed.
type token struct{}

var _ ephemeral.EphemeralResourceWithRenew = &token{}
var _ ephemeral.EphemeralResourceWithClose = &token{}

func (*token) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_token"
}

func (*token) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = ephemeralschema.Schema{Attributes: map[string]ephemeralschema.Attribute{
		"name":  ephemeralschema.StringAttribute{Required: true},
		"log":   ephemeralschema.StringAttribute{Optional: true},
		"value": ephemeralschema.StringAttribute{Computed: true, Sensitive: true},
		"uses": ephemeralschema.ListNestedAttribute{Optional: true, NestedObject: ephemeralschema.NestedAttributeObject{
			Attributes: map[string]ephemeralschema.Attribute{
				"kind": ephemeralschema.StringAttribute{Required: true},
			}}},
	}}
}

func (*token) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var name, log types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("name"), &name)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("log"), &log)...)
	if name.ValueString() == "locked" {
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Cannot open", "It is locked.")
		return
	}
	resp.Result.Raw = req.Config.Raw
	resp.Diagnostics.Append(resp.Result.SetAttribute(ctx, path.Root("value"), "token of "+name.ValueString())...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "log", fmt.Appendf(nil, "%q", log.ValueString()))...)
	if name.ValueString() == "short" {
		resp.RenewAt = time.Now().Add(time.Second)
	}
	note(log.ValueString(), "opened "+name.ValueString())
}

func (*token) Renew(ctx context.Context, req ephemeral.RenewRequest, resp *ephemeral.RenewResponse) {
	log, diags := req.Private.GetKey(ctx, "log")
	resp.Diagnostics.Append(diags...)
	note(strings.Trim(string(log), `"`), "renewed")
}

func (*token) Close(ctx context.Context, req ephemeral.CloseRequest, resp *ephemeral.CloseResponse) {
	log, diags := req.Private.GetKey(ctx, "log")
	resp.Diagnostics.Append(diags...)
	note(strings.Trim(string(log), `"`), "closed")
}

// note creates a file named after the event, so that events are visible in the directory.
func note(log, event string) {
	if log != "" {
		os.WriteFile(log+" "+event, nil, 0o666)
	}
}

// described is the result of the function describe.
type described struct {
	Known bool    `tfsdk:"known"`
	Null  bool    `tfsdk:"null"`
	Text  *string `tfsdk:"text"`
}

var describedType = map[string]attr.Type{"known": types.BoolType, "null": types.BoolType, "text": types.StringType}

// pair is an element of the data source echo.
type pair struct {
	A types.String `tfsdk:"a"`
	B types.String `tfsdk:"b"`
}
