package linking

import (
	"maps"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// Targets is the selection of -target or -exclude: the slots to evaluate, and their instances. Dependencies of the
// selection are included as whole blocks; a selected block only with the targeted instances.
type Targets struct {
	Selection
	except bool // the selection is excluded
	direct map[*Slot]bool
	// Only holds the slots to evaluate, including their dependencies.
	Only map[*Slot]bool
}

// Selection is a set of instances, given by a list of addresses of modules, resources and instances.
type Selection struct {
	modules   map[addr.ModuleInstance]bool
	calls     map[moduleCall]bool // module targets without a key: all instances
	resources map[addr.AbsResource]bool
	instances map[addr.AbsResourceInstance]bool
	patterns  []*addr.Pattern
}

type moduleCall struct {
	parent addr.ModuleInstance
	call   string
}

// Select returns the instances in a list, or nil for an empty list.
func Select(list []addr.Target) *Selection {
	if len(list) == 0 {
		return nil
	}
	t := &Selection{
		modules: map[addr.ModuleInstance]bool{}, calls: map[moduleCall]bool{}, resources: map[addr.AbsResource]bool{},
		instances: map[addr.AbsResourceInstance]bool{},
	}
	for _, target := range list {
		parent, last, ok := target.Module.Parent()
		switch {
		case target.Pattern != "":
			t.patterns = append(t.patterns, pattern(target))
		case target.IsModule() && ok && last.Key.IsNone():
			t.calls[moduleCall{parent, last.Call}] = true
		case target.IsModule():
			t.modules[target.Module] = true
		case target.HasKey:
			t.instances[addr.AbsResource{Module: target.Module, Resource: target.Resource}.Instance(target.Key)] = true
		default:
			t.resources[addr.AbsResource{Module: target.Module, Resource: target.Resource}] = true
		}
	}
	return t
}

// pattern returns the pattern of a target, which is known to be valid.
func pattern(t addr.Target) *addr.Pattern {
	p, err := addr.ParsePattern(t.Pattern)
	if err != nil {
		return &addr.Pattern{} // which matches nothing
	}
	return p
}

// Targets returns the selection for a list of targets, or nil for an empty list. prior has the provider configurations
// of objects without a block.
func (p *Program) Targets(list []addr.Target, prior *state.State) *Targets {
	if len(list) == 0 {
		return nil
	}
	t := &Targets{Selection: *Select(list), direct: p.named(list)}
	want := make(map[*Slot]bool, len(t.direct))
	for s := range t.direct {
		want[s] = true
	}
	p.strayProviders(t, prior, want)
	t.Only = p.closed(want)
	p.targetOutputs(t)
	return t
}

// Invoking returns the selection that is needed to invoke a list of actions, or nil for an empty list. It includes the
// objects that an action refers to as its caller.
func (p *Program) Invoking(list []addr.Target) *Targets {
	if len(list) == 0 {
		return nil
	}
	t := &Targets{Selection: *Select(list), direct: p.named(list)}
	want := maps.Clone(t.direct)
	for s := range t.direct {
		for _, caller := range s.CalledBy {
			want[caller] = true
		}
	}
	t.Only = p.closed(want)
	return t
}

// Except returns the selection of everything but a list and what depends on it, or nil for an empty list. If the list
// has some instances of a block, the others take part, but resources that depend on the block do not. As with Targets,
// a slot that is not a resource is only included if a selected resource depends on it, or if it is an output value of
// the root module that depends on selected resources only, which includes blocks of which some instances are excluded:
// checks are not.
func (p *Program) Except(list []addr.Target, prior *state.State) *Targets {
	if len(list) == 0 {
		return nil
	}
	t := &Targets{Selection: *Select(list), except: true, direct: p.named(list)}
	left, whole := p.independent(t.direct), covered(list)
	maps.DeleteFunc(left, func(s *Slot, _ bool) bool { return t.direct[s] && whole(s) })
	want := map[*Slot]bool{}
	for s := range left {
		if s.Kind == SlotResource {
			want[s] = true
		}
	}
	p.strayProviders(t, prior, want)
	keepOnly(want, left)
	t.Only = p.closed(want)
	keepOnly(t.Only, left)
	p.targetOutputs(t)
	return t
}

// covered returns a function that reports whether an address in a list covers every instance of a block, because it has
// no keys.
func covered(list []addr.Target) func(*Slot) bool {
	modules, blocks := map[addr.Module]bool{}, map[addr.ConfigResource]bool{}
	var patterns []*addr.Pattern
	for _, t := range list {
		module := t.Module.Config()
		switch {
		case t.Pattern != "":
			patterns = append(patterns, pattern(t))
		case t.HasKey || t.Module.String() != module.String():
		case t.IsModule():
			modules[module] = true
		default:
			blocks[addr.ConfigResource{Module: module, Resource: t.Resource}] = true
		}
	}
	return func(s *Slot) bool {
		block := s.ConfigAddr()
		for m, below := block.Module, true; below; m, _, below = m.Parent() {
			if modules[m] {
				return true
			}
		}
		return blocks[block] || slices.ContainsFunc(patterns, func(p *addr.Pattern) bool { return p.Covers(block) })
	}
}

// keepOnly deletes the slots of a set that are not in another one.
func keepOnly(set, other map[*Slot]bool) {
	maps.DeleteFunc(set, func(s *Slot, _ bool) bool { return !other[s] })
}

// independent returns all slots except those that depend on others.
func (p *Program) independent(others map[*Slot]bool) map[*Slot]bool {
	left, dependents := map[*Slot]bool{}, map[int][]*Slot{}
	for _, u := range p.order {
		for _, s := range u.slots {
			left[s] = true
			for _, e := range p.edges(s) {
				dependents[e] = append(dependents[e], s)
			}
		}
	}
	queue := slices.Collect(maps.Keys(others))
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, d := range dependents[s.unit.base+s.Index] {
			if left[d] {
				delete(left, d)
				queue = append(queue, d)
			}
		}
	}
	return left
}

