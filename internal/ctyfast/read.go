package ctyfast

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"unsafe"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/set"
)

const (
	maxDepth  = 100  // maximum nesting of brackets
	maxDigits = 1000 // maximum length of a number, with signs, point and exponent
	// maximum exponent: less than package provider allows
	maxNumberBits = 8192
)

// UnmarshalJSON decodes a value of a type like cty/json, which it calls for everything that ReadJSON does not support.
func UnmarshalJSON(data []byte, ty cty.Type) (cty.Value, error) {
	if v, ok := ReadJSON(data, ty); ok {
		return v, nil
	}
	return ctyjson.Unmarshal(data, ty)
}

// UnmarshalKeptJSON is UnmarshalJSON for data that never changes: the strings of the value share its memory.
func UnmarshalKeptJSON(data []byte, ty cty.Type) (cty.Value, error) {
	if v, ok := ReadKeptJSON(data, ty); ok {
		return v, nil
	}
	return ctyjson.Unmarshal(data, ty)
}

// ReadJSON decodes a value of a type in one pass, where cty/json copies and scans the content of brackets once for each
// level. It reads the output of Marshal and other unambiguous JSON. ok is false for everything else: errors, for which
// cty/json has the message and the path; input that cty/json tolerates, such as text after the value; numbers that take
// long to format; and deep nesting. cty/json would return the same value. The strings of the value share one copy of
// the data.
func ReadJSON(data []byte, ty cty.Type) (v cty.Value, ok bool) { return readJSON(string(data), ty) }

// ReadKeptJSON is ReadJSON for data that never changes: the strings of the value share its memory.
func ReadKeptJSON(data []byte, ty cty.Type) (v cty.Value, ok bool) {
	return readJSON(unsafe.String(unsafe.SliceData(data), len(data)), ty)
}

func readJSON(text string, ty cty.Type) (v cty.Value, ok bool) {
	if !inside {
		return cty.NilVal, false
	}
	defer func() {
		if recover() != nil { // the data has a contradictory type, which is left to Unmarshal
			v, ok = cty.NilVal, false
		}
	}()
	r := reader{text: text}
	raw, is, ok := r.value(ty)
	if r.space(); !ok || r.pos != len(r.text) {
		return cty.NilVal, false
	}
	if is == cty.NilType {
		is = ty
	}
	return closed(is, raw), true
}

// reader is at a position of a text. Its methods return false for unsupported input; then reading must end.
type reader struct {
	text  string
	pos   int
	depth int
}

// at returns the byte at an offset from the position, or 0 after the end.
func (r *reader) at(offset int) byte {
	if i := r.pos + offset; i < len(r.text) {
		return r.text[i]
	}
	return 0
}

func (r *reader) space() {
	for c := r.at(0); c == ' ' || c == '\n' || c == '\t' || c == '\r'; c = r.at(0) {
		r.pos++
	}
}

// take reads the byte that must come next, after white space.
func (r *reader) take(c byte) bool {
	r.space()
	if r.at(0) != c {
		return false
	}
	r.pos++
	return true
}

func (r *reader) word(w string) bool {
	if !strings.HasPrefix(r.text[r.pos:], w) {
		return false
	}
	r.pos += len(w)
	return true
}

// value reads a value: its content, and its type if the requested one is dynamic.
func (r *reader) value(ty cty.Type) (raw any, is cty.Type, ok bool) {
	r.space()
	if r.at(0) == 'n' {
		return nil, cty.NilType, r.word("null")
	}
	switch {
	case ty == cty.String:
		s, plain, ok := r.string()
		if !plain {
			s = cty.NormalizeString(s)
		}
		return s, cty.NilType, ok
	case ty == cty.Bool:
		if r.at(0) == 't' {
			return true, cty.NilType, r.word("true")
		}
		return false, cty.NilType, r.word("false")
	case ty == cty.Number:
		n, ok := r.number()
		return n, cty.NilType, ok
	case ty.IsObjectType():
		return r.object(ty)
	case ty.IsMapType():
		m, ok := r.keyed(ty.ElementType())
		return m, cty.NilType, ok
	case ty.IsListType():
		list, ok := r.elements(ty.ElementType())
		return list, cty.NilType, ok
	case ty.IsSetType():
		s, ok := r.set(ty.ElementType())
		return s, cty.NilType, ok
	case ty.IsTupleType():
		return r.tuple(ty)
	case ty == cty.DynamicPseudoType:
		return r.dynamic()
	}
	return nil, cty.NilType, false
}

