package random

import (
	"fmt"
	"slices"
	"strings"
)

type kind int

const (
	text kind = iota
	number
	boolean
	list
	set
	mapping
	object
	tuple
)

// A typ is the type that an expression is generated for. The type in terraform may be looser: a list may be a tuple, a
// map an object, until it is converted.
type typ struct {
	kind  kind
	elem  *typ     // of list, set, mapping
	names []string // of an object's attributes
	parts []*typ   // of object and tuple
}

var (
	textType   = &typ{kind: text}
	numberType = &typ{kind: number}
	boolType   = &typ{kind: boolean}
	textList   = &typ{kind: list, elem: textType}
	textSet    = &typ{kind: set, elem: textType}
)

func listOf(t *typ) *typ { return &typ{kind: list, elem: t} }
func mapOf(t *typ) *typ  { return &typ{kind: mapping, elem: t} }

func (t *typ) primitive() bool { return t.kind <= boolean }

// simple reports whether all values of the type have the same type, whatever their notation.
func (t *typ) simple() bool {
	switch t.kind {
	case list, set, mapping:
		return t.elem.primitive()
	case object, tuple:
		return !slices.ContainsFunc(t.parts, func(p *typ) bool { return !p.simple() })
	}
	return true
}

// String returns the type constraint, by which types are also compared.
func (t *typ) String() string {
	switch t.kind {
	case text:
		return "string"
	case number:
		return "number"
	case boolean:
		return "bool"
	case list, set, mapping:
		return fmt.Sprintf("%s(%s)", map[kind]string{list: "list", set: "set", mapping: "map"}[t.kind], t.elem)
	}
	var parts []string
	for i, p := range t.parts {
		if t.kind == object {
			parts = append(parts, t.names[i]+" = "+p.String())
		} else {
			parts = append(parts, p.String())
		}
	}
	if t.kind == object {
		return "object({ " + strings.Join(parts, ", ") + " })"
	}
	return "tuple([" + strings.Join(parts, ", ") + "])"
}

func same(a, b *typ) bool { return a.String() == b.String() }

// typ generates a type of at most the given depth.
func (g *gen) typ(depth int) *typ {
	if depth == 0 || g.chance(30) {
		return pick(g, []*typ{textType, textType, numberType, boolType})
	}
	switch n := g.r.IntN(10); {
	case n < 2:
		return listOf(g.typ(depth - 1))
	case n < 5:
		return &typ{kind: set, elem: g.typ(depth - 1)}
	case n < 7:
		return mapOf(g.typ(depth - 1))
	case n < 9:
		t := &typ{kind: object}
		for _, name := range []string{"a", "b", "name", "x_y"} {
			if g.chance(55) {
				t.names, t.parts = append(t.names, name), append(t.parts, g.typ(depth-1))
			}
		}
		if len(t.names) == 0 {
			t.names, t.parts = []string{"n"}, []*typ{numberType}
		}
		return t
	}
	t := &typ{kind: tuple}
	for range 1 + g.r.IntN(3) {
		t.parts = append(t.parts, g.typ(depth-1))
	}
	return t
}

// valueType generates the type of a value of the configuration, and prefers error-prone ones.
func (g *gen) valueType() *typ {
	if g.chance(15) {
		return pick(g, []*typ{
			{kind: set, elem: textSet}, {kind: set, elem: &typ{kind: object, names: []string{"a", "b"}, parts: []*typ{
				textType, numberType}}},
			mapOf(textSet), listOf(mapOf(textType)),
			{kind: set, elem: &typ{kind: tuple, parts: []*typ{textType, boolType}}}, mapOf(mapOf(numberType)),
		})
	}
	return g.typ(3)
}

var (
	texts = []string{`"a"`, `"b"`, `"c"`, `"x y"`, `"é"`, `""`, `"q\"r"`, `"l1\nl2"`, `"$${x}"`, `"10"`, `"true"`,
		`"A-b_c"`, `"longer than the others"`}
	numbers = []string{"0", "1", "2", "3", "-1", "1.5", "10", "100000000000000000000", "0.1"}
	keys    = []string{"a", "b", "c", "k-1", "x y", "0"}
)

// literal returns a constant of a type, with nulls if they are allowed.
func (g *gen) literal(t *typ, may flags) *expr {
	return g.construct(t, may, func(t *typ) *expr { return g.literal(t, may) })
}

// construct returns a value of a type with parts returned by part.
func (g *gen) construct(t *typ, may flags, part func(*typ) *expr) *expr {
	if may&null != 0 && g.chance(7) {
		return cat("null")
	}
	switch t.kind {
	case text:
		return cat(pick(g, texts))
	case number:
		return cat(pick(g, numbers))
	case boolean:
		return cat(pick(g, []string{"true", "false"}))
	case list, set:
		var items []any
		for range g.some(3) {
			items = append(items, g.inCollection(part, t.elem))
		}
		e := joined("[", items, ", ", "]")
		if t.kind == set {
			return cat("toset(", e, ")")
		} else if g.chance(40) {
			return cat("tolist(", e, ")")
		}
		return e
	case mapping:
		var items []any
		for _, key := range keys {
			if g.chance(30) || key == "0" && len(items) == 0 && g.nested > 0 {
				items = append(items, cat(fmt.Sprintf("%q = ", key), g.inCollection(part, t.elem)))
			}
		}
		e := joined("{ ", items, ", ", " }")
		if len(items) > 0 && g.chance(70) {
			return cat("tomap(", e, ")")
		}
		return e
	case object:
		var items []any
		for i, name := range t.names {
			items = append(items, cat(name+" = ", part(t.parts[i])))
		}
		return joined("{ ", items, ", ", " }")
	}
	var items []any
	for _, p := range t.parts {
		items = append(items, part(p))
	}
	return joined("[", items, ", ", "]")
}

// some returns a number of elements for a collection. A nested collection is not empty: terraform could not determine
// the common type.
func (g *gen) some(most int) int {
	if g.nested > 0 {
		return 1 + g.r.IntN(most)
	}
	return g.r.IntN(most + 1)
}

// inCollection returns an element of a collection.
func (g *gen) inCollection(part func(*typ) *expr, t *typ) *expr {
	g.nested++
	defer func() { g.nested-- }()
	return part(t)
}

// has reports whether want returns true for a type or a part of it.
func (t *typ) has(want func(*typ) bool) bool {
	return want(t) || t.elem != nil && t.elem.has(want) || slices.ContainsFunc(t.parts, func(p *typ) bool {
		return p.has(want)
	})
}
