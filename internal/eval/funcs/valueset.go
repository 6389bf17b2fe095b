package funcs

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/ctyset"
)

// valueSet answers in constant time whether it has a value. The set of the library sorts itself for every question, and its distinct
// compares every element with every other. Values are wholly known, without marks, and of one type.
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
		if ctyset.RawEquals(candidate, v) {
			return true
		}
	}
	return false
}

// add reports whether the value was not there.
func (s valueSet) add(v cty.Value) bool {
	h := v.Hash()
	if s.hasAt(h, v) {
		return false
	}
	s[h] = append(s[h], v)
	return true
}

// distinctFunc keeps the first of equal elements.
var distinctFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("list", cty.List(cty.DynamicPseudoType))},
	Type:         sameType,
	RefineResult: notNull,
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		if !ctyset.WhollyKnown(args[0]) {
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
