package view

import (
	"slices"
	"sort"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// op is the operation on one part of a value.
type op uint8

const (
	same op = iota
	create
	update
	remove
)

// kind is the form of a difference.
type kind uint8

const (
	scalar    kind = iota
	sequence       // list or tuple: [ ... ] with context around changes
	bag            // set: [ ... ] without order
	mapping        // map of the type system: keys in quotes
	object         // object: names without quotes where they are identifiers
	nested         // object of a nested attribute: its parts behave like attributes
	unknown        // known after apply
	secret         // sensitive before or after
	writeOnly      // never stored
	copied         // the same as the attribute input
	retyped        // a value with a different structure
)

// node is the difference between two values, as a tree.
type node struct {
	kind kind
	op   op
	// replace means that this part forces a replacement.
	replace bool

	before, after cty.Value // of scalars; NilVal where absent
	names         []string  // of mapping, object and nested, beside children
	children      []*node
	// was is the value that an unknown or retyped value replaces; is is the new value of a retyped one.
	was, is *node

	// reordered means that a list has the same elements as before in a different order.
	reordered bool
	// matched are the children of a set with similar elements paired.
	matched []*node
	// ofNested and ofObjects report what the elements of a collection are.
	ofNested, ofObjects bool
	// exposure is +1 if a value becomes sensitive and -1 if it stops being sensitive. unchanged means that nothing else
	// changes.
	exposure  int8
	unchanged bool
}

// sides is a pair of values at the same path. An absent side is NilVal.
type sides struct {
	before, after     cty.Value
	hadSecret, secret *tfjson.Secrets
	replace           *pathSet
}

// pathSet is a set of paths as a tree.
type pathSet struct {
	here bool
	next map[string]*pathSet
}

func pathSetOf(paths []cty.Path) *pathSet {
	if len(paths) == 0 {
		return nil
	}
	root := &pathSet{}
	for _, p := range paths {
		at := root
		for _, step := range p {
			name, ok := value.StepName(step)
			if !ok {
				break
			}
			if at.next == nil {
				at.next = map[string]*pathSet{}
			}
			if at.next[name] == nil {
				at.next[name] = &pathSet{}
			}
			at = at.next[name]
		}
		at.here = true
	}
	return root
}

func (p *pathSet) at(name string) *pathSet {
	if p == nil {
		return nil
	}
	return p.next[name]
}

func (p *pathSet) isHere() bool { return p != nil && p.here }

func isAbsent(v cty.Value) bool { return v == cty.NilVal }

// nullAsAbsent returns NilVal for null, which means absent for attributes and parts of objects.
func nullAsAbsent(v cty.Value) cty.Value {
	if v != cty.NilVal && v.IsNull() {
		return cty.NilVal
	}
	return v
}

// part returns a member of an object or map, or NilVal if there is none.
func part(v cty.Value, name string) cty.Value {
	if isAbsent(v) || v.IsNull() || !v.IsKnown() {
		return cty.NilVal
	}
	switch ty := v.Type(); {
	case ty.IsObjectType():
		if ty.HasAttribute(name) {
			return ctyfast.Attr(v, name)
		}
	case ty.IsMapType():
		key := cty.StringVal(name)
		if v.HasIndex(key).True() {
			return v.Index(key)
		}
	}
	return cty.NilVal
}

func (s sides) part(name string) sides {
	return sides{part(s.before, name), part(s.after, name), s.hadSecret.Name(name), s.secret.Name(name),
		s.replace.at(name)}
}

// attribute is like part, with null meaning absent.
func (s sides) attribute(name string) sides {
	c := s.part(name)
	c.before, c.after = nullAsAbsent(c.before), nullAsAbsent(c.after)
	return c
}

// isEmpty reports whether both sides are absent. Such parts are not shown.
func (s sides) isEmpty() bool { return isAbsent(s.before) && isAbsent(s.after) }

// op returns the operation, based only on presence and equality.
func (s sides) op() op {
	switch {
	case isAbsent(s.before):
		return create
	case isAbsent(s.after):
		return remove
	case s.before.IsNull() && s.after.IsNull(), s.after.IsKnown() && ctyfast.RawEquals(s.before, s.after):
		return same
	}
	return update
}

// compareAttribute returns the difference of an attribute, or nil if it is absent on both sides.
func compareAttribute(a *provider.Attribute, s sides, parent op) *node {
	if a.WriteOnly {
		return &node{kind: writeOnly, op: writeOnlyOp(parent), replace: s.replace.isHere()}
	}
	if s.isEmpty() {
		return nil
	}
	if n := s.hidden(a.ImpliedType()); n != nil {
		return n
	}
	if a.Nested != nil {
		return compareNested(a.Nested, s)
	}
	return compare(a.Type, s)
}

func writeOnlyOp(parent op) op {
	if parent == create || parent == remove {
		return parent
	}
	return same
}

// hidden returns the difference of a value that is not shown, because it is secret or unknown, or nil for any other
// value.
func (s sides) hidden(ty cty.Type) *node {
	if s.hadSecret.Self() || s.secret.Self() {
		n := &node{kind: secret, op: s.op(), replace: s.replace.isHere()}
		n.unchanged = n.op == same
		if !isAbsent(s.before) && !isAbsent(s.after) && s.hadSecret.Self() != s.secret.Self() {
			n.op, n.exposure = update, -1
			if s.secret.Self() {
				n.exposure = 1
			}
		}
		return n
	}
	if !isAbsent(s.after) && !s.after.IsKnown() {
		n := &node{kind: unknown, op: create, replace: s.replace.isHere()}
		if !isAbsent(s.before) {
			n.op = update
			n.was = compare(ty, sides{before: s.before, hadSecret: s.hadSecret})
		}
		return n
	}
	return nil
}

// compare returns the difference of two values of a type.
func compare(ty cty.Type, s sides) *node {
	if n := s.hidden(ty); n != nil {
		return n
	}
	switch {
	case ty == cty.DynamicPseudoType:
		return compareDynamic(s)
	case ty.IsListType():
		return compareSequence(s, func(int) cty.Type { return ty.ElementType() })
	case ty.IsTupleType():
		return compareSequence(s, func(i int) cty.Type { return ty.TupleElementType(i) })
	case ty.IsSetType():
		return compareBag(s, func(s sides) *node { return compare(ty.ElementType(), s) })
	case ty.IsMapType():
		return compareMapping(s, ty.ElementType().IsObjectType(), func(s sides) *node {
			return compare(ty.ElementType(), s)
		})
	case ty.IsObjectType():
		return compareObject(ty, s)
	}
	return &node{kind: scalar, op: s.op(), before: s.before, after: s.after, replace: s.replace.isHere()}
}

// shape returns the kind of the value of a dynamic attribute in JSON.
func shape(v cty.Value) kind {
	switch ty := v.Type(); {
	case v.IsNull() || !v.IsKnown():
		return scalar
	case ty.IsListType() || ty.IsSetType() || ty.IsTupleType():
		return sequence
	case ty.IsMapType() || ty.IsObjectType():
		return object
	}
	return scalar
}

// compareDynamic compares values without a schema by their JSON form, in which lists, sets and tuples are one kind, and
// maps and objects another. Here null is a value, and the reason for a replacement is only known for the whole value.
func compareDynamic(s sides) *node {
	n := compareShapes(s)
	n.replace = s.replace.isHere()
	return n
}

func compareShapes(s sides) *node {
	s.replace = nil
	var is kind
	switch {
	case isAbsent(s.before):
		is = shape(s.after)
	case isAbsent(s.after):
		is = shape(s.before)
	default:
		if is = shape(s.before); is != shape(s.after) {
			return &node{
				kind: retyped, op: update,
				was: compareDynamic(sides{before: s.before, hadSecret: s.hadSecret}),
				is:  compareDynamic(sides{after: s.after, secret: s.secret}),
			}
		}
	}
	switch is {
	case sequence:
		return compareSequence(s, func(int) cty.Type { return cty.DynamicPseudoType })
	case object:
		return compareMembers(s, object, memberNames(s.before, s.after), func(_ string, s sides) *node {
			return compare(cty.DynamicPseudoType, s)
		})
	}
	return &node{kind: scalar, op: s.op(), before: s.before, after: s.after}
}

// memberNames returns the names of the members of either side, sorted.
func memberNames(values ...cty.Value) []string {
	var names []string
	for _, v := range values {
		if isAbsent(v) || v.IsNull() || !v.IsKnown() {
			continue
		}
		if v.Type().IsObjectType() {
			for name := range v.Type().AttributeTypes() {
				names = append(names, name)
			}
			continue
		}
		for key := range ctyfast.Each(v) {
			names = append(names, key.AsString())
		}
	}
	sort.Strings(names)
	return slices.Compact(names)
}

// compareMembers returns a node with the result of compare for each name. Names for which it is nil are left out.
func compareMembers(s sides, k kind, names []string, compare func(string, sides) *node) *node {
	n := &node{kind: k, op: s.container(), replace: s.replace.isHere()}
	for _, name := range names {
		c := compare(name, s.part(name))
		if c == nil {
			continue
		}
		n.names = append(n.names, name)
		n.children = append(n.children, c)
		if n.op == same && c.op != same {
			n.op = update
		}
	}
	return n
}

// container returns the op of a collection before its parts are compared.
func (s sides) container() op {
	switch {
	case isAbsent(s.before) || s.before.IsNull() && !isAbsent(s.after) && !s.after.IsNull():
		return create
	case isAbsent(s.after) || s.after.IsNull() && !s.before.IsNull():
		return remove
	}
	return same
}

func compareMapping(s sides, objects bool, element func(sides) *node) *node {
	n := compareMembers(s, mapping, memberNames(s.before, s.after), func(_ string, s sides) *node { return element(s) })
	n.ofObjects = objects
	return n
}

func compareObject(ty cty.Type, s sides) *node {
	names := make([]string, 0, len(ty.AttributeTypes()))
	for name := range ty.AttributeTypes() {
		names = append(names, name)
	}
	sort.Strings(names)
	return compareMembers(s, object, names, func(name string, c sides) *node {
		c.before, c.after = nullAsAbsent(c.before), nullAsAbsent(c.after)
		if c.isEmpty() {
			return nil
		}
		return compare(ty.AttributeType(name), c)
	})
}

// compareNested compares the value of an attribute that consists of objects with their own attributes.
func compareNested(o *provider.NestedObject, s sides) *node {
	one := func(s sides) *node {
		if n := s.hidden(o.ObjectType()); n != nil {
			return n
		}
		names := make([]string, 0, len(o.Attributes))
		for name := range o.Attributes {
			names = append(names, name)
		}
		sort.Strings(names)
		parent := s.container()
		return compareMembers(s, nested, names, func(name string, c sides) *node {
			c.before, c.after = nullAsAbsent(c.before), nullAsAbsent(c.after)
			return compareAttribute(o.Attributes[name], c, parent)
		})
	}
	var n *node
	switch o.Nesting {
	case provider.NestingList:
		n = compareElements(s, func(_, _ int, s sides) *node { return one(s) }, func(_, _ item) bool { return true })
	case provider.NestingSet:
		n = compareBag(s, one)
	case provider.NestingMap:
		n = compareMapping(s, true, one)
	default:
		return one(s)
	}
	n.ofNested = true
	return n
}

func compareSequence(s sides, element func(i int) cty.Type) *node {
	return compareElements(s, func(i, j int, s sides) *node { return compare(element(max(i, j)), s) }, bothObjects)
}

// bothObjects reports whether two elements have parts that can be compared by name.
func bothObjects(b, a item) bool { return isObjectValue(b.value) && isObjectValue(a.value) }

func isObjectValue(v cty.Value) bool {
	return !v.IsNull() && (v.Type().IsObjectType() || v.Type().IsMapType())
}

func itemName(i int) string { return strconv.Itoa(i) }
