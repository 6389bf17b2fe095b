package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mapper converts schemas to the attributes of one type.
type mapper struct {
	p    *Provider
	typ  string
	path []*Schema // schemas in progress, to end recursion
	// left is the number of attributes that the type may still have.
	left int
}

const (
	mostNested     = 6    // levels of objects; deeper ones are of any type
	mostAttributes = 2000 // of one type
)

func (p *Provider) mapper(typ string) *mapper { return &mapper{p: p, typ: typ, left: mostAttributes} }

//go:noinline
func (m *mapper) notef(where, format string, args ...any) {
	m.p.note(m.typ, "`"+where+"` "+format, args...)
}

// shape is a type in the manifest.
type shape struct {
	typ     any // of "type"; nil: nested
	nesting string
	nested  members
	// dynamic means that the type contains, or is, any type.
	dynamic bool
}

func (s shape) into(a *members) {
	if s.typ != nil {
		a.add("type", s.typ)
		return
	}
	a.add("nested_type", members{{"nesting_mode", s.nesting}, {"attributes", s.nested}})
}

var anything = shape{typ: "dynamic", dynamic: true}

var scalars = map[string]string{"string": "string", "integer": "number", "number": "number", "boolean": "bool"}

// shape returns the type for the values of a request and a response; either may be nil.
func (m *mapper) shape(req, ans *Schema, where string) shape {
	s := req
	if s == nil {
		s = ans
	}
	if contains(m.path, s) {
		m.notef(where, "refers to itself: it has any type")
		return anything
	}
	if len(m.path) > mostNested {
		m.notef(where, "is nested too deeply: it has any type")
		return anything
	}
	m.path = append(m.path, s)
	defer func() { m.path = m.path[:len(m.path)-1] }()
	switch {
	case s.Type != "" && scalars[s.Type] != "":
		return shape{typ: scalars[s.Type]}
	case len(s.choices) > 0 && s.Varied():
		m.notef(where, "has several forms (oneOf, anyOf): it has any type")
	case s.Types != nil:
		m.notef(where, "may be of the types %s: it has any type", strings.Join(s.Types, ", "))
	case s.Type == "array":
		return m.array(req, ans, where)
	case s.Type == "object":
		return m.object(req, ans, where)
	default:
		m.notef(where, "has no type in the document: it has any type")
	}
	return anything
}

func (m *mapper) array(req, ans *Schema, where string) shape {
	of := req
	if of == nil {
		of = ans
	}
	items := of.Items()
	if items == nil {
		m.notef(where, "is an array whose items have no schema: its type is any")
		return anything
	}
	var r, a *Schema
	if req != nil {
		r = items
	}
	if ans != nil && ans.Type == "array" {
		a = ans.Items()
	}
	if r == nil && a == nil {
		return anything
	}
	inner := m.shape(r, a, where+"[]")
	switch {
	case inner.dynamic:
		m.notef(where, "holds values of any type: it has any type itself")
		return anything
	case inner.typ != nil && flag(of.Limits["uniqueItems"]) && scalars[items.Type] != "":
		return shape{typ: []any{"set", inner.typ}}
	case inner.typ != nil:
		return shape{typ: []any{"list", inner.typ}}
	case inner.nesting == "single":
		return shape{nesting: "list", nested: inner.nested}
	}
	m.notef(where, "is an array of arrays or maps of objects: it has any type")
	return anything
}

func (m *mapper) object(req, ans *Schema, where string) shape {
	of := req
	if of == nil {
		of = ans
	}
	extra := of.Extra()
	if len(of.members) > 0 {
		if extra != nil {
			m.notef(where, "may have further members, which are not mapped")
		}
		var answers *Schema
		if ans != nil && ans.Type == "object" {
			answers = ans
		}
		nested, dynamic := m.attributes(req, answers, where+".")
		if len(nested) == 0 {
			return anything
		}
		return shape{nesting: "single", nested: nested, dynamic: dynamic}
	}
	if extra == nil {
		m.notef(where, "is an object without described members: it has any type")
		return anything
	}
	var r *Schema
	if req != nil {
		r = extra
	}
	inner := m.shape(r, extra, where+"{}")
	switch {
	case inner.dynamic:
		m.notef(where, "holds values of any type: it has any type itself")
		return anything
	case inner.typ != nil:
		return shape{typ: []any{"map", inner.typ}}
	case inner.nesting == "single":
		return shape{nesting: "map", nested: inner.nested}
	}
	m.notef(where, "is a map of lists of objects: it has any type")
	return anything
}

