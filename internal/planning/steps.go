package planning

import (
	"maps"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/plan"
)

// none is the index of a step that does not exist.
const none = -1

// blockSteps are the steps of one resource block in one module instance.
type blockSteps struct {
	addr                    addr.AbsResource
	write, destroy, dispose int
	cbd                     bool
	rewrites                bool // some existing instance is updated or replaced
	replaces, disposesOwn   bool // delete before create, create before delete
}

// stepBuilder determines the order of the actions.
type stepBuilder struct {
	p      *planner
	steps  []plan.Step
	blocks []*blockSteps
	// near holds the blocks that a dependency refers to: those of the resource in the module instances that share the
	// longest possible path with the dependent's. Each group has one join for each rule, created on first use.
	near  map[nearKey]*group
	joins map[joinKey]int
	// soft edges are dropped if they would close a cycle: freeAfterWrite first, then others that only improve the
	// order, then updateFirst, then those of the state.
	soft []softEdge
}

type softEdge struct {
	step, first int
	rule        uint8
}

type nearKey struct {
	resource addr.ConfigResource
	prefix   addr.ModuleInstance
}

type group struct{ members []*blockSteps }

type joinKey struct {
	nearKey
	rule uint8
}

// The ordering rules. D depends on R:
const (
	always uint8 = iota // the halves of a replacement
	// D is deleted before R (dropped last: a state may hold cycles, such as after references were reversed)
	destroyBefore
	configBefore // the same, for an R that is only a dependency in the current configuration (soft)
	// R is created before its old object is destroyed: an existing D is written before the old R is destroyed (softer
	// than the first)
	updateFirst
	freeBeforeWrite // D is deleted before R is written (soft)
	destroyedFirst  // R is destroyed before D is written (soft)
	// a D with create_before_destroy is deleted after R was written (soft)
	freeAfterWrite
)

func isSoft(rule uint8) bool { return rule != always }

// steps builds the action graph for changes. The cost is the number of changes plus the number of dependencies.
func (p *planner) steps(changes []*plan.Change) []plan.Step {
	b := &stepBuilder{p: p, near: map[nearKey]*group{}, joins: map[joinKey]int{}}
	if removes := b.group(changes); !removes {
		return b.steps // writes are ordered by the references
	}
	b.index()
	for _, blk := range b.blocks {
		b.within(blk)
	}
	for _, blk := range b.blocks {
		b.across(blk, changes)
	}
	b.settleSoft()
	return b.steps
}

// settleSoft adds the soft edges that close no cycle with other edges or with the references between writes.
func (b *stepBuilder) settleSoft() {
	if len(b.soft) == 0 {
		return
	}
	keep := b.soft
	if slices.ContainsFunc(keep, func(e softEdge) bool { return e.rule == freeAfterWrite }) {
		keep = b.withoutRings(keep, func(rule uint8) bool { return rule == freeAfterWrite })
	}
	keep = b.withoutRings(keep, func(rule uint8) bool { return rule != updateFirst && rule != destroyBefore })
	keep = b.withoutRings(keep, func(rule uint8) bool { return rule != destroyBefore })
	keep = b.withoutRings(keep, func(uint8) bool { return true })
	for _, e := range keep {
		b.steps[e.step].After = append(b.steps[e.step].After, e.first)
	}
}

// withoutRings returns the soft edges without expendable ones that are part of a cycle.
func (b *stepBuilder) withoutRings(soft []softEdge, expendable func(rule uint8) bool) []softEdge {
	n, edges, node := b.p.walk.Graph()
	id := make([]int, len(b.steps)) // a write is represented by its block's node
	for i, s := range b.steps {
		id[i] = -1
		if s.Kind == plan.Write {
			id[i] = node(s.Resource)
		}
		if id[i] < 0 {
			id[i] = n
			n++
			edges = append(edges, nil)
		}
	}
	add := func(step, first int) { edges[id[step]] = append(edges[id[step]], id[first]) }
	for i, s := range b.steps {
		for _, first := range s.After {
			add(i, first)
		}
	}
	for _, e := range soft {
		add(e.step, e.first)
	}
	ring := make([]int, n)
	for g, members := range graph.Cycles(n, func(i int) []int { return edges[i] }) {
		for _, m := range members {
			ring[m] = g + 1
		}
	}
	kept := soft[:0:0]
	for _, e := range soft {
		if r := ring[id[e.step]]; r == 0 || r != ring[id[e.first]] || !expendable(e.rule) {
			kept = append(kept, e)
		}
	}
	return kept
}

