// Package moving computes the new addresses of stored objects from moved blocks, and from blocks to which count or
// lifecycle.enabled was added or from which count was removed. It reads only the text of the configuration and the
// state; nothing is evaluated.
//
// Run returns the edits of the state and the former address of each object. Check reports problems of the blocks
// themselves, after modules and resources have been expanded, and WrongKeys those that name no instance because of the
// kind of a key. Package planning plans the moved objects.
//
//	moves := moving.Run(cfg, prior, nil)
//	prior = moves.State
//	...
//	diags := moves.Check(declared)
package moving

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/state"
)

// Result holds the new addresses of the objects of a state.
type Result struct {
	// State is the prior state with Edits applied.
	State *state.State
	Edits []state.Edit
	// From holds the former address of every instance that moved.
	From map[addr.AbsResourceInstance]addr.AbsResourceInstance
	// Blocked lists what could not move because its new address was taken.
	Blocked []Blocked
	// Open holds the current addresses of the open instances passed to Run, by their original addresses.
	Open map[addr.AbsResourceInstance]addr.AbsResourceInstance
	// Waiting holds the instances of the state that could not move because an open one is at their new address, by
	// current address, each with the original address of the open one.
	Waiting map[addr.AbsResourceInstance]addr.AbsResourceInstance

	// renamed maps blocks whose objects moved to their new blocks.
	renamed state.Renaming

	statements []*statement
	cycles     [][]*statement
	misfits    []*statement // would have moved between a managed resource and a data source
	packages   func(addr.Module) *config.Module
}

// Blocked is a module, resource or instance whose new address was taken.
type Blocked struct{ From, To string }

// statement is one moved block, or one move implied by a changed count.
type statement struct {
	from, to end
	implied  bool
	rng      hcl.Range
}

// end is one side of a statement: an address relative to the module that declares it.
type end struct {
	decl     addr.Module // applies to each of its instances
	steps    []addr.Step // the path from there to a module, or to the module of a resource
	resource addr.Resource
	key      addr.Key
	// whole means every instance of the resource, or of the module call in the last step.
	whole bool
}

func (e end) isModule() bool { return e.resource == addr.Resource{} }

// in returns the address within one instance of the declaring module.
func (e end) in(m addr.ModuleInstance) string {
	for _, s := range e.steps {
		m = m.Child(s.Call, s.Key)
	}
	if e.isModule() {
		return m.String()
	}
	return addr.AbsResourceInstance{Module: m, Resource: e.resource, Key: e.key}.String()
}

// Run computes all moves. open are instances without an object in the state that may exist: they move like instances in
// the state.
func Run(cfg *config.Config, prior *state.State, open []addr.AbsResourceInstance) *Result {
	r := &Result{State: prior, From: map[addr.AbsResourceInstance]addr.AbsResourceInstance{}, packages: cfg.Module,
		Open:    make(map[addr.AbsResourceInstance]addr.AbsResourceInstance, len(open)),
		Waiting: map[addr.AbsResourceInstance]addr.AbsResourceInstance{}}
	occupied := prior
	if len(open) > 0 {
		b := prior.Builder()
		for _, a := range open {
			r.Open[a] = a
			b.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: a}, Object: &state.Object{}}})
		}
		occupied = b.State()
	}
	for _, m := range cfg.SortedModules() {
		for _, b := range m.Moved {
			r.statements = append(r.statements, explicit(m.Path, b))
		}
	}
	x := newIndex(r.statements)
	explicits := len(r.statements)
	r.imply(cfg, occupied, x)
	r.implyCalls(cfg, occupied, x)
	if len(r.statements) == 0 {
		return r
	}
	for i := explicits; i < len(r.statements); i++ {
		x.add(i, r.statements[i])
	}
	order, cycles := x.order(r.statements)
	if len(cycles) > 0 {
		r.cycles = cycles
		return r
	}
	root := settle(occupied)
	for _, i := range order {
		r.move(root, r.statements[i])
	}
	r.record(root, prior)
	return r
}

// explicit returns the statement of a block. Two addresses without keys mean all instances; if one has a key, both mean
// one instance.
func explicit(m addr.Module, b *config.Moved) *statement {
	whole := func(t addr.Target) bool {
		if t.IsModule() {
			_, last, _ := t.Module.Parent()
			return last.Key.IsNone()
		}
		return !t.HasKey
	}
	both := whole(b.From.Target) && whole(b.To.Target)
	side := func(t addr.Target) end {
		return end{decl: m, steps: t.Module.Steps(), resource: t.Resource, key: t.Key, whole: both}
	}
	return &statement{from: side(b.From.Target), to: side(b.To.Target), rng: b.Range}
}

// imply adds the moves of resources to whose block count was added or from which it was removed, unless a moved block
// refers to the resource: the only instance becomes number 0, and vice versa.
func (r *Result) imply(cfg *config.Config, occupied *state.State, x *index) {
	for _, stored := range occupied.Resources() {
		m := cfg.Module(stored.Addr.Module.Config())
		if m == nil {
			continue
		}
		block := m.Resources[stored.Addr.Resource]
		if block == nil || block.ForEach != nil {
			continue
		}
		from, to := addr.NoKey, addr.IntKey(0)
		if block.Count == nil {
			from, to = to, from
		}
		if stored.Instances[from] == nil {
			continue
		}
		side := func(k addr.Key) end {
			return end{steps: stored.Addr.Module.Steps(), resource: stored.Addr.Resource, key: k}
		}
		if x.mentions(side(from)) {
			continue
		}
		r.statements = append(r.statements, &statement{from: side(from), to: side(to), implied: true,
			rng: block.DeclRange})
	}
}