// Excepts reports whether the list holds exclusions.
func (t *Targets) Excepts() bool { return t != nil && t.except }

// named returns the resources that a list selects, wholly or in part.
func (p *Program) named(list []addr.Target) map[*Slot]bool {
	direct := map[*Slot]bool{}
	modules, resources := map[addr.Module]bool{}, map[addr.ConfigResource]bool{}
	var patterns []*addr.Pattern
	for _, target := range list {
		switch {
		case target.Pattern != "":
			patterns = append(patterns, pattern(target))
		case target.IsModule():
			modules[target.Module.Config()] = true
		default:
			resources[addr.AbsResource{Module: target.Module, Resource: target.Resource}.Config()] = true
		}
	}
	inside := map[addr.Module]bool{}
	for _, u := range p.order { // sorted with parents before children
		m := u.Module.Path
		inside[m] = modules[m] || u.Parent != nil && inside[u.Parent.Module.Path]
		for _, s := range u.slots {
			if s.Kind == SlotResource && (inside[m] || resources[s.ConfigAddr()] || matchesAny(patterns, s)) {
				direct[s] = true
			}
		}
	}
	return direct
}

// Declares reports whether a pattern can match instances of any block.
func (p *Program) Declares(t addr.Target) bool { return len(p.named([]addr.Target{t})) > 0 }

// matchesAny reports whether any pattern can match instances of a block.
func matchesAny(patterns []*addr.Pattern, s *Slot) bool {
	return slices.ContainsFunc(patterns, func(p *addr.Pattern) bool { return p.MatchesConfig(s.ConfigAddr()) })
}

// strayProviders adds the provider configurations of selected objects without a block.
func (p *Program) strayProviders(t *Targets, prior *state.State, want map[*Slot]bool) {
	for _, r := range prior.Resources() {
		if p.ResourceSlot(r.Addr.Config()) != nil {
			continue
		}
		for key := range r.Instances {
			if a := r.Addr.Instance(key); t.Contains(a) {
				if s := p.ProviderSlot(prior.ProviderOf(addr.Object{Instance: a})); s != nil {
					want[s] = true
				}
			}
		}
	}
}

// targetOutputs adds the output values of the root module that depend on resources, all of which are selected or
// needed.
func (p *Program) targetOutputs(t *Targets) {
	root := p.units[addr.RootModule]
	// For each slot: whether every resource behind it is selected, and whether there is any.
	verdict := make([]outputVerdict, p.total)
	for _, i := range root.Outputs {
		if v := p.decide(root.base+i, t.Only, verdict); v == somethingIn {
			for s := range p.closed(map[*Slot]bool{root.slots[i]: true}) {
				t.Only[s] = true
			}
		}
	}
}

