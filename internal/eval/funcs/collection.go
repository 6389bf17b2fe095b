package funcs

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// allTrueFunc and anyTrueFunc have a known result as soon as one element decides it, even if others are unknown. A null
// element is not true.
var (
	allTrueFunc = quantifierFunc(cty.False)
	anyTrueFunc = quantifierFunc(cty.True)
)

// quantifierFunc returns a function whose result is decisive if an element equals it (for False, also if an element is
// null), and otherwise the opposite.
func quantifierFunc(decisive cty.Value) function.Function {
	return function.New(&function.Spec{
		Params:       []function.Parameter{param("list", cty.List(cty.Bool))},
		Type:         function.StaticReturnType(cty.Bool),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			undecided := false
			for _, element := range args[0].Elements() {
				switch {
				case !element.IsKnown():
					undecided = true
				case element.IsNull():
					if decisive.False() {
						return decisive, nil
					}
				case element.RawEquals(decisive):
					return decisive, nil
				}
			}
			if undecided {
				return cty.UnknownVal(cty.Bool), nil
			}
			return decisive.Not(), nil
		},
	})
}

// coalesceFunc skips empty strings and nulls. (The library's coalesce accepts an empty string.)
var coalesceFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{
		Name: "vals", Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowNull: true, AllowDynamicType: true,
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, len(args))
		for i, arg := range args {
			types[i] = arg.Type()
		}
		common := ctyfast.Unify(types)
		if common == cty.NilType {
			return cty.NilType, errors.New("all arguments must have the same type")
		}
		return common, nil
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		for _, arg := range args {
			candidate, err := ctyfast.Convert(arg, ty)
			switch {
			case err != nil:
				return cty.NilVal, err
			case !candidate.IsKnown():
				return cty.UnknownVal(ty), nil
			case candidate.IsNull():
			case ty == cty.String && candidate.AsString() == "":
			default:
				return candidate, nil
			}
		}
		return cty.NilVal, errors.New("no non-null, non-empty-string arguments")
	},
})

// containsFunc refuses to search for null. (The library's function accepts null, but its result is unknown for an
// untyped null.)
var containsFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("list", cty.DynamicPseudoType), param("value", cty.DynamicPseudoType)},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if ty := args[0].Type(); !ty.IsListType() && !ty.IsTupleType() && !ty.IsSetType() {
			return cty.NilVal, errors.New("argument must be list, tuple, or set")
		}
		undecided := false
		stranger := strangerTo(args[1])
		for _, element := range ctyfast.Each(args[0]) {
			if stranger(element) {
				continue
			}
			switch equal := ctyfast.Equals(args[1], element); {
			case !equal.IsKnown():
				undecided = true
			case equal.True():
				return cty.True, nil
			}
		}
		if undecided {
			return cty.UnknownVal(cty.Bool), nil
		}
		return cty.False, nil
	},
})

// strangerTo returns a function that reports whether a value cannot equal v because both are wholly known and of
// different types. The library would visit all of v for each value.
func strangerTo(v cty.Value) func(cty.Value) bool {
	ty := v.Type()
	if ty.HasDynamicTypes() || !ctyfast.WhollyKnown(v) {
		return func(cty.Value) bool { return false }
	}
	return func(other cty.Value) bool {
		return !other.Type().Equals(ty) && !other.Type().HasDynamicTypes() && ctyfast.WhollyKnown(other)
	}
}

// indexFunc returns the position of a value. (The library's index is the index operator.)
var indexFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("list", cty.DynamicPseudoType), param("value", cty.DynamicPseudoType)},
	Type:         function.StaticReturnType(cty.Number),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if ty := args[0].Type(); !ty.IsListType() && !ty.IsTupleType() {
			return cty.NilVal, errors.New("argument must be a list or tuple")
		}
		if args[0].LengthInt() == 0 {
			return cty.NilVal, errors.New("cannot search an empty list")
		}
		stranger := strangerTo(args[1])
		for position, element := range args[0].Elements() {
			if stranger(element) {
				continue
			}
			switch equal := ctyfast.Equals(element, args[1]); {
			case !equal.IsKnown():
				return cty.UnknownVal(cty.Number), nil
			case equal.True():
				return position, nil
			}
		}
		return cty.NilVal, errors.New("item not found")
	},
})

