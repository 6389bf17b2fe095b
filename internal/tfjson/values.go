package tfjson

import (
	"sort"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/zclconf/go-cty/cty"
)

// isSequence reports whether values of a type are arrays in JSON rather than objects.
func isSequence(ty cty.Type) bool { return ty.IsListType() || ty.IsSetType() || ty.IsTupleType() }

func isMapping(ty cty.Type) bool { return ty.IsObjectType() || ty.IsMapType() }

// members returns the members of an object or map sorted by name.
func members(v cty.Value) []string {
	if ty := v.Type(); ty.IsObjectType() {
		names := make([]string, 0, len(ty.AttributeTypes()))
		for name := range ty.AttributeTypes() {
			names = append(names, name)
		}
		sort.Strings(names)
		return names
	}
	names := make([]string, 0, v.LengthInt())
	for key := range ctyfast.Each(v) {
		names = append(names, key.AsString())
	}
	return names
}

func memberOf(v cty.Value, name string) cty.Value {
	if v.Type().IsObjectType() {
		return ctyfast.Attr(v, name)
	}
	return v.Index(cty.StringVal(name))
}

// value writes the known parts of a value: unknown members of objects and maps are left out, unknown elements of
// sequences are null. A value that is unknown as a whole is null; callers leave it out.
func (s *stream) value(v cty.Value) {
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		s.raw("null")
	case ty == cty.String:
		s.str(v.AsString())
	case ty == cty.Number:
		s.raw(v.AsBigFloat().Text('f', -1))
	case ty == cty.Bool:
		s.bool(v.True())
	case isSequence(ty):
		s.open('[')
		for _, element := range ctyfast.Each(v) {
			s.value(element)
		}
		s.close(']')
	case isMapping(ty):
		s.open('{')
		s.knownMembers(v)
		s.close('}')
	default: // documents have no capsules
		s.raw("null")
	}
}

// knownMembers writes the members of an object or map that are known as a whole, and reports whether there were any.
func (s *stream) knownMembers(v cty.Value) bool {
	some := false
	for _, name := range members(v) {
		m := memberOf(v, name)
		if !m.IsKnown() {
			continue
		}
		some = true
		s.key(name)
		s.value(m)
	}
	return some
}

// A marks document has the structure of a value, with true for each marked part. Parts that are false are omitted from
// objects, so an unmarked scalar has no document: mark reports that instead of writing false.
type mark int

const (
	markFalse mark = iota // nothing to write
	markTrue
	markTree // the parts have to be checked
)

// unknownMark returns the form of a value in a document of unknown parts.
func unknownMark(v cty.Value) mark {
	switch {
	case !v.IsKnown():
		return markTrue
	case v.IsNull():
		return markFalse
	case isSequence(v.Type()) || isMapping(v.Type()):
		return markTree
	}
	return markFalse
}

// unknowns writes the document of unknown parts.
func (s *stream) unknowns(v cty.Value) {
	switch unknownMark(v) {
	case markTrue:
		s.bool(true)
		return
	case markFalse:
		s.bool(false)
		return
	}
	if isSequence(v.Type()) {
		s.open('[')
		for _, element := range ctyfast.Each(v) {
			s.unknowns(element)
		}
		s.close(']')
		return
	}
	s.open('{')
	for _, name := range members(v) {
		if m := memberOf(v, name); unknownMark(m) != markFalse {
			s.key(name)
			s.unknowns(m)
		}
	}
	s.close('}')
}

func secretMark(v cty.Value, secrets *Secrets) mark {
	switch {
	case secrets.Self():
		return markTrue
	case v.IsNull():
		return markFalse
	case isSequence(v.Type()) || isMapping(v.Type()):
		return markTree
	}
	return markFalse
}

// secrets writes the document of sensitive parts.
func (s *stream) secrets(v cty.Value, secrets *Secrets) {
	switch secretMark(v, secrets) {
	case markTrue:
		s.bool(true)
		return
	case markFalse:
		s.bool(false)
		return
	}
	if isSequence(v.Type()) {
		s.open('[')
		if v.IsKnown() {
			i := 0
			for _, element := range ctyfast.Each(v) {
				s.secrets(element, secrets.Item(i))
				i++
			}
		}
		s.close(']')
		return
	}
	s.open('{')
	if v.IsKnown() {
		for _, name := range members(v) {
			m, inner := memberOf(v, name), secrets.Name(name)
			if secretMark(m, inner) != markFalse {
				s.key(name)
				s.secrets(m, inner)
			}
		}
	}
	s.close('}')
}

// path writes the steps of a path as an array of names and indexes.
func (s *stream) path(p cty.Path) {
	s.open('[')
	for _, step := range p {
		switch step := step.(type) {
		case cty.GetAttrStep:
			s.str(step.Name)
		case cty.IndexStep:
			if step.Key.IsKnown() && !step.Key.IsNull() && (step.Key.Type() == cty.String ||
				step.Key.Type() == cty.Number) {
				s.value(step.Key)
				continue
			}
			s.close(']') // an element of a set has no path, so that of the set is used
			return
		}
	}
	s.close(']')
}
