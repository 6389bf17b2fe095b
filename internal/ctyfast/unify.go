package ctyfast

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Unify returns the type that convert.UnifyUnsafe returns. The library compares each type with every other even if they
// are equal, and does so again with all members of tuples and objects that could become lists and maps.
func Unify(types []cty.Type) cty.Type {
	types = edge(types)
	if !slices.ContainsFunc(types, holdsMany) {
		common, _ := convert.UnifyUnsafe(types)
		return common
	}
	return unifyLong(types)
}

// unifyLong is Unify in steps: whenever cty considers members of several types together, Unify reduces them first. When
// cty chooses one of the types rather than building a new one, the choice is left to it.
func unifyLong(types []cty.Type) cty.Type {
	any := func(is func(cty.Type) bool) bool { return slices.ContainsFunc(types, is) }
	all := func(are ...func(cty.Type) bool) bool {
		return !any(func(ty cty.Type) bool {
			return !slices.ContainsFunc(are, func(is func(cty.Type) bool) bool { return is(ty) })
		})
	}
	switch {
	case any(isDynamic) && slices.ContainsFunc(shapes, func(is func(cty.Type) bool) bool {
		return any(is) && all(isDynamic, is)
	}):
		return cty.DynamicPseudoType
	case all(cty.Type.IsMapType):
		return collection(cty.Map, elementTypes(types))
	case all(cty.Type.IsListType):
		return collection(cty.List, elementTypes(types))
	case all(cty.Type.IsSetType):
		return collection(cty.Set, elementTypes(types))
	case all(cty.Type.IsTupleType):
		return unifyTuples(types)
	case all(cty.Type.IsObjectType):
		return unifyObjects(types)
	case all(isDynamic, cty.Type.IsListType, cty.Type.IsTupleType) && any(cty.Type.IsListType):
		return unifyAs(types, cty.Type.IsTupleType, cty.List)
	case all(isDynamic, cty.Type.IsMapType, cty.Type.IsObjectType) && any(cty.Type.IsMapType):
		return unifyAs(types, cty.Type.IsObjectType, cty.Map)
	}
	common, _ := convert.UnifyUnsafe(types)
	return common
}

// shapes are the kinds of types that are not primitive. The unification with an unknown type is also unknown.
var shapes = []func(cty.Type) bool{cty.Type.IsMapType, cty.Type.IsListType, cty.Type.IsSetType, cty.Type.IsObjectType,
	cty.Type.IsTupleType}

func isDynamic(ty cty.Type) bool { return ty == cty.DynamicPseudoType }

// collection returns the type of a collection for elements of some types, or cty.NilType.
func collection(of func(cty.Type) cty.Type, etys []cty.Type) cty.Type {
	common := Unify(etys)
	if common == cty.NilType {
		return cty.NilType
	}
	return of(common)
}

func elementTypes(types []cty.Type) []cty.Type {
	etys := make([]cty.Type, len(types))
	for i, ty := range types {
		etys[i] = ty.ElementType()
	}
	return etys
}

// membersIn returns the type of a collection that tuples or objects can become, or cty.NilType.
func membersIn(of func(cty.Type) cty.Type, types []cty.Type) cty.Type {
	common := collection(of, memberTypes(types))
	if common != cty.NilType && slices.ContainsFunc(types, func(ty cty.Type) bool {
		return unsuitable(shortened([]cty.Type{ty})[0], common)
	}) {
		return cty.NilType
	}
	return common
}

// memberTypes returns the types of the members of tuples or objects, those of objects in the order of their names.
func memberTypes(types []cty.Type) (all []cty.Type) {
	for _, ty := range types {
		if ty.IsTupleType() {
			all = append(all, ty.TupleElementTypes()...)
			continue
		}
		atys := ty.AttributeTypes()
		for _, name := range slices.Sorted(maps.Keys(atys)) {
			all = append(all, atys[name])
		}
	}
	return all
}

// unifyTuples unifies tuples of the same length to a tuple.
func unifyTuples(types []cty.Type) cty.Type {
	etys := make([]cty.Type, types[0].Length())
	across := make([]cty.Type, len(types))
	for i := range etys {
		for k, ty := range types {
			if ty.Length() != len(etys) {
				return membersIn(cty.List, types)
			}
			across[k] = ty.TupleElementType(i)
		}
		if etys[i] = Unify(across); etys[i] == cty.NilType {
			return cty.NilType
		}
	}
	return suited(types, cty.Tuple(etys), cty.List)
}

