// Command framework is a provider on the public plugin framework, protocol 6, with every feature of the framework:
// attributes nested in every mode, blocks in blocks, write-only and dynamic attributes, defaults, plan modifiers,
// private data, identities, upgrades, moves, functions, ephemeral resources, actions and lists. Its objects exist only
// in the state.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return &shapes{} },
		providerserver.ServeOpts{
			Address: "registry.terraform.io/tombolo/shapes",
		})
	if err != nil {
		log.Fatal(err)
	}
}

// shapes is the provider. Its configuration has a nested attribute and a block, and is passed to resources as a prefix
// of their ids.
type shapes struct{}

type settings struct {
	Prefix types.String `tfsdk:"prefix"`
	Secret types.String `tfsdk:"secret"`
	Names  types.Object `tfsdk:"names"`
	Region types.List   `tfsdk:"region"`
}

var _ provider.ProviderWithFunctions = &shapes{}
var _ provider.ProviderWithEphemeralResources = &shapes{}
var _ provider.ProviderWithValidateConfig = &shapes{}

func (*shapes) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "shapes", "1.0.0"
}

func (*shapes) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"prefix": schema.StringAttribute{Optional: true},
			"secret": schema.StringAttribute{Optional: true, Sensitive: true},
			"names": schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{
				"first": schema.StringAttribute{Required: true},
				"other": schema.ListAttribute{Optional: true, ElementType: types.StringType},
			}},
		},
		Blocks: map[string]schema.Block{
			"region": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
				Attributes: map[string]schema.Attribute{
					"name": schema.StringAttribute{Required: true},
				}}},
		},
	}
}

func (*shapes) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest,
	resp *provider.ValidateConfigResponse) {
	var s settings
	resp.Diagnostics.Append(req.Config.Get(ctx, &s)...)
	if s.Prefix.ValueString() == "bad" {
		resp.Diagnostics.AddAttributeError(path.Root("prefix"), "Bad prefix", "It cannot be bad.")
	}
}

func (*shapes) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var s settings
	resp.Diagnostics.Append(req.Config.Get(ctx, &s)...)
	if s.Prefix.ValueString() == "late" {
		resp.Diagnostics.AddAttributeError(path.Root("prefix"), "Cannot configure", "Found out late.")
	}
	if len(s.Region.Elements()) > 1 {
		resp.Diagnostics.AddAttributeWarning(path.Root("region").AtListIndex(1).AtName("name"), "Second region",
			"Only the first counts.")
	}
	prefix := s.Prefix.ValueString()
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData = prefix, prefix, prefix
}

func (*shapes) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &nested{} },
		func() resource.Resource { return &blocks{} },
		func() resource.Resource { return &versioned{} },
		func() resource.Resource { return &former{} },
	}
}

func (*shapes) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return &echo{} }}
}

func (*shapes) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{func() ephemeral.EphemeralResource { return &token{} }}
}

func (*shapes) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		func() function.Function { return join{} },
		func() function.Function { return describe{} },
		func() function.Function { return divide{} },
	}
}
