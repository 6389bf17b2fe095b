package funcs

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/value"
)

var errWithheld = errors.New("the reason is withheld because it could show an argument that is sensitive or ephemeral")

// quoted returns a string argument for an error message, or a placeholder if it is marked.
func quoted(arg cty.Value) string {
	if text, yes := value.Withheld(arg); yes {
		return text
	}
	arg, _ = arg.Unmark()
	return strconv.Quote(arg.AsString())
}

// withheldErrors returns a function with the same signature and results whose error text is withheld if an argument is
// marked. It is for functions whose messages quote their arguments. The error keeps its argument index.
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

// OfProvider returns a provider function for the function table: no error shows a marked argument, and the results are
// checked with record, if that is not nil. name identifies the function among those of all providers.
//
// The errors of such functions can have any form, so as much of them as possible is shown.
func OfProvider(name string, f function.Function, record *FileRecord) function.Function {
	return record.checked(name, wrapped(f, func(args []cty.Value) (cty.Value, error) {
		result, err := f.Call(args)
		if err == nil || !anyMarked(args) {
			return result, err
		}
		clean := errWithheld
		if text, ok := withoutArguments(err, args); ok {
			clean = errors.New(text)
		}
		if arg, ok := errors.AsType[function.ArgError](err); ok {
			return cty.NilVal, function.NewArgError(arg.Index, clean)
		}
		return cty.NilVal, clean
	}))
}

// wrapped returns a function with the signature of f that passes all its arguments unchanged to call.
//
// The type of a call with known arguments is dynamic, because computing it would do the work of f twice; the result has
// the exact type.
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
						// call will fail the same way, and withholds secrets
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

// passEverything makes a parameter accept all special values, which the wrapped function handles. Nulls are still
// refused before the call, so that the signature shows whether they are allowed.
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

// hidden replaces a secret text.
const hidden = "(sensitive value)"

// piece is the minimum length in bytes of a part of an argument that is hidden in a text.
const piece = 4

// withoutArguments returns the text of an error of a provider's function without the marked arguments and parts of
// them. A program may quote parts of them, in other case, or with escapes, so everything that shares four consecutive
// bytes with one of them is hidden. ok is false if the text contains an argument that is too short for that.
//
// If the error has a method Quoted that returns the parts that the function quoted, all other text is kept.
func withoutArguments(err error, args []cty.Value) (text string, ok bool) {
	text = err.Error()
	quoted := []string{text}
	if quoting := (interface{ Quoted() []string })(nil); errors.As(err, &quoting) {
		quoted = quoting.Quoted()
	}
	secrets := leaves(args)
	for _, part := range quoted {
		clean, ok := hide(part, secrets)
		if !ok {
			return "", false
		}
		text = strings.ReplaceAll(text, part, clean)
	}
	return text, true
}

// leaves returns all texts and numbers in marked arguments that an error could show.
func leaves(args []cty.Value) (list []string) {
	for _, arg := range args {
		if !arg.ContainsMarked() {
			continue // unmarked arguments may be shown
		}
		arg, _ = arg.UnmarkDeep()
		_ = cty.Walk(arg, func(path cty.Path, v cty.Value) (bool, error) {
			if len(path) > 0 {
				if at, ok := path[len(path)-1].(cty.IndexStep); ok && at.Key.IsKnown() && at.Key.Type() == cty.String {
					list = append(list, at.Key.AsString())
				}
			}
			switch {
			case !v.IsKnown() || v.IsNull():
			case v.Type() == cty.String:
				list = append(list, v.AsString())
			case v.Type() == cty.Number:
				if f := v.AsBigFloat(); f.MantExp(nil) < 1<<12 && f.MantExp(nil) > -1<<12 {
					list = append(list, f.Text('f', -1))
				}
			case v.Type() == cty.Bool:
				list = append(list, "true", "false") // "must be true" reveals the value, too
			}
			return true, nil
		})
	}
	return list
}

// hide replaces every run of bytes covered by pieces of secrets.
func hide(text string, secrets []string) (string, bool) {
	lower := foldASCII(text)
	pieces := map[string]bool{}
	for _, secret := range secrets {
		secret = foldASCII(secret)
		if len(secret) < piece {
			if secret != "" && strings.Contains(lower, secret) {
				return "", false
			}
			continue
		}
		for i := range len(secret) - piece + 1 {
			pieces[secret[i:i+piece]] = true
		}
	}
	covered := make([]bool, len(text)+1)
	for i := range max(0, len(text)-piece+1) {
		if pieces[lower[i:i+piece]] {
			for j := range piece {
				covered[i+j] = true
			}
		}
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		end, any := i, false
		for end < len(text) && anyOf(covered[end:end+size]) {
			any = true
			end += size
			_, size = utf8.DecodeRuneInString(text[end:])
		}
		if any {
			b.WriteString(hidden)
			i = end
			continue
		}
		b.WriteString(text[i : i+size])
		i += size
	}
	return b.String(), true
}

func anyOf(list []bool) bool {
	for _, b := range list {
		if b {
			return true
		}
	}
	return false
}

// foldASCII converts ASCII letters to lower case, byte by byte.
func foldASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
