package ctyfast

import "github.com/zclconf/go-cty/cty"

// Members is cty.Value.AsValueMap: the members of a known, non-null and unmarked object or map by name. cty sorts the
// names first.
func Members(v cty.Value) map[string]cty.Value {
	ty, raw := open(v)
	members, ok := raw.(map[string]any)
	if !ok || !inside || len(members) == 0 {
		return v.AsValueMap()
	}
	of := innerOf(ty)
	vals := make(map[string]cty.Value, len(members))
	for name, member := range members {
		vals[name] = closed(of.member(name), member)
	}
	return vals
}

// ObjectLike is cty.ObjectVal. If the result has the type of another object, both share it.
func ObjectLike(like cty.Value, vals map[string]cty.Value) cty.Value {
	ty := like.Type()
	if !inside || !ty.IsObjectType() || len(ty.OptionalAttributes()) > 0 {
		return cty.ObjectVal(vals)
	}
	types := ty.AttributeTypes()
	if len(types) != len(vals) {
		return cty.ObjectVal(vals)
	}
	members := make(map[string]any, len(vals))
	for name, aty := range types {
		v, has := vals[name]
		if !has || !SameType(aty, v.Type()) {
			return cty.ObjectVal(vals)
		}
		_, members[name] = open(v)
	}
	return closed(ty, members)
}
