package planning

import (
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/hiding"
	"github.com/tombolo-iac/tombolo/provider"
)

// hidePrior adds the secrets of the state, because other objects may have copies of them, and be read first. A provider
// that the configuration does not use is not started for it.
func (p *planner) hidePrior() {
	used := map[addr.Provider]bool{}
	for _, m := range p.prog.Config.Modules {
		for _, r := range m.Resources {
			used[r.Provider] = true
		}
		for _, c := range m.ProviderConfigs {
			used[c.Provider] = true
		}
	}
	hiding.State(p.opts.Secrets, p.prior, func(a addr.Provider, r addr.Resource) *provider.Block {
		if !used[a] || r.Mode != addr.Managed {
			return nil
		}
		schema, _ := p.providers.Schema(a) // a problem was reported when the configuration was linked
		if schema == nil || schema.Resources[r.Type] == nil {
			return nil
		}
		return schema.Resources[r.Type].Block
	})
}
