package ctyfast

import "github.com/zclconf/go-cty/cty"

// Equals is cty's method with a deterministic result. The library compares the members of objects and maps in Go's
// random order, and stops at the first that is different or unknown: an object with a differing and an unknown member
// is sometimes different and sometimes unknown. Here it is different.
func Equals(a, b cty.Value) cty.Value {
	equal := a.Equals(b)
	if equal.IsKnown() || !a.IsKnown() || !b.IsKnown() || a.Type().IsPrimitiveType() {
		return equal
	}
	if !a.HasWhollyKnownType() || !b.HasWhollyKnownType() {
		return equal // the library's result does not depend on the members
	}
	_, marks := equal.Unmark()
	a, _ = a.UnmarkDeep()
	b, _ = b.UnmarkDeep()
	if differ(a, b) {
		return cty.False.WithMarks(marks)
	}
	return equal
}

// differ reports whether two partly unknown values are different, whatever the unknown parts become.
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
