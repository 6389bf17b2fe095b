package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// ownValue is the value of self: the object whose block is evaluated.
type ownValue struct {
	addr  addr.Resource
	value cty.Value
}

// Provisioning holds the values of a provisioner's blocks, with marks. Connection is cty.NilVal if there is none.
type Provisioning struct{ Config, Connection cty.Value }

// Provisioner returns the configuration of a provisioner of an instance that was just created; self is its value, with
// marks.
func (b *Block) Provisioner(p *linking.Provisioner, key addr.Key, self cty.Value) (Provisioning, diag.List) {
	if d := b.Slot.Faulty(p.Body, p.Config.Connection, b.Config().Connection); d != nil {
		return unknownProvisioning, d
	}
	base := b.Instance.scope(p.Refs, &ownValue{b.Config().Addr, self})
	v, diags := b.Instance.provisioning(p, withSelf(b.exp.Repetition(key).Context(base), self))
	return v, diags.InAddress(b.Addr().Instance(key).String())
}

// DestroyProvisioner returns the configuration of a provisioner for an object that is about to be destroyed. Its module
// instance may no longer be in the configuration: such a block has no references that need evaluation.
func (w *Walk) DestroyProvisioner(u *linking.Unit, p *linking.Provisioner, a addr.AbsResourceInstance, self cty.Value) (
	Provisioning, diag.List) {
	i := &Instance{Addr: a.Module, Unit: u, walk: w}
	ctx := Repetition{Key: a.Key, Each: cty.DynamicVal}.Context(i.Scope(p.Refs))
	v, diags := i.provisioning(p, withSelf(ctx, self))
	return v, diags.InAddress(a.String())
}

var unknownProvisioning = Provisioning{cty.DynamicVal, cty.NilVal}

func (i *Instance) provisioning(p *linking.Provisioner, ctx *hcl.EvalContext) (v Provisioning, diags diag.List) {
	v.Config, diags = i.evalBody(p.Body, ctx)
	if p.Connection == nil {
		return v, diags
	}
	conn, more := i.evalBody(p.Connection, ctx)
	v.Connection = conn
	return v, diags.Extend(more)
}

// Check reports problems that the schemas of the blocks cannot find.
func (v Provisioning) Check(p *linking.Provisioner) diag.List {
	config, _ := value.UnmarkDeep(v.Config)
	connection := v.Connection
	if connection != cty.NilVal {
		connection, _ = value.UnmarkDeep(connection)
	}
	return p.Check(config, connection)
}
