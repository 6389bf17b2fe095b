package ctyfast

import (
	"math"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"github.com/zclconf/go-cty/cty/set"
)

// UnmarshalMsgpack decodes a value of a type like cty/msgpack, which it calls for everything that ReadMsgpack does not
// support.
func UnmarshalMsgpack(data []byte, ty cty.Type) (cty.Value, error) {
	if v, ok := ReadMsgpack(data, ty); ok {
		return v, nil
	}
	return msgpack.Unmarshal(data, ty)
}

// ReadMsgpack decodes a value of a type without the values and paths that cty/msgpack makes for each part. It reads the
// output of Marshal and similar data. ok is false for everything else: errors, for which cty/msgpack has the message
// and the path; data that cty/msgpack tolerates, such as bytes after the value; numbers that take long to format; and
// deep nesting. cty/msgpack would return the same value. The strings of the value share one copy of the data.
func ReadMsgpack(data []byte, ty cty.Type) (v cty.Value, ok bool) {
	if !inside {
		return cty.NilVal, false
	}
	defer func() {
		if recover() != nil { // the data has a contradictory type, which is left to Unmarshal
			v, ok = cty.NilVal, false
		}
	}()
	r := unpacker{text: string(data)}
	raw, is, ok := r.value(ty)
	if !ok || r.pos != len(r.text) {
		return cty.NilVal, false
	}
	if is == cty.NilType {
		is = ty
	}
	return closed(is, raw), true
}

// unpacker is at a position of msgpack data. Its methods return false for unsupported data; then reading must end.
type unpacker struct {
	text  string
	pos   int
	depth int
	// unknown is the number of extensions that were read. Each is an unknown value, or had too few possible values for
	// one.
	unknown int
}

// take returns the next n bytes.
func (r *unpacker) take(n uint64) (s string, ok bool) {
	if n > uint64(len(r.text)-r.pos) {
		return "", false
	}
	from := r.pos
	r.pos += int(n)
	return r.text[from:r.pos], true
}

// uint reads an unsigned number of so many bytes.
func (r *unpacker) uint(bytes uint64) (n uint64, ok bool) {
	s, ok := r.take(bytes)
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
	}
	return n, ok
}

// peek returns the next byte, or one that is never used after the end.
func (r *unpacker) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0xc1
}

// value reads a value: its content, and its type if the requested one is dynamic.
func (r *unpacker) value(ty cty.Type) (raw any, is cty.Type, ok bool) {
	switch r.peek() {
	case 0xc0:
		r.pos++
		return nil, cty.NilType, true
	case 0xd4, 0xc7:
		return r.extension(ty)
	}
	if r.depth++; r.depth > maxDepth {
		return nil, cty.NilType, false
	}
	defer func() { r.depth-- }()
	is = cty.NilType
	switch {
	case ty == cty.String:
		s, plain, found := r.string()
		if !plain {
			s = cty.NormalizeString(s)
		}
		raw, ok = s, found
	case ty == cty.Bool:
		c, found := r.take(1)
		raw, ok = c == "\xc3", found && (c == "\xc2" || c == "\xc3")
	case ty == cty.Number:
		raw, ok = r.number()
	case ty.IsObjectType():
		return r.object(ty)
	case ty.IsMapType():
		raw, ok = r.keyed(ty.ElementType())
	case ty.IsListType():
		raw, ok = r.elements(ty.ElementType())
	case ty.IsSetType():
		raw, ok = r.set(ty.ElementType())
	case ty.IsTupleType():
		return r.tuple(ty)
	case ty == cty.DynamicPseudoType:
		return r.dynamic()
	}
	return raw, is, ok
}

// extension reads an unknown value by cty: of one byte without a length, or of up to 255.
func (r *unpacker) extension(ty cty.Type) (raw any, is cty.Type, ok bool) {
	size := uint64(3)
	if r.peek() == 0xc7 {
		if r.pos+1 >= len(r.text) {
			return nil, cty.NilType, false
		}
		size += uint64(r.text[r.pos+1])
	}
	data, ok := r.take(size)
	if !ok {
		return nil, cty.NilType, false
	}
	r.unknown++
	v, err := msgpack.Unmarshal([]byte(data), ty)
	if err != nil {
		return nil, cty.NilType, false
	}
	is, raw = open(v)
	return raw, cty.NilType, is.Equals(ty)
}

// length reads the number of elements or members: in the first byte if there are fewer than 16, otherwise in two or
// four bytes after one of two successive codes.
func (r *unpacker) length(few, many byte) (n uint64, ok bool) {
	code := r.peek()
	r.pos++
	switch {
	case code&0xf0 == few:
		return uint64(code & 0x0f), true
	case code == many:
		return r.uint(2)
	case code == many+1:
		return r.uint(4)
	}
	return 0, false
}

// string reads a string, and reports whether it is plain: ASCII.
func (r *unpacker) string() (s string, plain, ok bool) {
	var n uint64
	switch code := r.peek(); {
	case code&0xe0 == 0xa0:
		r.pos++
		n, ok = uint64(code&0x1f), true
	case code == 0xd9:
		r.pos++
		n, ok = r.uint(1)
	default:
		n, ok = r.length(0xff, 0xda)
	}
	if ok {
		s, ok = r.take(n)
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			return s, false, ok
		}
	}
	return s, true, ok
}

