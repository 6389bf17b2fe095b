package funcs

import (
	"strings"
	"unicode/utf8"

	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	bounding "go.yaml.in/yaml/v2"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// yamlEncodeFunc refuses text that is not UTF-8, which can come from the command line or from a provider: on such text
// the emitter of the library never ends.
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

// maxYAMLValues bounds what a text that mentions its parts again stands for: ten lines, each of which has the one
// before it ten times, are ten thousand million values.
const maxYAMLValues = 1_000_000

// multiplies reports whether the aliases of a text make it stand for more than anyone waits for. The library makes them
// quickly, as they are all the same, and whoever looks at them then looks at each.
func multiplies(text string) bool {
	if !strings.Contains(text, "&") || !strings.Contains(text, "*") {
		return false
	}
	ty, err := yaml.ImpliedType([]byte(text))
	return err == nil && !fewer(ty, new(int))
}

// fewer reports whether a type has no more than maxYAMLValues parts.
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

// maxYAMLNesting is what encoding/json, and so jsondecode, allows.
const maxYAMLNesting = 10000

// yamlDecodeFunc refuses texts that the library would spend minutes, all memory or the whole stack on. For each token
// its scanner looks at all brackets that are open, and a stack that overflows ends the process.
var yamlDecodeFunc = wrapped(yaml.YAMLDecodeFunc, func(args []cty.Value) (cty.Value, error) {
	switch text := knownText(args[0]); {
	case strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff"):
		return cty.NilVal, function.NewArgErrorf(0, "is UTF-16, and UTF-8 is expected")
	case yamlPlaces(text) >= limits.parts:
		return cty.NilVal, errParts()
	case longNumber(text, `"'`):
		return cty.NilVal, function.NewArgError(0, ctyfast.ErrManyDigits)
	case nestsDeeply(text):
		return cty.NilVal, function.NewArgErrorf(0, "its collections nest more than %d levels deep", maxYAMLNesting)
	case multiplies(text):
		return cty.NilVal, function.NewArgErrorf(0, "with its aliases expanded, the document has more than %d values",
			maxYAMLValues)
	}
	return withheldErrors(yaml.YAMLDecodeFunc).Call(args)
})

// yamlPlaces counts the places of a text at which another value may begin: behind commas and brackets, and behind the
// dashes, question marks and colons that end a word. Those inside of quoted text count as well.
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

// nestsDeeply reports whether collections nest more than maxYAMLNesting levels deep. Only a scanner of YAML knows which
// of the brackets are quoted or part of a comment. That of another library measures as it reads, and it is asked where
// there are enough of them, or where a line begins so far to the right that as many may be open without brackets.
func nestsDeeply(text string) bool {
	if strings.Count(text, "[")+strings.Count(text, "{") <= maxYAMLNesting && !beginsFarRight(text) {
		return false
	}
	err := bounding.Unmarshal([]byte(text), new(unread))
	return err != nil && strings.Contains(err.Error(), "exceeded max depth")
}

// beginsFarRight reports whether before the first word of some line there is more than maxYAMLNesting white space or
// marks of YAML: each collection without brackets begins farther to the right than the one around it.
func beginsFarRight(text string) bool {
	run := 0
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '-', '?', ':':
			if run++; run > maxYAMLNesting {
				return true
			}
		default: // the end of a line, or a word: whatever comes behind it is closer to the left than it seems
			run = 0
		}
	}
	return false
}

// unread is a document that was read and not decoded.
type unread struct{}

// UnmarshalYAML implements bounding.Unmarshaler.
func (*unread) UnmarshalYAML(func(any) error) error { return nil }
