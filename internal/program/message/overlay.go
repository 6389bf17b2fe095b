package message

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Overlay merges an object in an answer into the known object base.
//
// A missing member keeps the value of base; null makes it null. This also applies to the members of nested objects,
// which are matched by index or key; elements of a set cannot be matched and must be complete. A number that equals the
// one in base as a 64-bit floating-point number keeps the exact value of base, because many programs cannot even copy
// exact numbers.
//
// unknown is a tree as returned by Encode, and takes precedence over given; both may be nil. text is the text from
// which both were decoded. For each invalid part of given, there is a problem in the list and the value of base in the
// result, which therefore contains all valid parts.
func (c Codec) Overlay(base cty.Value, given, unknown *strictjson.Value, text []byte) (cty.Value, []value.PathError) {
	d := decoder{text: text}
	if base.IsNull() || !base.IsKnown() {
		base = c.Block.EmptyValue()
	}
	v := d.object(c.Block.Attributes, c.Block.Blocks, base, given, unknown)
	return v, d.problems
}

// DecodeValue decodes a value of a type, such as the result of a function.
func DecodeValue(ty cty.Type, given *strictjson.Value, text []byte) (cty.Value, []value.PathError) {
	d := decoder{text: text}
	v := d.value(ty, cty.NullVal(ty), given, nil)
	return v, d.problems
}

type decoder struct {
	text     []byte
	path     cty.Path
	problems []value.PathError
}

func (d *decoder) failf(format string, args ...any) {
	var quoted []string
	for _, a := range args {
		if text, ok := a.(theirs); ok {
			quoted = append(quoted, string(text))
		}
	}
	d.problems = append(d.problems, value.PathError{Path: d.path.Copy(), Problem: fmt.Sprintf(format, args...),
		Quoted: quoted})
}

// theirs is a text from the program.
type theirs string

func (d *decoder) in(step cty.PathStep, f func()) {
	d.path = append(d.path, step)
	f()
	d.path = d.path[:len(d.path)-1]
}

// expects reports a value of another kind.
func (d *decoder) expects(given *strictjson.Value, kind strictjson.Kind) bool {
	if given.Kind != kind {
		d.failf("%s was expected, not %s", kind, given.Kind)
	}
	return given.Kind == kind
}

// whole returns a value that is unknown, null or unchanged as a whole.
func (d *decoder) whole(ty cty.Type, base cty.Value, given, unknown *strictjson.Value) (cty.Value, bool) {
	switch {
	case unknown != nil && unknown.Kind == strictjson.Bool && unknown.True:
		return cty.UnknownVal(ty), true
	case unknown != nil && (unknown.Kind == strictjson.Bool || unknown.Kind == strictjson.Null):
		return d.whole(ty, base, given, nil)
	case given != nil && given.Kind == strictjson.Null:
		return cty.NullVal(ty), true
	case given == nil && (unknown == nil || base.IsNull() || !base.IsKnown()):
		return base, true
	}
	return cty.NilVal, false
}

// object decodes a block or nested object. base is an object of the same shape, null or unknown.
func (d *decoder) object(attrs map[string]*provider.Attribute, blocks map[string]*provider.NestedBlock, base cty.Value,
	given, unknown *strictjson.Value) cty.Value {
	if v, ok := d.whole(base.Type(), base, given, unknown); ok {
		return v
	}
	if given != nil && !d.expects(given, strictjson.Object) {
		return base
	}
	if base.IsNull() || !base.IsKnown() {
		base = (&provider.Block{Attributes: attrs, Blocks: blocks}).EmptyValue()
	}
	vals := base.AsValueMap()
	if vals == nil {
		vals = map[string]cty.Value{}
	}
	d.eachName(given, unknown, func(name string, given, unknown *strictjson.Value) {
		a, nb := attrs[name], blocks[name]
		if a == nil && nb == nil {
			d.failf("there is no attribute or block %q.%s", theirs(name),
				diag.DidYouMean(name, slices.Concat(slices.Sorted(maps.Keys(attrs)), slices.Sorted(maps.Keys(blocks)))))
			return
		}
		d.in(cty.GetAttrStep{Name: name}, func() {
			if a != nil {
				vals[name] = d.attribute(a, vals[name], given, unknown)
			} else {
				vals[name] = d.blocks(nb, vals[name], given, unknown)
			}
		})
	})
	return cty.ObjectVal(vals)
}

