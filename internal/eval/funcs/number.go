package funcs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tombolo-iac/tombolo/internal/ctyset"
)

// writableNumbers gives a function that refuses to make numbers out of a text which nobody can write down again. The text of a configuration has
// none (package nesting).
func writableNumbers(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		result, err := f.Call(args)
		if err == nil && ctyset.TooLong(result) {
			return cty.NilVal, function.NewArgError(0, ctyset.ErrTooLong)
		}
		return result, err
	})
}

// writableArguments gives a function that refuses to work with such numbers: to count to them takes their digits.
func writableArguments(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		if i := slices.IndexFunc(args, ctyset.TooLong); i >= 0 {
			return cty.NilVal, function.NewArgError(i, ctyset.ErrTooLong)
		}
		return f.Call(args)
	})
}

// The operators of the language, too, make numbers: out of texts ("1e99999999" + 0), and out of each other. The library looks them up in these variables
// whoever has parsed an expression, from whichever syntax, so that this is the one place that all of them pass.
func init() {
	for _, op := range []*hclsyntax.Operation{
		hclsyntax.OpAdd, hclsyntax.OpSubtract, hclsyntax.OpMultiply, hclsyntax.OpDivide, hclsyntax.OpModulo, hclsyntax.OpNegate,
	} {
		op.Impl = writableOperator(op.Impl)
	}
}

// writableOperator is writableNumbers for an operator. It looks at the operands as well: to add something to 1e99999999 takes its digits.
func writableOperator(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params:       f.Params(),
		Type:         function.StaticReturnType(cty.Number),
		RefineResult: func(b *cty.RefinementBuilder) *cty.RefinementBuilder { return b.NotNull() },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if slices.ContainsFunc(args, ctyset.TooLong) {
				return cty.NilVal, ctyset.ErrTooLong
			}
			result, err := f.Call(args)
			if err == nil && ctyset.TooLong(result) {
				return cty.NilVal, ctyset.ErrTooLong
			}
			return result, notReal(err)
		},
	})
}

// longWidth finds a width or precision of eight digits in a format without doubled percent signs.
var longWidth = regexp.MustCompile(`%[-+ #0-9.*\[\]]*[0-9]{8}`)

// boundedFormat gives a function that refuses a format with which the library would fill the memory.
func boundedFormat(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		format, _ := args[0].Unmark()
		if format.IsKnown() && !format.IsNull() && longWidth.MatchString(strings.ReplaceAll(format.AsString(), "%%", "")) {
			return cty.NilVal, function.NewArgErrorf(0, "a width, precision or argument number has more than 7 digits")
		}
		return f.Call(args)
	})
}

// maxProduct bounds the combinations that are made of sets: each takes some hundred bytes.
const maxProduct = 1 << 22

// setProductFunc refuses what the library would end the process of.
var setProductFunc = wrapped(stdlib.SetProductFunc, func(args []cty.Value) (cty.Value, error) {
	product := 1
	for _, arg := range args {
		bare, _ := arg.Unmark()
		if !bare.IsKnown() || bare.IsNull() || !bare.CanIterateElements() || bare.LengthInt() == 0 {
			return stdlib.SetProductFunc.Call(args)
		}
		product = min(product*bare.LengthInt(), maxProduct+1)
	}
	if product > maxProduct {
		return cty.NilVal, fmt.Errorf("there are more than %d combinations", maxProduct)
	}
	return stdlib.SetProductFunc.Call(args)
})

// realNumber gives a function that says so when its result would not be a real number, such as the logarithm of a
// negative one. The library panics then.
func realNumber(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		result, err := f.Call(args)
		return result, notReal(err)
	})
}

// notReal says what a panic of arithmetic is about: that of the remainder of infinity, say.
func notReal(err error) error {
	if _, panicked := errors.AsType[function.PanicError](err); panicked {
		return errors.New("the result is not a real number")
	}
	return err
}