// attributes returns the attributes of a nested object.
func (m *mapper) attributes(req, ans *Schema, where string) (out members, dynamic bool) {
	used := names{}
	for _, name := range union(req, ans) {
		r, a := halves(req, ans, name)
		if r == nil && a == nil {
			continue
		}
		if m.left--; m.left < 0 {
			m.p.note(m.typ, "has more than %d attributes: the rest is left out, from %s on", mostAttributes, where+name)
			return out, dynamic
		}
		one := m.attribute(r, a, where+name)
		dynamic = dynamic || one.dynamic
		called := used.take(attributeName(name, r, a))
		switch {
		case r == nil:
			one.attr.add("computed", true)
		case req.Required[name]:
			one.attr.add("required", true)
		default:
			one.attr.add("optional", true)
		}
		if r != nil {
			m.checks(&one.attr, r, one.shape, where+name)
		}
		m.finish(&one, called, name)
		out = append(out, member{called, one.attr})
	}
	return out, dynamic
}

// union returns the names of the members of two schemas.
func union(a, b *Schema) []string {
	all := map[string]bool{}
	for _, name := range slices.Concat(a.Members(), b.Members()) {
		all[name] = true
	}
	return sorted(all)
}

// halves returns the schemas of a member in requests and in responses.
func halves(req, ans *Schema, name string) (r, a *Schema) {
	r, a = req.Member(name), ans.Member(name)
	if r != nil && (r.ReadOnly || hinted(r, "param-readonly")) {
		if a == nil && ans == nil {
			a = r
		}
		r = nil
	}
	if a != nil && a.WriteOnly {
		a = nil
	}
	if r != nil && (hinted(r, "ignore") || hinted(r, "terraform-ignore")) {
		return nil, nil
	}
	if a != nil && (hinted(a, "ignore") || hinted(a, "terraform-ignore")) {
		return nil, nil
	}
	return r, a
}

//go:noinline
func hinted(s *Schema, name string) bool { return s != nil && flag(s.Hints[hintPrefix+name]) }

func attributeName(name string, schemas ...*Schema) string {
	for _, s := range schemas {
		if s != nil && text(s.Hints[hintPrefix+"name-override"]) != "" {
			name = text(s.Hints[hintPrefix+"name-override"])
			break
		}
	}
	return snake(name)
}

// formed is an attribute under construction.
type formed struct {
	shape
	attr members
	http members
}

func (m *mapper) attribute(r, a *Schema, where string) formed {
	one := formed{shape: m.shape(r, a, where)}
	one.into(&one.attr)
	of := r
	if of == nil {
		of = a
	}
	if r != nil && a != nil && !compatible(r, a, 0) {
		m.notef(where, "has another form in answers than in requests: what the server says of it is not read")
		one.http.add("read", false)
	}
	if secret(r) || secret(a) {
		one.attr.add("sensitive", true)
	}
	if sentence := sentenceOf(of.Description); sentence != "" {
		one.attr.add("description", sentence)
	}
	if of.Deprecated {
		one.attr.add("deprecated", true)
	}
	return one
}

//go:noinline
func secret(s *Schema) bool {
	return s != nil && (s.WriteOnly || s.Format == "password" || hinted(s, "param-sensitive"))
}

// finish adds how an attribute is sent and read.
func (m *mapper) finish(one *formed, called, name string) {
	if called != name {
		one.http = append(members{{"name", name}}, one.http...)
	}
	if len(one.http) > 0 {
		one.attr.add("http", one.http)
	}
}

// kinds returns the types that values of a schema without a single type may have, or nil for any type.
func (s *Schema) kinds() (out []string) {
	out = slices.Clone(s.Types)
	for _, group := range s.Choices() {
		for _, o := range group {
			if o.Type == "" {
				return nil
			}
			out = append(out, o.Type)
		}
	}
	return out
}

