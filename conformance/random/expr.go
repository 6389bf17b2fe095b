package random

import (
	"fmt"
	"strings"
)

// flags restrict a value, in any version of the configuration.
type flags uint8

const (
	sensitive flags = 1 << iota
	unknown
	null
	ephemeral
	arbitrary // contains an id, which differs between the sides: it may be passed on, but not computed with
)

// plainly restricts expressions to known values that are not sensitive, for places where terraform requires them.
const plainly flags = 0

// An expr is text with parts that are written together with a version of the configuration: the form of a reference
// depends on whether its object has count or for_each in that version.
type expr struct {
	parts []any // string, *expr, *reference
}

func cat(parts ...any) *expr { return &expr{parts} }

func joined(open string, items []any, between, end string) *expr {
	e := cat(open)
	for i, item := range items {
		if i > 0 {
			e.parts = append(e.parts, between)
		}
		e.parts = append(e.parts, item)
	}
	e.parts = append(e.parts, end)
	return e
}

func (e *expr) String() string {
	var b strings.Builder
	for _, p := range e.parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case *expr:
			b.WriteString(p.String())
		case *reference:
			b.WriteString(p.text())
		}
	}
	return b.String()
}

// mentions reports whether an expression refers to b.
func (e *expr) mentions(b *block) bool {
	for _, p := range e.parts {
		switch p := p.(type) {
		case *expr:
			if p.mentions(b) {
				return true
			}
		case *reference:
			if p.to == b {
				return true
			}
		}
	}
	return false
}

// A reference refers to a block of the same module.
type reference struct {
	to   *block
	text func() string
}

// A value is something that expressions may refer to.
type value struct {
	e *expr
	t *typ
	f flags
}

// A scope is the set of values that expressions in one place may refer to.
type scope []value

// with returns a scope with one more value, and its attributes.
func (s scope) with(v value) scope {
	s = append(s[:len(s):len(s)], v)
	for i, p := range v.t.parts {
		if v.f&null != 0 {
			break // a value that may be null has no usable attributes
		}
		switch v.t.kind {
		case object:
			s = s.with(value{cat(v.e, "."+v.t.names[i]), p, v.f})
		case tuple:
			s = s.with(value{cat(v.e, fmt.Sprintf("[%d]", i)), p, v.f})
		}
	}
	return s
}

// fitting returns the values whose type accept returns true for and whose flags are permitted.
func (s scope) fitting(may flags, accept func(*typ) bool) scope {
	var fit scope
	for _, v := range s {
		if v.f&^may == 0 && accept(v.t) {
			fit = append(fit, v)
		}
	}
	return fit
}

// expr generates an expression of a type, with only the permitted flags.
func (g *gen) expr(sc scope, t *typ, may flags, depth int) *expr {
	// the order of a set depends on its elements
	if t.kind == number || t.kind == boolean || t.has(func(p *typ) bool { return p.kind == set }) {
		may &^= arbitrary
	}
	if depth <= 0 {
		if fit := sc.fitting(may, func(o *typ) bool { return same(o, t) }); len(fit) > 0 && g.chance(60) {
			return pick(g, fit).e
		}
		return g.literal(t, may)
	}
	forms := []func(scope, *typ, flags, int) *expr{
		g.referring, g.referring, g.referring, g.referring, g.element, g.element, g.element, g.constructed,
		g.constructed, g.constructed,
		g.called, g.called, g.called, g.conditional, g.loop, g.loop, g.operator, g.marked, g.tried, g.spelled,
	}
	for range 8 {
		if e := pick(g, forms)(sc, t, may, depth); e != nil {
			return e
		}
	}
	return g.constructed(sc, t, may, depth)
}

func (g *gen) constructed(sc scope, t *typ, may flags, depth int) *expr {
	return g.perhaps(g.construct(t, may, func(p *typ) *expr { return g.expr(sc, p, may, depth-1) }), t, may)
}

func (g *gen) referring(sc scope, t *typ, may flags, _ int) *expr {
	if fit := sc.fitting(may, func(o *typ) bool { return same(o, t) }); len(fit) > 0 {
		return pick(g, fit).e
	}
	return nil
}

