package wire

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// encodeSchema encodes a schema. It fails for anything that the version cannot express, and for attributes without a
// type.
func encodeSchema(s *provider.Schema, v *version) (*plugin6.SchemaResponse, error) {
	e := &schemaEncoder{version: v}
	m := &plugin6.SchemaResponse{
		Provider:           e.top("provider", &provider.ResourceType{Block: s.Provider}),
		Resources:          encodeEach(e, "resource ", s.Resources, e.top),
		DataSources:        encodeEach(e, "data source ", s.Data, e.top),
		EphemeralResources: encodeEach(e, "ephemeral resource ", s.Ephemeral, e.top),
		Functions:          encodeEach(e, "function ", s.Functions, e.function),
		ListResources:      encodeEach(e, "list resource ", s.Lists, e.top),
		Actions: encodeEach(e, "action ", s.Actions,
			func(where string, t *provider.ResourceType) *plugin6.ActionSchema {
				return &plugin6.ActionSchema{Schema: e.top(where, t)}
			}),
		ServerCapabilities: encodeCapabilities(s),
	}
	if s.Meta != nil {
		m.ProviderMeta = e.top("provider_meta", &provider.ResourceType{Block: s.Meta})
	}
	return m, e.err
}

func encodeCapabilities(s *provider.Schema) *plugin6.ServerCapabilities {
	return &plugin6.ServerCapabilities{
		PlanDestroy: s.PlanDestroy, GetProviderSchemaOptional: s.GetProviderSchemaOptional,
		MoveResourceState: s.MoveResourceState, GenerateResourceConfig: s.GenerateConfig,
	}
}

func encodeIdentities(s *provider.Schema) (map[string]*plugin6.IdentitySchema, error) {
	e := &schemaEncoder{}
	out := map[string]*plugin6.IdentitySchema{}
	for _, name := range slices.Sorted(maps.Keys(s.Resources)) {
		identity := s.Resources[name].Identity
		if identity == nil {
			continue
		}
		m := &plugin6.IdentitySchema{Version: identity.Version}
		for _, attr := range slices.Sorted(maps.Keys(identity.Attributes)) {
			a := identity.Attributes[attr]
			where := "identity of " + name + ", attribute " + attr
			ty, err := encodeType(a.Type)
			e.fail(where, err)
			m.Attributes = append(m.Attributes, &plugin6.IdentitySchema_Attribute{
				Name: attr, Type: ty, Description: text(a.Description),
				RequiredForImport: a.RequiredForImport, OptionalForImport: a.OptionalForImport,
			})
		}
		out[name] = m
	}
	return out, e.err
}

// schemaEncoder keeps the first error.
type schemaEncoder struct {
	version *version
	err     error
}

func (e *schemaEncoder) fail(where string, err error) {
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s: %w", where, err)
	}
}

func encodeEach[T, M any](e *schemaEncoder, what string, in map[string]T,
	encode func(where string, v T) M) map[string]M {
	out := make(map[string]M, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out[name] = encode(what+name, in[name])
	}
	return out
}

func (e *schemaEncoder) top(where string, t *provider.ResourceType) *plugin6.Schema {
	return &plugin6.Schema{Version: t.Version, Block: e.block(where, t.Block)}
}

func (e *schemaEncoder) block(where string, b *provider.Block) *plugin6.Block {
	if b == nil {
		return &plugin6.Block{}
	}
	m := &plugin6.Block{
		Attributes:  e.attributes(where, b.Attributes),
		Description: text(b.Description), DescriptionKind: encodeKind(b.DescriptionKind),
		Deprecated: b.Deprecated, DeprecationMessage: text(b.DeprecationMessage), Computed: b.Computed,
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		nb := b.Blocks[name]
		m.Blocks = append(m.Blocks, &plugin6.NestedBlock{
			Name: name, Block: e.block(where+", block "+name, &nb.Block), Nesting: e.nesting(where+", block "+name,
				nb.Nesting),
			MinItems: int64(nb.MinItems), MaxItems: int64(nb.MaxItems),
		})
	}
	return m
}

func (e *schemaEncoder) attributes(where string, in map[string]*provider.Attribute) []*plugin6.Attribute {
	out := make([]*plugin6.Attribute, 0, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out = append(out, e.attribute(where+", attribute "+name, name, in[name]))
	}
	return out
}

func (e *schemaEncoder) attribute(where, name string, a *provider.Attribute) *plugin6.Attribute {
	m := &plugin6.Attribute{
		Name: name, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
		WriteOnly:   a.WriteOnly,
		Description: text(a.Description), DescriptionKind: encodeKind(a.DescriptionKind),
		Deprecated: a.Deprecated, DeprecationMessage: text(a.DeprecationMessage),
	}
	if a.Nested == nil {
		ty, err := encodeType(a.Type)
		e.fail(where, err)
		m.Type = ty
		return m
	}
	if !e.version.nestedAttributes {
		e.fail(where, fmt.Errorf("version %d of the plugin protocol has no nested attributes", e.version.number))
	}
	m.Nested = &plugin6.NestedAttributes{Attributes: e.attributes(where, a.Nested.Attributes),
		Nesting: e.nesting(where, a.Nested.Nesting)}
	return m
}

func (e *schemaEncoder) nesting(where string, n provider.Nesting) plugin6.NestingMode {
	m, ok := nestingModes[n]
	if !ok {
		e.fail(where, fmt.Errorf("there is no nesting mode %d", n))
	}
	return m
}

func (e *schemaEncoder) function(where string, f *provider.Function) *plugin6.Function {
	ty, err := encodeType(f.Return)
	e.fail(where+", result", err)
	m := &plugin6.Function{
		Return: &plugin6.Function_Return{Type: ty}, Summary: text(f.Summary), Description: text(f.Description),
		DescriptionKind: encodeKind(f.DescriptionKind), DeprecationMessage: text(f.Deprecated),
	}
	for i := range f.Params {
		m.Parameters = append(m.Parameters, e.parameter(where, &f.Params[i]))
	}
	if f.VarParam != nil {
		m.VariadicParameter = e.parameter(where, f.VarParam)
	}
	return m
}

func (e *schemaEncoder) parameter(where string, p *provider.FunctionParam) *plugin6.Function_Parameter {
	ty, err := encodeType(p.Type)
	e.fail(where+", parameter "+p.Name, err)
	return &plugin6.Function_Parameter{
		Name: p.Name, Type: ty, AllowNull: p.AllowNull, AllowUnknown: p.AllowUnknown,
		Description: text(p.Description), DescriptionKind: encodeKind(p.DescriptionKind),
	}
}

var nestingModes = map[provider.Nesting]plugin6.NestingMode{
	provider.NestingSingle: plugin6.NestingMode_NESTING_SINGLE,
	provider.NestingGroup:  plugin6.NestingMode_NESTING_GROUP,
	provider.NestingList:   plugin6.NestingMode_NESTING_LIST,
	provider.NestingSet:    plugin6.NestingMode_NESTING_SET,
	provider.NestingMap:    plugin6.NestingMode_NESTING_MAP,
}

func encodeKind(k provider.DescriptionKind) plugin6.TextKind {
	if k == provider.Markdown {
		return plugin6.TextKind_MARKDOWN
	}
	return plugin6.TextKind_PLAIN
}
