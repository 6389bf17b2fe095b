package random

import (
	"fmt"
	"slices"
)

// change generates the next version of the configuration: some values, numbers of instances, names and blocks change.
func (g *gen) change(root *module) {
	all := append(slices.Clone(g.modules), root, root, root)
	for _, m := range all {
		m.once = nil
	}
	for range 2 + g.r.IntN(5) {
		m := pick(g, all)
		pick(g, []func(*module){
			g.changeValues, g.changeValues, g.changeGiven, g.changeInstances, g.changeInstances, g.changeMode, g.rename,
			g.rename, g.swapNames,
			g.remove, g.add, g.changeOutputs, g.changeLifecycle, g.moveInstance,
		})(m)
	}
}

// changeValues generates another value of a local or in a block.
func (g *gen) changeValues(m *module) {
	if len(m.locals) > 0 && g.chance(40) {
		l := pick(g, m.locals)
		l.e = g.expr(l.scope, l.t, l.f, 3)
	} else if len(m.blocks) > 0 {
		g.fill(pick(g, m.blocks))
	}
}

func (g *gen) changeGiven(m *module) {
	v := pick(g, m.variables)
	if v.given != nil {
		v.given = g.plainLiteral(v.t, v.f)
	} else if v.otherwise != nil {
		v.otherwise = g.plainLiteral(v.t, v.f)
	}
}

// changeInstances changes the instances that count or for_each select.
func (g *gen) changeInstances(m *module) {
	expanded := slices.DeleteFunc(slices.Clone(m.blocks), func(b *block) bool { return b.x.mode == single })
	if len(expanded) > 0 {
		b := pick(g, expanded)
		elem := b.x.elem
		b.x = g.expansion(b.scope, b.x.mode)
		if b.x.mode == eachOfMap && !same(elem, b.x.elem) {
			g.fill(b)
		}
	}
}

// changeMode adds or removes the count or for_each of a block, and in some cases a moved block for its instances.
func (g *gen) changeMode(m *module) {
	if len(m.blocks) == 0 {
		return
	}
	b := pick(g, m.blocks)
	if b.kind == "data" {
		return
	}
	from := b.instance(g)
	b.x = g.expansion(b.scope, g.someMode())
	g.fill(b)
	if to := b.instance(g); from != to && g.chance(60) {
		m.moved(from, to)
	}
}

func (m *module) moved(from, to string) {
	m.once = append(m.once, fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}", from, to))
}

// rename renames a block, mostly with a moved block.
func (g *gen) rename(m *module) {
	if len(m.blocks) == 0 {
		return
	}
	b := pick(g, m.blocks)
	from := b.address()
	b.name = g.name("n")
	if b.kind != "data" && g.chance(85) {
		m.moved(from, b.address())
	}
}

// swapNames moves along a chain: two resources swap their names with the help of a third.
func (g *gen) swapNames(m *module) {
	list := m.resources()
	if len(list) < 2 {
		return
	}
	a, b := list[0], list[1]
	first, second, third := a.address(), b.address(), "terraform_data."+g.name("n")
	a.name, b.name = b.name, g.name("n")
	m.moved(second, third)
	m.moved(third, b.address())
	m.moved(first, a.address())
}

// moveInstance moves one instance to another key.
func (g *gen) moveInstance(m *module) {
	for _, b := range m.blocks {
		if b.kind == "data" || b.x.mode < eachOfSet || len(b.x.keys) == 0 {
			continue
		}
		from := fmt.Sprintf("%s[%q]", b.address(), b.x.keys[0])
		b.x = g.expansion(b.scope, b.x.mode)
		g.fill(b)
		if len(b.x.keys) > 0 {
			if to := fmt.Sprintf("%s[%q]", b.address(), b.x.keys[len(b.x.keys)-1]); from != to {
				m.moved(from, to)
			}
		}
		return
	}
}