// outputVerdict is the relation between the resources that a slot depends on and the targets.
type outputVerdict uint8

const (
	notJudged outputVerdict = iota
	nothingThere
	somethingIn
	somethingOut
)

// decide returns the verdict on a slot, without recursion. There are no cycles.
func (p *Program) decide(start int, only map[*Slot]bool, verdict []outputVerdict) outputVerdict {
	type frame struct {
		n     int
		edges []int
		next  int
	}
	enter := func(n int) frame { return frame{n: n, edges: p.edges(p.bySlotNumber(n))} }
	stack := []frame{enter(start)}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		s := p.bySlotNumber(f.n)
		if s.Kind == SlotResource {
			verdict[f.n] = somethingOut
			if only[s] {
				verdict[f.n] = somethingIn // which includes all its dependencies
			}
			stack = stack[:len(stack)-1]
			continue
		}
		if f.next < len(f.edges) {
			e := f.edges[f.next]
			f.next++
			if verdict[e] == notJudged {
				stack = append(stack, enter(e))
			}
			continue
		}
		worst := nothingThere
		for _, e := range f.edges {
			worst = max(worst, verdict[e])
		}
		verdict[f.n] = worst
		stack = stack[:len(stack)-1]
	}
	return verdict[start]
}

// Contains reports whether the targets contain an instance. Without targets, every instance is contained.
func (t *Targets) Contains(a addr.AbsResourceInstance) bool {
	return t == nil || t.Selection.Contains(a) != t.except
}

// Contains reports whether the list contains an instance; a nil list contains none.
func (t *Selection) Contains(a addr.AbsResourceInstance) bool {
	if t == nil {
		return false
	}
	if t.instances[a] || t.resources[a.AbsResource()] ||
		slices.ContainsFunc(t.patterns, func(p *addr.Pattern) bool { return p.Matches(a) }) {
		return true
	}
	if len(t.modules) == 0 && len(t.calls) == 0 {
		return false
	}
	for m := a.Module; ; {
		if t.modules[m] {
			return true
		}
		parent, last, ok := m.Parent()
		if !ok {
			return false
		}
		if t.calls[moduleCall{parent, last.Call}] {
			return true
		}
		m = parent
	}
}

// Wants reports whether an instance of a block takes part: all instances of a needed block do, but only the targeted
// ones of a targeted block.
func (t *Targets) Wants(s *Slot, a addr.AbsResourceInstance) bool {
	if t == nil {
		return true
	}
	if s != nil && !t.Only[s] {
		return false // even if it is a target: it depends on an excluded object
	}
	return s != nil && !t.direct[s] || t.Contains(a)
}

// Includes reports whether a slot takes part.
func (t *Targets) Includes(s *Slot) bool { return t == nil || t.Only[s] }

// Inputs returns the selected slots for a walk.
func (t *Targets) Inputs() map[*Slot]bool {
	if t == nil {
		return nil
	}
	return t.Only
}

// Needed returns the slots that the wanted ones depend on, with these: the closure over dependencies. A module without
// needed slots is not expanded, so its count is not evaluated.
func (p *Program) Needed(want func(*Slot) bool) map[*Slot]bool {
	wanted := map[*Slot]bool{}
	for _, u := range p.order {
		for _, s := range u.slots {
			if want(s) {
				wanted[s] = true
			}
		}
	}
	return p.closed(wanted)
}

// Guards returns the slots of the guards of resources.
func (p *Program) Guards() map[*Slot]bool {
	guards := map[*Slot]bool{}
	for _, u := range p.order {
		for _, s := range u.slots {
			for _, d := range s.guard {
				guards[u.slots[d]] = true
			}
		}
	}
	return guards
}

// closed returns some slots with all their dependencies.
func (p *Program) closed(want map[*Slot]bool) map[*Slot]bool {
	out := make(map[*Slot]bool, len(want))
	stack := make([]*Slot, 0, len(want))
	for s := range want {
		out[s] = true
		stack = append(stack, s)
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		edges := p.edges(s)
		for _, i := range s.late {
			edges = append(edges, s.unit.base+i)
		}
		for _, e := range edges {
			if d := p.bySlotNumber(e); !out[d] {
				out[d] = true
				stack = append(stack, d)
			}
		}
	}
	return out
}