// eachName calls visit for the members of an object and of its tree of unknown values.
func (d *decoder) eachName(given, unknown *strictjson.Value, visit func(name string, given,
	unknown *strictjson.Value)) {
	trees := map[string]*strictjson.Value{}
	if unknown != nil && unknown.Kind == strictjson.Object {
		for _, m := range unknown.Members {
			trees[m.Name] = m.Value
		}
	}
	if given != nil {
		for _, m := range given.Members {
			visit(m.Name, m.Value, trees[m.Name])
			delete(trees, m.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		visit(name, nil, trees[name])
	}
}

func (d *decoder) attribute(a *provider.Attribute, base cty.Value, given, unknown *strictjson.Value) cty.Value {
	if a.Nested == nil {
		return d.value(a.Type, base, given, unknown)
	}
	return d.members(a.Nested.Nesting, a.ImpliedType(), a.Nested.ObjectType(), base, given, unknown,
		func(base cty.Value, given, unknown *strictjson.Value) cty.Value {
			return d.object(a.Nested.Attributes, nil, base, given, unknown)
		})
}

func (d *decoder) blocks(nb *provider.NestedBlock, base cty.Value, given, unknown *strictjson.Value) cty.Value {
	if given != nil && given.Kind == strictjson.Null {
		return nb.EmptyValue()
	}
	return d.members(nb.Nesting, nb.ImpliedType(), nb.Block.ImpliedType(), base, given, unknown,
		func(base cty.Value, given, unknown *strictjson.Value) cty.Value {
			return d.object(nb.Attributes, nb.Blocks, base, given, unknown)
		})
}

// members decodes the objects of a nested attribute or of blocks; ty is the type of the collection, ety that of one
// object.
func (d *decoder) members(nesting provider.Nesting, ty, ety cty.Type, base cty.Value, given, unknown *strictjson.Value,
	each func(base cty.Value, given, unknown *strictjson.Value) cty.Value) cty.Value {
	switch nesting {
	case provider.NestingSingle, provider.NestingGroup:
		return each(base, given, unknown)
	}
	if v, ok := d.whole(ty, base, given, unknown); ok {
		return v
	}
	switch nesting {
	case provider.NestingMap:
		return d.keyed(ty, func(string) cty.Type { return ety }, base, given, unknown, func(_ cty.Type, base cty.Value,
			given, unknown *strictjson.Value) cty.Value {
			return each(base, given, unknown)
		})
	default:
		return d.sequence(ty, func(int) cty.Type { return ety }, base, given, unknown, func(_ cty.Type, base cty.Value,
			given, unknown *strictjson.Value) cty.Value {
			return each(base, given, unknown)
		})
	}
}

// value decodes a value of a type.
func (d *decoder) value(ty cty.Type, base cty.Value, given, unknown *strictjson.Value) cty.Value {
	if v, ok := d.whole(ty, base, given, unknown); ok {
		return v
	}
	switch {
	case ty == cty.DynamicPseudoType:
		return d.dynamic(base, given, unknown)
	case ty.IsMapType():
		return d.keyed(ty, func(string) cty.Type { return ty.ElementType() }, base, given, unknown, d.value)
	case ty.IsObjectType():
		return d.plainObject(ty, base, given, unknown)
	case ty.IsTupleType():
		return d.sequence(ty, ty.TupleElementType, base, given, unknown, d.value)
	case ty.IsCollectionType():
		return d.sequence(ty, func(int) cty.Type { return ty.ElementType() }, base, given, unknown, d.value)
	case given == nil:
		d.failf("the tree of unknown values is deeper than the value; it must be true here")
	case ty == cty.Number:
		return d.number(base, given)
	case ty == cty.String && given.Kind == strictjson.Number:
		d.expects(given, strictjson.String)
		return cty.StringVal(given.Text) // usually an ID, whose meaning is clear
	case ty == cty.String && d.expects(given, strictjson.String):
		return cty.StringVal(given.Text)
	case ty == cty.Bool && d.expects(given, strictjson.Bool):
		return cty.BoolVal(given.True)
	}
	return base
}

// number decodes a number, which may be a string of its digits.
func (d *decoder) number(base cty.Value, given *strictjson.Value) cty.Value {
	literal := given
	if given.Kind == strictjson.String {
		inner, err := strictjson.Parse([]byte(given.Text))
		if err != nil || inner.Kind != strictjson.Number {
			d.failf("expected a number, but the string is not one")
			return base
		}
		literal = inner
	}
	if !d.expects(literal, strictjson.Number) {
		return base
	}
	v, err := cty.ParseNumberVal(literal.Text)
	if err != nil {
		d.failf("the number cannot be represented: %s", theirs(err.Error()))
		return base
	}
	if base.IsKnown() && !base.IsNull() && sameFloat(base.AsBigFloat(), v.AsBigFloat()) {
		return base
	}
	return v
}

// sameFloat reports whether two numbers are equal as 64-bit floating-point numbers.
func sameFloat(a, b *big.Float) bool {
	x, _ := a.Float64()
	y, _ := b.Float64()
	return x == y && x-y == 0 // two infinities are not equal
}

func (d *decoder) dynamic(base cty.Value, given, unknown *strictjson.Value) cty.Value {
	tree := unknown.Get("value")
	if given == nil {
		return d.value(base.Type(), base, nil, tree)
	}
	inner, typ := given.Get("value"), given.Get("type")
	if inner == nil || typ == nil || len(given.Members) != 2 {
		d.failf(`a value of any type must be written as {"value": …, "type": …}, such as {"value": "a", "type": ` +
			`"string"}`)
		return base
	}
	ty, err := ctyjson.UnmarshalType(d.text[typ.Offset:typ.End])
	if err != nil {
		d.failf("its type cannot be read: %s", theirs(err.Error()))
		return base
	}
	ty = ty.WithoutOptionalAttributesDeep()
	if base.IsNull() || !base.IsKnown() || !base.Type().Equals(ty) {
		base = cty.NullVal(ty)
	}
	return d.value(ty, base, inner, tree)
}

func (d *decoder) plainObject(ty cty.Type, base cty.Value, given, unknown *strictjson.Value) cty.Value {
	if given != nil && !d.expects(given, strictjson.Object) {
		return base
	}
	vals := make(map[string]cty.Value, len(ty.AttributeTypes()))
	for name, aty := range ty.AttributeTypes() {
		vals[name] = cty.NullVal(aty)
		if !base.IsNull() && base.IsKnown() {
			vals[name] = base.GetAttr(name)
		}
	}
	d.eachName(given, unknown, func(name string, given, unknown *strictjson.Value) {
		name = cty.NormalizeString(name)
		if !ty.HasAttribute(name) {
			d.failf("there is no attribute %q.%s", theirs(name),
				diag.DidYouMean(name, slices.Sorted(maps.Keys(ty.AttributeTypes()))))
			return
		}
		d.in(cty.GetAttrStep{Name: name}, func() {
			vals[name] = d.value(ty.AttributeType(name), vals[name], given,
				unknown)
		})
	})
	return cty.ObjectVal(vals)
}

// element decodes one element; ty is its type.
type element func(ty cty.Type, base cty.Value, given, unknown *strictjson.Value) cty.Value

func (d *decoder) keyed(ty cty.Type, of func(string) cty.Type, base cty.Value, given, unknown *strictjson.Value,
	each element) cty.Value {
	if given != nil && !d.expects(given, strictjson.Object) {
		return base
	}
	var known map[string]cty.Value
	if !base.IsNull() && base.IsKnown() {
		known = base.AsValueMap()
	}
	vals := map[string]cty.Value{}
	if given == nil {
		maps.Copy(vals, known)
	}
	d.eachName(given, unknown, func(name string, given, unknown *strictjson.Value) {
		key := cty.NormalizeString(name)
		before, ok := known[key]
		if !ok {
			before = cty.NullVal(of(key))
		}
		d.in(cty.IndexStep{Key: cty.StringVal(key)}, func() {
			if _, twice := vals[key]; twice && given != nil {
				d.failf("two keys are the same after normalization of their characters")
			}
			vals[key] = each(of(key), before, given, unknown)
		})
	})
	switch {
	case ty == cty.DynamicPseudoType:
		return cty.ObjectVal(vals) // blocks with attributes of dynamic types
	case len(vals) == 0:
		return cty.MapValEmpty(ty.ElementType())
	case !cty.CanMapVal(vals):
		d.failf("all elements of a map must be of one type")
		return base
	}
	return cty.MapVal(vals)
}

func (d *decoder) sequence(ty cty.Type, of func(int) cty.Type, base cty.Value, given, unknown *strictjson.Value,
	each element) cty.Value {
	if given != nil && !d.expects(given, strictjson.Array) {
		return base
	}
	var known []cty.Value
	if !base.IsNull() && base.IsKnown() {
		known = base.AsValueSlice()
	}
	n := len(known)
	if given != nil {
		n = len(given.Items)
	}
	if ty.IsTupleType() && n != len(ty.TupleElementTypes()) {
		d.failf("%d elements were expected, not %d", len(ty.TupleElementTypes()), n)
		return base
	}
	vals := make([]cty.Value, n)
	for i := range n {
		before := cty.NullVal(of(i))
		if i < len(known) && (given == nil || !ty.IsSetType()) {
			before = known[i]
		}
		var item, tree *strictjson.Value
		if given != nil {
			item = given.Items[i]
		}
		if unknown != nil && i < len(unknown.Items) {
			tree = unknown.Items[i]
		}
		d.in(cty.IndexStep{Key: cty.NumberIntVal(int64(i))}, func() { vals[i] = each(of(i), before, item, tree) })
	}
	return d.collect(ty, base, known, vals)
}

// collect returns a collection of elements.
func (d *decoder) collect(ty cty.Type, base cty.Value, known, vals []cty.Value) cty.Value {
	switch {
	case ty.IsTupleType() || ty == cty.DynamicPseudoType:
		return cty.TupleVal(vals)
	case ty.IsSetType() && len(vals) == 0:
		return cty.SetValEmpty(ty.ElementType())
	case len(vals) == 0:
		return cty.ListValEmpty(ty.ElementType())
	case !cty.CanListVal(vals):
		d.failf("all elements must be of one type")
		return base
	case ty.IsSetType():
		return cty.SetVal(exact(known, vals))
	}
	return cty.ListVal(vals)
}

// exact replaces each element of a set with the known element that it equals in floating-point precision.
func exact(known, vals []cty.Value) []cty.Value {
	files := make(map[string]cty.Value, len(known))
	for _, v := range known {
		if key, ok := rounded(v); ok {
			files[key] = v
		}
	}
	for i, v := range vals {
		if key, ok := rounded(v); ok {
			if found, ok := files[key]; ok {
				vals[i] = found
			}
		}
	}
	return vals
}

// rounded encodes a value with its numbers rounded. It returns false for values without numbers.
func rounded(v cty.Value) (string, bool) {
	if !v.IsWhollyKnown() {
		return "", false
	}
	numbers := false
	v, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.Type() != cty.Number || v.IsNull() {
			return v, nil
		}
		numbers = true
		f, _ := v.AsBigFloat().Float64()
		if f-f != 0 {
			return v, nil // too large to compare in that way
		}
		return cty.NumberFloatVal(f), nil
	})
	if err != nil || !numbers {
		return "", false
	}
	text, err := ctyjson.Marshal(v, v.Type())
	return string(text), err == nil
}