// remove removes a block that nothing refers to.
func (g *gen) remove(m *module) {
	free := slices.DeleteFunc(slices.Clone(m.blocks), m.needs)
	if len(free) == 0 {
		return
	}
	b := pick(g, free)
	m.blocks = slices.DeleteFunc(m.blocks, func(other *block) bool { return other == b })
	m.forget(b)
	if b.kind == "data" || g.chance(40) {
		return
	}
	if b.kind == "resource" && g.chance(40) {
		added := g.addResource(m)
		added.t, added.f = b.t, b.f
		g.fill(added)
		m.moved(b.address(), added.address())
		return
	}
	m.once = append(m.once, fmt.Sprintf("removed {\n  from = %s\n  lifecycle {\n    destroy = %t\n  }\n}", b.address(),
		g.chance(40)))
}

// needs reports whether anything in a module refers to a block.
func (m *module) needs(b *block) bool {
	in := func(list ...*expr) bool {
		return slices.ContainsFunc(list, func(e *expr) bool { return e != nil && e.mentions(b) })
	}
	for _, l := range m.locals {
		if in(l.e) {
			return true
		}
	}
	conditions := func(list []condition) bool {
		return slices.ContainsFunc(list, func(c condition) bool { return in(c.holds, c.message) })
	}
	for _, other := range m.blocks {
		if other == b {
			continue
		}
		for _, e := range other.arguments {
			if in(e) {
				return true
			}
		}
		if in(other.input, other.triggers, other.x.source) || in(other.replacedBy...) ||
			slices.Contains(other.after, b) || conditions(other.pre) || conditions(other.post) {
			return true
		}
	}
	for _, o := range m.outputs {
		if in(o.e) || slices.Contains(o.after, b) || conditions(o.pre) {
			return true
		}
	}
	return slices.ContainsFunc(m.checks, func(c *check) bool { return conditions(c.list) })
}

// forget removes a block from all scopes.
func (m *module) forget(b *block) {
	without := func(sc scope) scope {
		return slices.DeleteFunc(slices.Clone(sc), func(v value) bool { return v.e.mentions(b) })
	}
	m.scope = without(m.scope)
	for _, l := range m.locals {
		l.scope = without(l.scope)
	}
	for _, other := range m.blocks {
		other.scope = without(other.scope)
	}
	for _, o := range m.outputs {
		o.scope = without(o.scope)
	}
}

// add adds something that nothing refers to yet.
func (g *gen) add(m *module) {
	switch n := g.r.IntN(4); {
	case n == 0 && m.root() && len(g.modules) > 0:
		g.addBlock(m, &block{kind: "module", name: g.name("m"), child: pick(g, g.modules)})
	case n == 1 && m.root():
		b := g.addResource(m)
		m.once = append(m.once, fmt.Sprintf("import {\n  to = %s\n  id = \"imported-%d\"\n}", b.instance(g), g.counter))
	default:
		g.addResource(m)
	}
}

// changeOutputs changes an output or, in the root module, adds or removes one.
func (g *gen) changeOutputs(m *module) {
	switch n := g.r.IntN(4); {
	case n == 0 && m.root():
		g.addOutput(m)
	case n == 1 && m.root() && len(m.outputs) > 1:
		m.outputs = m.outputs[1:]
	case len(m.outputs) > 0:
		o := pick(g, m.outputs)
		if o.fixed {
			return
		}
		o.e = g.expr(o.scope, o.t, o.f, 3)
	}
}

func (g *gen) changeLifecycle(m *module) {
	list := m.resources()
	if len(list) == 0 {
		return
	}
	b := pick(g, list)
	switch g.r.IntN(3) {
	case 0:
		b.firstCreate = pick(g, []string{"", "true", "false"})
	case 1:
		b.ignore = pick(g, [][]string{nil, {"input"}, {"triggers_replace"}, {"all"}})
	default:
		if b.replacedBy = nil; list[0] != b {
			b.replacedBy = []*expr{g.trigger(list[0])}
		}
	}
}
