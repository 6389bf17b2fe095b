package random

import (
	"fmt"
	"slices"
	"strings"
)

type mode int

const (
	single mode = iota
	counted
	eachOfSet
	eachOfMap
)

// An expansion is the count or for_each of a block.
type expansion struct {
	mode   mode
	source *expr    // the argument of count or for_each
	keys   []string // those of for_each, if they are literals
	elem   *typ     // of each.value
	f      flags    // of each.value
}

// expansion generates a count or for_each. Counts and keys must be known and not sensitive.
func (g *gen) expansion(sc scope, m mode) expansion {
	x := expansion{mode: m}
	switch m {
	case counted:
		x.source = pick(g, []*expr{cat("0"), cat("1"), cat("2"), cat("3"),
			cat("min(3, length(", g.expr(sc, textList, plainly, 2), "))"),
			cat("(", g.expr(sc, boolType, plainly, 2), " ? 1 : 0)")})
	case eachOfSet:
		x.elem = textType
		if g.chance(30) {
			x.source = cat("toset(", g.expr(sc, pick(g, []*typ{textSet, textList}), plainly, 2), ")")
			break
		}
		x.keys = g.someKeys()
		x.source = cat(`toset(["` + strings.Join(x.keys, `", "`) + `"])`)
		if len(x.keys) == 0 {
			x.source = cat("toset([])")
		}
	case eachOfMap:
		x.elem, x.keys, x.f = g.typ(1), g.someKeys(), pick(g, []flags{plainly, plainly, unknown, sensitive})
		var items []any
		for _, key := range x.keys {
			items = append(items, cat(fmt.Sprintf("%q = ", key), g.expr(sc, x.elem, x.f, 2)))
		}
		x.source = joined("{ ", items, ", ", " }")
	}
	return x
}

func (g *gen) someKeys() []string {
	return slices.DeleteFunc(slices.Clone(keys), func(string) bool { return g.chance(65) })
}

func (g *gen) someMode() mode {
	return pick(g, []mode{single, single, single, counted, eachOfSet, eachOfMap})
}

// inside returns a scope with the values that identify the instance in the body of a block.
func (x expansion) inside(sc scope) scope {
	switch x.mode {
	case counted:
		return sc.with(value{cat("count.index"), numberType, plainly})
	case eachOfSet, eachOfMap:
		return sc.with(value{cat("each.key"), textType, plainly}).with(value{cat("each.value"), x.elem, x.f})
	}
	return sc
}

// A condition is a precondition, a postcondition, a validation or an assertion.
type condition struct{ holds, message *expr }

// assertion generates a condition that usually holds and refers to something.
func (g *gen) assertion(sc scope, may flags) (condition, bool) {
	fit := sc.fitting(may|null, func(*typ) bool { return true })
	if len(fit) == 0 {
		return condition{}, false
	}
	together := "anytrue"
	if g.chance(6) {
		together = "alltrue"
	}
	holds := cat(together, "([", g.condition(sc, may, 2), ", can(", pick(g, fit).e, ")])")
	return condition{holds, cat(`"${`, g.expr(sc, textType, may&^(sensitive|null), 1), `} is not as expected."`)}, true
}

// assertions generates one condition, or none if there is nothing to refer to.
func (g *gen) assertions(sc scope, may flags) []condition {
	if c, ok := g.assertion(sc, may); ok {
		return []condition{c}
	}
	return nil
}

func (w *writer) condition(kind string, c condition) {
	w.block(kind, func() {
		w.line("condition     = %s", c.holds)
		w.line("error_message = %s", c.message)
	})
}

// A block is a resource, a data source or a call of a module, to which others may refer.
type block struct {
	kind  string // "resource", "data" or "module"
	name  string
	x     expansion
	scope scope // what its expressions may refer to
	after []*block
	pre   []condition
	post  []condition

	// of a resource
	t, triggersType *typ
	f, triggersMay  flags
	input, triggers *expr
	firstCreate     string   // create_before_destroy
	ignore          []string // ignore_changes
	replacedBy      []*expr  // replace_triggered_by

	// of a module
	child     *module
	inRoot    bool // whether the root module calls it
	arguments map[*variable]*expr
}

// address returns the block's address within its module.
func (b *block) address() string {
	switch b.kind {
	case "resource":
		return "terraform_data." + b.name
	case "data":
		return "data.terraform_remote_state." + b.name
	}
	return "module." + b.name
}

// instance returns the address of an existing instance, or the block's.
func (b *block) instance(g *gen) string {
	switch {
	case b.x.mode == counted:
		return b.address() + "[0]"
	case len(b.x.keys) > 0:
		return fmt.Sprintf("%s[%q]", b.address(), pick(g, b.x.keys))
	}
	return b.address()
}

// fill generates the content of the block, for its current instances.
func (g *gen) fill(b *block) {
	sc := b.x.inside(b.scope)
	switch b.kind {
	case "resource":
		b.input = g.expr(sc, b.t, b.f, 3)
		if b.triggersType != nil {
			b.triggers = g.expr(sc, b.triggersType, b.triggersMay, 2)
		}
	case "module":
		b.arguments = map[*variable]*expr{}
		for _, v := range b.child.variables {
			if v.otherwise == nil || g.chance(80) {
				b.arguments[v] = g.expr(sc, v.t, v.may(), 3)
			}
		}
	}
	b.pre, b.post = nil, nil
	if b.kind == "module" {
		return
	}
	if g.chance(12) {
		b.pre = g.assertions(sc, unknown|null)
	}
	if g.chance(12) {
		self := scope{{cat("self.backend"), textType, plainly}}
		if b.kind == "resource" {
			self = scope{{cat("self.id"), textType, unknown | arbitrary}}
			self = self.with(value{cat("self.output"), b.t, b.f | unknown}).with(value{cat("self.input"), b.t, b.f})
		}
		b.post = g.assertions(append(sc[:len(sc):len(sc)], self...), unknown|null)
	}
}

