package funcs

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// textFunc returns a function from one string to another. run also receives the argument value, to quote it in an
// error.
func textFunc(name string, run func(text string, arg cty.Value) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params:       []function.Parameter{{Name: name, Type: cty.String, AllowUnknown: true, AllowMarked: true}},
		Type:         function.StaticReturnType(cty.String),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			text, marks := args[0].Unmark()
			if !text.IsKnown() {
				return cty.UnknownVal(cty.String).WithMarks(marks), nil
			}
			result, err := run(text.AsString(), args[0])
			if err != nil {
				return cty.NilVal, err
			}
			return cty.StringVal(result).WithMarks(marks), nil
		},
	})
}

// jsonEncodeFunc returns the same as the library's function, which sorts sets slowly.
var jsonEncodeFunc = function.New(&function.Spec{
	Params:       stdlib.JSONEncodeFunc.Params(),
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if args[0].IsNull() || !ctyfast.WhollyKnown(args[0]) {
			return stdlib.JSONEncodeFunc.Call(args)
		}
		encoded, err := ctyfast.MarshalJSON(args[0], args[0].Type())
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(string(bytes.TrimSpace(encoded))), nil
	},
})

var base64EncodeFunc = textFunc("str", func(text string, _ cty.Value) (string, error) {
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
})

var base64DecodeFunc = textFunc("str", func(text string, arg cty.Value) (string, error) {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("failed to decode base64 data %s", quoted(arg))
	}
	if !utf8.Valid(decoded) {
		return "", errors.New("the result of decoding the provided string is not valid UTF-8")
	}
	return string(decoded), nil
})

// base64GzipFunc flushes before it closes, which adds an empty block, because the bytes must be Terraform's: in user
// data, a change replaces machines.
var base64GzipFunc = textFunc("str", func(text string, _ cty.Value) (string, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil {
		return "", fmt.Errorf("compress: %w", err)
	}
	if err := w.Flush(); err != nil {
		return "", fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("compress: %w", err)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
})

// base64GunzipFunc is OpenTofu's inverse of base64gzip.
var base64GunzipFunc = textFunc("str", func(text string, arg cty.Value) (string, error) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("failed to decode base64 data %s", quoted(arg))
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("the data is not compressed with gzip: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(r, int64(limits.text)+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the data cannot be decompressed: %w", err)
	case len(content) > limits.text:
		return "", errText()
	case !utf8.Valid(content):
		return "", errors.New("the result of decompressing the provided string is not valid UTF-8")
	}
	return string(content), nil
})

// urlDecodeFunc is OpenTofu's inverse of urlencode.
var urlDecodeFunc = textFunc("str", func(text string, arg cty.Value) (string, error) {
	decoded, err := url.QueryUnescape(text)
	if err != nil {
		return "", fmt.Errorf("failed to decode %s: a percent sign must be followed by two hexadecimal digits",
			quoted(arg))
	}
	if !utf8.ValidString(decoded) {
		return "", errors.New("the result of decoding the provided string is not valid UTF-8")
	}
	return decoded, nil
})

var urlEncodeFunc = textFunc("str", func(text string, _ cty.Value) (string, error) {
	return url.QueryEscape(text),
		nil
})

var textEncodeBase64Func = function.New(&function.Spec{
	Params:       []function.Parameter{param("string", cty.String), param("encoding", cty.String)},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		charset, name, err := findCharset(args[1].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		encoded, err := charset.NewEncoder().Bytes([]byte(args[0].AsString()))
		if err != nil {
			return cty.NilVal,
				function.NewArgErrorf(0, "the given string contains characters that cannot be represented in %s", name)
		}
		return cty.StringVal(base64.StdEncoding.EncodeToString(encoded)), nil
	},
})

var textDecodeBase64Func = function.New(&function.Spec{
	Params:       []function.Parameter{param("source", cty.String), param("encoding", cty.String)},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		charset, name, err := findCharset(args[1].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		raw, err := base64.StdEncoding.DecodeString(args[0].AsString())
		if err != nil {
			if at, ok := errors.AsType[base64.CorruptInputError](err); ok {
				return cty.NilVal, function.NewArgErrorf(0, "the given value has an invalid base64 symbol at offset %d",
					int64(at))
			}
			return cty.NilVal, function.NewArgErrorf(0, "invalid base64: %w", err)
		}
		decoded, err := charset.NewDecoder().Bytes(raw)
		if err != nil || bytes.ContainsRune(decoded, utf8.RuneError) {
			return cty.NilVal, function.NewArgErrorf(0, "the given string contains symbols that are not defined for %s",
				name)
		}
		return cty.StringVal(string(decoded)), nil
	},
})

// findCharset returns the encoding with an IANA name or alias, and its official name.
func findCharset(alias string) (encoding.Encoding, string, error) {
	charset, err := ianaindex.IANA.Encoding(alias)
	if err != nil || charset == nil {
		return nil, "", function.NewArgErrorf(1, "%q is not a supported IANA encoding name or alias", alias)
	}
	name, err := ianaindex.IANA.Name(charset)
	if err != nil {
		name = alias
	}
	return charset, name, nil
}

