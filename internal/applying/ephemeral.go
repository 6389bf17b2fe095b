package applying

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/eval"
)

// openEphemeral opens an ephemeral resource again: the plan closed those that it opened.
func (a *applier) openEphemeral(b *eval.Block, key addr.Key) (cty.Value, error) {
	cfg, err := b.ConfiguredBy(key)
	if err != nil {
		return cty.DynamicVal, err
	}
	prov, _, err := a.provider(cfg)
	if err != nil {
		return cty.DynamicVal, err
	}
	config, marks, err := a.configuration(b, key)
	if err != nil {
		return cty.DynamicVal, err
	}
	return a.Open(b, key, cfg, prov, config, marks, access.Client)
}