// lengthFunc counts the characters of strings (as a reader counts them), the attributes of objects and the elements of
// collections, and ignores marks of elements.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{
		Name: "value", Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowMarked: true, AllowDynamicType: true,
	}},
	Type: func(args []cty.Value) (cty.Type, error) {
		ty := args[0].Type()
		if ty == cty.String || ty == cty.DynamicPseudoType || ty.IsCollectionType() || ty.IsTupleType() ||
			ty.IsObjectType() {
			return cty.Number, nil
		}
		return cty.NilType, errors.New("argument must be a string, a collection type, or a structural type")
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		arg, marks := args[0].Unmark()
		length, err := lengthOf(arg)
		return length.WithMarks(marks), err
	},
})

func lengthOf(v cty.Value) (cty.Value, error) {
	switch ty := v.Type(); {
	case ty.IsTupleType():
		return cty.NumberIntVal(int64(ty.Length())), nil
	case ty.IsObjectType():
		return cty.NumberIntVal(int64(len(ty.AttributeTypes()))), nil
	case ty == cty.DynamicPseudoType:
		return cty.UnknownVal(cty.Number), nil
	case ty == cty.String:
		return stdlib.Strlen(v)
	case ty.IsSetType() && ctyfast.WhollyKnown(v): // Length would sort the set
		return cty.NumberIntVal(int64(v.LengthInt())), nil
	default:
		return v.Length(), nil
	}
}

// oneFunc returns the only element of a list, or null if it is empty.
var oneFunc = function.New(&function.Spec{
	Params: []function.Parameter{param("list", cty.DynamicPseudoType)},
	Type: func(args []cty.Value) (cty.Type, error) {
		ty := args[0].Type()
		switch {
		case ty.IsListType() || ty.IsSetType():
			return ty.ElementType(), nil
		case ty.IsTupleType() && ty.Length() == 0:
			// an untyped null fits any use
			return cty.DynamicPseudoType, nil
		case ty.IsTupleType() && ty.Length() == 1:
			return ty.TupleElementType(0), nil
		default:
			return cty.NilType, errNotOne
		}
	},
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		length := args[0].Length()
		if !length.IsKnown() {
			return cty.UnknownVal(ty), nil
		}
		switch args[0].LengthInt() {
		case 0:
			return cty.NullVal(ty), nil
		case 1:
			return args[0].AsValueSlice()[0], nil
		default:
			return cty.NilVal, errNotOne
		}
	},
})

var errNotOne = function.NewArgErrorf(0, "must be a list, set, or tuple value with either zero or one elements")

// sumFunc adds numbers, and strings that are numbers.
var sumFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("list", cty.DynamicPseudoType)},
	Type:         function.StaticReturnType(cty.Number),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ty := args[0].Type()
		switch {
		case !args[0].CanIterateElements():
			return cty.NilVal, function.NewArgErrorf(0, "cannot sum noniterable")
		case ty.IsMapType() || ty.IsObjectType():
			return cty.NilVal, function.NewArgErrorf(0, "argument must be list, set, or tuple. Received %s",
				ty.FriendlyName())
		case args[0].LengthInt() == 0:
			return cty.NilVal, function.NewArgErrorf(0, "cannot sum an empty list")
		}
		total := cty.Zero
		for _, element := range args[0].Elements() {
			number, err := convert.Convert(element, cty.Number)
			if err != nil || (number.IsKnown() && number.IsNull()) {
				return cty.NilVal, function.NewArgErrorf(0, "argument must be list, set, or tuple of number values")
			}
			if ctyfast.TooLong(number) {
				return cty.NilVal, function.NewArgError(0, ctyfast.ErrTooLong)
			}
			if total, err = stdlib.Add(total, number); err != nil {
				return cty.NilVal, err
			}
		}
		return total, nil
	},
})

// transposeFunc inverts a map of lists: the elements of the lists become keys, and the keys elements of lists.
var transposeFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("values", cty.Map(cty.List(cty.String)))},
	Type:         function.StaticReturnType(cty.Map(cty.List(cty.String))),
	RefineResult: notNull,
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		if !args[0].IsWhollyKnown() {
			return cty.UnknownVal(ty), nil
		}
		turned := map[string][]cty.Value{}
		for key, list := range args[0].Elements() { // in the order of the keys, which determines the order of the lists
			if list.IsNull() {
				return cty.NilVal, errors.New("input must not contain null list")
			}
			for _, element := range list.Elements() {
				if element.IsNull() {
					return cty.NilVal, errors.New("input list must not contain null string")
				}
				turned[element.AsString()] = append(turned[element.AsString()], key)
			}
		}
		if len(turned) == 0 {
			return cty.MapValEmpty(cty.List(cty.String)), nil
		}
		result := make(map[string]cty.Value, len(turned))
		for key, list := range turned {
			result[key] = cty.ListVal(list)
		}
		return cty.MapVal(result), nil
	},
})