// element returns an element of a collection.
func (g *gen) element(sc scope, t *typ, may flags, depth int) *expr {
	fit := sc.fitting(may, func(o *typ) bool { return o.elem != nil && same(o.elem, t) })
	if len(fit) == 0 {
		return nil
	}
	v, otherwise := pick(g, fit), g.expr(sc, t, may, 0)
	switch {
	case v.t.kind == mapping && v.f&null == 0 && g.chance(50):
		return cat("lookup(", v.e, fmt.Sprintf(", %q, ", pick(g, keys)), otherwise, ")")
	case v.t.kind == mapping:
		return cat("try(", v.e, fmt.Sprintf("[%q], ", pick(g, keys)), otherwise, ")")
	case v.t.kind == set:
		if may&null != 0 && g.chance(50) {
			return cat("try(one(", v.e, "), ", otherwise, ")")
		}
		return cat("try(tolist(", v.e, ")[0], ", otherwise, ")")
	case g.chance(30) && v.f&null == 0:
		return cat("element(concat(", v.e, ", [", otherwise, "]), ", fmt.Sprint(g.r.IntN(5)), ")")
	}
	return cat("try(", v.e, fmt.Sprintf("[%d], ", g.r.IntN(3)), otherwise, ")")
}

func (g *gen) conditional(sc scope, t *typ, may flags, depth int) *expr {
	cond := g.condition(sc, may&^null, depth-1)
	return g.perhaps(cat("(", cond, " ? ", g.typed(sc, t, may, depth-1), " : ", g.typed(sc, t, may, depth-1), ")"), t,
		may)
}

// typed returns an expression that has exactly the type, because of a conversion.
func (g *gen) typed(sc scope, t *typ, may flags, depth int) *expr {
	e := g.expr(sc, t, may, depth)
	switch t.kind {
	case list:
		return cat("tolist(", e, ")")
	case set:
		return cat("toset(", e, ")")
	case mapping:
		return cat("tomap(", e, ")")
	}
	return e
}

// loop returns a for expression.
func (g *gen) loop(sc scope, t *typ, may flags, depth int) *expr {
	fit := sc.fitting(may&^(null|arbitrary), func(o *typ) bool { return o.elem != nil })
	source, elem, found := cat(`["a", "b", "a"]`), textType, plainly
	if t.elem == nil {
		return nil
	}
	if len(fit) > 0 && g.chance(80) {
		v := pick(g, fit)
		source, elem, found = v.e, v.t.elem, v.f
	}
	k, v := g.name("k"), g.name("v")
	inner := sc.with(value{cat(v), elem, found | null})
	filter := cat("")
	if g.chance(35) {
		filter = cat(" if ", g.condition(inner, may&^null, depth-1))
	}
	body := g.expr(inner, t.elem, may, depth-1)
	switch {
	case t.kind == mapping && g.chance(30): // grouped
		return cat("{for k, v in {for "+k+", "+v+" in ", source, " : jsonencode("+v+") => ", body, "...} : k => v[0]}")
	case t.kind == mapping: // the keys might not be texts
		return cat("try("+pick(g, []string{"", "tomap"})+"({for "+k+", "+v+" in ", source, ` : "${`+k+`}" => `, body,
			filter, "}), {})")
	case t.kind == set:
		return g.perhaps(cat("toset([for "+v+" in ", source, " : ", body, filter, "])"), t, may)
	}
	return cat("[for "+v+" in ", source, " : ", body, filter, "]")
}

// perhaps guards an expression whose parts may have different types.
func (g *gen) perhaps(e *expr, t *typ, may flags) *expr {
	if t.simple() {
		return e
	}
	return cat("try(", e, ", ", g.literal(t, may), ")")
}

// condition returns an expression of type bool that is never null.
func (g *gen) condition(sc scope, may flags, depth int) *expr {
	return g.expr(sc, boolType, may&^null, depth)
}