// group collects the changes of each block into steps, and reports whether anything is removed.
func (b *stepBuilder) group(changes []*plan.Change) (removes bool) {
	by := map[addr.AbsResource]*blockSteps{}
	for i, c := range changes {
		if c.Action == plan.NoOp || c.GeneratedConfig != "" {
			continue // generated configuration must be reviewed first
		}
		a := c.Object.Instance.AbsResource()
		blk := by[a]
		if blk == nil {
			blk = &blockSteps{addr: a, write: none, destroy: none, dispose: none}
			if slot := b.p.prog.ResourceSlot(a.Config()); slot != nil {
				blk.cbd = slot.CreateBeforeDestroy
			}
			by[a] = blk
			b.blocks = append(b.blocks, blk)
		}
		if slot := b.p.prog.ResourceSlot(a.Config()); slot == nil {
			blk.cbd = blk.cbd || c.CreateBeforeDestroy
		}
		switch c.Action {
		case plan.Delete, plan.Forget:
			if c.Object.Deposed != "" {
				b.put(&blk.dispose, plan.Dispose, a, i)
			} else {
				b.put(&blk.destroy, plan.DestroyStep, a, i)
			}
		case plan.DeleteThenCreate:
			b.put(&blk.destroy, plan.DestroyStep, a, i)
			b.put(&blk.write, plan.Write, a, i)
			blk.replaces, blk.rewrites = true, true
		case plan.CreateThenDelete, plan.ForgetThenCreate:
			b.put(&blk.write, plan.Write, a, i)
			b.put(&blk.dispose, plan.Dispose, a, i)
			blk.disposesOwn, blk.rewrites = true, true
		default:
			b.put(&blk.write, plan.Write, a, i)
			blk.rewrites = blk.rewrites || c.Action == plan.Update
			continue
		}
		removes = true
	}
	return removes
}

// put adds a change to a step, which is created if necessary.
func (b *stepBuilder) put(step *int, kind plan.StepKind, a addr.AbsResource, change int) {
	if *step == none {
		*step = len(b.steps)
		b.steps = append(b.steps, plan.Step{Kind: kind, Resource: a})
	}
	s := &b.steps[*step]
	s.Changes = append(s.Changes, change)
}

// index indexes every block by each prefix of its module path.
func (b *stepBuilder) index() {
	for _, blk := range b.blocks {
		config := blk.addr.Config()
		for m, ok := blk.addr.Module, true; ok; m, _, ok = m.Parent() {
			key := nearKey{config, m}
			if b.near[key] == nil {
				b.near[key] = &group{}
			}
			b.near[key].members = append(b.near[key].members, blk)
		}
	}
}

// after makes a step depend on another one.
func (b *stepBuilder) after(step, first int, rule uint8) {
	switch {
	case step == none || first == none || step == first:
	case isSoft(rule):
		b.soft = append(b.soft, softEdge{step, first, rule})
	default:
		b.steps[step].After = append(b.steps[step].After, first)
	}
}

// within orders the halves of replacements.
func (b *stepBuilder) within(blk *blockSteps) {
	if blk.replaces {
		b.after(blk.write, blk.destroy, always)
	}
	if blk.disposesOwn {
		b.after(blk.dispose, blk.write, always)
	}
}

// across orders a block, as dependent, against everything that it depends on or depended on.
func (b *stepBuilder) across(blk *blockSteps, changes []*plan.Change) {
	old, wanted := map[addr.ConfigResource]bool{}, map[addr.ConfigResource]bool{}
	for _, step := range []int{blk.destroy, blk.dispose} {
		b.addStoredDeps(old, step, changes)
	}
	if blk.write != none {
		if slot := b.p.prog.ResourceSlot(blk.addr.Config()); slot != nil {
			for _, d := range slot.ResourceDeps() {
				wanted[d] = true
			}
		}
		b.addStoredDeps(wanted, blk.write, changes) // dependencies that this plan removes
	}
	for _, d := range inOrder(old) {
		key, g := b.find(blk.addr, d)
		if g == nil {
			continue
		}
		b.precede(key, g, destroyBefore, blk.destroy)
		b.precede(key, g, destroyBefore, blk.dispose)
		if blk.cbd {
			b.follow(key, g, freeAfterWrite, blk.destroy)
		} else {
			b.precede(key, g, freeBeforeWrite, blk.destroy)
		}
	}
	for _, d := range inOrder(b.configured(blk, changes)) {
		if key, g := b.find(blk.addr, d); g != nil && !old[d] {
			b.precede(key, g, configBefore, blk.destroy)
			b.precede(key, g, configBefore, blk.dispose)
		}
	}
	for _, d := range inOrder(wanted) {
		key, g := b.find(blk.addr, d)
		if g == nil {
			continue
		}
		switch {
		case g.members[0].cbd && blk.rewrites:
			b.precede(key, g, updateFirst, blk.write)
		case !g.members[0].cbd:
			b.follow(key, g, destroyedFirst, blk.write)
		}
	}
}

