package linking

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Meta is the provider_meta block of a module for a provider. It is sent with calls for objects of that module. Its
// arguments are constants, so that all walks share it.
type Meta struct {
	Value cty.Value // cty.NilVal if there are problems
	// Problems are reported by plans that reach an object, because the block may be meant for another version of the
	// provider.
	Problems diag.List
	schema   *provider.Block // nil if the provider has no such block
}

// Meta returns the provider_meta block for a resource, or nil.
func (s *Slot) Meta() *Meta {
	if s == nil {
		return nil
	}
	return s.meta
}

// metaOf returns the provider_meta block of a module for a provider, or nil.
func (u *Unit) metaOf(a addr.Provider, schema *provider.Schema) *Meta {
	if m, ok := u.metas[a]; ok {
		return m
	}
	var m *Meta
	for _, b := range u.Module.ProviderMeta {
		if b.Provider == a {
			m = compileMeta(b, schema)
		}
	}
	if u.metas == nil {
		u.metas = map[addr.Provider]*Meta{}
	}
	u.metas[a] = m
	return m
}

func compileMeta(b *config.ProviderMeta, schema *provider.Schema) *Meta {
	m := &Meta{schema: schema.Meta}
	if schema.Meta == nil {
		m.Problems = m.Problems.Errorf(&b.NameRange, fmt.Sprintf("Provider %s doesn't support provider_meta",
			b.Provider),
			"The installed version of the provider %s does not support provider_meta blocks, but this module has one "+
				"for it. Remove the block, or select a version of the provider that supports them.",
			b.Provider.ForDisplay())
		return m
	}
	body, problems := blocks.Compile(b.Body, schema.Meta).Prepare(nil)
	m.Problems = problems
	if !problems.HasErrors() {
		m.Value, m.Problems = body.Instance(nil)
	}
	return m
}

// HideMetas adds the secrets of provider_meta blocks, according to their schemas, to secrets.
func (p *Program) HideMetas(secrets *value.Secrets) {
	for _, u := range p.order {
		for _, m := range u.metas {
			if m != nil && !m.Problems.HasErrors() {
				secrets.Unmark(m.schema, m.Value)
			}
		}
	}
}
