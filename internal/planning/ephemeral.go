package planning

import (
	"errors"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// openEphemeral opens an ephemeral resource for this run. If its configuration is unknown, or if a dependency has
// pending changes, it stays closed and its value is unknown.
func (p *planner) openEphemeral(b *eval.Block, key addr.Key) (cty.Value, error) {
	unknown := cty.UnknownVal(b.Slot.Type.Block.ImpliedType()).Mark(value.Ephemeral)
	cfg, err := b.ConfiguredBy(key)
	if err != nil {
		return cty.DynamicVal, err
	}
	prov, err := p.provider(cfg)
	if err != nil {
		return cty.DynamicVal, err
	}
	if err := p.walk.Report(b.Preconditions(key)); err != nil {
		return cty.DynamicVal, err
	}
	config, marks, err := p.configuration(b, key, prov)
	if err != nil {
		return cty.DynamicVal, err
	}
	if !ctyfast.WhollyKnown(config) || p.dataMustWait(b) {
		b.Unchecked(key)
		return unknown, nil
	}
	v, err := p.Open(b, key, cfg, prov, config, marks, p.client())
	if later := (access.Deferral{}); errors.As(err, &later) {
		b.Unchecked(key)
		return unknown, p.postpones(cfg, later.Reason, nil)
	}
	return v, err
}
