package funcs

import (
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// Library functions do not react to an interrupt. So a call with large arguments runs in its own goroutine, which is
// abandoned when the walk has to end: it only computes with immutable values, and its result is discarded.

// gracePeriod is how long a call may continue after the first interrupt.
const gracePeriod = 500 * time.Millisecond

// interruptible runs a function in its own goroutine and returns its result; ok is false if the work has to end before.
// The function then continues to run. The first interrupt ends long calls, and the second all calls.
func interruptible[T any](w *Work, long bool, do func() T) (result T, ok bool) {
	type end struct {
		result T
		panics any
	}
	ended := make(chan end, 1)
	go func() { // ends by itself; it is abandoned when the work has to end
		var e end
		defer func() {
			e.panics = recover()
			ended <- e
		}()
		e.result = do()
	}()
	var asked <-chan struct{}
	var late <-chan time.Time
	if long {
		asked = w.done(true)
	}
	for {
		select {
		case e := <-ended:
			if e.panics != nil {
				panic(e.panics)
			}
			return e.result, true
		case <-w.done(false):
			return result, false
		case <-asked:
			asked, late = nil, time.After(gracePeriod)
		case <-late:
			return result, false
		}
	}
}

// abandonable reports whether a function only computes with its arguments.
func abandonable(name string) bool { return abandonableNames()[strings.TrimPrefix(name, "core::")] }

var abandonableNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name, f := range fixedTable() {
		params := f.Params()
		if v := f.VarParam(); v != nil {
			params = append(params, *v)
		}
		names[name] = true
		for _, p := range params {
			if customdecode.CustomExpressionDecoderForType(p.Type) != nil { // it evaluates the arguments itself
				names[name] = false
			}
		}
	}
	return names
})

// manySteps is the maximum total size of arguments in a call that is too short to be abandoned.
const manySteps = 256

// mayTakeLong reports whether a call with these arguments may take long.
func mayTakeLong(name string, args []cty.Value) bool {
	if strings.TrimPrefix(name, "core::") == "setproduct" {
		return true // even with small arguments
	}
	left := manySteps
	for _, arg := range args {
		if left = stepsLeft(arg, left); left < 0 {
			return true
		}
	}
	return false
}

// stepsLeft subtracts the size of a value from left. It visits no more of the value than that.
func stepsLeft(v cty.Value, left int) int {
	v, _ = v.Unmark()
	if left--; left < 0 || !v.IsKnown() || v.IsNull() {
		return left
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		return left - len(v.AsString())>>6
	case ty.IsSetType(): // iteration would sort the elements
		if !ty.ElementType().IsPrimitiveType() {
			return -1
		}
		return left - v.LengthInt()
	case ty.IsListType(), ty.IsMapType(), ty.IsTupleType(), ty.IsObjectType():
		if v.LengthInt() > left {
			return -1
		}
		for _, e := range ctyfast.Each(v) {
			if left = stepsLeft(e, left); left < 0 {
				break
			}
		}
	}
	return left
}

// longSet is the number of elements from which sorting a set may take long.
const longSet = 1 << 14

func isLongSet(v cty.Value) bool {
	v, _ = v.Unmark()
	return v.Type().IsSetType() && v.IsKnown() && !v.IsNull() && v.LengthInt() >= limits.set
}

// elementsApart returns the sorted elements of a set within a loop. It ends early if the work has to end.
func elementsApart(set cty.Value, ctx *hcl.EvalContext, at hcl.Expression) []cty.Value {
	if !isLongSet(set) {
		return ctyfast.Elements(set)
	}
	list, ok := interruptible(workOf(ctx), true, func() []cty.Value { return ctyfast.Elements(set) })
	if ok {
		return list
	}
	over := exceeded{limitError(ErrStopped, at)}
	if c := counterOf(ctx); c != nil {
		c.over = &over
	}
	panic(over)
}

// splat is an expression such as a[*].b, which may also sort a set.
type splat struct {
	hclsyntax.Expression
	of *hclsyntax.SplatExpr
}

func (e *splat) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	of := *e.of
	source, diags := of.Source.Value(ctx)
	of.Source = &found{visible(of.Source), source, diags}
	if !isLongSet(source) {
		return of.Value(ctx)
	}
	a, ok := interruptible(workOf(ctx), true, func() answer {
		v, diags := of.Value(ctx)
		return answer{v, diags}
	})
	if !ok {
		return cty.DynamicVal, hcl.Diagnostics{limitError(ErrStopped, e.Expression)}
	}
	return a.v, a.diags
}

// answer is the result of an expression.
type answer struct {
	v     cty.Value
	diags hcl.Diagnostics
}

// callApart performs a call with large, evaluated arguments.
func callApart(w *Work, of *hclsyntax.FunctionCallExpr, args []found, ctx *hcl.EvalContext) (cty.Value,
	hcl.Diagnostics) {
	a, ok := interruptible(w, true, func() answer {
		call := *of
		if f, known := fixedTable()[strings.TrimPrefix(of.Name, "core::")]; known {
			call.Args, call.ExpandFinal = fittingArguments(f, of, args)
		}
		v, diags := call.Value(ctx)
		return answer{v, diags}
	})
	if !ok {
		return cty.DynamicVal, hcl.Diagnostics{limitError(ErrStopped, of)}
	}
	return a.v, a.diags
}

// fittingArguments returns the arguments of a call, converted to the types of the parameters if possible: otherwise the
// library compares the type of each member with that of every other. The last argument is expanded like in the library.
func fittingArguments(f function.Function, of *hclsyntax.FunctionCallExpr, args []found) (
	list []hclsyntax.Expression, expands bool) {
	params, variadic := f.Params(), f.VarParam()
	fitting := func(i int, v cty.Value) cty.Value {
		param := variadic
		if i < len(params) {
			param = &params[i]
		}
		if param == nil || v == cty.NilVal {
			return v
		}
		if fits, err := ctyfast.Convert(v, param.Type); err == nil {
			return fits
		}
		return v // the call reports the error
	}
	for i := range args {
		last := of.ExpandFinal && i == len(args)-1
		v, marks := args[i].value.Unmark()
		switch ty := v.Type(); {
		case !last:
			if len(args[i].diags) == 0 {
				args[i].value = fitting(i, args[i].value)
			}
			list = append(list, &args[i])
		case len(args[i].diags) > 0, !v.IsKnown(), v.IsNull(), !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType():
			return append(list, &args[i]), true
		default:
			for _, e := range ctyfast.Each(v) {
				list = append(list, &hclsyntax.LiteralValueExpr{Val: fitting(len(list), e.WithMarks(marks)),
					SrcRange: of.Args[i].Range()})
			}
		}
	}
	return list, false
}
