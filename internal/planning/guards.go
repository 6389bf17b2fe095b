package planning

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/plan"
)

// guard evaluates a guard of a block for an instance. b is the block if it has the instance, otherwise nil.
func (p *planner) guard(slot *linking.Slot, g *config.Guard, b *eval.Block, a addr.AbsResourceInstance) (cty.Value,
	error) {
	var v cty.Value
	var diags diag.List
	if b != nil {
		v, diags = b.Guard(g, a.Key)
	} else {
		v, diags = p.walk.Guard(slot, g, a)
	}
	return v, p.walk.Report(diags)
}

// skipsDestroy reports whether the block of an instance sets destroy = false.
func (p *planner) skipsDestroy(slot *linking.Slot, b *eval.Block, a addr.AbsResourceInstance) (bool, error) {
	g := slot.Resource.Destroy
	if g == nil || p.opts.Unprotected {
		return false, nil
	}
	v, err := p.guard(slot, g, b, a)
	if err != nil {
		return false, err
	}
	if !v.IsKnown() {
		return false, p.walk.Report(unknownGuard(g, a, "the effect on the object"))
	}
	return v.False(), nil
}

// onlyForgotten reports whether the removal of a stored object only removes it from the state: its block says so or, if
// the object no longer has a block, the block said so when the object was last written (opentofu/destroy_remembered).
func (p *planner) onlyForgotten(o addr.Object) (bool, error) {
	if slot := p.prog.ResourceSlot(o.Instance.Config()); slot != nil {
		kept, err := p.skipsDestroy(slot, nil, o.Instance)
		if kept || err != nil || p.destroysWanted(slot, o) {
			return kept, err
		}
	}
	stored := p.prior.Object(o)
	return stored != nil && stored.SkipDestroy && !p.opts.Unprotected, nil
}

// destroysWanted reports whether everything is destroyed, and an included block may have the object.
func (p *planner) destroysWanted(slot *linking.Slot, o addr.Object) bool {
	if p.opts.Mode != plan.Destroy || o.Deposed != "" || !p.targets.Includes(slot) {
		return false
	}
	_, number := o.Instance.Key.Int()
	_, text := o.Instance.Key.Str()
	switch {
	case slot.Resource.Count != nil:
		return number
	case slot.Resource.ForEach != nil:
		return text
	}
	return o.Instance.Key.IsNone()
}

// protect returns an error for the destruction of an instance whose block sets prevent_destroy; b is the block if it
// has the instance.
func (p *planner) protect(c *plan.Change, b *eval.Block) error {
	a := c.Object.Instance
	slot := p.prog.ResourceSlot(a.Config())
	if slot == nil {
		return p.protectRemembered(c)
	}
	if slot.Resource.PreventDestroy == nil || c.Object.Deposed != "" || !c.Action.Destroys() ||
		p.opts.Unprotected {
		return nil
	}
	g := slot.Resource.PreventDestroy
	v, err := p.guard(slot, g, b, a)
	switch {
	case err != nil:
		return err
	case !v.IsKnown():
		return p.walk.Report(unknownGuard(g, a, "whether the object may be destroyed, which this plan would do"))
	case v.False():
		return nil
	}
	return p.walk.Report(diag.List{{Severity: diag.Error, Summary: "Instance cannot be destroyed",
		Subject: slot.Resource.DeclRange.Ptr(), Address: c.Object.String(),
		Detail: fmt.Sprintf("The plan would destroy %s, which lifecycle.prevent_destroy does not allow. If it may be "+
			"destroyed, remove prevent_destroy. Otherwise undo the change that requires this, or leave the object "+
			"out with -target.", c.Object)}})
}

// remembers reports whether an instance is stored as protected by prevent_destroy.
func (p *planner) remembers(b *eval.Block, a addr.AbsResourceInstance) (bool, error) {
	g := b.Config().PreventDestroy
	if g == nil || !p.opts.Remember || a.Resource.Mode != addr.Managed {
		return false, nil
	}
	v, err := p.guard(b.Slot, g, b, a)
	if err != nil {
		return false, err
	}
	if !v.IsKnown() { // an unknown value does not end the protection
		stored := p.prior.Object(addr.Object{Instance: a})
		return stored == nil || stored.Protected, nil
	}
	return v.True(), nil
}

// unprotects reports whether an existing object loses the protection recorded in the state.
func (m *managed) unprotects(action plan.Action) bool {
	if m.b == nil || !m.p.opts.Remember || m.protected || action == plan.Create {
		return false
	}
	stored := m.p.prior.Object(m.obj)
	return stored != nil && stored.Protected
}

// protectRemembered returns an error for the destruction of an object whose block was removed and set prevent_destroy
// in its last apply. A removed block allows the destruction.
func (p *planner) protectRemembered(c *plan.Change) error {
	stored := p.prior.Object(c.Object)
	if !p.opts.Remember || p.opts.Unprotected || stored == nil || !stored.Protected || !c.Action.Destroys() ||
		c.Object.Deposed != "" || p.prog.RemovalOf(c.Object.Instance) != nil {
		return nil
	}
	return p.walk.Report(diag.List{{Severity: diag.Error, Summary: "Instance cannot be destroyed",
		Address: c.Object.String(),
		Detail: fmt.Sprintf("The plan would destroy %s, which no longer has a block. When it was last applied, its "+
			"block had lifecycle.prevent_destroy, which this project remembers. Restore the block. If the object may "+
			"be destroyed, add a removed block for it; to keep the object unmanaged, add one with destroy = false.",
			c.Object)}})
}

func unknownGuard(g *config.Guard, a addr.AbsResourceInstance, what string) diag.List {
	return diag.List{{Severity: diag.Error, Summary: "Invalid value for " + g.Name, Subject: g.Range.Ptr(),
		Address: a.String(), Detail: fmt.Sprintf("The value is unknown during planning, so this cannot be "+
			"determined: %s. Use known values, such as variables, keys or attributes of existing objects.", what)}}
}
