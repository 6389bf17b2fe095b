package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// WriteStrings returns the standard input of a program: one compact JSON object of strings with sorted keys, without a
// newline, with `<`, `>`, `&`, U+2028 and U+2029 escaped. A nil map becomes `{}`.
func WriteStrings(values map[string]string) []byte {
	if values == nil {
		values = map[string]string{}
	}
	b, err := json.Marshal(values)
	if err != nil {
		panic("program: a map of strings has no JSON form: " + err.Error())
	}
	return b
}

// ReadStrings decodes output that must be exactly one JSON object of strings, surrounded only by white space.
//
// It has the quirks of the published data source, on which programs rely: null stands for "" as a value, and for an
// empty result as the entire output; of several members with the same name, the last one is used; invalid UTF-8 and
// lone surrogates become U+FFFD. Error texts are those of encoding/json, because users search for them.
func ReadStrings(stdout []byte) (map[string]string, error) {
	var values map[string]string
	if err := json.Unmarshal(stdout, &values); err != nil {
		return nil, err
	}
	return values, nil
}

// ReadObject decodes output that must be exactly one JSON object, without decoding its values. It returns nil for null.
// Unlike ReadStrings it refuses two members with the same name, at any depth, because one of them would be silently
// lost.
func ReadObject(stdout []byte) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(stdout, &object); err != nil {
		if _, ok := err.(*json.UnmarshalTypeError); ok {
			return nil, fmt.Errorf("an object was expected, not %s", Kind(stdout))
		}
		return nil, err
	}
	if name, found := duplicate(stdout); found {
		return nil, fmt.Errorf("an object has two members named %s", strconv.Quote(name))
	}
	return object, nil
}

// Kind returns the type of a JSON value, with an article: "a string", "null". It only checks the first byte.
func Kind(value []byte) string {
	value = bytes.TrimLeft(value, " \t\r\n")
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// duplicate returns a member name that occurs twice in one object of a valid JSON text. It does not use recursion,
// because the program determines the depth of the text.
func duplicate(text []byte) (string, bool) {
	type level struct {
		names map[string]bool // nil for an array
		value bool            // the name of a member has been read, and its value is next
	}
	var stack []level
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return "", false
		}
		if top := len(stack) - 1; top >= 0 && stack[top].names != nil {
			if name, ok := token.(string); ok && !stack[top].value {
				if stack[top].names[name] {
					return name, true
				}
				stack[top].names[name] = true
				stack[top].value = true
				continue
			}
			stack[top].value = false
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{names: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
	}
}

// Excerpt returns the beginning of invalid output: its first 200 bytes in one line, with all characters escaped that a
// terminal would interpret.
func Excerpt(stdout []byte) string {
	const limit = 200
	text := bytes.TrimSpace(stdout)
	if len(text) == 0 {
		return "(nothing)"
	}
	cut := len(text) > limit
	if cut {
		text = text[:limit]
		// Drop a character that would be cut in two.
		for i := limit - 1; i > limit-utf8.UTFMax; i-- {
			if utf8.RuneStart(text[i]) {
				if !utf8.FullRune(text[i:]) {
					text = text[:i]
				}
				break
			}
		}
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case !strconv.IsPrint(r):
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	if cut {
		fmt.Fprintf(&b, " ... (%s in all)", byteCount(len(stdout)))
	}
	return b.String()
}
