package funcs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

// writableNumbers returns a function that refuses to parse numbers that take too long to format. The text of a
// configuration has none (package nesting).
func writableNumbers(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		result, err := f.Call(args)
		if err == nil && ctyfast.TooLong(result) {
			return cty.NilVal, function.NewArgError(0, ctyfast.ErrTooLong)
		}
		return result, err
	})
}

// writableArguments returns a function that refuses such numbers as arguments: computing with them needs their digits.
func writableArguments(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		if i := slices.IndexFunc(args, ctyfast.TooLong); i >= 0 {
			return cty.NilVal, function.NewArgError(i, ctyfast.ErrTooLong)
		}
		return f.Call(args)
	})
}

// Operators of the language also create numbers, from strings ("1e99999999" + 0) and from each other. The library has
// the operators of all syntaxes in these variables, so this one place handles all of them.
func init() {
	for _, op := range []*hclsyntax.Operation{
		hclsyntax.OpAdd, hclsyntax.OpSubtract, hclsyntax.OpMultiply, hclsyntax.OpDivide, hclsyntax.OpModulo,
		hclsyntax.OpNegate,
	} {
		op.Impl = writableOperator(op.Impl)
	}
}

// writableOperator is writableNumbers for an operator. It also checks the operands: adding to 1e99999999 needs its
// digits.
func writableOperator(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params:       f.Params(),
		Type:         function.StaticReturnType(cty.Number),
		RefineResult: func(b *cty.RefinementBuilder) *cty.RefinementBuilder { return b.NotNull() },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if slices.ContainsFunc(args, ctyfast.TooLong) {
				return cty.NilVal, ctyfast.ErrTooLong
			}
			result, err := f.Call(args)
			if err == nil && ctyfast.TooLong(result) {
				return cty.NilVal, ctyfast.ErrTooLong
			}
			return result, notReal(err)
		},
	})
}

// longWidth matches a width or precision of eight digits in a format without doubled percent signs; verb matches each
// verb.
var (
	longWidth = regex.Lazy(`%[-+ #0-9.*\[\]]*[0-9]{8}`)
	verb      = regex.Lazy(`%[-+ #0]*([0-9]*)(?:\.([0-9]*))?(\[[0-9]+\])?([A-Za-z]?)`)
)

// boundedFormat returns a function that refuses a format with which the library would exhaust the memory. Each element
// of a list is used in one text, other arguments in all of them.
func boundedFormat(f function.Function, lists bool) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		format, _ := args[0].Unmark()
		if !format.IsKnown() || format.IsNull() || format.Type() != cty.String {
			return f.Call(args)
		}
		plain := strings.ReplaceAll(format.AsString(), "%%", "")
		if longWidth().MatchString(plain) {
			return cty.NilVal, function.NewArgErrorf(0, "a width, precision or argument number has more than 7 digits")
		}
		longest, each, once, rows := 0, len(plain), 0, 1
		for _, arg := range args[1:] {
			n := textIn(arg)
			longest = max(longest, n)
			arg, _ = arg.Unmark()
			if ty := arg.Type(); lists && arg.IsKnown() && !arg.IsNull() && (ty.IsListType() || ty.IsSetType() ||
				ty.IsTupleType()) {
				rows, once = max(rows, arg.LengthInt()), once+n
			} else {
				each += n
			}
		}
		next := 1 // the index of the next verb's argument
		for _, v := range verb().FindAllStringSubmatch(plain, -1) {
			if v[3] != "" {
				next, _ = strconv.Atoi(strings.Trim(v[3], "[]"))
			}
			if next > 0 && next < len(args) && strings.Contains(numericVerbs, v[4]) && longDigits(args[next], lists) {
				return cty.NilVal, function.NewArgError(next, ctyfast.ErrTooLong)
			}
			next++
			width, _ := strconv.Atoi(v[1])
			precision, _ := strconv.Atoi(v[2])
			each += width + precision
			if v[3] != "" {
				each += longest // an argument may be used repeatedly
			}
		}
		if float64(each)*float64(rows)+float64(once) > float64(limits.text) {
			return cty.NilVal, errText()
		}
		return f.Call(args)
	})
}

// numericVerbs are the verbs that convert their argument to a number.
const numericVerbs = "bdoxXeEfgG"

// longDigits reports whether an argument of a format, or an element of a list, is or becomes a number that takes too
// long to format.
func longDigits(arg cty.Value, lists bool) bool {
	arg, _ = arg.Unmark()
	switch ty := arg.Type(); {
	case !arg.IsKnown() || arg.IsNull():
		return false
	case ty == cty.String:
		n, err := convert.Convert(arg, cty.Number)
		return err == nil && ctyfast.TooLong(n)
	case lists && (ty.IsListType() || ty.IsSetType() || ty.IsTupleType()):
		return slices.ContainsFunc(ctyfast.Elements(arg), func(e cty.Value) bool { return longDigits(e, false) })
	}
	return ctyfast.TooLong(arg)
}

// textIn returns the total length of all texts in a value, up to the limit.
func textIn(v cty.Value) int {
	s := size{parts: limits.parts, text: limits.text}
	if s.take(v) != nil {
		return limits.text + 1
	}
	return limits.text - s.text
}

// boundedText returns a function that encodes its argument and refuses one that is too large.
func boundedText(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		for i, arg := range args {
			if err := CheckSize(arg); err != nil {
				return cty.NilVal, function.NewArgError(i, err)
			}
		}
		v, err := f.Call(args)
		if err == nil {
			err = CheckSize(v)
		}
		return v, err
	})
}

// maxProduct limits the combinations of sets: each takes some hundred bytes.
const maxProduct = 1 << 22

// setProductFunc refuses results that would exhaust the memory.
var setProductFunc = wrapped(stdlib.SetProductFunc, func(args []cty.Value) (cty.Value, error) {
	product := 1
	for _, arg := range args {
		bare, _ := arg.Unmark()
		if !bare.IsKnown() || bare.IsNull() || !bare.CanIterateElements() || bare.LengthInt() == 0 {
			return stdlib.SetProductFunc.Call(args)
		}
		product = min(product*bare.LengthInt(), limits.product+1)
	}
	if product > limits.product {
		return cty.NilVal, fmt.Errorf("there are more than %d combinations", limits.product)
	}
	return stdlib.SetProductFunc.Call(args)
})

// parseIntFunc refuses more digits than supported numbers have, in any base.
var parseIntFunc = wrapped(stdlib.ParseIntFunc, func(args []cty.Value) (cty.Value, error) {
	if text := args[0]; text.Type() == cty.String && len(knownText(text)) > 4*ctyfast.MaxDigits {
		return cty.NilVal, function.NewArgError(0, ctyfast.ErrManyDigits)
	}
	return stdlib.ParseIntFunc.Call(args)
})

// realNumber returns a function that returns an error for a result that is not a real number, such as the logarithm of
// a negative one, for which the library panics.
func realNumber(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) (cty.Value, error) {
		result, err := f.Call(args)
		return result, notReal(err)
	})
}

// notReal returns the error for an arithmetic panic, such as for the remainder of infinity.
func notReal(err error) error {
	if _, panicked := errors.AsType[function.PanicError](err); panicked {
		return errors.New("the result is not a real number")
	}
	return err
}
