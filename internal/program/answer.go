package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// WriteStrings returns the standard input of a program: one compact JSON object of strings with sorted keys, no line
// end, `<`, `>`, `&`, U+2028 and U+2029 escaped. A nil map becomes `{}`.
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

// ReadStrings reads an output that must be exactly one JSON object of strings, with nothing but white space around it.
//
// Its oddities are those of the published data source, which programs have come to rely on: null stands for "" as a
// value, and for no map at all as the whole output; of several members with one name the last counts; bytes that are
// not UTF-8 and lone surrogates become U+FFFD. Error texts are those of encoding/json, which people search for.
func ReadStrings(stdout []byte) (map[string]string, error) {
	var values map[string]string
	if err := json.Unmarshal(stdout, &values); err != nil {
		return nil, err
	}
	return values, nil
}

// ReadObject reads an output that must be exactly one JSON object, and leaves its values undecoded. It is nil for null.
// Unlike ReadStrings it refuses two members with one name, at any depth: one of them would be lost unseen.
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

// Kind names the type of a JSON value, with its article: "a string", "null". It looks at the first byte only.
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

// duplicate finds a member name that stands twice in one object of a valid JSON text. It keeps its own stack: the depth
// of a text is the writer's choice.
func duplicate(text []byte) (string, bool) {
	type level struct {
		names map[string]bool // nil: an array
		value bool            // a member's name has been read, its value comes next
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

// Excerpt shows the beginning of an output that could not be read: its first 200 bytes on one line, with every
// character escaped that a terminal would obey.
func Excerpt(stdout []byte) string {
	const limit = 200
	text := bytes.TrimSpace(stdout)
	if len(text) == 0 {
		return "(nothing)"
	}
	cut := len(text) > limit
	if cut {
		text = text[:limit]
		// A character that the cut went through goes as a whole.
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
