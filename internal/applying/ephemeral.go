package applying

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyset"
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
	if err := a.walk.Report(b.Preconditions(key)); err != nil {
		return cty.DynamicVal, err
	}
	marked, diags := b.Evaluate(key)
	if err := a.walk.Report(diags); err != nil {
		return cty.DynamicVal, err
	}
	config, marks := value.UnmarkDeep(marked)
	a.opts.Secrets.AddConfig(b.Slot.Type.Block, config, marks)
	if !ctyset.WhollyKnown(config) {
		return cty.DynamicVal, a.walk.Report(diag.List{}.Errorf(b.Config().DeclRange.Ptr(), "Configuration contains unknown value",
			"The configuration of %s still holds values that are not known, although everything it depends on has been applied. This is a bug in a provider or in the engine. Unknown: %s.", inst, paths(value.UnknownPaths(config))))
	}
	v := cty.DynamicVal
	if err := a.call(func() { v, diags = a.ephemerals.Open(inst, prov, b.Slot.Type.Block, config, client) }); err != nil {
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
