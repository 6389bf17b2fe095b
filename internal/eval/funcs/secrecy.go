package funcs

import (
	"errors"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/value"
)

var errWithheld = errors.New("the reason is withheld because it could show an argument that is sensitive or ephemeral")

// quoted renders a string argument for an error message, or what stands for it if it is marked.
func quoted(arg cty.Value) string {
	if text, yes := value.Withheld(arg); yes {
		return text
	}
	arg, _ = arg.Unmark()
	return strconv.Quote(arg.AsString())
}

// withheldErrors gives a function with the same signature and results whose error text is withheld whenever an
// argument is marked. It is for functions whose messages quote their arguments or parts of them. The error stays
// tied to its argument.
func withheldErrors(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		result, err := f.Call(args)
		if err == nil || !anyMarked(args) {
			return result, err
		}
		if arg, ok := errors.AsType[function.ArgError](err); ok {
			return cty.NilVal, function.NewArgError(arg.Index, errWithheld)
		}
		return cty.NilVal, errWithheld
	})
}

// OfProvider gives a function of a provider as the table has its own: no error shows a marked argument, and with a record the results
// are checked. name tells it from all other functions of all providers.
func OfProvider(name string, f function.Function, record *FileRecord) function.Function {
	return record.checked(name, withheldErrors(f))
}

// wrapped gives a function with the signature of f that hands all its arguments to call just as they are.
//
// The type of a call with known arguments is left open, since working it out would do the work of f twice; it is
// settled by the result.
func wrapped(f function.Function, call func(args []cty.Value) (cty.Value, error)) function.Function {
	params := f.Params()
	for i := range params {
		passEverything(&params[i])
	}
	variadic := f.VarParam()
	if variadic != nil {
		passEverything(variadic)
	}
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      params,
		VarParam:    variadic,
		Type: func(args []cty.Value) (cty.Type, error) {
			for _, arg := range args {
				if !arg.IsKnown() {
					ty, err := f.ReturnTypeForValues(args)
					if err != nil && anyMarked(args) {
						// call will fail the same way, and knows what may be said
						return cty.DynamicPseudoType, nil
					}
					return ty, err
				}
			}
			return cty.DynamicPseudoType, nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return call(args) },
	})
}

// passEverything leaves the treatment of special values to the wrapped function. Nulls are still refused outside, so
// that the signature says whether they are allowed.
func passEverything(p *function.Parameter) {
	p.AllowUnknown = true
	p.AllowMarked = true
	p.AllowDynamicType = true
}

func anyMarked(args []cty.Value) bool {
	for _, arg := range args {
		if arg.ContainsMarked() {
			return true
		}
	}
	return false
}
