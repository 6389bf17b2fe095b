package planning

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/plan"
)

// An unsettled object is one whose creation was interrupted, with an unknown result (Options.Interrupted). Exclusions
// are different: see linking.Targets.
//
// The plan does not touch an unsettled creation or its dependents: the walk holds these (eval.Hold). Deletions work in
// the other direction: an object that an untouched object depends on is kept. An interrupted creation moves like an
// object in the state; until it is resolved, messages use its address in the journal.

// isUnsettled reports whether the plan does not touch an instance. An import block resolves its creation.
func (p *planner) isUnsettled(a addr.AbsResourceInstance) bool {
	return p.unsettled[a] != nil && p.walk.ImportOf(a) == nil
}

// skips reports whether nothing is planned for an instance because it is unsettled. A refresh-only plan skips nothing.
func (p *planner) skips(a addr.AbsResourceInstance) bool {
	return p.opts.Mode == plan.Normal && p.isUnsettled(a)
}

// hold reports to the walk which configured instances of a block are unsettled.
func (p *planner) hold(b *eval.Block, exp eval.Expansion) {
	if p.holding() == eval.HoldNothing {
		return
	}
	for _, k := range exp.Keys {
		a := b.Addr().Instance(k)
		if p.isUnsettled(a) {
			b.Hold(a)
			p.noteUnsettled(a)
		}
	}
}

// holding returns how the walk treats dependents of unsettled creations.
func (p *planner) holding() eval.Hold {
	switch {
	case len(p.opts.Interrupted) == 0 || p.opts.Mode == plan.Destroy:
		return eval.HoldNothing
	case p.opts.Mode == plan.RefreshOnly:
		return eval.HoldOutputs
	}
	return eval.HoldDependents
}

// noteUnsettled records an unsettled instance, with its address in the journal.
func (p *planner) noteUnsettled(a addr.AbsResourceInstance) {
	p.leaveOut(plan.LeftOut{Address: a.String(), Because: p.unsettled[a].Object.Instance,
		Reason: plan.LeftOutUnsettled})
}

// unsettledTargets returns the unsettled instances, in order.
func (p *planner) unsettledTargets() (list []addr.Target) {
	for _, a := range slices.SortedFunc(maps.Keys(p.unsettled), addr.AbsResourceInstance.Compare) {
		list = append(list, addr.Target{Module: a.Module, Resource: a.Resource, Key: a.Key, HasKey: !a.Key.IsNone()})
	}
	return list
}

func (p *planner) leaveOut(l plan.LeftOut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leftOutList = append(p.leftOutList, l)
}

// heldBlock returns the cause why a block, or a module around it, is held. A refresh-only plan reads the objects of
// held blocks, too.
func (p *planner) heldBlock(a addr.AbsResource) *eval.Cause {
	if p.opts.Mode != plan.Normal {
		return nil
	}
	return p.walk.HeldBlock(a)
}

// heldBack returns the cause because of which an object without a visited block is not touched: its block, an
// enclosing module, or its provider's configuration is held.
func (p *planner) heldBack(a addr.AbsResource, cfg addr.AbsProviderConfig) *eval.Cause {
	if p.walk.Inputs.Hold != eval.HoldDependents {
		return nil
	}
	if c := p.heldBlock(a); c != nil && !p.visited[a] {
		return c
	}
	return p.walk.HeldProvider(cfg)
}

// listHeld records the blocks that the walk held: resources, calls of modules that are not expanded, and output values
// of the root module.
func (p *planner) listHeld() {
	if p.walk.Inputs.Hold == eval.HoldNothing {
		return
	}
	all := p.holding() == eval.HoldDependents
	p.walk.EachHeld(func(i *eval.Instance, s *linking.Slot, cause eval.Cause) {
		if cause.Deferred != "" {
			p.deferHeld(i, s, cause)
			return
		}
		l := plan.LeftOut{Because: cause.Excluded, Reason: plan.LeftOutDependent}
		switch {
		case s.Kind == linking.SlotOutput && i.Parent() == nil:
			l.Address = "output." + s.Name
		case s.Kind == linking.SlotCall && all:
			l.Address = i.Addr.Child(s.Name, addr.NoKey).String()
		case s.Kind == linking.SlotResource && all && s.Resource.Addr.Mode != addr.Ephemeral:
			a := addr.AbsResource{Module: i.Addr, Resource: s.Resource.Addr}
			if p.visited[a] {
				return // only its dependents are held
			}
			l.Address = a.String()
		default:
			return
		}
		p.leaveOut(l)
	})
}

