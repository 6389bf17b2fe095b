package funcs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// startsWithFunc can answer for a string of which only the beginning is known yet.
var startsWithFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, AllowUnknown: true},
		param("prefix", cty.String),
	},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		prefix := args[1].AsString()
		if args[0].IsKnown() {
			return cty.BoolVal(strings.HasPrefix(args[0].AsString(), prefix)), nil
		}
		known := args[0].Range().StringPrefix()
		switch {
		case strings.HasPrefix(known, prefix):
			return cty.True, nil
		case !strings.HasPrefix(prefix, known):
			return cty.False, nil
		default:
			return cty.UnknownVal(cty.Bool), nil
		}
	},
})

var endsWithFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("str", cty.String), param("suffix", cty.String)},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(strings.HasSuffix(args[0].AsString(), args[1].AsString())), nil
	},
})

var strContainsFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("str", cty.String), param("substr", cty.String)},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(strings.Contains(args[0].AsString(), args[1].AsString())), nil
	},
})

// replaceFunc takes its second argument as a regular expression if it is written between slashes. (The library's
// replace never does.)
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		param("str", cty.String), param("substr", cty.String), param("replace", cty.String),
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		str, substr, replace := args[0].AsString(), args[1].AsString(), args[2].AsString()
		if len(substr) < 2 || substr[0] != '/' || substr[len(substr)-1] != '/' {
			return cty.StringVal(strings.ReplaceAll(str, substr, replace)), nil
		}
		pattern, err := regexp.Compile(substr[1 : len(substr)-1])
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(pattern.ReplaceAllString(str, replace)), nil
	},
})

// indentFunc refuses what the library's function panics of: fewer than no spaces, and more than a memory can hold.
var indentFunc = wrapped(stdlib.IndentFunc, func(args []cty.Value) (cty.Value, error) {
	const most = 1 << 30
	if spaces, _ := args[0].Unmark(); spaces.IsKnown() && !spaces.IsNull() {
		if n := spaces.AsBigFloat(); n.Sign() < 0 {
			return cty.NilVal, errors.New("the number of spaces must not be negative")
		} else if text, _ := args[1].Unmark(); text.IsKnown() && !text.IsNull() {
			size, _ := n.Float64()
			if size*float64(1+strings.Count(text.AsString(), "\n")) > most {
				return cty.NilVal, fmt.Errorf("the result would have more than %d bytes", most)
			}
		}
	}
	return stdlib.IndentFunc.Call(args)
})