// members reads the content of brackets; each reads one member.
func (r *reader) members(opening, closing byte, each func() bool) bool {
	if !r.take(opening) || r.depth == maxDepth {
		return false
	}
	if r.take(closing) {
		return true
	}
	r.depth++
	for each() {
		if r.take(closing) {
			r.depth--
			return true
		}
		if !r.take(',') {
			return false
		}
	}
	return false
}

// name reads the name of a member and the colon after it.
func (r *reader) name() (name string, plain, ok bool) {
	r.space()
	name, plain, ok = r.string()
	return name, plain, ok && r.take(':')
}

// object reads an object. The last of repeated attributes is used, and a missing one is null.
func (r *reader) object(ty cty.Type) (any, cty.Type, bool) {
	if len(ty.OptionalAttributes()) > 0 {
		return nil, cty.NilType, false
	}
	atys := ty.AttributeTypes()
	vals := make(map[string]any, len(atys))
	var other []namedType // types of attributes that are not the requested ones
	ok := r.members('{', '}', func() bool {
		name, _, ok := r.name()
		aty, known := atys[name]
		if !ok || !known {
			return false
		}
		raw, is, ok := r.value(aty)
		_, repeated := vals[name]
		vals[name] = raw
		if is == cty.NilType && repeated {
			is = aty
		}
		if is != cty.NilType {
			other = append(other, namedType{name, is})
		}
		return ok
	})
	if len(vals) < len(atys) {
		for name := range atys {
			if _, there := vals[name]; !there {
				vals[name] = nil
			}
		}
	}
	if other != nil {
		return vals, readTypes.object(atys, other), ok
	}
	return vals, cty.NilType, ok
}

// keyed reads a map. It does not support keys that may become equal.
func (r *reader) keyed(ety cty.Type) (map[string]any, bool) {
	vals := map[string]any{}
	ok := r.members('{', '}', func() bool {
		key, plain, ok := r.name()
		if !ok || !plain && cty.NormalizeString(key) != key {
			return false
		}
		raw, is, ok := r.value(ety)
		vals[key] = raw
		return ok && is == cty.NilType
	})
	return vals, ok
}

// elements reads the elements of a list or set. It does not support elements of other types than the requested one,
// which would have to be unified.
func (r *reader) elements(ety cty.Type) ([]any, bool) {
	vals := []any{}
	ok := r.members('[', ']', func() bool {
		raw, is, ok := r.value(ety)
		if cap(vals) == 0 {
			vals = make([]any, 0, 4)
		}
		vals = append(vals, raw)
		return ok && is == cty.NilType
	})
	return vals, ok
}

func (r *reader) set(ety cty.Type) (set.Set[any], bool) {
	_, empty := open(cty.SetValEmpty(ety))
	s := empty.(set.Set[any])
	vals, ok := r.elements(ety)
	if !ok {
		return s, false // formatting a number for the set may take long
	}
	for _, e := range vals {
		s.Add(e)
	}
	return s, true
}

func (r *reader) tuple(ty cty.Type) (any, cty.Type, bool) {
	etys := ty.TupleElementTypes()
	vals, types, same := make([]any, 0, len(etys)), make([]cty.Type, 0, len(etys)), true
	ok := r.members('[', ']', func() bool {
		if len(vals) == len(etys) {
			return false
		}
		ety := etys[len(vals)]
		raw, is, ok := r.value(ety)
		if is == cty.NilType {
			is = ety
		} else {
			same = false
		}
		vals, types = append(vals, raw), append(types, is)
		return ok
	})
	ok = ok && len(vals) == len(etys)
	if same || !ok {
		return vals, cty.NilType, ok
	}
	return vals, cty.Tuple(types), ok
}

