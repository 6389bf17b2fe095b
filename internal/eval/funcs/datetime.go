package funcs

import (
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// ambientString returns a function without arguments that returns a string, which may be unknown.
func ambientString(unknown bool, get func() (string, error)) function.Function {
	return function.New(&function.Spec{
		Type:         function.StaticReturnType(cty.String),
		RefineResult: notNull,
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			if unknown {
				return cty.UnknownVal(cty.String), nil
			}
			text, err := get()
			if err != nil {
				return cty.NilVal, err
			}
			return cty.StringVal(text), nil
		},
	})
}

func timestampFunc(pure bool, work *Work) function.Function {
	return ambientString(pure, func() (string, error) {
		work.impureCall()
		return time.Now().UTC().Format(time.RFC3339), nil
	})
}

func planTimestampFunc(at time.Time) function.Function {
	return ambientString(at.IsZero(), func() (string, error) { return at.UTC().Format(time.RFC3339), nil })
}

var timeCmpFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("timestamp_a", cty.String), param("timestamp_b", cty.String)},
	Type:         function.StaticReturnType(cty.Number),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var times [2]time.Time
		for i, arg := range args {
			at, err := parseTimestamp(arg)
			if err != nil {
				return cty.NilVal, function.NewArgError(i, err)
			}
			times[i] = at
		}
		return cty.NumberIntVal(int64(times[0].Compare(times[1]))), nil
	},
})

// parseTimestamp parses RFC 3339, and also accepts a comma before fractions of a second. The library's time functions
// are stricter; their parser is only used to explain a failure.
func parseTimestamp(text cty.Value) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text.AsString())
	if err == nil {
		return at, nil
	}
	if _, explained := stdlib.TimeAdd(text, cty.StringVal("0s")); explained != nil {
		err = explained
	}
	return time.Time{}, err
}
