package applying

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// openEphemeral opens an ephemeral resource again: what planning opened was closed with the plan.
func (a *applier) openEphemeral(b *eval.Block, key addr.Key) (cty.Value, error) {
	inst := b.Addr().Instance(key)
	prov, _, err := a.provider(b.Slot.ProviderConfig)
	if err != nil {
		return cty.DynamicVal, err
	}
	config, _, err := a.configuration(b, key)
	if err != nil {
		return cty.DynamicVal, err
	}
	var diags diag.List
	v := cty.DynamicVal
	if err := a.call(func() {
		v, diags = a.ephemerals.Open(inst, prov, b.Slot.Type.Block, config,
			client)
	}); err != nil {
		return cty.DynamicVal, err
	}
	if err := a.walk.Report(b.Locate(diags, key)); err != nil {
		return cty.DynamicVal, err
	}
	secret, _ := value.UnmarkDeep(v)
	a.opts.Secrets.Add(secret, []cty.Path{{}})
	return v, a.walk.Report(b.Postconditions(key, v))
}

// CloseEphemeral implements eval.Closer.
func (a *applier) CloseEphemeral(r addr.AbsResource) error {
	return a.walk.Report(a.ephemerals.CloseBlock(r))
}
