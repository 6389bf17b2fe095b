package funcs

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// conversionFunc converts its argument to one type, as tostring and its kin do. Marks stay where they are, as far as
// the result has such a place.
func conversionFunc(want cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{
			Name: "v", Type: cty.DynamicPseudoType,
			AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
		}},
		Type: func(args []cty.Value) (cty.Type, error) {
			if _, err := ctyfast.Convert(args[0], want); err != nil && convert.GetConversionUnsafe(args[0].Type(),
				want) == nil {
				return cty.NilType, cannotConvert(args[0].Type().FriendlyName(), want)
			}
			return want, nil // another error is one of the value
		},
		Impl: func(args []cty.Value, want cty.Type) (cty.Value, error) {
			converted, err := ctyfast.Convert(args[0], want)
			if err != nil {
				// only the value, not its type, can be wrong here
				return cty.NilVal, explainConversion(args[0], want)
			}
			if ctyfast.TooLong(converted) {
				return cty.NilVal, function.NewArgError(0, ctyfast.ErrTooLong)
			}
			return converted, nil
		},
	})
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
	case arg.ContainsMarked(): // an element of something secret
		return cannotConvert("this sensitive "+name, want)
	case arg.Type() != cty.String || arg.IsNull():
		return cannotConvert(name, want)
	}
	switch want {
	case cty.Bool:
		return function.NewArgErrorf(0, `cannot convert %s to bool; only the strings "true" or "false" are allowed`,
			quoted(arg))
	case cty.Number:
		return function.NewArgErrorf(0,
			"cannot convert %s to number; given string must be a decimal representation of a number", quoted(arg))
	default:
		return cannotConvert(name, want)
	}
}

// retiredFunc stands where a function of old language versions was, to say what to write now.
func retiredFunc(name, instead string) function.Function {
	message := fmt.Sprintf(
		"the %q function was deprecated in Terraform v0.12 and is no longer available; write %s instead", name, instead)
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