// compatible reports whether values of a response fit the type of the request.
func compatible(r, a *Schema, depth int) bool {
	if kinds := r.kinds(); r.Type == "" && kinds != nil && a.Type != "" {
		return contains(kinds, a.Type)
	}
	switch {
	case depth > mostNested || r == a || r.Type == "" || r.Varied():
		return true
	case scalars[r.Type] == "string" && scalars[a.Type] != "":
		return true
	case scalars[r.Type] != "":
		return scalars[a.Type] == scalars[r.Type]
	case r.Type != a.Type || a.Varied():
		return false
	case r.Type == "array":
		return r.Items() == nil || a.Items() != nil && compatible(r.Items(), a.Items(), depth+1)
	}
	if extra := r.Extra(); extra != nil && len(r.members) == 0 {
		return a.Extra() == nil && len(a.members) == 0 || a.Extra() != nil && compatible(extra, a.Extra(), depth+1)
	}
	for _, name := range r.Members() {
		if inner := a.Member(name); inner != nil && !compatible(r.Member(name), inner, depth+1) {
			return false
		}
	}
	return true
}

const longest = 300

// sentenceOf is the beginning of a description, on one line.
//
//go:noinline
func sentenceOf(description string) string {
	description, _, _ = strings.Cut(strings.TrimSpace(description), "\n\n")
	description = strings.Join(strings.Fields(description), " ")
	if len(description) > longest {
		description = strings.ToValidUTF8(description[:longest], "") + "…"
	}
	return description
}

// formats are the string formats of JSON Schema.
var formats = []string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}

// checks adds the keywords that validate the value.
func (m *mapper) checks(a *members, s *Schema, of shape, where string) {
	keys := m.keywords(s, of.typ, where)
	if l, ok := of.typ.([]any); ok && l[0] != "map" && s.Items() != nil {
		for _, name := range []string{"minItems", "maxItems", "uniqueItems"} {
			if v := s.Limits[name]; v != nil && v != false && (name != "uniqueItems" || l[0] == "list") {
				keys.add(name, v)
			}
		}
		if inner := m.keywords(s.Items(), l[1], where+"[]"); len(inner) > 0 {
			keys.add("items", inner)
		}
	}
	if of.typ == nil && of.nesting == "list" {
		for _, name := range []string{"minItems", "maxItems"} {
			if v := s.Limits[name]; number(v) != nil {
				keys.add(name, v)
			}
		}
	}
	if len(keys) > 0 {
		a.add("json_schema", keys)
	}
}

// keywords returns the keywords of a primitive type.
func (m *mapper) keywords(s *Schema, typ any, where string) (keys members) {
	var values []any
	for _, v := range s.Enum {
		kind := map[string]string{"string": "string", "number": "number", "boolean": "bool"}[kindsOf([]any{v})[0]]
		if kind == typ {
			values = append(values, v)
		}
	}
	if len(values) > 0 && len(values) == len(s.Enum) {
		keys.add("enum", values)
	}
	known := map[string][]string{"string": {"minLength", "maxLength"}, "number": {"minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum", "multipleOf"}}[text(typ)]
	for _, name := range known {
		if v := number(s.Limits[name]); v != nil && (name != "multipleOf" || v.Sign() > 0) {
			keys.add(name, s.Limits[name])
		}
	}
	if pattern := text(s.Limits["pattern"]); pattern != "" && typ == "string" {
		if _, err := regexp.Compile(pattern); err != nil {
			m.notef(where, "has a pattern that cannot be checked: %s", pattern)
		} else {
			keys.add("pattern", pattern)
		}
	}
	if typ == "string" && contains(formats, s.Format) {
		keys.add("format", s.Format)
	}
	return keys
}

func (p *Provider) note(about, format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if !contains(p.Notes[about], note) {
		p.Notes[about] = append(p.Notes[about], note)
	}
}

// unknownHints adds notes about unknown hints.
func (p *Provider) unknownHints() {
	known := []string{"entity", "entity-operation", "ignore", "terraform-ignore", "name-override", "match",
		"param-sensitive", "param-readonly", "param-optional", "param-computed", "param-force-new",
		"entity-description"}
	for _, name := range sorted(p.doc.hints) {
		if !contains(known, strings.TrimPrefix(name, hintPrefix)) {
			p.note("", "the hint `%s` has no meaning here", name)
		}
	}
}
