package planning

import (
	"context"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/hiding"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Evaluate evaluates a configuration for inspection, with resources from the state. No provider is configured. Objects
// that are not in the state are unknown. The returned walk has ended and can evaluate expressions
// (eval.Instance.Expression); after errors, which the diagnostics report, values are unknown.
func Evaluate(ctx context.Context, prog *linking.Program, prior *state.State, providers Providers, o Options) (
	*eval.Walk,
	diag.List) {
	v := &viewer{calls: ctx, prior: prior, providers: providers}
	in := o.Inputs()
	in.Unchecked = true
	v.walk = eval.NewWalk(prog, in, v)
	return ended(v.walk, v.walk.Run(ctx))
}

// Explore plans like Run, but returns the walk instead of the plan, to evaluate expressions with planned values.
func Explore(ctx, calls context.Context, prog *linking.Program, prior *state.State, providers Providers, o Options) (
	*eval.Walk, diag.List) {
	p := newPlanner(calls, prog, prior, providers, o)
	err := p.walkAll(ctx)
	return ended(p.walk, err)
}

func ended(w *eval.Walk, err error) (*eval.Walk, diag.List) {
	w.Settle()
	diags := w.Diagnostics()
	if err != nil {
		diags = diags.AppendError("Operation canceled", err)
	}
	return w, diags
}

// viewer is the driver of a walk over stored objects.
type viewer struct {
	calls     context.Context
	prior     *state.State
	providers Providers
	walk      *eval.Walk
}

// Provider implements eval.Driver.
func (v *viewer) Provider(*linking.Slot, addr.Key, cty.Value) error { return nil }

// RootOutput implements eval.Driver.
func (v *viewer) RootOutput(*linking.Slot, cty.Value) error { return nil }

// Resource implements eval.Driver: the instances are those of the state, as far as their keys match the block.
func (v *viewer) Resource(_ *graph.Node, b *eval.Block) error {
	exp := v.expansion(b)
	values := make(map[addr.Key]cty.Value, len(exp.Keys))
	for _, key := range exp.Keys {
		object, err := v.object(b, key)
		if err != nil {
			return err
		}
		values[key] = object
	}
	b.Set(exp, values)
	return nil
}

func (v *viewer) expansion(b *eval.Block) eval.Expansion {
	exp := eval.Expansion{Mode: eval.Unknown}
	stored := v.prior.Resource(b.Addr())
	if stored == nil || b.Slot.Type == nil {
		return exp
	}
	mode := eval.Single
	switch cfg := b.Config(); {
	case cfg.Count != nil:
		mode = eval.Counted
	case cfg.ForEach != nil:
		mode = eval.Keyed
	case cfg.Enabled != nil:
		mode = eval.Switched
	}
	count := 0
	for key, inst := range stored.Instances {
		n, isInt := key.Int()
		_, isStr := key.Str()
		if inst.Current == nil || isInt != (mode == eval.Counted) || isStr != (mode == eval.Keyed) {
			continue
		}
		exp.Mode, count = mode, max(count, n+1)
		exp.Keys = append(exp.Keys, key)
	}
	if exp.Mode == eval.Counted {
		exp.Keys = exp.Keys[:0] // a gap is an unknown instance
		for n := range count {
			exp.Keys = append(exp.Keys, addr.IntKey(n))
		}
	}
	slices.SortFunc(exp.Keys, addr.Key.Compare)
	return exp
}

// object returns a stored object in the form of the current schema.
func (v *viewer) object(b *eval.Block, key addr.Key) (cty.Value, error) {
	a := addr.Object{Instance: b.Addr().Instance(key)}
	stored := v.prior.Object(a)
	if stored == nil {
		return cty.DynamicVal, nil
	}
	block := b.Slot.Type.Block
	var decoded cty.Value
	if stored.SchemaVersion == b.Slot.Type.Version && stored.Flat == nil {
		var err error
		if decoded, err = stored.Value(block.ImpliedType()); err != nil {
			return cty.DynamicVal, v.walk.Report(diag.FromError("Cannot read the stored object "+a.String(),
				err).InAddress(a.String()))
		}
	} else {
		inst, diags := v.providers.Unconfigured(b.Slot.ProviderConfig.Provider)
		if err := v.walk.Report(diags); err != nil {
			return cty.DynamicVal, err
		}
		hiding.Stored(v.walk.Inputs.Secrets, b.Slot.Type.Block, stored)
		up := inst.UpgradeState(v.calls, provider.UpgradeStateRequest{
			Type: a.Instance.Resource.Type, Version: stored.SchemaVersion, Stored: provider.StoredObject{
				JSON: stored.Attributes, Flat: stored.Flat},
		})
		if err := v.walk.Report(up.Diagnostics.InAddress(a.String())); err != nil {
			return cty.DynamicVal, err
		}
		decoded = up.State
	}
	return value.MarkAt(decoded, value.Sensitive, planValue(block, decoded, stored.Sensitive).Sensitive), nil
}