// inOrder sorts dependencies, so that the graph, including the numbers of joins, is deterministic.
func inOrder(deps map[addr.ConfigResource]bool) []addr.ConfigResource {
	return slices.SortedFunc(maps.Keys(deps), addr.ConfigResource.Compare)
}

// addStoredDeps adds the stored dependencies of the objects that a step changes.
func (b *stepBuilder) addStoredDeps(to map[addr.ConfigResource]bool, step int, changes []*plan.Change) {
	if step == none {
		return
	}
	for _, i := range b.steps[step].Changes {
		for _, d := range b.storedDeps(changes[i]) {
			to[d] = true
		}
	}
}

// storedDeps returns the stored dependencies of the deleted object.
func (b *stepBuilder) storedDeps(c *plan.Change) []addr.ConfigResource {
	if stored := b.p.prior.Object(c.Object); stored != nil {
		return b.p.moves.Follow(stored.Dependencies)
	}
	return nil
}

// configured returns the dependencies of a block's objects in a destroy plan: those found while refreshing, and those
// of their providers' configurations.
func (b *stepBuilder) configured(blk *blockSteps, changes []*plan.Change) map[addr.ConfigResource]bool {
	out := map[addr.ConfigResource]bool{}
	if b.p.opts.Mode != plan.Destroy {
		return out
	}
	for _, step := range []int{blk.destroy, blk.dispose} {
		if step == none {
			continue
		}
		for _, i := range b.steps[step].Changes {
			for _, deps := range [][]addr.ConfigResource{b.p.moves.Follow(changes[i].Dependencies),
				b.p.prog.ProviderDeps(*changes[i].Provider)} {
				for _, d := range deps {
					out[d] = true
				}
			}
		}
	}
	return out
}

// find returns the blocks that a dependency refers to for a block in the given module instance.
func (b *stepBuilder) find(from addr.AbsResource, dep addr.ConfigResource) (nearKey, *group) {
	if dep == from.Config() {
		return nearKey{}, nil
	}
	prefix := commonPrefix(from.Module, dep.Module)
	key := nearKey{dep, prefix}
	return key, b.near[key]
}

// commonPrefix returns the longest prefix of an instance path whose calls are a prefix of a static path.
func commonPrefix(i addr.ModuleInstance, m addr.Module) addr.ModuleInstance {
	if i.IsRoot() || m.IsRoot() {
		return addr.RootInstance
	}
	calls := m.Calls()
	out := addr.RootInstance
	for n, step := range i.Steps() {
		if n >= len(calls) || calls[n] != step.Call {
			break
		}
		out = out.Child(step.Call, step.Key)
	}
	return out
}

// targets returns the steps of a block that must wait under a rule.
func (blk *blockSteps) targets(rule uint8) [2]int {
	switch rule {
	case destroyBefore, configBefore, updateFirst:
		return [2]int{blk.destroy, blk.dispose}
	case freeBeforeWrite:
		return [2]int{blk.write, none}
	}
	return [2]int{none, none}
}

// precede makes every member of a group depend on a step of the dependent.
func (b *stepBuilder) precede(key nearKey, g *group, rule uint8, first int) {
	if first == none {
		return
	}
	if len(g.members) == 1 {
		for _, t := range g.members[0].targets(rule) {
			b.after(t, first, rule)
		}
		return
	}
	b.after(b.join(key, g, rule, func(join int) {
		for _, m := range g.members {
			for _, t := range m.targets(rule) {
				b.after(t, join, rule)
			}
		}
	}), first, rule)
}

// follow makes a step of the dependent depend on every member of a group: on its destruction or, with freeAfterWrite,
// on its write.
func (b *stepBuilder) follow(key nearKey, g *group, rule uint8, step int) {
	if step == none {
		return
	}
	first := func(m *blockSteps) int {
		if rule == freeAfterWrite {
			return m.write
		}
		return m.destroy
	}
	if len(g.members) == 1 {
		b.after(step, first(g.members[0]), rule)
		return
	}
	b.after(step, b.join(key, g, rule, func(join int) {
		for _, m := range g.members {
			b.after(join, first(m), rule)
		}
	}), rule)
}

// join returns the join of a group for a rule, connected to the group when it is created.
func (b *stepBuilder) join(key nearKey, g *group, rule uint8, wire func(int)) int {
	jk := joinKey{key, rule}
	if j, ok := b.joins[jk]; ok {
		return j
	}
	j := len(b.steps)
	b.steps = append(b.steps, plan.Step{Kind: plan.Join, Resource: g.members[0].addr})
	b.joins[jk] = j
	wire(j)
	return j
}

var _ eval.Driver = (*planner)(nil)
