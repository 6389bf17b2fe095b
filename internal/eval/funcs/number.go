package funcs

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// realNumber gives a function that says so when its result would not be a real number, such as the logarithm of a
// negative one. The library panics then.
func realNumber(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		result, err := f.Call(args)
		if _, panicked := errors.AsType[function.PanicError](err); panicked {
			return cty.NilVal, errors.New("the result is not a real number")
		}
		return result, err
	})
}