// unifyObjects unifies objects with the same attributes to an object.
func unifyObjects(types []cty.Type) cty.Type {
	first := types[0].AttributeTypes()
	for _, ty := range types {
		atys := ty.AttributeTypes()
		for name := range atys {
			if _, ok := first[name]; !ok || len(atys) != len(first) {
				return membersIn(cty.Map, types)
			}
		}
		if len(atys) != len(first) {
			return membersIn(cty.Map, types)
		}
	}
	atys := make(map[string]cty.Type, len(first))
	across := make([]cty.Type, len(types))
	for name := range first {
		for k, ty := range types {
			across[k] = ty.AttributeType(name)
		}
		if atys[name] = Unify(across); atys[name] == cty.NilType {
			return cty.NilType
		}
	}
	return suited(types, cty.Object(atys), cty.Map)
}

// suited returns common if values of all types can be converted to it, otherwise the type of a collection of their
// members.
func suited(types []cty.Type, common cty.Type, of func(cty.Type) cty.Type) cty.Type {
	if slices.ContainsFunc(types, func(ty cty.Type) bool { return unsuitable(ty, common) }) {
		return membersIn(of, types)
	}
	return common
}

// unifyAs treats tuples among lists as lists, and objects among maps as maps. If that fails, cty chooses one of the
// types.
func unifyAs(types []cty.Type, literal func(cty.Type) bool, of func(cty.Type) cty.Type) cty.Type {
	var literals []cty.Type
	for _, ty := range types {
		if literal(ty) {
			literals = append(literals, ty)
		}
	}
	if as := membersIn(of, literals); as != cty.NilType {
		replaced := slices.Clone(types)
		for i, ty := range types {
			if literal(ty) {
				replaced[i] = as
			}
		}
		if common := Unify(replaced); common.IsListType() || common.IsMapType() {
			return common
		}
	}
	short := shortened(types)
	common, _ := convert.UnifyUnsafe(short)
	if i := slices.IndexFunc(short, func(ty cty.Type) bool { return ty.Equals(common) }); i >= 0 {
		return types[i]
	}
	return common
}

// shortened returns types among which cty makes the same choice. For tuples, which are never chosen, the first and the
// last element of each type are sufficient. For objects, of the names that have the same types in each object, one is
// sufficient.
func shortened(types []cty.Type) []cty.Type {
	short := slices.Clone(types)
	members := map[string]map[int]cty.Type{} // by name, then by the index of the object
	for i, ty := range types {
		switch {
		case ty.IsTupleType():
			short[i] = cty.Tuple(edge(ty.TupleElementTypes()))
		case ty.IsObjectType():
			for name, aty := range ty.AttributeTypes() {
				if members[name] == nil {
					members[name] = map[int]cty.Type{}
				}
				members[name][i] = aty
			}
		}
	}
	chosen := map[string]bool{}
	kept := make([]map[string]cty.Type, len(types))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var what strings.Builder
		for _, i := range slices.Sorted(maps.Keys(members[name])) {
			fmt.Fprintf(&what, "%d %#v\n", i, members[name][i])
		}
		if chosen[what.String()] {
			continue
		}
		chosen[what.String()] = true
		for i, aty := range members[name] {
			if kept[i] == nil {
				kept[i] = map[string]cty.Type{}
			}
			kept[i][name] = aty
		}
	}
	for i, atys := range kept {
		if atys != nil {
			short[i] = cty.Object(atys)
		}
	}
	return short
}

// edge returns the first and the last of each kind of types, which is sufficient for cty: its result depends on the
// distinct types, and on the order in which they first and last appear. It prefers the more general types, and orders
// equally general ones by the last appearance of those before them.
func edge(types []cty.Type) []cty.Type {
	if len(types) < 3 {
		return types
	}
	kinds, of := kindsOf(types)
	some := make([]cty.Type, 0, 2*len(kinds))
	for i, ty := range types {
		if k := kinds[of[i]]; i == k.first || i == k.last {
			some = append(some, ty)
		}
	}
	return some
}

// kind is a distinct type in a list: the indexes of its first and last occurrence.
type kind struct{ first, last int }

// kindsOf returns the distinct types, and the kind of each type.
func kindsOf(types []cty.Type) (kinds []kind, of []int) {
	of = make([]int, len(types))
	byText := map[string][]int{} // different types may have the same text, such as two capsule types
	for i, ty := range types {
		if i > 0 && ty.Equals(types[i-1]) {
			of[i] = of[i-1]
			kinds[of[i]].last = i
			continue
		}
		k, text := -1, ty.GoString()
		for _, other := range byText[text] {
			if ty.Equals(types[kinds[other].first]) {
				k = other
			}
		}
		if k < 0 {
			k = len(kinds)
			kinds = append(kinds, kind{first: i})
			byText[text] = append(byText[text], k)
		}
		of[i] = k
		kinds[k].last = i
	}
	return kinds, of
}
