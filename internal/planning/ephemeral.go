package planning

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// openEphemeral opens an ephemeral resource for this run. When its configuration is not known yet, or something that it
// is to wait for still has to change, it stays closed and its value unknown.
func (p *planner) openEphemeral(b *eval.Block, key addr.Key) (cty.Value, error) {
	inst := b.Addr().Instance(key)
	unknown := cty.UnknownVal(b.Slot.Type.Block.ImpliedType()).Mark(value.Ephemeral)
	prov, err := p.provider(b.Slot.ProviderConfig)
	if err != nil {
		return cty.DynamicVal, err
	}
	if err := p.walk.Report(b.Preconditions(key)); err != nil {
		return cty.DynamicVal, err
	}
	config, _, err := p.configuration(b, key, prov)
	if err != nil {
		return cty.DynamicVal, err
	}
	if !ctyfast.WhollyKnown(config) || p.dataMustWait(b) {
		b.Unchecked(key)
		return unknown, nil
	}
	var diags diag.List
	v := unknown
	p.call(func() { v, diags = p.ephemerals.Open(inst, prov, b.Slot.Type.Block, config, client) })
	if err := p.walk.Report(b.Locate(diags, key)); err != nil {
		return cty.DynamicVal, err
	}
	secret, _ := value.UnmarkDeep(v)
	p.opts.Secrets.Add(secret, []cty.Path{{}})
	return v, p.walk.Report(b.Postconditions(key, v))
}

// CloseEphemeral implements eval.Closer.
func (p *planner) CloseEphemeral(a addr.AbsResource) error {
	return p.walk.Report(p.ephemerals.CloseBlock(a))
}
