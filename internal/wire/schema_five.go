package wire

import (
	"github.com/tombolo-iac/tombolo/internal/wire/plugin5"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

// schemaFromFive and schemaToFive convert a schema between the messages of versions 5 and 6, whose attributes have
// different field numbers.

func schemaFromFive(m *plugin5.SchemaResponse) *plugin6.SchemaResponse {
	return &plugin6.SchemaResponse{
		Provider: topFromFive(m.GetProvider()), ProviderMeta: topFromFive(m.GetProviderMeta()),
		Resources: mapValues(m.GetResources(), topFromFive), DataSources: mapValues(m.GetDataSources(), topFromFive),
		EphemeralResources: mapValues(m.GetEphemeralResources(), topFromFive), Functions: m.GetFunctions(),
		ListResources: mapValues(m.GetListResources(), topFromFive),
		Actions: mapValues(m.GetActions(), func(a *plugin5.ActionSchema) *plugin6.ActionSchema {
			return &plugin6.ActionSchema{Schema: topFromFive(a.GetSchema())}
		}),
		Diagnostics: m.GetDiagnostics(), ServerCapabilities: m.GetServerCapabilities(),
	}
}

func schemaToFive(m *plugin6.SchemaResponse) *plugin5.SchemaResponse {
	return &plugin5.SchemaResponse{
		Provider: topToFive(m.GetProvider()), ProviderMeta: topToFive(m.GetProviderMeta()),
		Resources: mapValues(m.GetResources(), topToFive), DataSources: mapValues(m.GetDataSources(), topToFive),
		EphemeralResources: mapValues(m.GetEphemeralResources(), topToFive), Functions: m.GetFunctions(),
		ListResources: mapValues(m.GetListResources(), topToFive),
		Actions: mapValues(m.GetActions(), func(a *plugin6.ActionSchema) *plugin5.ActionSchema {
			return &plugin5.ActionSchema{Schema: topToFive(a.GetSchema())}
		}),
		Diagnostics: m.GetDiagnostics(), ServerCapabilities: m.GetServerCapabilities(),
	}
}

func mapValues[A, B any](in map[string]A, f func(A) B) map[string]B {
	out := make(map[string]B, len(in))
	for k, v := range in {
		out[k] = f(v)
	}
	return out
}

func topFromFive(m *plugin5.Schema) *plugin6.Schema {
	if m == nil {
		return nil
	}
	return &plugin6.Schema{Version: m.GetVersion(), Block: blockFromFive(m.GetBlock(), 0)}
}

func topToFive(m *plugin6.Schema) *plugin5.Schema {
	if m == nil {
		return nil
	}
	return &plugin5.Schema{Version: m.GetVersion(), Block: blockToFive(m.GetBlock())}
}

// blockFromFive converts one level more than is allowed, so that the decoder detects a schema that is too deep.
func blockFromFive(m *plugin5.Block, depth int) *plugin6.Block {
	if m == nil {
		return nil
	}
	out := &plugin6.Block{
		Version: m.GetVersion(), Description: m.GetDescription(), DescriptionKind: m.GetDescriptionKind(),
		Deprecated: m.GetDeprecated(), DeprecationMessage: m.GetDeprecationMessage(), Computed: m.GetComputed(),
	}
	for _, a := range m.GetAttributes() {
		out.Attributes = append(out.Attributes, &plugin6.Attribute{
			Name: a.GetName(), Type: a.GetType(), Description: a.GetDescription(),
			DescriptionKind: a.GetDescriptionKind(),
			Required:        a.GetRequired(), Optional: a.GetOptional(), Computed: a.GetComputed(),
			Sensitive:  a.GetSensitive(),
			Deprecated: a.GetDeprecated(), WriteOnly: a.GetWriteOnly(), DeprecationMessage: a.GetDeprecationMessage(),
		})
	}
	if depth > maxSchemaDepth {
		return out
	}
	for _, b := range m.GetBlocks() {
		out.Blocks = append(out.Blocks, &plugin6.NestedBlock{
			Name: b.GetName(), Block: blockFromFive(b.GetBlock(), depth+1), Nesting: b.GetNesting(),
			MinItems: b.GetMinItems(), MaxItems: b.GetMaxItems(),
		})
	}
	return out
}

func blockToFive(m *plugin6.Block) *plugin5.Block {
	out := &plugin5.Block{
		Version: m.GetVersion(), Description: m.GetDescription(), DescriptionKind: m.GetDescriptionKind(),
		Deprecated: m.GetDeprecated(), DeprecationMessage: m.GetDeprecationMessage(), Computed: m.GetComputed(),
	}
	for _, a := range m.GetAttributes() {
		out.Attributes = append(out.Attributes, &plugin5.Attribute{
			Name: a.GetName(), Type: a.GetType(), Description: a.GetDescription(),
			DescriptionKind: a.GetDescriptionKind(),
			Required:        a.GetRequired(), Optional: a.GetOptional(), Computed: a.GetComputed(),
			Sensitive:  a.GetSensitive(),
			Deprecated: a.GetDeprecated(), WriteOnly: a.GetWriteOnly(), DeprecationMessage: a.GetDeprecationMessage(),
		})
	}
	for _, b := range m.GetBlocks() {
		out.Blocks = append(out.Blocks, &plugin5.NestedBlock{
			Name: b.GetName(), Block: blockToFive(b.GetBlock()), Nesting: b.GetNesting(), MinItems: b.GetMinItems(),
			MaxItems: b.GetMaxItems(),
		})
	}
	return out
}
