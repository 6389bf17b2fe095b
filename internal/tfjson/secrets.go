package tfjson

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// Secrets are the sensitive parts of one value. The nil *Secrets has none. Elements of sets have no stable path, so a
// secret in a set makes the whole set secret.
type Secrets struct {
	self  bool
	names map[string]*Secrets // attributes of objects and elements of maps
	items map[int]*Secrets    // elements of lists and tuples
}

// SecretsOf returns the secrets of a value: those at the paths and those that the schema declares. The block may be
// nil.
func SecretsOf(v cty.Value, paths []cty.Path, block *provider.Block) *Secrets {
	var s *Secrets
	for _, p := range paths {
		s = s.add(p, v)
	}
	if block != nil && block.HasSensitive() {
		s = declaredInBlock(s, v, block)
	}
	return s
}

// Self reports whether the value as a whole is sensitive.
func (s *Secrets) Self() bool { return s != nil && s.self }

// Any reports whether anything in the value is sensitive.
func (s *Secrets) Any() bool {
	if s == nil || s.self {
		return s != nil
	}
	for _, c := range s.names {
		if c.Any() {
			return true
		}
	}
	for _, c := range s.items {
		if c.Any() {
			return true
		}
	}
	return false
}

// Name returns the secrets of an attribute or map element, Item those of an element of a list or tuple.
func (s *Secrets) Name(name string) *Secrets {
	if s == nil {
		return nil
	}
	return s.names[name]
}

// Item returns the secrets of an element of a list or tuple.
func (s *Secrets) Item(i int) *Secrets {
	if s == nil {
		return nil
	}
	return s.items[i]
}

// add marks the part of the value at a path.
func (s *Secrets) add(path cty.Path, v cty.Value) *Secrets {
	if s == nil {
		s = &Secrets{}
	}
	at := s
	for _, step := range path {
		if v != cty.NilVal && v.Type().IsSetType() {
			break // a step into a set: its key is an element, even if that is a string
		}
		next, ok := at.step(step)
		if !ok {
			break
		}
		at, v = next, follow(v, step)
	}
	at.self = true
	return s
}

// step returns the secrets of the part at a step; ok is false if the step has no separate secrets, so that the whole is
// secret.
func (s *Secrets) step(step cty.PathStep) (part *Secrets, ok bool) {
	switch step := step.(type) {
	case cty.GetAttrStep:
		return s.child(step.Name), true
	case cty.IndexStep:
		switch {
		case !step.Key.IsKnown() || step.Key.IsNull():
		case step.Key.Type() == cty.String:
			return s.child(step.Key.AsString()), true
		case step.Key.Type() == cty.Number:
			i, _ := step.Key.AsBigFloat().Int64()
			return s.item(int(i)), true
		}
	}
	return nil, false
}

// follow returns the value at a step, or NilVal if there is none: the path of a secret may be longer than the value is
// deep.
func follow(v cty.Value, step cty.PathStep) cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return cty.NilVal
	}
	next, err := step.Apply(v)
	if err != nil {
		return cty.NilVal
	}
	return next
}

func (s *Secrets) child(name string) *Secrets {
	if s.names == nil {
		s.names = map[string]*Secrets{}
	}
	if s.names[name] == nil {
		s.names[name] = &Secrets{}
	}
	return s.names[name]
}

func (s *Secrets) item(i int) *Secrets {
	if s.items == nil {
		s.items = map[int]*Secrets{}
	}
	if s.items[i] == nil {
		s.items[i] = &Secrets{}
	}
	return s.items[i]
}

// declaredInBlock adds the parts of an object that the schema of its block makes sensitive.
func declaredInBlock(s *Secrets, v cty.Value, b *provider.Block) *Secrets {
	if v.IsNull() || !v.IsKnown() {
		return s
	}
	if s == nil {
		s = &Secrets{}
	}
	attributes, blocks := b.Sensitive()
	if len(attributes) > 0 {
		declaredInAttributes(s, v, b.Attributes)
	}
	for _, name := range blocks {
		if ctyfast.NullAttr(v, name) {
			continue
		}
		nb := b.Blocks[name]
		each := func(s *Secrets, v cty.Value) { declaredInBlock(s, v, &nb.Block) }
		declaredInNested(s, name, ctyfast.Attr(v, name), nb.Nesting, each)
	}
	return s
}

func declaredInAttributes(s *Secrets, v cty.Value, attributes map[string]*provider.Attribute) {
	for name, a := range attributes {
		if a.Sensitive {
			s.child(name).self = true
			continue
		}
		if a.Nested == nil || !nestedSensitive(a.Nested) {
			continue
		}
		each := func(s *Secrets, v cty.Value) {
			if !v.IsNull() && v.IsKnown() {
				declaredInAttributes(s, v, a.Nested.Attributes)
			}
		}
		declaredInNested(s, name, ctyfast.Attr(v, name), a.Nested.Nesting, each)
	}
}

// declaredInNested applies each to every object below one name.
func declaredInNested(s *Secrets, name string, v cty.Value, nesting provider.Nesting, each func(*Secrets, cty.Value)) {
	if v.IsNull() || !v.IsKnown() {
		return
	}
	switch nesting {
	case provider.NestingSet:
		inside := &Secrets{} // an element has no name, so a secret in one makes the set secret
		for _, element := range ctyfast.Each(v) {
			each(inside, element)
		}
		if inside.Any() {
			s.child(name).self = true
		}
	case provider.NestingList:
		i := 0
		for _, element := range ctyfast.Each(v) {
			each(s.child(name).item(i), element)
			i++
		}
	case provider.NestingMap:
		for key, element := range ctyfast.Each(v) {
			each(s.child(name).child(key.AsString()), element)
		}
	default:
		each(s.child(name), v)
	}
}

func nestedSensitive(o *provider.NestedObject) bool {
	for _, a := range o.Attributes {
		if a.Sensitive || a.Nested != nil && nestedSensitive(a.Nested) {
			return true
		}
	}
	return false
}