// dynamic reads a value and its type, which follows it in Marshal's output.
func (r *reader) dynamic() (any, cty.Type, bool) {
	ty, start, end := cty.NilType, -1, -1
	ok := r.members('{', '}', func() bool {
		name, _, ok := r.name()
		r.space()
		from := r.pos
		if !ok || !r.skip() {
			return false
		}
		switch {
		case name == "type" && ty == cty.NilType:
			return writtenTypes.read(r.text[from:r.pos], &ty)
		case name == "value" && start < 0:
			start, end = from, r.pos
			return true
		}
		return false
	})
	if !ok || ty == cty.NilType || start < 0 {
		return nil, cty.NilType, false
	}
	behind := r.pos
	r.pos, r.depth = start, r.depth+1
	raw, is, ok := r.value(ty)
	ok = ok && r.pos == end
	r.pos, r.depth = behind, r.depth-1
	if is == cty.NilType {
		is = ty
	}
	return raw, is, ok
}

// skip moves to the end of a value that is read later, without validation.
func (r *reader) skip() bool {
	from, depth := r.pos, 0
	for ; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '"':
			if !r.quoted() {
				return false
			}
			r.pos--
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return r.pos > from
			}
			depth--
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return true
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			r.pos++
			return true
		}
	}
	return false
}

// quoted moves to the end of the current string.
func (r *reader) quoted() bool {
	for r.pos++; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '\\':
			r.pos++
		case '"':
			r.pos++
			return true
		}
	}
	return false
}

// string reads a string, and reports whether it is plain: ASCII without escapes.
func (r *reader) string() (s string, plain, ok bool) {
	if r.at(0) != '"' {
		return "", false, false
	}
	rest := r.text[r.pos+1:]
	for i := range len(rest) {
		switch c := rest[i]; {
		case c == '"':
			r.pos += i + 2
			return rest[:i], true, true
		case c < ' ' || c >= 0x80 || c == '\\':
			from := r.pos
			if !r.quoted() {
				return "", false, false
			}
			// Escapes and invalid UTF-8 are left to encoding/json, as in cty/json.
			return s, false, json.Unmarshal([]byte(r.text[from:r.pos]), &s) == nil
		}
	}
	return "", false, false
}

// number reads a number exactly, to the precision of cty.
func (r *reader) number() (*big.Float, bool) {
	from := r.pos
	if r.at(0) == '-' {
		r.pos++
	}
	if r.at(0) == '0' {
		r.pos++
	} else if !r.digits() {
		return nil, false
	}
	whole := true
	if r.at(0) == '.' {
		whole = false
		if r.pos++; !r.digits() {
			return nil, false
		}
	}
	if r.at(0)|0x20 == 'e' {
		whole = false
		if r.pos++; r.at(0) == '+' || r.at(0) == '-' {
			r.pos++
		}
		if !r.digits() {
			return nil, false
		}
	}
	text := r.text[from:r.pos]
	if len(text) > maxDigits {
		return nil, false
	}
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n != 0 { // a zero may be a negative one
			return new(big.Float).SetPrec(512).SetInt64(n), true
		}
	}
	return parseNumber(text)
}

// parseNumber returns a number that takes no long time to format.
func parseNumber(text string) (*big.Float, bool) {
	if len(text) > maxDigits {
		return nil, false
	}
	v, err := cty.ParseNumberVal(text)
	if err != nil {
		return nil, false
	}
	_, raw := open(v)
	n := raw.(*big.Float)
	exponent := n.MantExp(nil)
	return n, !n.IsInf() && -maxNumberBits <= exponent && exponent <= maxNumberBits
}

// digits reads at least one digit.
func (r *reader) digits() bool {
	from := r.pos
	for c := r.at(0); '0' <= c && c <= '9'; c = r.at(0) {
		r.pos++
	}
	return r.pos > from
}
