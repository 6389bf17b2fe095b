package ctyfast

import "github.com/zclconf/go-cty/cty"

// Equals is the method of cty of that name, but what it gives never depends on luck. The library compares the members
// of objects and maps in the order in which Go ranges over them, and ends at the first that is different or unknown: an
// object in which one member differs and another is unknown is different today and unknown tomorrow. Here it is
// different, for that it will stay.
func Equals(a, b cty.Value) cty.Value {
	equal := a.Equals(b)
	if equal.IsKnown() || !a.IsKnown() || !b.IsKnown() || a.Type().IsPrimitiveType() {
		return equal
	}
	if !a.HasWhollyKnownType() || !b.HasWhollyKnownType() {
		return equal // the library says no more, whatever the members are
	}
	_, marks := equal.Unmark()
	a, _ = a.UnmarkDeep()
	b, _ = b.UnmarkDeep()
	if differ(a, b) {
		return cty.False.WithMarks(marks)
	}
	return equal
}

// differ reports whether two values of which something is unknown are different whatever becomes of it.
func differ(a, b cty.Value) bool {
	equal := a.Equals(b)
	if equal.IsKnown() {
		return equal.False()
	}
	if !a.IsKnown() || !b.IsKnown() || a.IsNull() || b.IsNull() || !a.Type().Equals(b.Type()) {
		return false
	}
	switch ty := a.Type(); {
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			if differ(a.GetAttr(name), b.GetAttr(name)) {
				return true
			}
		}
	case ty.IsMapType():
		members := b.AsValueMap()
		if len(members) != a.LengthInt() {
			return true
		}
		for key, x := range a.AsValueMap() {
			if y, ok := members[key]; !ok || differ(x, y) {
				return true
			}
		}
	case ty.IsListType() || ty.IsTupleType():
		if a.LengthInt() != b.LengthInt() {
			return true
		}
		others := b.AsValueSlice()
		for i, x := range a.AsValueSlice() {
			if differ(x, others[i]) {
				return true
			}
			if !x.Equals(others[i]).IsKnown() {
				return false
			}
		}
	}
	return false
}
