package funcs

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/value"
)

// anything returns a parameter of functions about marks, which accept any value unchanged.
func anything(name string) function.Parameter {
	return function.Parameter{
		Name: name, Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true,
	}
}

func sameType(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil }

var sensitiveFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("value")},
	Type:   sameType,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return args[0].Mark(value.Sensitive), nil
	},
})

// nonsensitiveFunc only removes the mark of the value itself; sensitive parts of it stay sensitive. It passes the
// result to tell, if that is not nil.
func nonsensitiveFunc(tell func(cty.Value)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{anything("value")},
		Type:   sameType,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v := value.WithoutMark(args[0], value.Sensitive)
			if tell != nil {
				tell(v)
			}
			return v, nil
		},
	})
}

// isSensitiveFunc returns an unknown value for unknown values that are not sensitive, because they may become
// sensitive.
var isSensitiveFunc = function.New(&function.Spec{
	Params:       []function.Parameter{anything("value")},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch {
		case value.IsSensitive(args[0]):
			return cty.True, nil
		case !args[0].IsKnown():
			return cty.UnknownVal(cty.Bool), nil
		default:
			return cty.False, nil
		}
	},
})

var ephemeralAsNullFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("value")},
	Type:   sameType,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if !value.HasDeepEphemeral(args[0]) {
			return args[0], nil
		}
		return cty.Transform(args[0], func(_ cty.Path, v cty.Value) (cty.Value, error) {
			if !value.IsEphemeral(v) {
				return v, nil
			}
			kept := value.WithoutMark(v, value.Ephemeral)
			if !v.IsKnown() {
				// Its type may become more exact, and the null must have that type. Its other refinements do not apply
				// to null.
				return cty.UnknownVal(v.Type()).WithSameMarks(kept), nil
			}
			return cty.NullVal(v.Type()).WithSameMarks(kept), nil
		})
	},
})
