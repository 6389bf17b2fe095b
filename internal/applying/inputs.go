package applying

import (
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/plan"
)

// inputs returns the inputs for the walk of an apply.
func (a *applier) inputs() eval.Inputs {
	p, o := a.plan, a.opts
	var targets *linking.Targets
	if len(p.Invoke) > 0 {
		targets = a.prog.Invoking(p.Invoke)
	} else if len(p.Targets) > 0 {
		targets = a.prog.Targets(p.Targets, p.Prior())
	} else {
		targets = a.prog.Except(p.Except, p.Prior())
	}
	in := o.Inputs()
	in.Workspace, in.Applying, in.Expansions = p.Workspace, true, eval.Expansions(p.Expansions)
	in.Lenient, in.Only, in.Partial = p.Mode == plan.Destroy, targets.Inputs(), targets != nil
	in.Deferred = a.deferred
	in.Hold, in.InUse = a.holding(), map[addr.AbsProviderConfig]bool{}
	for _, c := range p.Changes {
		in.InUse[c.Provider.Block()] = true
	}
	if p.Mode == plan.Destroy {
		in.Only = a.prog.Needed(func(s *linking.Slot) bool { return s.Kind == linking.SlotProvider })
	}
	return in
}

// providerNode adds the node that evaluates a provider's configuration, once.
func (a *applier) providerNode(deps []graph.ID, cfg addr.AbsProviderConfig) []graph.ID {
	slot := a.prog.ProviderSlot(cfg)
	inst := a.walk.Instance(onlyInstance(cfg.Module))
	if slot == nil || inst == nil {
		return deps
	}
	id := inst.Node(slot)
	if slices.Contains(deps, id) {
		return deps
	}
	return append(deps, id)
}

// onlyInstance returns the only instance of a module that has provider configurations: such modules are not repeated.
func onlyInstance(m addr.Module) addr.ModuleInstance {
	var steps []addr.Step
	for _, c := range m.Calls() {
		steps = append(steps, addr.Step{Call: c})
	}
	return addr.ModuleInstanceOf(steps...)
}
