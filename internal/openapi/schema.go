package openapi

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// Schema is a schema with its allOf merged. Its parts are read on demand, so schemas may be recursive.
type Schema struct {
	// Type is string, number, integer, boolean, array or object, or "" for any of Types or for any type.
	Type  string
	Types []string
	// Name is the name of the component, or "" for a nested schema.
	Name                            string
	Nullable                        bool
	ReadOnly, WriteOnly, Deprecated bool
	Format, Description             string
	Enum                            []any
	Default, Example                any
	Required                        map[string]bool
	// Open means that members are allowed that are not in Members.
	Open bool
	// Limits are the other keywords about the value, in the form of JSON Schema 2020-12.
	Limits map[string]any
	// Hints are the extensions.
	Hints map[string]any

	doc          *Document
	where        string
	members      map[string]part
	items, extra *part
	choices      [][]part // of each oneOf and anyOf
	busy         bool
}

// part is a schema that has not been read.
type part struct {
	v  any
	in *source
}

const hintPrefix = "x-speakeasy-"

// limits are the keywords that are copied unchanged.
var limits = []string{"pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"}

// schema reads a schema.
func (d *Document) schema(p part, where string) *Schema {
	m, ok := p.v.(map[string]any)
	if !ok { // true allows anything
		return &Schema{doc: d, where: where, Open: true}
	}
	id := identity(m)
	if s := d.schemas[id]; s != nil {
		return s
	}
	s := &Schema{doc: d, where: where, Required: map[string]bool{}, Limits: map[string]any{}, Hints: map[string]any{},
		members: map[string]part{}, busy: true}
	d.schemas[id] = s
	if ref, ok := m["$ref"].(string); ok {
		if v, in := d.follow(ref, p.in, where); in != nil {
			of := d.schema(part{v, in}, ref)
			if s.merge(of); s.Name == "" {
				s.Name = ref[strings.LastIndexByte(ref, '/')+1:]
			}
		}
	}
	for _, inner := range list(m["allOf"]) {
		s.merge(d.schema(part{inner, p.in}, where+"/allOf"))
	}
	s.own(m, p.in)
	s.alternatives(m, p.in)
	s.infer()
	s.busy = false
	return s
}

// own reads the keywords of the schema itself.
func (s *Schema) own(m map[string]any, in *source) {
	s.types(m["type"])
	s.Nullable = s.Nullable || flag(m["nullable"])
	s.ReadOnly = s.ReadOnly || flag(m["readOnly"])
	s.WriteOnly = s.WriteOnly || flag(m["writeOnly"])
	s.Deprecated = s.Deprecated || flag(m["deprecated"])
	s.Format = either(text(m["format"]), s.Format)
	s.Description = either(text(m["description"]), text(m["title"]), s.Description)
	if m["default"] != nil {
		s.Default = m["default"]
	}
	s.Example = example(m, s.Example)
	for name, v := range m {
		if strings.HasPrefix(name, "x-") {
			s.Hints[name] = v
		}
		if contains(limits, name) && v != nil {
			s.Limits[name] = v
		}
	}
	s.exclusive("exclusiveMinimum", "minimum")
	s.exclusive("exclusiveMaximum", "maximum")
	if given, ok := m["enum"].([]any); ok {
		s.Enum = given
	}
	if v, ok := m["const"]; ok {
		s.Enum = []any{v}
	}
	if contains(s.Enum, nil) {
		s.Nullable = true
		s.Enum = slices.DeleteFunc(slices.Clone(s.Enum), func(v any) bool { return v == nil })
	}
	for _, name := range list(m["required"]) {
		s.Required[text(name)] = true
	}
	if members, ok := m["properties"].(map[string]any); ok {
		for name, v := range members {
			s.members[name] = part{v, in}
		}
	}
	if v, ok := m["items"]; ok {
		s.items = &part{v, in}
	}
	switch extra := m["additionalProperties"].(type) {
	case bool:
		s.Open = extra
	case map[string]any:
		if s.Open = true; len(extra) > 0 {
			s.extra = &part{extra, in}
		}
	}
}

// types reads the keyword type: one name or several.
func (s *Schema) types(given any) {
	var types []string
	for _, word := range append([]any{given}, list(given)...) {
		switch name := text(word); name {
		case "":
		case "null":
			s.Nullable = true
		default:
			types = append(types, name)
		}
	}
	switch len(types) {
	case 0:
	case 1:
		s.Type = types[0]
	default:
		s.Type, s.Types = "", types
	}
}

// exclusive converts the OpenAPI 3.0 form, a flag beside the limit, to that of JSON Schema.
func (s *Schema) exclusive(name, limit string) {
	if is, ok := s.Limits[name].(bool); ok {
		if delete(s.Limits, name); is && s.Limits[limit] != nil {
			s.Limits[name] = s.Limits[limit]
			delete(s.Limits, limit)
		}
	}
}

func example(m map[string]any, before any) any {
	if m["example"] != nil {
		return m["example"]
	}
	if all := list(m["examples"]); len(all) > 0 {
		return all[0]
	}
	return before
}

