package planning

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Validate evaluates a configuration as far as possible without state, variables or providers' services: later values
// are unknown, and repeated blocks have one instance. Providers check their blocks, but are not configured.
func Validate(ctx context.Context, prog *linking.Program, providers Providers, o Options) diag.List {
	v := &validator{ctx: ctx, providers: providers, secrets: o.Secrets}
	in := o.Inputs()
	in.Validating = true
	v.walk = eval.NewWalk(prog, in, v)
	if err := v.walk.Run(ctx); err != nil {
		return v.walk.Diagnostics().AppendError("Operation canceled", err)
	}
	return v.walk.Diagnostics()
}

// validator is the driver of a validating walk.
type validator struct {
	ctx       context.Context
	providers Providers
	secrets   *value.Secrets
	walk      *eval.Walk
}

// Provider implements eval.Driver: the provider checks its block. An unused one may be incomplete: its arguments may
// come from environment variables that are not needed here.
func (v *validator) Provider(s *linking.Slot, _ addr.Key, config cty.Value) error {
	if !s.Used || s.Provider.Mock {
		return nil
	}
	inst, diags := v.providers.Unconfigured(s.Provider.Provider)
	if err := v.walk.Report(diags); err != nil {
		return err
	}
	var block *provider.Block
	if schema, _ := v.providers.Schema(s.Provider.Provider); schema != nil {
		block = schema.Provider
	}
	unmarked, _ := v.secrets.Unmark(block, config)
	resp := inst.ValidateConfig(v.ctx, provider.ValidateConfigRequest{Config: unmarked})
	return v.walk.Report(s.Body.Locate(resp.Diagnostics))
}

// RootOutput implements eval.Driver.
func (v *validator) RootOutput(*linking.Slot, cty.Value) error { return nil }

// Resource implements eval.Driver: the provider checks the configuration, whose computed attributes are unknown in
// references.
func (v *validator) Resource(_ *graph.Node, b *eval.Block) error {
	exp, diags := b.Expand()
	b.Prepare()
	var config cty.Value
	var err error
	if len(b.Slot.CalledBy) > 0 {
		config, err = b.EvaluateFor(addr.NoKey, cty.DynamicVal)
	} else {
		config, err = b.Evaluate(addr.NoKey)
	}
	bodyOK := err == nil
	diags = diags.Extend(b.Validate(bodyOK))
	if bodyOK {
		inst, d := v.providers.Unconfigured(b.Slot.ProviderConfig.Provider)
		if diags = diags.Extend(d); !d.HasErrors() {
			diags = diags.Extend(v.validateWithProvider(inst, b, config))
		}
	}
	diags = diags.Extend(b.CheckGuards(addr.NoKey))
	diags = diags.Extend(b.CheckProviderKey()).Extend(b.TriggerFaults())
	for _, p := range b.Slot.Provisioners {
		config, d := b.Provisioner(p, addr.NoKey, cty.DynamicVal)
		diags = diags.Extend(d)
		if !d.HasErrors() {
			diags = diags.Extend(config.Check(p))
		}
	}
	if more := v.walk.Report(diags); more != nil || err != nil {
		return eval.ErrReported
	}
	unknown := cty.DynamicVal
	if b.Config().Addr.Mode == addr.Ephemeral {
		unknown = unknown.Mark(value.Ephemeral)
	}
	b.Set(exp, map[addr.Key]cty.Value{addr.NoKey: unknown})
	return nil
}

// validateWithProvider calls the provider to validate the configuration.
func (v *validator) validateWithProvider(inst provider.Provider, b *eval.Block, config cty.Value) diag.List {
	unmarked, marks := v.secrets.Unmark(b.Slot.Type.Block, config)
	if b.Config().Addr.Mode == addr.List {
		s, diags := searchOf(b, addr.NoKey, unmarked)
		return diags.Extend(s.validate(v.ctx, inst))
	}
	if d := b.Persistable(addr.NoKey, marks.Ephemeral); d != nil {
		return d
	}
	return b.Locate(inst.ValidateResource(v.ctx, provider.ValidateResourceRequest{
		Kind: kinds[b.Config().Addr.Mode], Type: b.Config().Addr.Type, Config: unmarked, Client: access.Client,
	}), addr.NoKey)
}

var kinds = map[addr.Mode]provider.ResourceKind{
	addr.Managed: provider.ManagedResource, addr.Data: provider.DataSource, addr.Ephemeral: provider.EphemeralResource,
	addr.Action: provider.Action, addr.List: provider.ListResource,
}
