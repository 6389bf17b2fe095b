package eval

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// ConfiguredBy returns the provider configuration that manages an instance of the block. If the provider block has
// several instances, the provider argument names one, or the call passes one to the module.
func (b *Block) ConfiguredBy(key addr.Key) (addr.AbsProviderConfig, error) {
	cfg := b.Slot.ProviderConfig
	i, s, ok := b.Provider()
	if !ok || s.Provider.ForEach == nil || b.Instance.walk.Inputs.Validating {
		return cfg, nil
	}
	if by := b.Slot.KeyedBy; by != nil {
		for at := b.Instance; at != nil; at = at.parent {
			if k, ok := at.passed[by]; ok {
				cfg.Key = k
				return cfg, nil
			}
		}
		return cfg, ErrReported // the call could not be evaluated
	}
	diags := b.Slot.Faulty(b.Config().ProviderKey)
	if diags == nil {
		cfg.Key, diags = i.providerKey(s, b.Config().ProviderKey, b.context(key))
	}
	return cfg, b.Instance.walk.Report(diags.InAddress(b.Addr().Instance(key).String()))
}

// CheckProviderKey checks the key of the provider argument as far as possible while validating.
func (b *Block) CheckProviderKey() diag.List {
	e := b.Config().ProviderKey
	if e == nil {
		return nil
	}
	if diags := b.Slot.Faulty(e); diags != nil {
		return diags
	}
	i, s, ok := b.Provider()
	if !ok {
		return nil // reported by the loader
	}
	_, diags := i.providerKey(s, e, b.context(addr.NoKey))
	return diags
}

// pass evaluates the instances of provider blocks that a call passes to each instance of its module.
func (i *Instance) pass(call *linking.Slot) (diags diag.List) {
	var ctx *hcl.EvalContext
	for n := range call.Call.Providers {
		p := &call.Call.Providers[n]
		if p.Key == nil {
			continue
		}
		if faults := call.Faulty(p.Key); faults != nil {
			diags = diags.Extend(faults)
			continue
		}
		block := i.Unit.Provider(p.InParent)
		if block == nil {
			continue // reported by the loader
		}
		if ctx == nil {
			ctx = i.Scope(call.Refs)
		}
		diags = diags.Extend(i.passTo(call, p, block, ctx))
	}
	return diags
}

func (i *Instance) passTo(call *linking.Slot, p *config.PassedProvider, block *linking.Slot,
	ctx *hcl.EvalContext) diag.List {
	if i.walk.Inputs.Validating {
		_, diags := i.providerKey(block, p.Key, Repetition{unknown: Unknown}.Context(ctx))
		return diags
	}
	var diags diag.List
	children := i.calls[call.Name].children
	for _, key := range i.calls[call.Name].keys {
		child := children[key]
		passed, d := i.providerKey(block, p.Key, child.rep.Context(ctx))
		if diags = diags.Extend(d.InAddress(child.Addr.String())); d.HasErrors() {
			continue
		}
		if child.passed == nil {
			child.passed = map[*config.PassedProvider]addr.Key{}
		}
		child.passed[p] = passed
	}
	return diags
}

// providerKey evaluates the key of an instance of a provider block of this module.
func (i *Instance) providerKey(block *linking.Slot, e hcl.Expression, ctx *hcl.EvalContext) (addr.Key, diag.List) {
	v, hclDiags := funcs.Evaluate(e, ctx)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if hclDiags.HasErrors() {
		return addr.NoKey, diags
	}
	bad := func(format string, args ...any) (addr.Key, diag.List) {
		return addr.NoKey, diags.Extend(blocks.Problem(e, ctx, "Invalid provider instance key", format, args...))
	}
	switch {
	case value.IsSensitive(v):
		return bad("The key is sensitive, but it is stored in the state and shown: it names the provider instance " +
			"that manages an object.")
	case value.IsEphemeral(v):
		return bad("The key is ephemeral. An object must have the same provider instance in every run.")
	}
	v, err := convert.Convert(v, cty.String)
	switch {
	case err != nil:
		return bad("The key of a provider instance must be a string: %s.", err)
	case v.IsNull():
		return bad("The key is null. It must be a key of the for_each of the provider block %s.", block.Provider.Addr())
	case !v.IsKnown() && i.walk.Inputs.Validating:
		return addr.NoKey, diags
	case !v.IsKnown():
		return bad("The key depends on attributes that are known only after apply, but the provider instance that " +
			"manages an object must be known during the plan.")
	}
	key := addr.StringKey(v.AsString())
	exp := i.evaluated(block)
	if exp == nil || exp.Mode != Keyed || exp.Has(key) {
		return key, diags
	}
	return addr.NoKey, diags.Extend(blocks.Problem(e, ctx, "Provider instance not present",
		"The provider block %s has no instance with the key %q. Its for_each has %s.", block.Provider.Addr(),
		v.AsString(), listedKeys(exp.Keys)))
}

// listedKeys lists up to ten keys, for messages.
func listedKeys(keys []addr.Key) string {
	if len(keys) == 0 {
		return "no keys"
	}
	const most = 10
	names := make([]string, 0, most)
	for _, k := range keys[:min(len(keys), most)] {
		s, _ := k.Str()
		names = append(names, `"`+s+`"`)
	}
	if len(keys) > most {
		names = append(names, "and others")
	}
	return "the keys " + strings.Join(names, ", ")
}

// HasProvider reports whether a provider configuration has the instance with an address. It returns true if the walk
// has not reached the block.
func (w *Walk) HasProvider(a addr.AbsProviderConfig) bool {
	s := w.Program.ProviderSlot(a)
	if s == nil {
		return false
	}
	if s.Provider.ForEach == nil {
		return a.Key.IsNone()
	}
	i := w.Instance(onlyInstance(a.Module))
	if i == nil {
		return true
	}
	exp := i.evaluated(s)
	return exp == nil || slices.Contains(exp.Keys, a.Key)
}

// evaluated returns the instances of a provider block, or nil before it has been evaluated.
func (i *Instance) evaluated(block *linking.Slot) *Expansion {
	i.walk.mu.Lock()
	defer i.walk.mu.Unlock()
	return i.providers[block.Index]
}

// onlyInstance returns the instance of a module with provider blocks: such modules are never repeated.
func onlyInstance(m addr.Module) addr.ModuleInstance {
	steps := make([]addr.Step, 0, len(m.Calls()))
	for _, c := range m.Calls() {
		steps = append(steps, addr.Step{Call: c})
	}
	return addr.ModuleInstanceOf(steps...)
}
