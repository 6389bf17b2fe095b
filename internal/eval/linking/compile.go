package linking

import (
	"fmt"
	"slices"
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/provider"
)

// compile determines the provider configuration and schema of every block of a module, and compiles the bodies against
// the schemas.
func (p *Program) compile(u *Unit) diag.List {
	var diags diag.List
	for _, s := range u.slots {
		switch s.Kind {
		case SlotProvider:
			schema, d := p.schema(s.Provider.Provider, s.Provider.Range)
			diags = diags.Extend(d)
			if schema == nil {
				continue
			}
			block := schema.Provider
			if block == nil || s.Provider.Mock {
				block = &provider.Block{}
			}
			s.Body = blocks.Compile(s.Provider.Body, block)
		case SlotResource:
			diags = diags.Extend(p.compileResource(s))
		}
	}
	return diags
}

// schema returns the schema of a provider. A problem of the provider is reported once, at the first block that uses it.
func (p *Program) schema(a addr.Provider, at hcl.Range) (*provider.Schema, diag.List) {
	schema, diags := p.Schemas.Schema(a)
	if len(diags) == 0 || !p.FirstReport(a) {
		return schema, nil
	}
	return schema, located(diags, at)
}

// located returns diagnostics with the given range for those without one.
func located(diags diag.List, at hcl.Range) diag.List {
	out := make(diag.List, 0, len(diags))
	for _, d := range diags {
		c := *d
		if c.Subject == nil {
			c.Subject = &at
		}
		out = append(out, &c)
	}
	return out
}

// FirstReport reports whether neither linking nor a walk has reported the problems of a provider's schema yet, and
// marks them as reported. It may be called concurrently.
func (p *Program) FirstReport(a addr.Provider) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.reported[a]
	p.reported[a] = true
	return first
}

var kindOf = map[addr.Mode]provider.ResourceKind{
	addr.Managed: provider.ManagedResource, addr.Data: provider.DataSource, addr.Ephemeral: provider.EphemeralResource,
	addr.Action: provider.Action, addr.List: provider.ListResource,
}

func (p *Program) compileResource(s *Slot) diag.List {
	r := s.Resource
	var diags diag.List
	abs, ok := s.unit.Module.ResolveProvider(r.ProviderConfig())
	if !ok {
		return diags // reported by the loader
	}
	s.ProviderConfig = abs
	if ps := p.providers[abs]; ps != nil {
		s.ProviderUnit, s.ProviderSlot = ps.unit, ps.Index
		if ps.Provider.ForEach != nil {
			s.KeyedBy = s.unit.Module.PassedBy(r.ProviderConfig())
		}
		ps.Used = true
	}
	schema, d := p.schema(abs.Provider, r.DeclRange)
	diags = diags.Extend(d)
	if schema == nil {
		return diags
	}
	s.Type = schema.Type(kindOf[r.Addr.Mode], r.Addr.Type)
	if s.Type == nil {
		s.fault(s.Resource, unknownType(schema, r, abs.Provider))
		return diags
	}
	if r.Addr.Mode == addr.List {
		s.Type = listType(s.Type)
	}
	s.Body = blocks.Compile(r.Body, s.Type.Block)
	if r.Addr.Mode == addr.Managed || r.Addr.Mode == addr.Data { // the protocol only supports it for these
		s.meta = s.unit.metaOf(abs.Provider, schema)
	}
	s.Provisioners, d = compileProvisioners(r.Provisioners, r.Connection)
	return diags.Extend(d)
}

// resourceType returns the object type of a resource type that is named in a type expression. It is called while
// linking and, for types in expressions, later.
func (p *Program) resourceType(m *config.Module, ref config.ResourceType) (cty.Type, diag.List) {
	a := m.ProviderOf(ref)
	schema, diags := p.Schemas.Schema(a)
	if diags.HasErrors() || schema == nil {
		return cty.DynamicPseudoType, slices.DeleteFunc(located(diags, ref.Range), func(d *diag.Diagnostic) bool {
			return d.Severity != diag.Error
		})
	}
	if t := schema.Type(kindOf[ref.Mode], ref.Type); t != nil {
		return t.Block.ImpliedType(), nil
	}
	return cty.DynamicPseudoType, unknownType(schema, &config.Resource{TypeRange: ref.Range,
		Addr: addr.Resource{Mode: ref.Mode, Type: ref.Type}}, a)
}

// unknownType explains that a provider has no such type, and suggests others.
func unknownType(schema *provider.Schema, r *config.Resource, p addr.Provider) diag.List {
	rng := r.TypeRange
	what, other := "resource type", ""
	names := map[string]*provider.ResourceType{}
	switch r.Addr.Mode {
	case addr.Managed:
		names = schema.Resources
		if schema.Data[r.Addr.Type] != nil {
			other = fmt.Sprintf(
				"\n\nThere is a data source %q: to use it, write \"data\" instead of \"resource\".",
				r.Addr.Type)
		}
	case addr.Data:
		what, names = "data source", schema.Data
		if schema.Resources[r.Addr.Type] != nil {
			other = fmt.Sprintf(
				"\n\nThere is a resource type %q: to use it, write \"resource\" instead of \"data\".",
				r.Addr.Type)
		}
	case addr.Ephemeral:
		what, names = "ephemeral resource", schema.Ephemeral
	case addr.Action:
		what, names = "action type", schema.Actions
	case addr.List:
		what, names = "list resource", schema.Lists
	}
	candidates := make([]string, 0, len(names))
	for n := range names {
		candidates = append(candidates, n)
	}
	sort.Strings(candidates)
	known := other != ""
	if !known {
		other = diag.DidYouMean(r.Addr.Type, candidates)
	}
	diags := diag.List{}.Errorf(&rng, "Invalid "+what, "The provider %s does not support %s %q.%s", p.ForDisplay(),
		what, r.Addr.Type, other)
	if !known {
		return diags.Meant(r.Addr.Type, candidates)
	}
	return diags
}
