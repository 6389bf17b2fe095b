package funcs

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// valueSet finds a value in constant time. The library's set is sorted for every lookup, and its distinct compares all
// pairs of elements. Values are wholly known, unmarked, and of one type.
type valueSet map[int][]cty.Value

func newValueSet(values []cty.Value) valueSet {
	s := make(valueSet, len(values))
	for _, v := range values {
		s.add(v)
	}
	return s
}

func (s valueSet) has(v cty.Value) bool {
	return s.hasAt(v.Hash(), v)
}

func (s valueSet) hasAt(hash int, v cty.Value) bool {
	for _, candidate := range s[hash] {
		if ctyfast.RawEquals(candidate, v) {
			return true
		}
	}
	return false
}

// add adds a value, and reports whether it is new.
func (s valueSet) add(v cty.Value) bool {
	h := v.Hash()
	if s.hasAt(h, v) {
		return false
	}
	s[h] = append(s[h], v)
	return true
}

// distinctFunc returns the first of equal elements.
var distinctFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("list", cty.List(cty.DynamicPseudoType))},
	Type:         sameType,
	RefineResult: notNull,
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		if !ctyfast.WhollyKnown(args[0]) {
			return cty.UnknownVal(ty), nil
		}
		seen := valueSet{}
		var kept []cty.Value
		for _, element := range args[0].AsValueSlice() {
			if seen.add(element) {
				kept = append(kept, element)
			}
		}
		if len(kept) == 0 {
			return cty.ListValEmpty(ty.ElementType()), nil
		}
		return cty.ListVal(kept), nil
	},
})

// The set operations have the same results as the library's. The library slowly sorts the intermediate result for each
// further set; here each set is sorted once.
var (
	setUnionFunc        = setOperationFunc(stdlib.SetUnionFunc, union, true)
	setIntersectionFunc = setOperationFunc(stdlib.SetIntersectionFunc, intersection, false)
	setSubtractFunc     = setOperationFunc(stdlib.SetSubtractFunc, difference, false)
)

// setOperationFunc returns a function with the parameters of the library's. If an element is unknown, the result is
// unknown where that matters, because the element may become equal to another.
func setOperationFunc(library function.Function, combine func(sets [][]cty.Value) []cty.Value,
	unknownsDoNoHarm bool) function.Function {
	return function.New(&function.Spec{
		Params:       library.Params(),
		VarParam:     library.VarParam(),
		Type:         setOperationType,
		RefineResult: notNull,
		Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
			sets := make([][]cty.Value, len(args))
			for i, arg := range args {
				set, err := ctyfast.Convert(arg, ty)
				if err != nil {
					return cty.NilVal, function.NewArgError(i, err)
				}
				if !unknownsDoNoHarm && !ctyfast.WhollyKnown(set) {
					return cty.UnknownVal(ty), nil
				}
				sets[i] = ctyfast.Elements(set)
			}
			return cty.SetValFromValueSet(setOf(ty.ElementType(), combine(sets))), nil
		},
	})
}

// setOperationType returns the type of a set to whose element type all elements can be converted. An empty set without
// a type is ignored.
func setOperationType(args []cty.Value) (cty.Type, error) {
	var etys []cty.Type
	for _, arg := range args {
		ety := arg.Type().ElementType()
		if ety == cty.DynamicPseudoType && arg.IsKnown() && arg.LengthInt() == 0 {
			continue
		}
		etys = append(etys, ety)
	}
	if len(etys) == 0 {
		return cty.Set(cty.DynamicPseudoType), nil
	}
	common := ctyfast.Unify(etys)
	if common == cty.NilType {
		return cty.NilType, errors.New("given sets must all have compatible element types")
	}
	return cty.Set(common), nil
}

func setOf(ety cty.Type, elements []cty.Value) cty.ValueSet {
	set := cty.NewValueSet(ety)
	for _, e := range elements {
		set.Add(e)
	}
	return set
}

func union(sets [][]cty.Value) []cty.Value {
	var all []cty.Value
	for _, set := range sets {
		all = append(all, set...)
	}
	return all
}

func intersection(sets [][]cty.Value) []cty.Value { return kept(sets, true) }

func difference(sets [][]cty.Value) []cty.Value { return kept(sets, false) }

// kept returns the elements of the first set that all others have, or that none has.
func kept(sets [][]cty.Value, had bool) []cty.Value {
	rest := sets[0]
	for _, set := range sets[1:] {
		if len(rest) == 0 {
			break
		}
		others := setOf(rest[0].Type(), set)
		var next []cty.Value
		for _, e := range rest {
			if others.Has(e) == had {
				next = append(next, e)
			}
		}
		rest = next
	}
	return rest
}
