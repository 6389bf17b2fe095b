// Package strictjson parses JSON from other programs and people, and refuses everything that would silently lose data:
// invalid UTF-8, unpaired surrogates, duplicate member names, and text after the value. It only ignores a leading byte
// order mark, because some shells cannot write without one.
//
// The result is a tree with the position of each value, so that problems can later be reported with line and column.
// Numbers keep their original text.
//
//	v, err := strictjson.Parse(text)
//	if err != nil { ... } // a *strictjson.Error with the position
//	name := v.Get("name")
package strictjson

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the kind of a value.
type Kind uint8

// The six kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the name of a kind with an article, for messages.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is one value. Kind determines which fields are used.
type Value struct {
	Kind    Kind
	True    bool
	Text    string // content of a string, or original text of a number
	Items   []*Value
	Members []Member
	// Offset is the position of the value, End the position after it.
	Offset, End int
}

// Member is a member of an object. Members are in the order of the text.
type Member struct {
	Name   string
	Offset int
	Value  *Value
}

// Get returns a member, or nil if it does not exist or if the value is not an object.
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return nil
}

// Error is a problem with its position.
type Error struct {
	Offset  int
	Problem string
	// Trailing means that a complete value was parsed and is followed by other text.
	Trailing bool
	// Name is the name of a member in the problem text, or "".
	Name string
}

// Error returns the problem without its position, which only makes sense together with the text; see Position.
func (e *Error) Error() string { return e.Problem }

