package funcs

import (
	"errors"
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// startsWithFunc returns a known result for a string of which only a prefix is known.
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

// replaceFunc uses its second argument as a regular expression if it is between slashes. (The library's replace never
// does.)
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		param("str", cty.String), param("substr", cty.String), param("replace", cty.String),
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		str, substr, replace := args[0].AsString(), args[1].AsString(), args[2].AsString()
		if len(substr) < 2 || substr[0] != '/' || substr[len(substr)-1] != '/' {
			grows := len(replace) - len(substr)
			if grows > 0 && strings.Count(str, substr) > (limits.text-len(str))/grows {
				return cty.NilVal, errText()
			}
			return cty.StringVal(strings.ReplaceAll(str, substr, replace)), nil
		}
		pattern, err := regexp.Compile(substr[1 : len(substr)-1])
		if err != nil {
			return cty.NilVal, err
		}
		if replacesTooMuch(pattern, str, replace) {
			return cty.NilVal, errText()
		}
		return cty.StringVal(pattern.ReplaceAllString(str, replace)), nil
	},
})

// replacesTooMuch reports whether the result of a replacement could be too long. The match of a group is not longer
// than the whole match.
func replacesTooMuch(pattern *regexp.Regexp, str, replace string) bool {
	groups := strings.Count(replace, "$")
	if (len(str)+1)*len(replace)+len(str)*(1+groups) <= limits.text {
		return false
	}
	total := len(str)
	pattern.ReplaceAllStringFunc(str, func(match string) string {
		total = min(total+len(replace)+groups*len(match), limits.text+1)
		return ""
	})
	return total > limits.text
}

// splitFunc refuses to return too many parts.
var splitFunc = wrapped(stdlib.SplitFunc, func(args []cty.Value) (cty.Value, error) {
	separator, text := knownText(args[0]), knownText(args[1])
	if len(text) >= limits.parts && strings.Count(text, separator) >= limits.parts {
		return cty.NilVal, errParts()
	}
	return stdlib.SplitFunc.Call(args)
})

// regexAllFunc refuses to return too many parts: a string for each match, or an object with a string for each group.
var regexAllFunc = wrapped(stdlib.RegexAllFunc, func(args []cty.Value) (cty.Value, error) {
	if pattern, err := regexp.Compile(knownText(args[0])); err == nil {
		most := limits.parts
		if groups := pattern.NumSubexp(); groups > 0 {
			most /= groups + 1
		}
		text := knownText(args[1])
		if len(text) >= most && len(pattern.FindAllStringIndex(text, most+1)) > most {
			return cty.NilVal, errParts()
		}
	}
	return stdlib.RegexAllFunc.Call(args)
})

// knownText returns a text without its marks, or "" if it is unknown.
func knownText(v cty.Value) string {
	if v, _ = v.Unmark(); v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
		return v.AsString()
	}
	return ""
}

// joinFunc refuses to return a text that is too long.
var joinFunc = wrapped(stdlib.JoinFunc, func(args []cty.Value) (cty.Value, error) {
	separator, _ := args[0].Unmark()
	if separator.IsKnown() && !separator.IsNull() {
		total := 0
		for _, arg := range args[1:] {
			if list, _ := arg.Unmark(); list.IsKnown() && !list.IsNull() && list.CanIterateElements() {
				for it := list.ElementIterator(); it.Next(); {
					_, e := it.Element()
					if e, _ = e.Unmark(); e.Type() == cty.String && e.IsKnown() && !e.IsNull() {
						total += len(e.AsString())
					}
					if total += len(separator.AsString()); total > limits.text+len(separator.AsString()) {
						return cty.NilVal, errText()
					}
				}
			}
		}
	}
	return stdlib.JoinFunc.Call(args)
})

// indentFunc refuses arguments for which the library's function panics: a negative number of spaces, and more than fit
// into memory.
var indentFunc = wrapped(stdlib.IndentFunc, func(args []cty.Value) (cty.Value, error) {
	if spaces, _ := args[0].Unmark(); spaces.IsKnown() && !spaces.IsNull() {
		if n := spaces.AsBigFloat(); n.Sign() < 0 {
			return cty.NilVal, errors.New("the number of spaces must not be negative")
		} else if text, _ := args[1].Unmark(); text.IsKnown() && !text.IsNull() {
			size, _ := n.Float64()
			if size*float64(1+strings.Count(text.AsString(), "\n"))+float64(len(text.AsString())) > float64(
				limits.text) {
				return cty.NilVal, errText()
			}
		}
	}
	return stdlib.IndentFunc.Call(args)
})
