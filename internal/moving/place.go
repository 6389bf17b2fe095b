package moving

import (
	"maps"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// place is a module instance with its current objects. Objects have their former addresses; their new ones follow from
// the tree, so that a whole module moves by moving its place.
type place struct {
	calls     map[string]map[addr.Key]*place
	resources map[addr.Resource]heap
}

// heap holds the former addresses of the instances of a resource.
type heap map[addr.Key]addr.AbsResourceInstance

// settle returns the tree of all instances of a state.
func settle(s *state.State) *place {
	root := &place{}
	var at *place
	var module addr.ModuleInstance
	for _, r := range s.Resources() { // grouped by module
		if at == nil || r.Addr.Module != module {
			module = r.Addr.Module
			at = root.make(module.Steps())
		}
		h := make(heap, len(r.Instances))
		for key := range r.Instances {
			h[key] = r.Addr.Instance(key)
		}
		at.put(r.Addr.Resource, h)
	}
	return root
}

func (p *place) put(r addr.Resource, h heap) {
	if p.resources == nil {
		p.resources = map[addr.Resource]heap{}
	}
	p.resources[r] = h
}

// make returns the place at the end of a path, and creates missing places.
func (p *place) make(steps []addr.Step) *place {
	for _, s := range steps {
		next := p.calls[s.Call][s.Key]
		if next == nil {
			next = &place{}
			p.attach(s, next)
		}
		p = next
	}
	return p
}

func (p *place) attach(s addr.Step, child *place) {
	if p.calls == nil {
		p.calls = map[string]map[addr.Key]*place{}
	}
	if p.calls[s.Call] == nil {
		p.calls[s.Call] = map[addr.Key]*place{}
	}
	p.calls[s.Call][s.Key] = child
}

// find returns the place at the end of a path, or nil.
func (p *place) find(steps []addr.Step) *place {
	for _, s := range steps {
		if p = p.calls[s.Call][s.Key]; p == nil {
			return nil
		}
	}
	return p
}

// walk visits every instance with its new and former addresses.
func (p *place) walk(m addr.ModuleInstance, visit func(now, was addr.AbsResourceInstance)) {
	for r, h := range p.resources {
		for key, was := range h {
			visit(addr.AbsResourceInstance{Module: m, Resource: r, Key: key}, was)
		}
	}
	for call, keys := range p.calls {
		for key, child := range keys {
			child.walk(m.Child(call, key), visit)
		}
	}
}

// instances visits the existing instances of a module by its calls, with the path to each.
func (p *place) instances(calls []string, way []addr.Step, visit func(p *place, way []addr.Step)) {
	if len(calls) == 0 {
		visit(p, way)
		return
	}
	children := p.calls[calls[0]]
	for _, key := range slices.SortedFunc(maps.Keys(children), addr.Key.Compare) {
		children[key].instances(calls[1:], append(slices.Clip(way), addr.Step{Call: calls[0], Key: key}), visit)
	}
}

// move performs a statement in every instance of the module that declares it.
func (r *Result) move(root *place, s *statement) {
	root.instances(s.from.decl.Calls(), nil, func(p *place, way []addr.Step) {
		if s.from.isModule() {
			r.moveModules(p, way, s)
		} else {
			r.moveResources(p, way, s)
		}
	})
}

func (r *Result) moveModules(p *place, way []addr.Step, s *statement) {
	before, last := s.from.steps[:len(s.from.steps)-1], s.from.steps[len(s.from.steps)-1]
	container := p.find(before)
	if container == nil {
		return
	}
	keys := []addr.Key{last.Key}
	if s.from.whole {
		keys = slices.SortedFunc(maps.Keys(container.calls[last.Call]), addr.Key.Compare)
	}
	for _, key := range keys {
		source := container.calls[last.Call][key]
		if source == nil {
			continue
		}
		to := slices.Clone(s.to.steps)
		if s.from.whole {
			to[len(to)-1].Key = key
		}
		target := addr.ModuleInstanceOf(way...)
		r.transfer(container, addr.Step{Call: last.Call, Key: key}, p, to, target.Join(before), target)
	}
}

// transfer moves a module instance to the end of a path. Resources with objects at both places are not moved; then the
// modules within are moved one by one.
func (r *Result) transfer(container *place, step addr.Step, p *place, to []addr.Step, from, base addr.ModuleInstance) {
	source := container.calls[step.Call][step.Key]
	delete(container.calls[step.Call], step.Key) // the path may pass through its old place
	holder := p.make(to[:len(to)-1])
	last := to[len(to)-1]
	there := holder.calls[last.Call][last.Key]
	if there == nil {
		holder.attach(last, source)
		return
	}
	container.attach(step, source)
	switch {
	case len(source.resources) == 0:
	case len(there.resources) > 0:
		r.block(Blocked{From: from.Child(step.Call, step.Key).String(), To: base.Join(to).String()},
			slices.Collect(maps.Values(source.resources)), slices.Collect(maps.Values(there.resources)))
	default:
		there.resources, source.resources = source.resources, nil
	}
	for _, call := range slices.Sorted(maps.Keys(source.calls)) {
		keys := source.calls[call]
		for _, key := range slices.SortedFunc(maps.Keys(keys), addr.Key.Compare) {
			inner := addr.Step{Call: call, Key: key}
			r.transfer(source, inner, p, append(slices.Clip(to), inner), from.Child(step.Call, step.Key), base)
		}
	}
}

func (r *Result) moveResources(p *place, way []addr.Step, s *statement) {
	container := p.find(s.from.steps)
	if container == nil || len(container.resources[s.from.resource]) == 0 {
		return
	}
	here := container.resources[s.from.resource]
	if _, ok := here[s.from.key]; !ok && !s.from.whole {
		return
	}
	if s.from.resource.Mode != s.to.resource.Mode {
		r.misfits = append(r.misfits, s)
		return
	}
	base := addr.ModuleInstanceOf(way...)
	target := p.make(s.to.steps)
	there := target.resources[s.to.resource]
	taken, blocked := there[s.to.key]
	switch {
	case s.from.whole && len(there) > 0:
		r.block(Blocked{From: s.from.in(base), To: s.to.in(base)}, []heap{here}, []heap{there})
	case !s.from.whole && blocked:
		r.block(Blocked{From: s.from.in(base), To: s.to.in(base)}, []heap{{s.from.key: here[s.from.key]}},
			[]heap{{s.to.key: taken}})
	case s.from.whole:
		delete(container.resources, s.from.resource)
		target.put(s.to.resource, here)
	default:
		if there == nil {
			there = heap{}
			target.put(s.to.resource, there)
		}
		there[s.to.key] = here[s.from.key]
		if delete(here, s.from.key); len(here) == 0 {
			delete(container.resources, s.from.resource)
		}
	}
}

// block records that the objects of some heaps cannot move because of those of others. Those that only an open instance
// blocks are waiting; all others stay.
func (r *Result) block(b Blocked, stay, there []heap) {
	var first *addr.AbsResourceInstance
	for _, h := range there {
		for _, was := range h {
			if _, open := r.Open[was]; open && (first == nil || was.Compare(*first) < 0) {
				first = &was
			}
		}
	}
	if first == nil {
		r.Blocked = append(r.Blocked, b)
		return
	}
	for _, h := range stay {
		for _, was := range h {
			r.Waiting[was] = *first
		}
	}
}