// Position returns the line and column of an offset, both counted from 1. Columns count characters.
func Position(text []byte, offset int) (line, column int) {
	offset = min(offset, len(text))
	before := text[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

const (
	// maxDepth limits the nesting of arrays and objects, because functions on the tree are recursive.
	maxDepth = 500
	// maxNumber limits the length of a number, and maxExponent its exponent: formatting 1e99999999 takes minutes, and
	// numbers close to zero take quadratic time.
	maxNumber   = 10_000
	maxExponent = 99_999
	minExponent = -9_999
)

// Parse parses a text that is a single value, surrounded only by white space.
func Parse(text []byte) (*Value, error) {
	v, err := ParsePrefix(text)
	if err != nil {
		return nil, err
	}
	p := parser{text: text, pos: v.End}
	p.space()
	if p.pos < len(text) {
		return nil, &Error{Offset: p.pos, Problem: "there is text after the end of the JSON value", Trailing: true}
	}
	return v, nil
}

// ParsePrefix parses the value at the beginning of a text.
func ParsePrefix(text []byte) (*Value, error) {
	p := parser{text: text}
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		p.pos = 3
	}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	return v, nil
}

type parser struct {
	text []byte
	pos  int
}

func (p *parser) fail(at int, format string, args ...any) *Error {
	return &Error{Offset: at, Problem: fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// found describes the text at the current position.
func (p *parser) found() string {
	if p.pos >= len(p.text) {
		return "the text ends"
	}
	r, size := utf8.DecodeRune(p.text[p.pos:])
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf("the byte 0x%02x, which is not UTF-8, was found", p.text[p.pos])
	}
	return strconv.QuoteRune(r) + " was found"
}

func (p *parser) value(depth int) (*Value, *Error) {
	p.space()
	v := &Value{Offset: p.pos}
	if p.pos >= len(p.text) {
		return nil, p.fail(p.pos, "a JSON value was expected, but the text ends")
	}
	var err *Error
	switch c := p.text[p.pos]; {
	case c == '{':
		err = p.object(v, depth)
	case c == '[':
		err = p.array(v, depth)
	case c == '"':
		v.Kind = String
		v.Text, err = p.string()
	case c == '-' || c >= '0' && c <= '9':
		v.Kind = Number
		v.Text, err = p.number()
	default:
		err = p.word(v)
	}
	v.End = p.pos
	return v, err
}

func (p *parser) word(v *Value) *Error {
	for _, w := range []struct {
		text string
		kind Kind
	}{{"null", Null}, {"true", Bool}, {"false", Bool}} {
		if bytes.HasPrefix(p.text[p.pos:], []byte(w.text)) {
			p.pos += len(w.text)
			v.Kind, v.True = w.kind, w.text == "true"
			return nil
		}
	}
	return p.fail(p.pos, "a JSON value was expected, but %s", p.found())
}

func (p *parser) object(v *Value, depth int) *Error {
	v.Kind = Object
	if depth >= maxDepth {
		return p.fail(p.pos, "more than %d nested arrays and objects", maxDepth)
	}
	p.pos++
	seen := map[string]bool{}
	for {
		p.space()
		if len(v.Members) == 0 && p.next('}') {
			return nil
		}
		at := p.pos
		if at >= len(p.text) || p.text[at] != '"' {
			return p.fail(at, "the name of a member in double quotes was expected, but %s", p.found())
		}
		name, err := p.string()
		if err != nil {
			return err
		}
		if seen[name] {
			return &Error{Offset: at, Problem: fmt.Sprintf("the object has two members named %q", name), Name: name}
		}
		seen[name] = true
		p.space()
		if !p.next(':') {
			return &Error{Offset: p.pos, Problem: fmt.Sprintf("a colon was expected after the name %q, but %s", name,
				p.found()), Name: name}
		}
		member, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.Members = append(v.Members, Member{Name: name, Offset: at, Value: member})
		p.space()
		if p.next('}') {
			return nil
		}
		if !p.next(',') {
			return p.fail(p.pos, "a comma or the end of the object was expected, but %s", p.found())
		}
	}
}

func (p *parser) array(v *Value, depth int) *Error {
	v.Kind = Array
	if depth >= maxDepth {
		return p.fail(p.pos, "more than %d nested arrays and objects", maxDepth)
	}
	p.pos++
	for {
		p.space()
		if len(v.Items) == 0 && p.next(']') {
			return nil
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.Items = append(v.Items, item)
		p.space()
		if p.next(']') {
			return nil
		}
		if !p.next(',') {
			return p.fail(p.pos, "a comma or the end of the array was expected, but %s", p.found())
		}
	}
}

// next skips a character if it is the next one, and reports whether it was.
func (p *parser) next(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) digits() int {
	from := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.pos - from
}

func (p *parser) number() (string, *Error) {
	at := p.pos
	p.next('-')
	zero := p.pos < len(p.text) && p.text[p.pos] == '0'
	if n := p.digits(); n == 0 || zero && n > 1 {
		return "", p.fail(at, "this is not a JSON number")
	}
	if p.next('.') && p.digits() == 0 {
		return "", p.fail(at, "the number has no digits after its decimal point")
	}
	if p.next('e') || p.next('E') {
		most := maxExponent
		if p.next('-') {
			most = -minExponent
		} else {
			p.next('+')
		}
		from := p.pos
		if p.digits() == 0 {
			return "", p.fail(at, "the number has no digits in its exponent")
		}
		if e, err := strconv.Atoi(string(p.text[from:p.pos])); err != nil || e > most {
			return "", p.fail(at, "the exponent of the number is not between %d and %d", minExponent, maxExponent)
		}
	}
	if p.pos-at > maxNumber {
		return "", p.fail(at, "the number has more than %d characters", maxNumber)
	}
	return string(p.text[at:p.pos]), nil
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) string() (string, *Error) {
	start := p.pos
	p.pos++
	var out []byte
	from := p.pos // start of text without escapes
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			out = append(out, p.text[from:p.pos]...)
			p.pos++
			return string(out), nil
		case c == '\\':
			out = append(out, p.text[from:p.pos]...)
			var err *Error
			if out, err = p.escape(out); err != nil {
				return "", err
			}
			from = p.pos
		case c < ' ':
			return "", p.fail(p.pos, "the string contains the control character 0x%02x; it must be written as \\u%04x",
				c, c)
		case c < utf8.RuneSelf:
			p.pos++
		default:
			r, size := utf8.DecodeRune(p.text[p.pos:])
			if r == utf8.RuneError && size == 1 {
				return "", p.fail(p.pos, "the string is not UTF-8: it holds the byte 0x%02x", c)
			}
			p.pos += size
		}
	}
	return "", p.fail(start, "the string has no end")
}

func (p *parser) escape(out []byte) ([]byte, *Error) {
	at := p.pos
	if p.pos+1 >= len(p.text) {
		return nil, p.fail(at, "the string has no end")
	}
	c := p.text[p.pos+1]
	if plain, ok := escapes[c]; ok {
		p.pos += 2
		return append(out, plain), nil
	}
	if c != 'u' {
		return nil, p.fail(at, "\\%c is not an escape", rune(c))
	}
	r, ok := p.unicode()
	if !ok {
		return nil, p.fail(at, "\\u must be followed by four hexadecimal digits")
	}
	if utf16.IsSurrogate(r) {
		second, ok := rune(0), false
		if bytes.HasPrefix(p.text[p.pos:], []byte(`\u`)) {
			second, ok = p.unicode()
		}
		if r = utf16.DecodeRune(r, second); !ok || r == utf8.RuneError {
			return nil, p.fail(at, "the string holds half of a surrogate pair, which is not a character")
		}
	}
	return utf8.AppendRune(out, r), nil
}

// unicode parses \uXXXX.
func (p *parser) unicode() (rune, bool) {
	if p.pos+6 > len(p.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.text[p.pos+2:p.pos+6]), 16, 16)
	if err != nil {
		return 0, false
	}
	p.pos += 6
	return rune(n), true
}