// merge adds another schema for the same value.
func (s *Schema) merge(o *Schema) {
	if o.busy {
		s.doc.failf("%s: a schema is a part of itself by allOf", s.where)
		return
	}
	s.Type, s.Format = either(o.Type, s.Type), either(o.Format, s.Format)
	if o.Types != nil {
		s.Types = o.Types
	}
	s.Nullable, s.ReadOnly = s.Nullable || o.Nullable, s.ReadOnly || o.ReadOnly
	s.WriteOnly, s.Deprecated = s.WriteOnly || o.WriteOnly, s.Deprecated || o.Deprecated
	s.Description, s.Open = either(s.Description, o.Description), s.Open || o.Open
	if o.Enum != nil {
		s.Enum = o.Enum
	}
	if o.Default != nil {
		s.Default = o.Default
	}
	if o.Example != nil {
		s.Example = o.Example
	}
	fill(s.Required, o.Required)
	fill(s.Limits, o.Limits)
	fill(s.Hints, o.Hints)
	fill(s.members, o.members)
	if o.items != nil {
		s.items = o.items
	}
	if o.extra != nil {
		s.extra = o.extra
	}
	s.choices = append(s.choices, o.choices...)
}

// alternatives reads oneOf and anyOf. An alternative that only allows null makes the schema nullable.
func (s *Schema) alternatives(m map[string]any, in *source) {
	for _, word := range []string{"oneOf", "anyOf"} {
		var parts []part
		for _, v := range list(m[word]) {
			if o, ok := v.(map[string]any); ok && text(o["type"]) == "null" {
				s.Nullable = true
				continue
			}
			parts = append(parts, part{v, in})
		}
		switch {
		case len(parts) == 1:
			s.merge(s.doc.schema(parts[0], s.where+"/"+word))
		case len(parts) > 1:
			s.choices = append(s.choices, parts)
		}
	}
}

// infer derives a missing type from other keywords.
func (s *Schema) infer() {
	switch {
	case s.Type != "" || s.Types != nil:
	case len(s.members) > 0 || s.extra != nil:
		s.Type = "object"
	case s.items != nil:
		s.Type = "array"
	case len(s.Enum) > 0:
		if kinds := kindsOf(s.Enum); len(kinds) == 1 {
			s.Type = kinds[0]
		}
	case len(s.choices) == 1:
		s.alike()
	}
}

// alike sets the type of a schema if all alternatives have the same primitive type.
func (s *Schema) alike() {
	typ, format := "", ""
	var enum []any
	closed := true
	for i, o := range s.Choices()[0] {
		simple := o.Type == "string" || o.Type == "boolean" || o.Type == "number" || o.Type == "integer"
		if !simple || i > 0 && o.Type != typ {
			return
		}
		if i == 0 {
			format = o.Format
		} else if o.Format != format {
			format = ""
		}
		typ, closed = o.Type, closed && o.Enum != nil
		enum = append(enum, o.Enum...)
	}
	if s.Type, s.Format = typ, format; closed {
		s.Enum = enum
	}
}

func kindsOf(values []any) (kinds []string) {
	for _, v := range values {
		kind := "object"
		switch v.(type) {
		case string:
			kind = "string"
		case bool:
			kind = "boolean"
		case json.Number:
			kind = "number"
		case []any:
			kind = "array"
		}
		if !contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Members returns the sorted names of the members.
func (s *Schema) Members() []string {
	if s == nil {
		return nil
	}
	return sorted(s.members)
}

// Member returns the schema of a member, or nil if there is none.
func (s *Schema) Member(name string) *Schema {
	if s == nil {
		return nil
	}
	p, ok := s.members[name]
	if !ok {
		return nil
	}
	return s.doc.schema(p, s.where+"/properties/"+name)
}

// Items returns the schema of the elements, or nil if there is none.
func (s *Schema) Items() *Schema {
	if s == nil || s.items == nil {
		return nil
	}
	return s.doc.schema(*s.items, s.where+"/items")
}

// Extra returns the schema of members that are not in Members, or nil if there is none.
func (s *Schema) Extra() *Schema {
	if s == nil || s.extra == nil {
		return nil
	}
	return s.doc.schema(*s.extra, s.where+"/additionalProperties")
}

// Choices returns the alternatives of each oneOf and anyOf.
func (s *Schema) Choices() (out [][]*Schema) {
	for _, parts := range s.choices {
		var group []*Schema
		for _, p := range parts {
			group = append(group, s.doc.schema(p, s.where+"/oneOf"))
		}
		out = append(out, group)
	}
	return out
}

// Varied reports whether values have one of several forms, and not only groups of required members.
func (s *Schema) Varied() bool {
	return slices.ContainsFunc(s.Choices(), func(group []*Schema) bool {
		return slices.ContainsFunc(group, func(o *Schema) bool {
			return o.Type != s.Type && o.Type != "" || o.Types != nil || slices.ContainsFunc(o.Members(),
				func(name string) bool { return s.Member(name) == nil })
		})
	})
}

// united returns an object with the members of all its alternatives. Members that are not in all of them are optional.
// The second result reports whether there were alternatives.
func (s *Schema) united() (*Schema, bool) {
	if s == nil || len(s.choices) == 0 || s.Type != "" && s.Type != "object" {
		return s, false
	}
	out := *s
	out.Type, out.members, out.Required = "object", maps.Clone(s.members), maps.Clone(s.Required)
	for _, group := range s.Choices() {
		times := map[string]int{}
		for _, o := range group {
			if o, _ = o.united(); o.Type != "object" && o.Type != "" || o.Types != nil {
				return s, false
			}
			for name, p := range o.members {
				if _, known := out.members[name]; !known {
					out.members[name] = p
				}
			}
			for name := range o.Required {
				times[name]++
			}
		}
		for name, n := range times {
			if n == len(group) {
				out.Required[name] = true
			}
		}
	}
	return &out, true
}

//go:noinline
func either(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// number returns a number of the document exactly, or nil if it is not a number.
func number(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok || len(n) > 400 || strings.ContainsAny(string(n), "eE") && len(exponent(string(n))) > 4 {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}

func exponent(n string) string {
	return strings.TrimLeft(n[strings.IndexAny(n, "eE")+1:], "+-")
}
