package ctyfast

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// many is the minimum number of members for converting them one by one.
const many = 32

// Convert is equivalent to convert.Convert. To convert a tuple or an object to a collection, cty compares the type of
// each member with that of every other, even if all are the same, which takes quadratic time for literals in a
// configuration. Here members are converted one by one.
func Convert(v cty.Value, want cty.Type) (cty.Value, error) {
	got := v.Type()
	if got.Equals(want.WithoutOptionalAttributesDeep()) {
		return v, nil
	}
	if got == cty.String && want == cty.Number {
		if text, _ := v.Unmark(); text.IsKnown() && !text.IsNull() {
			if err := fewDigits(text.AsString()); err != nil {
				return cty.NilVal, err
			}
		}
	}
	if holdsMany(got) || want.IsCollectionType() && isLong(v) {
		if out, ok := converted(v, want); ok {
			return out, nil
		}
	}
	out, err := convert.Convert(v, want)
	if err != nil && unsuitable(got, want) {
		err = errors.New(mismatch(got, want))
	}
	return out, err
}

// mismatch is like convert.MismatchMessage, which names a random one of several unsuitable members. This one names the
// first by name.
func mismatch(got, want cty.Type) string {
	switch {
	case got.IsObjectType() && want.IsObjectType():
		wanted := want.AttributeTypes()
		for name := range wanted {
			if !got.HasAttribute(name) && !want.AttributeOptional(name) {
				return convert.MismatchMessage(got, want) // lists all that are missing
			}
		}
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			if got.HasAttribute(name) && unsuitable(got.AttributeType(name), wanted[name]) {
				return fmt.Sprintf("attribute %q: %s", name, mismatch(got.AttributeType(name), wanted[name]))
			}
		}
	case got.IsTupleType() && (want.IsListType() || want.IsSetType()):
		for i, ety := range got.TupleElementTypes() {
			if unsuitable(ety, want.ElementType()) {
				return fmt.Sprintf("element %d: %s", i, mismatch(ety, want.ElementType()))
			}
		}
	case got.IsObjectType() && want.IsMapType():
		atys := got.AttributeTypes()
		for _, name := range slices.Sorted(maps.Keys(atys)) {
			if unsuitable(atys[name], want.ElementType()) {
				return fmt.Sprintf("element %q: %s", name, mismatch(atys[name], want.ElementType()))
			}
		}
	case got.IsMapType() && want.IsMapType():
		return "incorrect map element type: " + mismatch(got.ElementType(), want.ElementType())
	case want.IsListType() && (got.IsListType() || got.IsSetType()):
		return "incorrect list element type: " + mismatch(got.ElementType(), want.ElementType())
	case want.IsSetType() && (got.IsListType() || got.IsSetType()):
		return "incorrect set element type: " + mismatch(got.ElementType(), want.ElementType())
	}
	return convert.MismatchMessage(got, want)
}

// unsuitable reports whether no value of one type can be converted to another.
func unsuitable(got, want cty.Type) bool {
	return !got.Equals(want) && convert.GetConversionUnsafe(got, want) == nil
}

// holdsMany reports whether values of a type contain a tuple or object with many members.
func holdsMany(ty cty.Type) bool {
	switch {
	case ty.IsCollectionType():
		return holdsMany(ty.ElementType())
	case ty.IsTupleType():
		etys := ty.TupleElementTypes()
		if len(etys) >= many {
			return true
		}
		for _, ety := range etys {
			if holdsMany(ety) {
				return true
			}
		}
	case ty.IsObjectType():
		atys := ty.AttributeTypes()
		if len(atys) >= many {
			return true
		}
		for _, aty := range atys {
			if holdsMany(aty) {
				return true
			}
		}
	}
	return false
}

// isLong reports whether a value is a collection with many elements.
func isLong(v cty.Value) bool {
	if v, _ = v.Unmark(); !v.Type().IsCollectionType() || !v.IsKnown() || v.IsNull() {
		return false
	}
	n := v.Length() // unknown for some sets
	return n.IsKnown() && v.LengthInt() >= many
}

