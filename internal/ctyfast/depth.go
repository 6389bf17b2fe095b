package ctyfast

import "github.com/zclconf/go-cty/cty"

// MaxDepth is the maximum nesting depth of values in a state or a plan. It is the limit for responses of plugins; a
// state stores the type of some values, in brackets that are twice as deep, and JSON parsers fail at 10,000.
const MaxDepth = 1000

// TooDeep reports whether a value is nested deeper than states and plans hold.
func TooDeep(v cty.Value) bool { return deeper(v.Type(), MaxDepth) }

func deeper(ty cty.Type, left int) bool {
	switch {
	case left < 0:
		return true
	case ty.IsCollectionType():
		return deeper(ty.ElementType(), left-1)
	case ty.IsTupleType():
		for _, e := range ty.TupleElementTypes() {
			if deeper(e, left-1) {
				return true
			}
		}
	case ty.IsObjectType():
		for _, e := range ty.AttributeTypes() {
			if deeper(e, left-1) {
				return true
			}
		}
	}
	return false
}
