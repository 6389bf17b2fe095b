package planning

import (
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// keepOutputs removes from the names of stored output values those that are kept: held ones and, unless everything is
// destroyed, all.
func (p *planner) keepOutputs(names map[string]bool, left []plan.LeftOut, deferred []plan.Deferral) {
	for _, d := range deferred {
		if name, ok := strings.CutPrefix(d.Address, "output."); ok {
			delete(names, name)
		}
	}
	for _, l := range left {
		if name, ok := strings.CutPrefix(l.Address, "output."); ok {
			delete(names, name)
		}
		if p.opts.Mode == plan.Destroy {
			clear(names)
		}
	}
}

// isNull reports whether a value is known to be null.
func isNull(v cty.Value) bool { return v.IsKnown() && v.IsNull() }

// outputAction returns the action for a root output value whose other fields are set. A null output has no entry in the
// state.
func (p *planner) outputAction(c *plan.OutputChange) plan.Action {
	declared := p.prog.OutputSlot(addr.RootModule, c.Name) != nil
	stored := p.prior.Output(c.Name) != nil
	switch {
	case stored && !declared:
		return plan.Delete // even if the stored value is null
	case isNull(c.After) && c.Before.IsNull():
		return plan.NoOp
	case p.opts.Mode == plan.Destroy:
		return plan.Delete
	case !stored:
		return plan.Create
	case ctyfast.RawEquals(c.Before, c.After) && c.Sensitive == c.BeforeSensitive:
		return plan.NoOp
	}
	return plan.Update
}

// planOutputs compares the root output values with the stored ones. After errors, only evaluated values are considered.
func (p *planner) planOutputs(out *plan.Plan, errored bool) {
	null := cty.NullVal(cty.DynamicPseudoType)
	names := map[string]bool{}
	for name := range p.rootOutputs {
		names[name] = true
	}
	if !errored && p.targets == nil {
		for _, name := range p.prior.OutputNames() {
			names[name] = true
		}
		p.keepOutputs(names, out.LeftOut, out.Deferred)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := &plan.OutputChange{Name: name, Before: null, After: null}
		if old := p.prior.Output(name); old != nil {
			c.Before, c.BeforeSensitive = old.Value, old.Sensitive
		}
		if v, ok := p.rootOutputs[name]; ok {
			if value.HasDeepEphemeral(v) {
				continue
			}
			c.After, _ = v.UnmarkDeep()
			c.Sensitive = value.HasDeepSensitive(v)
			if isNull(c.After) {
				c.After = null
			}
		}
		c.Action = p.outputAction(c)
		out.Outputs = append(out.Outputs, c)
		// As in Terraform, wholly known values are already part of the prior state.
		if !errored && p.opts.Mode != plan.Destroy && c.Action != plan.NoOp && c.Action != plan.Delete &&
			ctyfast.WhollyKnown(c.After) {
			set := &state.SetOutput{Name: name}
			if !c.After.IsNull() {
				set.Value = &state.Output{Value: c.After, Sensitive: c.Sensitive}
			}
			out.Refreshed = append(out.Refreshed, state.Edit{Output: set})
		}
	}
}
