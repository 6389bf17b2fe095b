package tfjson

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/provider"
)

// ProviderSchemas writes the output of `providers schema -json`, on one line.
func ProviderSchemas(w io.Writer, schemas Schemas) error {
	s := newStream(w)
	s.open('{')
	s.member("format_version", schemaFormat)
	s.schemas(schemas)
	s.close('}')
	return s.end()
}

// ProviderSchema writes the part of one provider.
func ProviderSchema(w io.Writer, p *provider.Schema) error {
	s := newStream(w)
	s.providerSchema(p)
	return s.end()
}

func (s *stream) schemas(schemas Schemas) {
	if len(schemas) == 0 {
		return
	}
	s.key("provider_schemas")
	s.open('{')
	for _, p := range slices.SortedFunc(maps.Keys(schemas), func(a, b addr.Provider) int {
		return cmp.Compare(a.String(), b.String())
	}) {
		s.key(p.String())
		s.providerSchema(schemas[p])
	}
	s.close('}')
}

func (s *stream) providerSchema(p *provider.Schema) {
	s.open('{')
	s.key("provider")
	s.open('{')
	s.memberInt("version", 0)
	if p.Provider != nil {
		s.key("block")
		s.block(p.Provider)
	}
	s.close('}')
	s.resourceTypes("resource_schemas", p.Resources)
	s.resourceTypes("data_source_schemas", p.Data)
	s.resourceTypes("ephemeral_resource_schemas", p.Ephemeral)
	s.resourceTypes("list_resource_schemas", p.Lists)
	s.actionTypes(p.Actions)
	if len(p.Functions) > 0 {
		s.key("functions")
		s.open('{')
		for _, name := range slices.Sorted(maps.Keys(p.Functions)) {
			s.key(name)
			s.function(p.Functions[name])
		}
		s.close('}')
	}
	s.identities(p.Resources)
	s.close('}')
}

func (s *stream) resourceTypes(name string, types map[string]*provider.ResourceType) {
	if len(types) == 0 {
		return
	}
	s.key(name)
	s.open('{')
	for _, t := range slices.Sorted(maps.Keys(types)) {
		s.key(t)
		s.open('{')
		s.memberInt("version", types[t].Version)
		s.key("block")
		s.block(types[t].Block)
		s.close('}')
	}
	s.close('}')
}

// actionTypes writes the schemas of actions, which have no version.
func (s *stream) actionTypes(types map[string]*provider.ResourceType) {
	if len(types) == 0 {
		return
	}
	s.key("action_schemas")
	s.open('{')
	for _, t := range slices.Sorted(maps.Keys(types)) {
		s.key(t)
		s.open('{')
		s.key("block")
		s.block(types[t].Block)
		s.close('}')
	}
	s.close('}')
}

// identities writes the identities of the types that have one.
func (s *stream) identities(types map[string]*provider.ResourceType) {
	some := false
	for _, t := range slices.Sorted(maps.Keys(types)) {
		identity := types[t].Identity
		if identity == nil {
			continue
		}
		if !some {
			s.key("resource_identity_schemas")
			s.open('{')
			some = true
		}
		s.key(t)
		s.open('{')
		s.memberInt("version", identity.Version)
		s.key("attributes")
		s.open('{')
		for _, name := range slices.Sorted(maps.Keys(identity.Attributes)) {
			a := identity.Attributes[name]
			s.key(name)
			s.open('{')
			s.key("type")
			s.typ(a.Type)
			s.optional("description", a.Description)
			s.flag("required_for_import", a.RequiredForImport)
			s.flag("optional_for_import", a.OptionalForImport)
			s.close('}')
		}
		s.close('}')
		s.close('}')
	}
	if some {
		s.close('}')
	}
}

// flag writes a member only if it is true.
func (s *stream) flag(name string, v bool) {
	if v {
		s.memberBool(name, true)
	}
}

func (s *stream) description(text string, kind provider.DescriptionKind) {
	s.optional("description", text)
	if kind == provider.Markdown {
		s.member("description_kind", "markdown")
	} else {
		s.member("description_kind", "plain")
	}
}

func (s *stream) block(b *provider.Block) {
	s.open('{')
	if len(b.Attributes) > 0 {
		s.key("attributes")
		s.attributes(b.Attributes)
	}
	if len(b.Blocks) > 0 {
		s.key("block_types")
		s.open('{')
		for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
			nb := b.Blocks[name]
			s.key(name)
			s.open('{')
			s.member("nesting_mode", nestingName(nb.Nesting))
			s.key("block")
			s.block(&nb.Block)
			if nb.MinItems > 0 {
				s.memberInt("min_items", int64(nb.MinItems))
			}
			if nb.MaxItems > 0 {
				s.memberInt("max_items", int64(nb.MaxItems))
			}
			s.close('}')
		}
		s.close('}')
	}
	s.description(b.Description, b.DescriptionKind)
	s.flag("deprecated", b.Deprecated)
	s.close('}')
}

func nestingName(n provider.Nesting) string {
	switch n {
	case provider.NestingGroup:
		return "group"
	case provider.NestingList:
		return "list"
	case provider.NestingSet:
		return "set"
	case provider.NestingMap:
		return "map"
	}
	return "single"
}

func (s *stream) attributes(attributes map[string]*provider.Attribute) {
	s.open('{')
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		s.key(name)
		s.open('{')
		if a.Nested != nil {
			s.key("nested_type")
			s.open('{')
			s.key("attributes")
			s.attributes(a.Nested.Attributes)
			s.member("nesting_mode", nestingName(a.Nested.Nesting))
			s.close('}')
		} else {
			s.key("type")
			s.typ(a.Type)
		}
		s.description(a.Description, a.DescriptionKind)
		s.flag("deprecated", a.Deprecated)
		s.flag("required", a.Required)
		s.flag("optional", a.Optional)
		s.flag("computed", a.Computed)
		s.flag("sensitive", a.Sensitive)
		s.flag("write_only", a.WriteOnly)
		s.close('}')
	}
	s.close('}')
}

func (s *stream) function(f *provider.Function) {
	s.open('{')
	s.optional("description", f.Description)
	s.optional("summary", f.Summary)
	s.optional("deprecation_message", f.Deprecated)
	s.key("return_type")
	s.typ(f.Return)
	if len(f.Params) > 0 {
		s.key("parameters")
		s.open('[')
		for i := range f.Params {
			s.parameter(&f.Params[i])
		}
		s.close(']')
	}
	if f.VarParam != nil {
		s.key("variadic_parameter")
		s.parameter(f.VarParam)
	}
	s.close('}')
}

func (s *stream) parameter(p *provider.FunctionParam) {
	s.open('{')
	s.member("name", p.Name)
	s.optional("description", p.Description)
	s.flag("is_nullable", p.AllowNull)
	s.key("type")
	s.typ(p.Type)
	s.close('}')
}

// VersionInfo is the document of `version -json`.
type VersionInfo struct {
	TerraformVersion   string            `json:"terraform_version"`
	Platform           string            `json:"platform"`
	ProviderSelections map[string]string `json:"provider_selections"`
	TerraformOutdated  *bool             `json:"terraform_outdated,omitempty"` // OpenTofu has no such member
	TomboloVersion     string            `json:"tombolo_version,omitempty"`    // unless called as terraform
}

// Version writes the document of `version -json`, indented.
func Version(w io.Writer, v VersionInfo) error {
	if v.ProviderSelections == nil {
		v.ProviderSelections = map[string]string{}
	}
	return indented(w, v)
}