// converted returns the result that cty would return, or false to leave the conversion to cty: if members do not fit,
// or if cty's result depends on more than the members and their types. As in cty, a type with optional attributes
// differs from the same type without them.
func converted(v cty.Value, want cty.Type) (cty.Value, bool) {
	got := v.Type()
	if want == cty.DynamicPseudoType || got.Equals(want) {
		return v, true
	}
	if v.IsMarked() {
		bare, marks := v.Unmark()
		out, ok := converted(bare, want)
		if !ok {
			return cty.NilVal, false
		}
		return out.WithMarks(marks), true
	}
	if v.IsKnown() && !v.IsNull() {
		switch {
		case got.IsTupleType() && want.IsTupleType():
			return convertedTuple(v, want)
		case got.IsObjectType() && want.IsObjectType():
			return convertedObject(v, want)
		case want.IsMapType() && (got.IsObjectType() || got.IsMapType()):
			return convertedMap(v, want)
		case (want.IsListType() || want.IsSetType()) && (got.IsTupleType() || got.IsListType() || got.IsSetType()):
			return convertedElements(v, want)
		}
	}
	out, err := convert.Convert(v, want)
	return out, err == nil
}

func convertedTuple(v cty.Value, want cty.Type) (cty.Value, bool) {
	wanted := want.TupleElementTypes()
	elements := v.AsValueSlice()
	if len(elements) != len(wanted) {
		return cty.NilVal, false
	}
	for i, ty := range wanted {
		out, ok := converted(elements[i], ty)
		if !ok {
			return cty.NilVal, false
		}
		elements[i] = out
	}
	return cty.TupleVal(elements), true
}

func convertedObject(v cty.Value, want cty.Type) (cty.Value, bool) {
	wanted := want.AttributeTypes()
	members := make(map[string]cty.Value, len(wanted))
	for name, ty := range wanted {
		if !v.Type().HasAttribute(name) {
			if !want.AttributeOptional(name) {
				return cty.NilVal, false
			}
			members[name] = cty.NullVal(ty.WithoutOptionalAttributesDeep())
			continue
		}
		out, ok := converted(v.GetAttr(name), ty)
		if !ok {
			return cty.NilVal, false
		}
		members[name] = plainNull(out)
	}
	return cty.ObjectVal(members), true
}

func convertedMap(v cty.Value, want cty.Type) (cty.Value, bool) {
	members := v.AsValueMap()
	names := slices.Sorted(maps.Keys(members)) // of equally general types, the first is chosen
	list := make([]cty.Value, len(names))
	for i, name := range names {
		list[i] = members[name]
	}
	if list = sameType(v.Type(), list, want.ElementType()); list == nil {
		return cty.NilVal, false
	}
	for i, name := range names {
		members[name] = list[i]
	}
	return cty.MapVal(members), true
}

func convertedElements(v cty.Value, want cty.Type) (cty.Value, bool) {
	if v.Type().IsSetType() && !WhollyKnown(v) {
		return cty.NilVal, false // their number is unknown
	}
	list := sameType(v.Type(), Elements(v), want.ElementType())
	if list == nil {
		return cty.NilVal, false
	}
	if want.IsSetType() || !v.Type().IsTupleType() {
		for i, e := range list {
			list[i] = plainNull(e)
		}
	}
	if want.IsSetType() {
		return cty.SetVal(list), true
	}
	return cty.ListVal(list), true
}

// sameType converts the members of a value to one type, that of the elements of a collection. It returns nil if their
// types remain different, or if there are no members.
func sameType(from cty.Type, members []cty.Value, ety cty.Type) []cty.Value {
	if ety == cty.DynamicPseudoType && !from.IsCollectionType() {
		types := make([]cty.Type, len(members))
		for i, m := range members {
			types[i] = m.Type()
		}
		if ety = Unify(types); ety == cty.NilType || ety == cty.DynamicPseudoType {
			return nil
		}
	}
	out := make([]cty.Value, len(members))
	for i, m := range members {
		c, ok := converted(m, ety)
		if !ok || i > 0 && !c.Type().Equals(out[0].Type()) {
			return nil
		}
		out[i] = c
	}
	if len(out) == 0 || !out[0].Type().Equals(out[0].Type().WithoutOptionalAttributesDeep()) {
		return nil
	}
	return out
}

// plainNull removes the optional attributes from the type of null, and its marks, as cty does.
func plainNull(v cty.Value) cty.Value {
	if v.IsNull() {
		return cty.NullVal(v.Type().WithoutOptionalAttributesDeep())
	}
	return v
}