// operator returns an expression with an operator, or a string template.
func (g *gen) operator(sc scope, t *typ, may flags, depth int) *expr {
	may &^= arbitrary
	sub := func(t *typ) *expr { return g.expr(sc, t, may&^null, depth-1) }
	// In terraform "unknown or true" is unknown; in tombolo it is true.
	known := func(t *typ) *expr { return g.expr(sc, t, may&^(null|unknown), depth-1) }
	switch t.kind {
	case number:
		return cat("(", sub(numberType), pick(g, []string{" + ", " - ", " * "}), sub(numberType), ")")
	case boolean:
		switch g.r.IntN(4) {
		case 0:
			return cat("!", "(", sub(boolType), ")")
		case 1:
			return cat("(", sub(numberType), pick(g, []string{" > ", " >= ", " < ", " <= "}), sub(numberType), ")")
		case 2:
			other := g.typ(2)
			return cat("(", g.expr(sc, other, may, depth-1), pick(g, []string{" == ", " != "}),
				g.expr(sc, other, may, depth-1), ")")
		}
		return cat("(", known(boolType), pick(g, []string{" && ", " || "}), known(boolType), ")")
	case text:
		switch g.r.IntN(3) {
		case 0:
			return cat(`"p-${`, sub(textType), `}-${`, sub(numberType), `}"`)
		case 1:
			return cat(`"%{ if `, sub(boolType), ` }y${`, sub(textType), `}%{ else }n%{ endif }"`)
		}
		return cat(`"%{ for x in `, sub(textList), ` }${x},%{ endfor }"`)
	}
	return nil
}

// marked adds or removes marks.
func (g *gen) marked(sc scope, t *typ, may flags, depth int) *expr {
	sub := g.expr(sc, t, may, depth-1)
	switch {
	case may&sensitive != 0 && g.chance(50):
		return cat("sensitive(", sub, ")")
	case may&(null|ephemeral) == null && g.chance(30) && t.primitive():
		return cat("ephemeralasnull(", g.expr(sc, t, may|ephemeral, depth-1), ")")
	case may&sensitive == 0 && may&ephemeral == 0:
		return cat("nonsensitive(", g.expr(sc, t, may|sensitive, depth-1), ")")
	}
	return nil
}

// tried returns an expression that catches errors.
func (g *gen) tried(sc scope, t *typ, may flags, depth int) *expr {
	e := g.expr(sc, t, may, depth-1)
	if t.kind == boolean && g.chance(40) {
		return cat("can(", e, ")")
	}
	if t.primitive() && may&null != 0 && t.kind != boolean && g.chance(40) {
		return cat("coalesce(", e, ", ", g.fallback(t), ")")
	}
	return cat("try(", e, ", ", g.literal(t, may), ")")
}

// fallback returns a constant that is neither null nor empty.
func (g *gen) fallback(t *typ) *expr {
	switch t.kind {
	case number:
		return cat("7")
	case boolean:
		return cat("true")
	}
	return cat(`"z"`)
}

// spelled returns an equivalent expression in another notation.
func (g *gen) spelled(sc scope, t *typ, may flags, depth int) *expr {
	switch t.kind {
	case list:
		objects := sc.fitting(may, func(o *typ) bool {
			return o.elem != nil && o.kind != mapping &&
				o.elem.kind == object
		})
		for _, v := range objects {
			for i, p := range v.t.elem.parts {
				if same(p, t.elem) && v.f&null == 0 {
					return cat(v.e, "[*]."+v.t.elem.names[i])
				}
			}
		}
		return cat("try(concat(", g.expr(sc, t, may&^null, depth-1), ", ", g.expr(sc, t, may&^null, depth-1), "), ",
			g.literal(t, may), ")")
	case mapping:
		return cat("merge(", g.expr(sc, t, may, depth-1), ", ", g.expr(sc, t, may, depth-1), ")")
	case set:
		name := pick(g, []string{"setunion", "setintersection", "setsubtract"})
		return cat("try("+name+"(", g.typed(sc, t, may&^null, depth-1), ", ", g.typed(sc, t, may&^null, depth-1), "), ",
			g.literal(t, may), ")")
	case object:
		return cat("jsondecode(jsonencode(", g.expr(sc, t, may, depth-1), "))")
	}
	return cat("(", g.expr(sc, t, may, depth-1), ")")
}
