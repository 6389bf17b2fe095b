package ctyfast

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"github.com/zclconf/go-cty/cty/set"
)

// MarshalMsgpack encodes a value like cty/msgpack.
func MarshalMsgpack(v cty.Value, ty cty.Type) ([]byte, error) { return msgpack.Marshal(listed(v, ty)) }

// listFrom is the minimum number of elements for encoding a set as a list.
const listFrom = 8

// listed returns a value and the type to encode it with, with lists in place of sets. A set is encoded as the list of
// its elements. A dynamic value is written with its own type, so it is not changed.
func listed(v cty.Value, ty cty.Type) (cty.Value, cty.Type) {
	if !inside {
		return v, ty
	}
	vty, raw := open(v)
	if !sizable(raw) || len(vty.TestConformance(ty)) > 0 {
		return v, ty
	}
	as, wanted := listTypes(vty, ty)
	out, ok := listRaw(vty, ty, raw)
	if !ok {
		return v, ty
	}
	return closed(as, out), wanted
}

// sizable reports whether a value contains a set that is large enough.
func sizable(raw any) bool {
	switch x := raw.(type) {
	case []any:
		for _, e := range x {
			if sizable(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range x {
			if sizable(e) {
				return true
			}
		}
	case set.Set[any]:
		return x.Length() >= listFrom
	}
	return false
}

// listTypes returns the type of a value, and the one to encode it with, with lists for sets.
func listTypes(vty, ty cty.Type) (as, wanted cty.Type) {
	switch {
	case ty == cty.DynamicPseudoType || vty == cty.DynamicPseudoType:
		return vty, ty
	case ty.IsSetType() || ty.IsListType():
		as, wanted = listTypes(vty.ElementType(), ty.ElementType())
		return cty.List(as), cty.List(wanted)
	case ty.IsMapType():
		as, wanted = listTypes(vty.ElementType(), ty.ElementType())
		return cty.Map(as), cty.Map(wanted)
	case ty.IsTupleType():
		n := ty.Length()
		ases, wanteds := make([]cty.Type, n), make([]cty.Type, n)
		for i := range n {
			ases[i], wanteds[i] = listTypes(vty.TupleElementType(i), ty.TupleElementType(i))
		}
		return cty.Tuple(ases), cty.Tuple(wanteds)
	case ty.IsObjectType():
		from, to := vty.AttributeTypes(), ty.AttributeTypes()
		ases, wanteds := make(map[string]cty.Type, len(to)), make(map[string]cty.Type, len(to))
		for name, aty := range to {
			ases[name], wanteds[name] = listTypes(from[name], aty)
		}
		return cty.Object(ases), cty.Object(wanteds)
	}
	return vty, ty
}

// listRaw returns the content of a value with the elements of its sets in order. ok is false for sets whose order only
// cty can determine.
func listRaw(vty, ty cty.Type, raw any) (any, bool) {
	if ty == cty.DynamicPseudoType || vty == cty.DynamicPseudoType || !holdsSets(vty) {
		return raw, true
	}
	switch x := raw.(type) {
	case set.Set[any]:
		sorted, ok := sortedElements(vty.ElementType(), x)
		if !ok {
			return nil, false
		}
		return listRaw(cty.List(vty.ElementType()), cty.List(ty.ElementType()), sorted)
	case []any:
		if (ty.IsListType() || ty.IsSetType()) && !holdsSets(vty.ElementType()) {
			return x, true
		}
		from, to, out := innerOf(vty), innerOf(ty), make([]any, len(x))
		for i, e := range x {
			var ok bool
			if out[i], ok = listRaw(from.element(i), to.element(i), e); !ok {
				return nil, false
			}
		}
		return out, true
	case map[string]any:
		from, to, out := innerOf(vty), innerOf(ty), make(map[string]any, len(x))
		for k, e := range x {
			var ok bool
			if out[k], ok = listRaw(from.member(k), to.member(k), e); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return raw, true // unknown lists and sets have the same form
}

// holdsSets reports whether values of a type can contain sets.
func holdsSets(ty cty.Type) bool {
	switch {
	case ty.IsSetType():
		return true
	case ty.IsListType(), ty.IsMapType():
		return holdsSets(ty.ElementType())
	case ty.IsTupleType():
		for _, ety := range ty.TupleElementTypes() {
			if holdsSets(ety) {
				return true
			}
		}
	case ty.IsObjectType():
		for _, aty := range ty.AttributeTypes() {
			if holdsSets(aty) {
				return true
			}
		}
	}
	return false
}
