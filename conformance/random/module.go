package random

import (
	"fmt"
	"slices"
)

// A variable of a module.
type variable struct {
	name      string
	t         *typ
	f         flags // flags of its value, or of its declaration in a root module
	declared  bool  // sensitive, in the block itself
	otherwise *expr // default, or nil
	given     *expr // in terraform.tfvars, or nil
	valid     *condition
}

// may returns the flags of an argument for the variable.
func (v *variable) may() flags { return v.f }

// A local is a value in a block locals.
type local struct {
	name  string
	t     *typ
	f     flags
	e     *expr
	scope scope
}

// An output of a module.
type output struct {
	name  string
	t     *typ
	f     flags
	e     *expr
	scope scope
	after []*block
	pre   []condition
	fixed bool // always has the same expression
}

// A check is a block check, with or without its own data source.
type check struct {
	name string
	data bool
	list []condition
}

// A module is a directory of configuration.
type module struct {
	dir       string // "" for the root module
	variables []*variable
	locals    []*local
	blocks    []*block
	outputs   []*output
	checks    []*check
	scope     scope    // everything in it
	once      []string // blocks only of this version: moved, removed, import
}

func (m *module) root() bool { return m.dir == "" }

// configuration generates a root module and its children.
func (g *gen) configuration() *module {
	for i := range g.r.IntN(4) {
		g.modules = append(g.modules, g.module(fmt.Sprintf("m%d", i+1)))
	}
	return g.module("")
}

// module generates a module. It only calls existing ones, so there is no recursion.
func (g *gen) module(dir string) *module {
	m := &module{dir: dir}
	for range 1 + g.r.IntN(4) {
		g.addVariable(m)
	}
	size := 4 + g.r.IntN(5)
	if m.root() {
		size += 4
	}
	for range size {
		switch n := g.r.IntN(10); {
		case n < 3:
			g.addLocal(m)
		case n < 4 && m.root() && g.chance(40):
			g.addBlock(m, &block{kind: "data", name: g.name("d")})
		case n < 6 && len(g.modules) > 0:
			g.addBlock(m, &block{kind: "module", name: g.name("m"), child: pick(g, g.modules)})
		default:
			g.addResource(m)
		}
	}
	for range 1 + g.r.IntN(4) {
		g.addOutput(m)
	}
	if g.chance(35) {
		g.addCheck(m)
	}
	return m
}

func (g *gen) someFlags(from ...flags) flags {
	var f flags
	for _, one := range from {
		if g.chance(30) {
			f |= one
		}
	}
	return f
}

func (g *gen) addVariable(m *module) {
	v := &variable{name: g.name("v"), t: g.valueType()}
	switch {
	case g.chance(10):
		v.f = ephemeral | g.someFlags(sensitive, null)
	case m.root():
		v.f = g.someFlags(sensitive, null)
	default:
		v.f = g.someFlags(sensitive, null, unknown, unknown, arbitrary)
	}
	v.declared = v.f&sensitive != 0 && (m.root() || g.chance(30))
	if g.chance(60) {
		v.otherwise = g.literal(v.t, v.f)
	}
	if m.root() && (v.otherwise == nil || g.chance(30)) {
		v.given = g.plainLiteral(v.t, v.f)
	}
	if v.otherwise != nil {
		v.otherwise = g.plainLiteral(v.t, v.f)
	}
	if g.chance(15) && v.f&ephemeral == 0 {
		own := scope{}.with(value{cat("var." + v.name), v.t, v.f})
		if c, ok := g.assertion(own, v.f); ok {
			v.valid = &c
		}
	}
	m.variables = append(m.variables, v)
	m.scope = m.scope.with(value{cat("var." + v.name), v.t, v.f})
}

// plainLiteral returns a constant without function calls, which variable files and defaults do not permit.
func (g *gen) plainLiteral(t *typ, may flags) *expr {
	if may&null != 0 && g.chance(7) {
		return cat("null")
	}
	part := func(t *typ) *expr { return g.plainLiteral(t, may) }
	switch t.kind {
	case list, set:
		return g.construct(&typ{kind: tuple, parts: slices.Repeat([]*typ{t.elem}, g.r.IntN(4))}, plainly, part)
	case mapping:
		var items []any
		for _, key := range g.someKeys() {
			items = append(items, cat(fmt.Sprintf("%q = ", key), part(t.elem)))
		}
		return joined("{ ", items, ", ", " }")
	}
	return g.construct(t, plainly, part)
}

func (g *gen) addLocal(m *module) {
	l := &local{name: g.name("l"), t: g.valueType(), f: g.someFlags(sensitive, null, unknown, unknown, arbitrary),
		scope: m.scope}
	if g.chance(5) {
		l.f |= ephemeral
	}
	l.e = g.expr(l.scope, l.t, l.f, 4)
	m.locals = append(m.locals, l)
	m.scope = m.scope.with(value{cat("local." + l.name), l.t, l.f})
}

func (g *gen) addResource(m *module) *block {
	b := &block{kind: "resource", name: g.name("r"), t: g.valueType(), f: g.someFlags(sensitive, null, unknown, unknown,
		arbitrary)}
	if g.chance(35) {
		b.triggersType, b.triggersMay = g.valueType(), g.someFlags(sensitive, null, unknown)
	}
	if g.chance(20) {
		b.firstCreate = pick(g, []string{"true", "true", "false"})
	}
	if g.chance(12) {
		b.ignore = pick(g, [][]string{{"input"}, {"triggers_replace"}, {"input", "triggers_replace"}, {"all"}})
	}
	if others := m.resources(); len(others) > 0 && g.chance(15) {
		b.replacedBy = append(b.replacedBy, g.trigger(pick(g, others)))
	}
	g.addBlock(m, b)
	return b
}

