package funcs

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// lookupFunc differs from the library's in the optional default, and in its treatment. Marks of elements that are not
// read do not reach the result.
var lookupFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "inputMap", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowMarked: true, AllowDynamicType: true},
		{Name: "key", Type: cty.String, AllowUnknown: true, AllowMarked: true},
	},
	VarParam: &function.Parameter{
		Name: "default", Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
	},
	Type: lookupType,
	Impl: lookup,
})

func lookupType(args []cty.Value) (cty.Type, error) {
	if len(args) > 3 {
		return cty.NilType, fmt.Errorf("lookup() takes two or three arguments, got %d", len(args))
	}
	switch ty := args[0].Type(); {
	case ty == cty.DynamicPseudoType:
		return ty, nil
	case ty.IsObjectType():
		key, _ := args[1].Unmark()
		switch {
		case !key.IsKnown():
			return cty.DynamicPseudoType, nil
		case ty.HasAttribute(key.AsString()):
			return ty.AttributeType(key.AsString()), nil
		case len(args) == 3:
			return args[2].Type(), nil
		default:
			return cty.NilType, function.NewArgErrorf(0, "the given object has no attribute %s", quoted(args[1]))
		}
	case ty.IsMapType():
		if len(args) == 3 {
			if _, err := ctyfast.Convert(args[2], ty.ElementType()); err != nil {
				return cty.NilType,
					function.NewArgErrorf(2, "the default value must have the same type as the map elements")
			}
		}
		return ty.ElementType(), nil
	default:
		return cty.NilType, function.NewArgErrorf(0, "lookup() requires a map as the first argument")
	}
}

func lookup(args []cty.Value, ty cty.Type) (cty.Value, error) {
	from, fromMarks := args[0].Unmark()
	key, keyMarks := args[1].Unmark()
	marks := cty.NewValueMarks(fromMarks, keyMarks)

	if !from.IsKnown() || !key.IsKnown() {
		return cty.UnknownVal(ty).WithMarks(marks), nil
	}
	if from.Type().IsObjectType() {
		if from.Type().HasAttribute(key.AsString()) {
			return from.GetAttr(key.AsString()).WithMarks(marks), nil
		}
	} else if from.HasIndex(key).True() {
		return from.Index(key).WithMarks(marks), nil
	}
	if len(args) < 3 {
		return cty.NilVal, fmt.Errorf("lookup failed to find key %s", quoted(args[1]))
	}
	fallback, err := ctyfast.Convert(args[2], ty)
	if err != nil {
		return cty.NilVal, function.NewArgErrorf(2, "the default value must have the same type as the map elements")
	}
	return fallback.WithMarks(marks), nil
}

// matchKeysFunc returns the values whose keys are in the search set.
var matchKeysFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		param("values", cty.List(cty.DynamicPseudoType)),
		param("keys", cty.List(cty.DynamicPseudoType)),
		param("searchset", cty.List(cty.DynamicPseudoType)),
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		if common, _ := convert.UnifyUnsafe([]cty.Type{args[1].Type(), args[2].Type()}); common == cty.NilType {
			return cty.NilType, errors.New("keys and searchset must be of the same type")
		}
		return args[0].Type(), nil
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		if !args[0].IsKnown() || !args[1].IsKnown() {
			return cty.UnknownVal(ty), nil
		}
		if args[0].LengthInt() != args[1].LengthInt() {
			return cty.NilVal, errors.New("length of keys and values should be equal")
		}
		common, _ := convert.UnifyUnsafe([]cty.Type{args[1].Type(), args[2].Type()})
		keys, err := ctyfast.Convert(args[1], common)
		if err != nil {
			return cty.NilVal, err
		}
		wanted, err := ctyfast.Convert(args[2], cty.Set(common.ElementType()))
		if err != nil {
			return cty.NilVal, err
		}
		if wanted.LengthInt() == 0 {
			return cty.ListValEmpty(ty.ElementType()), nil
		}
		if !ctyfast.WhollyKnown(args[0]) {
			return cty.UnknownVal(ty), nil // as in Terraform, even if no unknown value would be picked
		}
		values := args[0].AsValueSlice()
		var matched []cty.Value
		var known valueSet // when all of wanted is known
		if ctyfast.WhollyKnown(wanted) {
			known = newValueSet(ctyfast.Elements(wanted))
		}
		for i, key := range keys.AsValueSlice() {
			if known != nil && ctyfast.WhollyKnown(key) {
				if known.has(key) {
					matched = append(matched, values[i])
				}
				continue
			}
			switch found := wanted.HasElement(key); {
			case !found.IsKnown():
				return cty.UnknownVal(ty), nil
			case found.True():
				matched = append(matched, values[i])
			}
		}
		if len(matched) == 0 {
			return cty.ListValEmpty(ty.ElementType()), nil
		}
		return cty.ListVal(matched), nil
	},
})
