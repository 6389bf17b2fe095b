// Package ctyfast implements operations of cty without excessive cost for sets and long tuples. The results are
// identical.
//
// cty sorts a set each time its elements are read, and builds strings to compare two elements. Reading a set of a
// thousand objects once takes some 100 ms, and a plan reads it dozens of times: to compare, to encode, to find unknown
// values. Here the string of an element is built once for each read if the order matters, otherwise not at all:
//
//	for _, v := range ctyfast.Elements(set)   the order of cty
//	ctyfast.RawEquals(a, b)                   cty.Value.RawEquals
//	ctyfast.WhollyKnown(v)                    cty.Value.IsWhollyKnown
//	ctyfast.HasMarkDeep(v, mark)              cty.Value.HasMarkDeep
//	ctyfast.Members(v), ObjectLike(v, vals)   cty.Value.AsValueMap, cty.ObjectVal
//	ctyfast.MarshalMsgpack, UnmarshalMsgpack  those of cty/msgpack, without a value for each part (pack.go, unpack.go)
//	ctyfast.MarshalJSON, UnmarshalJSON        those of cty/json, in one pass (write.go, read.go)
//	ctyfast.ReadJSON                          the same, for those who have to know that nothing was unusual
//	ctyfast.Convert(v, want)                  convert.Convert
//	ctyfast.Unify(types)                      the type of convert.UnifyUnsafe
//	ctyfast.TooLong(v), Unstorable(v)         whether there are numbers in it that cannot be written down, or stored
//
// cty's only access to the elements of a set sorts them. So this package reads cty's values in memory (raw.go). It
// checks their layout when the program starts; with another layout, everything is left to cty: slower, with the same
// results.
//
// All functions are pure and safe for concurrent use. cty implements the rules of conversion and the construction of
// values.
package ctyfast

import (
	"iter"
	"math/big"
	"reflect"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/set"
)

// Elements returns the elements of a known, non-null and unmarked list, set or tuple, in the order of cty.
func Elements(v cty.Value) []cty.Value {
	ty, raw := open(v)
	s, ok := raw.(set.Set[any])
	if !ok || !inside {
		return v.AsValueSlice()
	}
	ety := ty.ElementType()
	sorted, ok := sortedElements(ety, s)
	if !ok {
		return v.AsValueSlice()
	}
	vals := make([]cty.Value, len(sorted))
	for i, e := range sorted {
		vals[i] = closed(ety, e)
	}
	return vals
}

// Each is equivalent to cty.Value.Elements: it yields keys and elements of an iterable value.
func Each(v cty.Value) iter.Seq2[cty.Value, cty.Value] {
	if !v.Type().IsSetType() {
		return v.Elements()
	}
	return func(yield func(cty.Value, cty.Value) bool) {
		for _, e := range Elements(v) {
			if !yield(e, e) {
				return
			}
		}
	}
}

// RawEquals reports whether two values are the same in type, content, marks and refinements.
func RawEquals(a, b cty.Value) bool {
	if !inside {
		return a.RawEquals(b)
	}
	ta, ra := open(a)
	tb, rb := open(b)
	return SameType(ta, tb) && equal(ta, ra, rb)
}