// jsonDecodeFunc refuses texts with too many members and elements (which are counted by their commas), and numbers with
// too many digits.
var jsonDecodeFunc = wrapped(stdlib.JSONDecodeFunc, func(args []cty.Value) (cty.Value, error) {
	text := knownText(args[0])
	if strings.Count(text, ",") >= limits.parts && commas(text) >= limits.parts {
		return cty.NilVal, errParts()
	}
	if longNumber(text, `"`) {
		return cty.NilVal, function.NewArgError(0, ctyfast.ErrManyDigits)
	}
	return stdlib.JSONDecodeFunc.Call(args)
})

// longNumber reports whether a text has more consecutive digits than a number may have, unless one of the given quotes
// precedes them.
func longNumber(text, quotes string) bool {
	const most = ctyfast.MaxDigits
	// Such a run of digits covers one of these positions.
	for i := most; i < len(text); i += most + 1 {
		if !digit(text[i]) {
			continue
		}
		from, to := i, i
		for from > 0 && digit(text[from-1]) {
			from--
		}
		for to < len(text) && digit(text[to]) {
			to++
		}
		if to-from > most && (from == 0 || !strings.Contains(quotes, text[from-1:from])) {
			return true
		}
		i = to // continues after the run
	}
	return false
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// commas counts the commas of a JSON text that are outside of strings.
func commas(text string) (n int) {
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inside = !inside
		case c == '\\' && inside:
			i++
		case c == ',' && !inside:
			n++
		}
	}
	return n
}

// csvDecodeFunc refuses texts with too many lines, each of which becomes an object with a string for each column.
var csvDecodeFunc = wrapped(stdlib.CSVDecodeFunc, func(args []cty.Value) (cty.Value, error) {
	text := knownText(args[0])
	header, _, _ := strings.Cut(text, "\n")
	if lines := strings.Count(text, "\n"); lines > limits.parts/(strings.Count(header, ",")+2) {
		return cty.NilVal, errParts()
	}
	return stdlib.CSVDecodeFunc.Call(args)
})

// yamlEncodeFunc refuses text that is not UTF-8, which can come from the command line or from a provider: the library's
// emitter never ends on such text.
var yamlEncodeFunc = wrapped(yaml.YAMLEncodeFunc, func(args []cty.Value) (cty.Value, error) {
	err := cty.Walk(args[0], func(_ cty.Path, v cty.Value) (bool, error) {
		if v, _ = v.Unmark(); v.Type() == cty.String && v.IsKnown() && !v.IsNull() && !utf8.ValidString(v.AsString()) {
			return false, function.NewArgErrorf(0, "contains a string that is not valid UTF-8")
		}
		return true, nil
	})
	if err != nil {
		return cty.NilVal, err
	}
	return yaml.YAMLEncodeFunc.Call(args)
})

// maxYAMLValues limits a document with expanded aliases: ten lines, each of which repeats the previous one ten times,
// have 10 billion values.
const maxYAMLValues = 1_000_000

// multiplies reports whether the aliases of a document expand to more than maxYAMLValues values. The library shares
// repeated values, but their readers visit each.
func multiplies(text string) bool {
	if !strings.Contains(text, "&") || !strings.Contains(text, "*") {
		return false
	}
	ty, err := yaml.ImpliedType([]byte(text))
	return err == nil && !fewer(ty, new(int))
}

// fewer reports whether a type has at most maxYAMLValues parts.
func fewer(ty cty.Type, n *int) bool {
	if *n++; *n > maxYAMLValues {
		return false
	}
	switch {
	case ty.IsTupleType():
		for _, ety := range ty.TupleElementTypes() {
			if !fewer(ety, n) {
				return false
			}
		}
	case ty.IsObjectType():
		for _, aty := range ty.AttributeTypes() {
			if !fewer(aty, n) {
				return false
			}
		}
	}
	return true
}

// yamlDecodeFunc refuses texts for which the library would take minutes, all memory or the whole stack. For each token
// its scanner checks all open brackets, and a stack overflow ends the process.
var yamlDecodeFunc = wrapped(yaml.YAMLDecodeFunc, func(args []cty.Value) (cty.Value, error) {
	switch text := knownText(args[0]); {
	case strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff"):
		return cty.NilVal, function.NewArgErrorf(0, "is UTF-16, and UTF-8 is expected")
	case yamlPlaces(text) >= limits.parts:
		return cty.NilVal, errParts()
	case longNumber(text, `"'`):
		return cty.NilVal, function.NewArgError(0, ctyfast.ErrManyDigits)
	case nesting.YAML(text):
		return cty.NilVal, function.NewArgErrorf(0, "its collections nest more than %d levels deep", nesting.MaxYAML)
	case multiplies(text):
		return cty.NilVal, function.NewArgErrorf(0, "with its aliases expanded, the document has more than %d values",
			maxYAMLValues)
	}
	return withheldErrors(yaml.YAMLDecodeFunc).Call(args)
})

// yamlPlaces counts the positions in a text at which a value may begin: after commas and brackets, and after the
// dashes, question marks and colons that end a word. It includes those within quoted text.
func yamlPlaces(text string) (n int) {
	if len(text) < limits.parts {
		return 0
	}
	for i := range len(text) {
		switch text[i] {
		case ',', '[', '{':
			n++
		case '-', '?', ':':
			if i+1 == len(text) || strings.IndexByte(" \t\r\n\xc2\xe2", text[i+1]) >= 0 {
				n++
			}
		}
	}
	return n
}