// withhold cancels the deletion of the dependencies of untouched objects, according to the state, the configuration and
// the journal. A replacement cannot be cancelled, because others were planned with it: it is an error.
func (p *planner) withhold() (diags diag.List) {
	if len(p.unsettled)+len(p.deferrals) == 0 || p.opts.Mode == plan.RefreshOnly {
		return nil
	}
	kept := p.kept()
	for _, c := range p.changes {
		cause, keep := kept[c.Object.Instance]
		if keep && cause.Deferred == "" && c.Object.Deposed == "" && c.Action.IsReplace() {
			begun := p.unsettled[cause.Excluded].Object
			diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Address: c.Object.String(),
				Summary: "Replacement blocked by an interrupted creation",
				Detail: fmt.Sprintf("%s would be replaced, but an earlier run was interrupted while it created %s. "+
					"That object may exist and depend on it.", c.Object, begun),
				Advice: diag.Advise("Undo the change that replaces %s, or resolve that creation with one of these, "+
					"then plan again:\n  %s    (it exists: import it)\n  %s       (it does not exist)\n"+
					"  %s      (leave it unmanaged)", c.Object, diag.Recover(begun, "--adopt", "ID"),
					diag.Recover(begun, "--retry"), diag.Recover(begun, "--forget"))})
		}
	}
	p.changes = slices.DeleteFunc(p.changes, func(c *plan.Change) bool {
		a := c.Object.Instance
		cause, keep := kept[a]
		if !keep || c.Action != plan.Delete {
			return false
		}
		if p.planned.of(a) == c {
			p.planned.remove(a)
		}
		switch {
		case cause.Deferred != "":
			p.addDeferral(plan.Deferral{Address: c.Object.String(), Because: cause.Deferred,
				Reason: plan.DeferredNeeded, Provider: *c.Provider})
		case a == cause.Excluded:
			p.noteUnsettled(a)
		default:
			p.leaveOut(plan.LeftOut{Address: c.Object.String(), Because: cause.Excluded,
				Reason: plan.LeftOutNeeded})
		}
		return true
	})
	return diags
}

// kept returns the instances that are not deleted, each with the unsettled or deferred one that it is kept for: all
// untouched objects, and their dependencies.
func (p *planner) kept() map[addr.AbsResourceInstance]eval.Cause {
	near := map[nearKey][]addr.AbsResourceInstance{}
	kept := map[addr.AbsResourceInstance]eval.Cause{}
	later := p.deferredObjects()
	var queue []addr.AbsResourceInstance
	keep := func(a addr.AbsResourceInstance, cause eval.Cause) {
		if _, ok := kept[a]; !ok {
			kept[a] = cause
			queue = append(queue, a)
		}
	}
	for a := range p.unsettled {
		if p.isUnsettled(a) {
			if keep(a, eval.Cause{Excluded: a}); p.targets.Contains(a) {
				p.noteUnsettled(a) // even without a block
			}
		}
	}
	for a, open := range p.moves.Waiting {
		keep(a, eval.Cause{Excluded: p.moves.Open[open]}) // its new address may be taken
	}
	for _, r := range p.prior.Resources() {
		for _, key := range r.Keys() {
			a := r.Addr.Instance(key)
			for m, ok := a.Module, true; ok; m, _, ok = m.Parent() {
				near[nearKey{a.Config(), m}] = append(near[nearKey{a.Config(), m}], a)
			}
			cause := p.heldBack(r.Addr, p.prior.ProviderOf(addr.Object{Instance: a}))
			switch {
			case p.isUnsettled(a):
				keep(a, eval.Cause{Excluded: a})
			case later[a.String()]:
				keep(a, eval.Cause{Deferred: a.String()})
			case cause != nil:
				keep(a, *cause)
			}
		}
	}
	for len(queue) > 0 {
		a := queue[0]
		queue = queue[1:]
		for _, dep := range p.needs(a) {
			for _, needed := range near[nearKey{dep, commonPrefix(a.Module, dep.Module)}] {
				keep(needed, kept[a])
			}
		}
	}
	return kept
}

// needs returns the dependencies of an instance from the state, and from its block if it has one. Those of an
// interrupted creation are in the journal.
func (p *planner) needs(a addr.AbsResourceInstance) (deps []addr.ConfigResource) {
	if o := p.prior.Object(addr.Object{Instance: a}); o != nil {
		deps = slices.Clone(p.moves.Follow(o.Dependencies))
	}
	if intent := p.unsettled[a]; intent != nil {
		deps = append(deps, p.moves.Follow(intent.Dependencies)...)
	}
	if s := p.prog.ResourceSlot(a.Config()); s != nil {
		deps = append(deps, s.ResourceDeps()...)
	}
	return deps
}

// sortedLeftOut returns the omitted addresses, each once, sorted by the text of addresses, with unsettled ones first.
func (p *planner) sortedLeftOut() []plan.LeftOut {
	slices.SortFunc(p.leftOutList, func(a, b plan.LeftOut) int {
		if first, second := a.Reason == plan.LeftOutUnsettled, b.Reason == plan.LeftOutUnsettled; first != second {
			if first {
				return -1
			}
			return 1
		}
		if c := strings.Compare(a.Address, b.Address); c != 0 {
			return c
		}
		return a.Because.Compare(b.Because)
	})
	p.leftOutList = slices.CompactFunc(p.leftOutList, func(a, b plan.LeftOut) bool {
		return a.Address == b.Address && a.Reason == b.Reason
	})
	return p.leftOutList
}

// incomplete returns a warning about the omissions of the plan because of unsettled objects.
func incomplete(list []plan.LeftOut) diag.List {
	var names []string
	for _, l := range list {
		if l.Reason != plan.LeftOutUnsettled {
			names = append(names, l.Address+" ("+l.Why()+")")
		}
	}
	if len(names) == 0 {
		return nil
	}
	more := ""
	if n := len(names) - maxNamed; n > 0 {
		names, more = names[:maxNamed], fmt.Sprintf("\n - and %d more", n)
	}
	return diag.List{}.Warnf(nil, "Plan leaves out blocked changes",
		"The following objects depend on objects that the plan does not change, or are needed by them, so nothing is "+
			"planned for them:\n - %s%s\n\nEverything else is planned. Resolve the interrupted operations, then plan "+
			"again.",
		strings.Join(names, "\n - "), more)
}

// maxNamed is the maximum number of addresses in the warning; the plan lists all.
const maxNamed = 50
