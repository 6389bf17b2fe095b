package planning

import (
	"fmt"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
)

// unmatched warns about addresses in options that match nothing. A mistyped one would otherwise look like a plan
// without changes.
func (p *planner) unmatched() (diags diag.List) {
	if p.walk.Diagnostics().HasErrors() {
		return nil // after errors, objects that were not planned cannot match
	}
	for _, t := range p.opts.Targets {
		switch {
		case p.selects(t) || p.held(t):
		case t.Pattern != "" && p.declares(t):
			diags = diags.Warnf(nil, "Target matches nothing",
				"-target=%s selects nothing: the configuration has blocks of which it could match instances, but none "+
					"of their instances matches, in the configuration or in the state.", shellQuoted(t.String()))
		case p.declares(t) && p.hasNoInstances(t):
			diags = diags.Warnf(nil, "Target matches nothing",
				"-target=%s selects nothing: the configuration has a block at this address, but its count or "+
					"for_each creates no instances, and the state has none.", shellQuoted(t.String()))
		case !p.declares(t):
			diags = diags.Warnf(nil, "Target matches nothing",
				"-target=%s selects nothing: neither the configuration nor the state has anything at this address.%s",
				shellQuoted(t.String()), diag.DidYouMean(t.String(), addr.Names(p.instances())))
		}
	}
	diags = diags.Extend(p.unusedRules())
	for _, a := range p.opts.ForceReplace {
		if p.planned.of(a) == nil && p.base.Object(addr.Object{Instance: a}) == nil && !p.hasKeys(a) {
			diags = diags.Warnf(nil, "Object to replace does not exist",
				"-replace=%s replaces nothing: neither the configuration nor the state has an instance at this "+
					"address.%s", shellQuoted(a.String()), diag.DidYouMean(a.String(), p.replaceable()))
		}
	}
	return diags
}

// unsuitable returns errors for options that exclude each other.
func unsuitable(o Options) diag.List {
	for _, t := range o.Targets {
		if t.Pattern == "" && !t.IsModule() && t.Resource.Mode == addr.Action {
			return diag.List{}.Errorf(nil, fmt.Sprintf("Invalid target %q", t), "The address is that of an action, "+
				"which no plan changes. Name the resources that trigger it, or invoke it with -invoke.")
		}
	}
	if len(o.ForceReplace) > 0 && len(o.Invoke) > 0 {
		return diag.List{}.Errorf(nil, "Unsupported plan mode", "A plan that only invokes actions (-invoke) cannot "+
			"replace objects (-replace).")
	}
	if len(o.ForceReplace) > 0 && o.Mode != plan.Normal {
		return diag.List{}.Errorf(nil, "Unsupported plan mode", "Objects can be replaced (-replace) only in a "+
			"normal plan, not with -destroy or -refresh-only.")
	}
	return nil
}

// unusedRules warns about settings for objects that do not exist: perhaps the address is wrong.
func (p *planner) unusedRules() (diags diag.List) {
	if p.opts.Mode != plan.Normal || p.opts.Import != nil || len(p.opts.Targets) > 0 || len(p.opts.Except) > 0 {
		return nil // they may match objects that were not planned
	}
	for _, t := range p.opts.Rules {
		if !p.selects(t) && !p.held(t) && !p.declares(t) {
			diags = diags.Warnf(nil, "Unused settings for objects", "The project file has a block for %s, but "+
				"neither the configuration nor the state has anything at this address.%s", t,
				diag.DidYouMean(t.String(), addr.Names(p.instances())))
		}
	}
	return diags
}

// selects reports whether a target selects an object that is stored or planned.
func (p *planner) selects(t addr.Target) bool {
	only := p.prog.Targets([]addr.Target{t}, p.base)
	for _, r := range p.base.Resources() {
		for key := range r.Instances {
			if only.Contains(r.Addr.Instance(key)) {
				return true
			}
		}
	}
	for a := range p.planned.all() {
		if only.Contains(a) {
			return true
		}
	}
	return false
}

// held reports whether it is unknown which instances a target selects, because its expansion is held.
func (p *planner) held(t addr.Target) bool {
	if t.Pattern != "" {
		return len(p.sortedLeftOut()) > 0
	}
	return p.walk.HeldBlock(addr.AbsResource{Module: t.Module, Resource: t.Resource}) != nil
}

// declares reports whether the configuration has a block at the address of a target.
func (p *planner) declares(t addr.Target) bool {
	if t.Pattern != "" {
		return p.prog.Declares(t)
	}
	there := p.opts.Mode == plan.Destroy || p.walk.Instance(t.Module) != nil // a destroy plan expands no modules
	if t.IsModule() {
		return p.prog.Unit(t.Module.Config()) != nil && (there || !keyed(t.Module))
	}
	slot := p.prog.ResourceSlot(addr.AbsResource{Module: t.Module, Resource: t.Resource}.Config())
	return slot != nil && there && (!t.HasKey || t.Resource.Mode != addr.Managed)
}

// hasNoInstances reports whether a block, or a module call, has been expanded to no instances.
func (p *planner) hasNoInstances(t addr.Target) bool {
	if !t.IsModule() {
		exp, expanded := p.walk.Expansion(addr.AbsResource{Module: t.Module, Resource: t.Resource})
		return expanded && len(exp.Keys) == 0
	}
	parent, last, ok := t.Module.Parent()
	if !ok || p.opts.Mode == plan.Destroy {
		return false
	}
	i := p.walk.Instance(parent)
	return i != nil && last.Key.IsNone() && len(i.CallKeys(last.Call)) == 0
}

// keyed reports whether an address contains an instance of a module call with keys.
func keyed(m addr.ModuleInstance) bool {
	return slices.ContainsFunc(m.Steps(), func(s addr.Step) bool { return !s.Key.IsNone() })
}

// hasKeys reports whether the address is that of a block with count or for_each, for which halfNamed warns.
func (p *planner) hasKeys(a addr.AbsResourceInstance) bool {
	slot := p.prog.ResourceSlot(a.Config())
	return slot != nil && a.Key.IsNone() && (slot.Resource.Count != nil || slot.Resource.ForEach != nil) &&
		p.walk.Instance(a.Module) != nil
}

// instances returns all instances, for suggestions.
func (p *planner) instances() (list []addr.AbsResourceInstance) {
	for a := range p.planned.all() {
		list = append(list, a)
	}
	for _, r := range p.base.Resources() {
		for key := range r.Instances {
			list = append(list, r.Addr.Instance(key))
		}
	}
	return list
}

// replaceable lists the addresses of instances.
func (p *planner) replaceable() (list []string) {
	for _, a := range p.instances() {
		list = append(list, a.String())
	}
	slices.Sort(list)
	return slices.Compact(list)
}