// trigger returns a reference for replace_triggered_by to a resource.
func (g *gen) trigger(of *block) *expr {
	attribute := pick(g, []string{"", ".output", ".id", ".input"})
	return cat(&reference{of, func() string {
		switch {
		case of.x.mode == single:
			return of.address() + attribute
		case of.x.mode >= eachOfSet && len(of.x.keys) > 0:
			return fmt.Sprintf("%s[%q]%s", of.address(), of.x.keys[0], attribute)
		}
		return of.address()
	}})
}

func (m *module) resources() []*block {
	return slices.DeleteFunc(slices.Clone(m.blocks), func(b *block) bool { return b.kind != "resource" })
}

func (g *gen) addBlock(m *module, b *block) {
	b.scope, b.inRoot = m.scope, m.root()
	b.x = g.expansion(b.scope, g.someMode())
	if len(m.blocks) > 0 && g.chance(15) {
		b.after = append(b.after, pick(g, m.blocks))
	}
	g.fill(b)
	m.blocks = append(m.blocks, b)
	m.scope = g.exported(m.scope, b)
}

func (g *gen) addOutput(m *module) *output {
	o := &output{name: g.name("o"), t: g.valueType(), f: g.someFlags(sensitive, null, unknown, unknown, unknown,
		arbitrary), scope: m.scope}
	o.e = g.expr(o.scope, o.t, o.f, 4)
	passing := slices.DeleteFunc(slices.Clone(m.variables), func(v *variable) bool { return v.f&ephemeral == 0 })
	if !m.root() && len(passing) > 0 && g.chance(25) { // a variable declared as ephemeral must get an ephemeral value
		v := pick(g, passing)
		o.t, o.f, o.e, o.fixed = v.t, v.f, cat("var."+v.name), true
	}
	if len(m.blocks) > 0 && g.chance(12) {
		o.after = append(o.after, pick(g, m.blocks))
	}
	if g.chance(12) {
		o.pre = g.assertions(o.scope, unknown|null)
	}
	m.outputs = append(m.outputs, o)
	return o
}

func (g *gen) addCheck(m *module) {
	c := &check{name: g.name("c"), data: m.root() && g.chance(30)}
	sc := m.scope
	if c.data {
		sc = sc.with(value{cat("data.terraform_remote_state." + c.name + ".outputs.name"), textType, unknown})
	}
	for range 1 + g.r.IntN(2) {
		c.list = append(c.list, g.assertions(sc, unknown|null|sensitive)...)
	}
	if len(c.list) > 0 {
		m.checks = append(m.checks, c)
	}
}

// files returns the text of a configuration.
func (g *gen) files(root *module) map[string]string {
	files := map[string]string{"main.tf": root.text(), "remote.json": remoteState}
	for _, m := range g.modules {
		files[m.dir+"/main.tf"] = m.text()
	}
	w := &writer{}
	for _, v := range root.variables {
		if v.given != nil {
			w.line("%s = %s", v.name, v.given)
		}
	}
	files["terraform.tfvars"] = w.buf.String()
	return files
}

// remoteState is a state that data sources read.
const remoteState = `{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"0","outputs":{
"name":{"value":"far","type":"string"},"items":{"value":["p","q"],"type":["list","string"]},
"obj":{"value":{"n":4},"type":["object",{"n":"number"}]}},"resources":[]}
`

func (m *module) text() string {
	w := &writer{}
	for _, v := range m.variables {
		v.write(w)
	}
	if len(m.locals) > 0 {
		w.block("locals", func() {
			for _, l := range m.locals {
				w.line("%s = %s", l.name, l.e)
			}
		})
	}
	for _, b := range m.blocks {
		b.write(w)
	}
	for _, c := range m.checks {
		c.write(w)
	}
	for _, o := range m.outputs {
		o.write(w, m.root())
	}
	for _, text := range m.once {
		w.line("%s", text)
	}
	return w.buf.String()
}

func (v *variable) write(w *writer) {
	w.block(fmt.Sprintf("variable %q", v.name), func() {
		w.line("type = %s", v.t)
		if v.declared {
			w.line("sensitive = true")
		}
		if v.f&ephemeral != 0 {
			w.line("ephemeral = true")
		}
		if v.f&null == 0 {
			w.line("nullable = false")
		}
		if v.otherwise != nil {
			w.line("default = %s", v.otherwise)
		}
		if v.valid != nil {
			w.condition("validation", *v.valid)
		}
	})
}

func (c *check) write(w *writer) {
	w.block(fmt.Sprintf("check %q", c.name), func() {
		if c.data {
			w.block(fmt.Sprintf(`data "terraform_remote_state" %q`, c.name), func() {
				w.line(`backend = "local"`)
				w.line(`config = { path = "remote.json" }`)
			})
		}
		for _, a := range c.list {
			w.condition("assert", a)
		}
	})
}

func (o *output) write(w *writer, root bool) {
	w.block(fmt.Sprintf("output %q", o.name), func() {
		e := o.e
		// a child may pass on sensitive values without declaring them
		declared := o.f&sensitive != 0 && (root || o.t.kind != object)
		if declared && !root {
			e = cat("sensitive(", e, ")") // 1.11.4 does not mark values that only a child declares
		}
		w.line("value = %s", e)
		if declared {
			w.line("sensitive = true")
		}
		if o.f&ephemeral != 0 {
			w.line("ephemeral = true")
		}
		if len(o.after) > 0 {
			w.line("depends_on = [%s]", o.after[0].address())
		}
		for _, c := range o.pre {
			w.condition("precondition", c)
		}
	})
}