// first returns a reference to an attribute of one instance, whichever exist.
func (b *block) first(attribute string, otherwise *expr) *expr {
	return cat(&reference{b, func() string {
		at := b.address()
		switch {
		case b.x.mode == single:
			return at + attribute
		case b.x.mode == counted:
			return fmt.Sprintf("try(%s[0]%s, %s)", at, attribute, otherwise)
		case len(b.x.keys) > 0:
			return fmt.Sprintf("%s[%q]%s", at, b.x.keys[0], attribute)
		}
		return fmt.Sprintf("try(values(%s)[0]%s, %s)", at, attribute, otherwise)
	}})
}

// all returns a reference to an attribute of all instances.
func (b *block) all(attribute string) *expr {
	return cat(&reference{b, func() string {
		switch at := b.address(); b.x.mode {
		case single:
			return "[" + at + attribute + "]"
		case counted:
			return at + "[*]" + attribute
		default:
			return "values(" + at + ")[*]" + attribute
		}
	}})
}

// byKey returns a reference to an attribute of all instances, by their keys.
func (b *block) byKey(attribute string) *expr {
	return cat(&reference{b, func() string {
		at := b.address()
		if b.x.mode == single {
			return "{ only = " + at + attribute + " }"
		}
		return "{for k, v in " + at + " : k => v" + attribute + "}"
	}})
}

// whole returns a reference to the block itself, for its keys.
func (b *block) whole(before, after string) *expr {
	return cat(&reference{b, func() string {
		if b.x.mode == single {
			return before + "[" + b.address() + "]" + after
		}
		return before + b.address() + after
	}})
}

// exported adds the values of a block that others may refer to.
func (g *gen) exported(sc scope, b *block) scope {
	attribute := func(name string, t *typ, f flags) {
		sc = sc.with(value{b.first(name, g.literal(t, plainly)), t, f})
		sc = sc.with(value{b.all(name), listOf(t), f})
		sc = sc.with(value{b.byKey(name), mapOf(t), f})
	}
	switch b.kind {
	case "resource":
		attribute(".input", b.t, b.f)
		attribute(".output", b.t, b.f|unknown)
		attribute(".id", textType, unknown|arbitrary)
		if b.triggersType != nil {
			attribute(".triggers_replace", b.triggersType, b.triggersMay)
		}
		sc = sc.with(value{b.whole("jsonencode(", ")"), textType, b.f | b.triggersMay | unknown | arbitrary})
	case "data":
		attribute(".outputs.name", textType, unknown)
		attribute(".outputs.items", textList, unknown)
		attribute(".outputs.obj.n", numberType, unknown)
	case "module":
		for _, o := range b.child.outputs {
			attribute("."+o.name, o.t, o.f)
		}
	}
	sc = sc.with(value{b.whole("length(", ")"), numberType, plainly})
	return sc.with(value{cat(b.whole("[for k, v in ", " : tostring(k)]")), textList, plainly})
}

func (b *block) write(w *writer) {
	head := map[string]string{"resource": `resource "terraform_data"`, "data": `data "terraform_remote_state"`,
		"module": "module"}[b.kind]
	w.block(fmt.Sprintf("%s %q", head, b.name), func() {
		switch b.x.mode {
		case counted:
			w.line("count = %s", b.x.source)
		case eachOfSet, eachOfMap:
			w.line("for_each = %s", b.x.source)
		}
		switch b.kind {
		case "resource":
			w.line("input = %s", b.input)
			if b.triggers != nil {
				w.line("triggers_replace = %s", b.triggers)
			}
		case "data":
			w.line(`backend = "local"`)
			w.line(`config = { path = "remote.json" }`)
		case "module":
			w.line("source = %q", map[bool]string{true: "./", false: "../"}[b.inRoot]+b.child.dir)
			for _, v := range b.child.variables {
				if e, ok := b.arguments[v]; ok {
					w.line("%s = %s", v.name, e)
				}
			}
		}
		if len(b.after) > 0 {
			var names []string
			for _, other := range b.after {
				names = append(names, other.address())
			}
			w.line("depends_on = [%s]", strings.Join(names, ", "))
		}
		b.writeLifecycle(w)
	})
}

func (b *block) writeLifecycle(w *writer) {
	if b.firstCreate == "" && b.ignore == nil && b.replacedBy == nil && b.pre == nil && b.post == nil {
		return
	}
	w.block("lifecycle", func() {
		if b.firstCreate != "" {
			w.line("create_before_destroy = %s", b.firstCreate)
		}
		if len(b.ignore) > 0 {
			list := "[" + strings.Join(b.ignore, ", ") + "]"
			if b.ignore[0] == "all" {
				list = "all"
			}
			w.line("ignore_changes = %s", list)
		}
		if len(b.replacedBy) > 0 {
			var items []any
			for _, e := range b.replacedBy {
				items = append(items, e)
			}
			w.line("replace_triggered_by = %s", joined("[", items, ", ", "]"))
		}
		for _, c := range b.pre {
			w.condition("precondition", c)
		}
		for _, c := range b.post {
			w.condition("postcondition", c)
		}
	})
}
