package funcs

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/ctyset"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// conversionFunc converts its argument to one type, as tostring and its kin do. Marks stay where they are, as far as the
// result has such a place.
func conversionFunc(want cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{
			Name: "v", Type: cty.DynamicPseudoType,
			AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
		}},
		Type: func(args []cty.Value) (cty.Type, error) {
			got := collected(args[0], want).Type()
			if !got.Equals(want) && convert.GetConversionUnsafe(got, want) == nil {
				return cty.NilType, cannotConvert(got.FriendlyName(), want)
			}
			return want, nil
		},
		Impl: func(args []cty.Value, want cty.Type) (cty.Value, error) {
			converted, err := convert.Convert(collected(args[0], want), want)
			if err != nil {
				// only the value, not its type, can be wrong here
				return cty.NilVal, explainConversion(args[0], want)
			}
			return converted, nil
		},
	})
}

// collected makes a collection of a tuple or object whose members all have one type. The result of a conversion is the same, but the
// library would compare the type of each member with that of every other to find a common one.
func collected(v cty.Value, want cty.Type) cty.Value {
	const worth = 64
	ty := v.Type()
	if want.IsListType() && ty.IsSetType() && v.IsKnown() && !v.IsNull() && !v.IsMarked() && ctyset.WhollyKnown(v) && v.LengthInt() >= worth {
		return cty.ListVal(ctyset.Elements(v)) // the library would take its time to sort them
	}
	if !want.IsCollectionType() || v.IsMarked() || !v.IsKnown() || v.IsNull() || !ty.IsTupleType() && !ty.IsObjectType() || v.LengthInt() < worth {
		return v
	}
	if ty.IsObjectType() != want.IsMapType() {
		return v
	}
	if ty.IsObjectType() {
		members := v.AsValueMap()
		if one, ok := oneType(maps.Values(members)); ok && !one.HasDynamicTypes() {
			return cty.MapVal(members)
		}
		return v
	}
	members := v.AsValueSlice()
	if one, ok := oneType(slices.Values(members)); ok && !one.HasDynamicTypes() {
		return cty.ListVal(members)
	}
	return v
}

// oneType gives the type of all values, if they have the same.
func oneType(values iter.Seq[cty.Value]) (one cty.Type, ok bool) {
	for v := range values {
		if one == cty.NilType {
			one = v.Type()
		} else if !one.Equals(v.Type()) {
			return one, false
		}
	}
	return one, true
}

func cannotConvert(what string, want cty.Type) error {
	return function.NewArgErrorf(0, "cannot convert %s to %s", what, want.FriendlyNameForConstraint())
}

func explainConversion(arg cty.Value, want cty.Type) error {
	name := arg.Type().FriendlyName()
	switch {
	case value.HasDeepSensitive(arg):
		return cannotConvert("this sensitive "+name, want)
	case value.HasDeepEphemeral(arg):
		return cannotConvert("this ephemeral "+name, want)
	case arg.Type() != cty.String || arg.IsNull():
		return cannotConvert(name, want)
	}
	switch want {
	case cty.Bool:
		return function.NewArgErrorf(0, `cannot convert %s to bool; only the strings "true" or "false" are allowed`, quoted(arg))
	case cty.Number:
		return function.NewArgErrorf(0, "cannot convert %s to number; given string must be a decimal representation of a number", quoted(arg))
	default:
		return cannotConvert(name, want)
	}
}

// retiredFunc stands where a function of old language versions was, to say what to write now.
func retiredFunc(name, instead string) function.Function {
	message := fmt.Sprintf("the %q function was deprecated in Terraform v0.12 and is no longer available; write %s instead", name, instead)
	err := errors.New(message)
	return function.New(&function.Spec{
		VarParam: &function.Parameter{
			Name: "vals", Type: cty.DynamicPseudoType,
			AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
		},
		Type: func([]cty.Value) (cty.Type, error) { return cty.NilType, err },
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.NilVal, err },
	})
}