func (r *unpacker) number() (raw any, ok bool) {
	code := r.peek()
	var v cty.Value
	switch {
	case code <= 0x7f || code >= 0xe0:
		r.pos++
		v, ok = cty.NumberIntVal(int64(int8(code))), true
	case 0xcc <= code && code <= 0xcf:
		r.pos++
		n, found := r.uint(1 << (code - 0xcc))
		v, ok = cty.NumberUIntVal(n), found
	case 0xd0 <= code && code <= 0xd3:
		r.pos++
		size := uint64(1) << (code - 0xd0)
		n, found := r.uint(size)
		unused := 64 - 8*size // above the sign
		v, ok = cty.NumberIntVal(int64(n<<unused)>>unused), found
	case code == 0xcb:
		r.pos++
		n, found := r.uint(8)
		f := math.Float64frombits(n)
		if !found || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, false
		}
		v, ok = cty.NumberFloatVal(f), true
	default:
		text, plain, found := r.string()
		if !plain || !found {
			return nil, false
		}
		return parseNumber(text)
	}
	_, raw = open(v)
	return raw, ok
}

// object reads an object that has each attribute once.
func (r *unpacker) object(ty cty.Type) (any, cty.Type, bool) {
	atys := ty.AttributeTypes()
	n, ok := r.length(0x80, 0xde)
	if !ok || n != uint64(len(atys)) || len(ty.OptionalAttributes()) > 0 {
		return nil, cty.NilType, false
	}
	vals := make(map[string]any, len(atys))
	var other []namedType // types of attributes that are not the requested ones
	for range n {
		name, _, ok := r.string()
		aty, known := atys[name]
		if !ok || !known {
			return nil, cty.NilType, false
		}
		raw, is, ok := r.value(aty)
		if !ok {
			return nil, cty.NilType, false
		}
		vals[name] = raw
		if is != cty.NilType {
			other = append(other, namedType{name, is})
		}
	}
	if len(vals) < len(atys) {
		return nil, cty.NilType, false
	}
	if other != nil {
		return vals, readTypes.object(atys, other), true
	}
	return vals, cty.NilType, true
}

// keyed reads a map. It does not support keys that may become equal.
func (r *unpacker) keyed(ety cty.Type) (map[string]any, bool) {
	n, ok := r.length(0x80, 0xde)
	if !ok || n > uint64(len(r.text)-r.pos) {
		return nil, false
	}
	vals := make(map[string]any, n)
	for range n {
		key, plain, ok := r.string()
		if !ok || !plain && cty.NormalizeString(key) != key {
			return nil, false
		}
		raw, is, ok := r.value(ety)
		if !ok || is != cty.NilType {
			return nil, false
		}
		vals[key] = raw
	}
	return vals, true
}

// elements reads the elements of a list or set. It does not support elements of other types than the requested one,
// which would have to be unified.
func (r *unpacker) elements(ety cty.Type) ([]any, bool) {
	n, ok := r.length(0x90, 0xdc)
	if !ok || n > uint64(len(r.text)-r.pos) {
		return nil, false
	}
	vals := make([]any, 0, n)
	for range n {
		raw, is, ok := r.value(ety)
		if !ok || is != cty.NilType {
			return nil, false
		}
		vals = append(vals, raw)
	}
	return vals, true
}

// set reads a set whose elements are known.
func (r *unpacker) set(ety cty.Type) (s set.Set[any], ok bool) {
	_, empty := open(cty.SetValEmpty(ety))
	s = empty.(set.Set[any])
	unknown := r.unknown
	vals, ok := r.elements(ety)
	if !ok || r.unknown > unknown {
		return s, false
	}
	for _, e := range vals {
		s.Add(e)
	}
	return s, true
}

func (r *unpacker) tuple(ty cty.Type) (any, cty.Type, bool) {
	etys := ty.TupleElementTypes()
	n, ok := r.length(0x90, 0xdc)
	if !ok || n != uint64(len(etys)) {
		return nil, cty.NilType, false
	}
	vals, types, same := make([]any, 0, n), make([]cty.Type, 0, n), true
	for _, ety := range etys {
		raw, is, ok := r.value(ety)
		if !ok {
			return nil, cty.NilType, false
		}
		if is == cty.NilType {
			is = ety
		} else {
			same = false
		}
		vals, types = append(vals, raw), append(types, is)
	}
	if same {
		return vals, cty.NilType, true
	}
	return vals, cty.Tuple(types), true
}

// dynamic reads a value after its type, which is the JSON of the type as binary data.
func (r *unpacker) dynamic() (any, cty.Type, bool) {
	if start, ok := r.take(1); !ok || start != "\x92" {
		return nil, cty.NilType, false
	}
	code := r.peek()
	if code < 0xc4 || code > 0xc6 {
		return nil, cty.NilType, false
	}
	r.pos++
	n, ok := r.uint(1 << (code - 0xc4))
	if !ok {
		return nil, cty.NilType, false
	}
	text, ok := r.take(n)
	var ty cty.Type
	if !ok || !writtenTypes.read(text, &ty) {
		return nil, cty.NilType, false
	}
	raw, is, ok := r.value(ty)
	if is == cty.NilType {
		is = ty
	}
	return raw, is, ok
}
