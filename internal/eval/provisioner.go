package eval

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
)

// ownValue is the value of the object whose own block is evaluated.
type ownValue struct {
	addr  addr.Resource
	value cty.Value
}

// Provisioner returns the configuration of a provisioner of an instance that has just been created; self is its value,
// with marks.
func (b *Block) Provisioner(p *linking.Provisioner, key addr.Key, self cty.Value) (cty.Value, diag.List) {
	if d := b.Slot.Faulty(p.Body, p.Config.Connection, b.Config().Connection); d != nil {
		return cty.DynamicVal, d
	}
	base := b.Instance.scope(p.Refs, &ownValue{b.Config().Addr, self})
	v, diags := b.Instance.evalBody(p.Body, withSelf(b.exp.Repetition(key).Context(base), self))
	return v, diags.InAddress(b.Addr().Instance(key).String())
}

// DestroyProvisioner returns the configuration of a provisioner for an object that is about to be destroyed. Its module
// instance may be gone from the configuration: such a block mentions nothing that it would have had to evaluate.
func (w *Walk) DestroyProvisioner(u *linking.Unit, p *linking.Provisioner, a addr.AbsResourceInstance, self cty.Value) (
	cty.Value,
	diag.List) {
	i := &Instance{Addr: a.Module, Unit: u, walk: w}
	ctx := Repetition{Key: a.Key, Each: cty.DynamicVal}.Context(i.Scope(p.Refs))
	v, diags := i.evalBody(p.Body, withSelf(ctx, self))
	return v, diags.InAddress(a.String())
}