// implyCalls adds the moves of module instances whose call now uses lifecycle.enabled: number 0 becomes the only one.
// Other additions or removals of count move nothing in Terraform; in OpenTofu the only instance becomes number 0, and
// vice versa (opentofu/counted_modules).
func (r *Result) implyCalls(cfg *config.Config, occupied *state.State, x *index) {
	seen := map[addr.ModuleInstance]bool{}
	for _, stored := range occupied.Resources() {
		for m := stored.Addr.Module; !m.IsRoot() && !seen[m]; m, _, _ = m.Parent() {
			seen[m] = true
			parent, last, _ := m.Parent()
			caller := cfg.Module(parent.Config())
			if caller == nil {
				continue
			}
			call := caller.Calls[last.Call]
			if call == nil || call.ForEach != nil || call.Enabled == nil && !caller.MovesCalls() {
				continue
			}
			from, to := addr.IntKey(0), addr.NoKey
			if call.Count != nil {
				from, to = to, from
			}
			if last.Key != from {
				continue
			}
			side := func(k addr.Key) end {
				return end{steps: append(parent.Steps(), addr.Step{Call: last.Call, Key: k})}
			}
			if x.mentions(side(from)) {
				continue
			}
			r.statements = append(r.statements, &statement{from: side(from), to: side(to), implied: true,
				rng: call.Range})
		}
	}
}

// record compares the addresses of all objects with their former ones and returns the edits in an order in which each
// new address is free.
func (r *Result) record(root *place, prior *state.State) {
	var moved []addr.AbsResourceInstance
	waiting := r.Waiting
	r.Waiting = make(map[addr.AbsResourceInstance]addr.AbsResourceInstance, len(waiting))
	root.walk(addr.RootInstance, func(now, was addr.AbsResourceInstance) {
		if _, open := r.Open[was]; open {
			r.Open[was] = now
		}
		if prior.Instance(was) == nil {
			return
		}
		if open, ok := waiting[was]; ok {
			r.Waiting[now] = open
		}
		if now != was {
			r.From[now] = was
			moved = append(moved, now)
		}
	})
	slices.SortFunc(moved, addr.AbsResourceInstance.Compare)
	r.renamed = state.Renaming{}
	for _, now := range moved {
		if was, is := r.From[now].Config(), now.Config(); was != is {
			r.renamed.Note(was, is)
		}
	}
	to := make(map[addr.AbsResourceInstance]addr.AbsResourceInstance, len(moved))
	for now, was := range r.From {
		to[was] = now
	}
	done := map[addr.AbsResourceInstance]bool{}
	for _, now := range moved {
		// The object that is still at the new address moves first.
		var chain []addr.AbsResourceInstance
		for at, occupied := now, true; occupied && !done[at]; at, occupied = next(to, at) {
			if len(chain) > len(moved) {
				panic("moving: objects change places in a ring at " + now.String()) // order would have reported a cycle
			}
			chain = append(chain, at)
		}
		for _, at := range slices.Backward(chain) {
			done[at] = true
			r.Edits = append(r.Edits, state.Edit{Move: &state.MoveObject{From: r.From[at], To: at}})
		}
	}
	if len(r.Edits) > 0 {
		b := prior.Builder()
		b.Fold(r.Edits...)
		r.State = b.State()
	}
	// If some objects of a block were not moved, dependencies also keep its name.
	for _, left := range r.State.Resources() {
		if was := left.Addr.Config(); r.renamed[was] != nil {
			r.renamed.Note(was, was)
		}
	}
}

func next(to map[addr.AbsResourceInstance]addr.AbsResourceInstance, at addr.AbsResourceInstance) (
	addr.AbsResourceInstance, bool) {
	goes, ok := to[at]
	return goes, ok
}

// Follow returns the dependencies of a stored object under their new names.
func (r *Result) Follow(deps []addr.ConfigResource) []addr.ConfigResource {
	return r.renamed.Follow(deps)
}

// Warnings returns warnings about what could not move.
func (r *Result) Warnings() diag.List {
	if len(r.Blocked) == 0 {
		return nil
	}
	var list strings.Builder
	for _, b := range r.Blocked {
		fmt.Fprintf(&list, "\n  - %s could not move to %s", b.From, b.To)
	}
	return diag.List{}.Warnf(nil, "Unresolved resource instance address changes",
		"The configuration moves objects of the state to addresses that already have other objects:%s\n\nThe objects "+
			"that could not move are planned as if there were no moved block, which usually means that they are "+
			"destroyed.", list.String()).
		Advise("If you do not want that, resolve the conflicts with \"%s\" or \"%s\" first, and plan again.",
			diag.Means("state mv"), diag.Means("state rm"))
}