func equal(ty cty.Type, a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case *big.Float:
		y, ok := b.(*big.Float)
		return ok && (x == y || equalNumbers(x, y))
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		if len(x) > 0 && &x[0] == &y[0] {
			return true
		}
		in := innerOf(ty)
		for i := range x {
			if !equal(in.element(i), x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		in := innerOf(ty)
		for k, xv := range x {
			if yv, ok := y[k]; !ok || !equal(in.member(k), xv, yv) {
				return false
			}
		}
		return true
	case set.Set[any]:
		y, ok := b.(set.Set[any])
		return ok && equalSets(ty.ElementType(), x, y)
	}
	va, vb := closed(ty, a), closed(ty, b) // unknown, marked or encapsulated
	if va.IsMarked() && vb.IsMarked() {
		if !va.HasSameMarks(vb) {
			return false
		}
		va, _ = va.Unmark()
		vb, _ = vb.Unmark()
		return RawEquals(va, vb)
	}
	return va.RawEquals(vb)
}

// equalNumbers reports whether two numbers have the same text, which cty compares. Equal numbers of one precision do,
// as do equal whole numbers.
func equalNumbers(x, y *big.Float) bool {
	if x.Prec() == y.Prec() || x.IsInt() || y.IsInt() {
		return x.Cmp(y) == 0
	}
	return closed(cty.Number, x).RawEquals(closed(cty.Number, y))
}

// equalSets compares hash buckets, which need no order, and the sorted elements only if necessary.
func equalSets(ety cty.Type, a, b set.Set[any]) bool {
	ba, bb := buckets(a), buckets(b)
	if a.Length() != b.Length() {
		return false
	}
	settled := len(ba) == len(bb)
	for id, x := range ba {
		if !settled {
			break
		}
		y := bb[id]
		settled = len(x) == 1 && len(y) == 1 && equal(ety, x[0], y[0])
	}
	if settled {
		return true
	}
	sa, oka := sortedElements(ety, a)
	sb, okb := sortedElements(ety, b)
	if !oka || !okb {
		return closed(cty.Set(ety), a).RawEquals(closed(cty.Set(ety), b))
	}
	for i := range sa {
		if !equal(ety, sa[i], sb[i]) {
			return false
		}
	}
	return true
}

// WhollyKnown reports whether no part of a value is unknown.
func WhollyKnown(v cty.Value) bool {
	if !inside {
		return v.IsWhollyKnown()
	}
	ty, raw := open(v)
	return known(ty, raw)
}

func known(ty cty.Type, raw any) bool {
	switch x := raw.(type) {
	case nil, string, bool, *big.Float:
		return true
	case []any:
		in := innerOf(ty)
		for i, e := range x {
			if !known(in.element(i), e) {
				return false
			}
		}
		return true
	case map[string]any:
		in := innerOf(ty)
		for k, e := range x {
			if !known(in.member(k), e) {
				return false
			}
		}
		return true
	case set.Set[any]:
		ety := ty.ElementType()
		for _, bucket := range buckets(x) {
			for _, e := range bucket {
				if !known(ety, e) {
					return false
				}
			}
		}
		return true
	}
	v := closed(ty, raw)
	if v.IsMarked() {
		v, _ = v.Unmark()
		return WhollyKnown(v)
	}
	return v.IsWhollyKnown()
}

// HasMarkDeep reports whether a value or any part of it has the mark.
func HasMarkDeep(v cty.Value, mark any) bool {
	if !inside {
		return v.HasMarkDeep(mark)
	}
	ty, raw := open(v)
	return marked(ty, raw, func(v cty.Value) bool { return v.HasMark(mark) })
}

// ContainsMarked reports whether a value or any part of it has a mark.
func ContainsMarked(v cty.Value) bool {
	if !inside {
		return v.ContainsMarked()
	}
	ty, raw := open(v)
	return marked(ty, raw, cty.Value.IsMarked)
}

func marked(ty cty.Type, raw any, is func(cty.Value) bool) bool {
	switch x := raw.(type) {
	case nil, string, bool, *big.Float, set.Set[any]: // marks of set elements are on the set
		return false
	case []any:
		in := innerOf(ty)
		for i, e := range x {
			if marked(in.element(i), e, is) {
				return true
			}
		}
		return false
	case map[string]any:
		in := innerOf(ty)
		for k, e := range x {
			if marked(in.member(k), e, is) {
				return true
			}
		}
		return false
	}
	v := closed(ty, raw)
	if is(v) {
		return true
	}
	if v.IsMarked() {
		v, _ = v.Unmark()
		_, raw := open(v)
		return marked(ty, raw, is)
	}
	return false
}

// SameType reports whether two types are equal, like Equals. It does not compare identical parts.
func SameType(a, b cty.Type) bool {
	switch {
	case a.IsListType() && b.IsListType(), a.IsMapType() && b.IsMapType(), a.IsSetType() && b.IsSetType():
		return SameType(a.ElementType(), b.ElementType())
	case !a.IsObjectType() || !b.IsObjectType(), len(a.OptionalAttributes()) > 0, len(b.OptionalAttributes()) > 0:
		return a.Equals(b)
	}
	in, other := a.AttributeTypes(), b.AttributeTypes()
	if len(in) != len(other) {
		return false
	}
	if reflect.ValueOf(in).Pointer() == reflect.ValueOf(other).Pointer() {
		return true
	}
	for name, ty := range in {
		if is, has := other[name]; !has || !SameType(ty, is) {
			return false
		}
	}
	return true
}

// NullAttr reports whether an attribute of an object is null.
func NullAttr(v cty.Value, name string) bool {
	if inside {
		_, raw := open(v)
		if members, ok := raw.(map[string]any); ok {
			if member, has := members[name]; has && member == nil {
				return true
			}
		}
	}
	return Attr(v, name).IsNull()
}

// Attr returns an attribute of an object, like GetAttr, without first normalizing its name.
func Attr(v cty.Value, name string) cty.Value {
	if inside {
		ty, raw := open(v)
		if members, ok := raw.(map[string]any); ok && ty.IsObjectType() {
			if member, has := members[name]; has {
				return closed(ty.AttributeTypes()[name], member)
			}
		}
	}
	return v.GetAttr(name)
}
