package ctyfast

import (
	"encoding/binary"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"github.com/zclconf/go-cty/cty/set"
)

// MarshalMsgpack encodes a value like cty/msgpack, which it calls for values that have to be converted first, and for
// unknown parts and unusual numbers of others.
func MarshalMsgpack(v cty.Value, ty cty.Type) ([]byte, error) {
	if inside {
		is, raw := open(v)
		w := packWriter{buf: make([]byte, 0, 256)}
		if (is.Equals(ty) || len(is.TestConformance(ty)) == 0) && w.value(is, ty, raw) {
			return w.buf, nil
		}
	}
	return msgpack.Marshal(v, ty)
}

// packWriter encodes values of the types that they conform to. Its methods return false for values that cty cannot
// encode, or whose order only cty can determine.
type packWriter struct{ buf []byte }

func (w *packWriter) value(is, ty cty.Type, raw any) bool {
	if ty == cty.DynamicPseudoType && is != cty.DynamicPseudoType {
		return w.dynamic(is, raw)
	}
	switch x := raw.(type) {
	case nil:
		w.buf = append(w.buf, 0xc0)
	case string:
		w.string(x)
	case bool:
		code := byte(0xc2)
		if x {
			code = 0xc3
		}
		w.buf = append(w.buf, code)
	case *big.Float:
		n, exact := x.Int64()
		if exact != big.Exact {
			return w.left(is, ty, raw)
		}
		w.integer(n)
	case []any:
		return w.elements(is, ty, x)
	case set.Set[any]:
		sorted, ok := sortedElements(is.ElementType(), x)
		return ok && w.elements(is, ty, sorted)
	case map[string]any:
		return w.members(is, ty, x)
	default:
		return w.left(is, ty, raw) // unknown, marked or encapsulated
	}
	return true
}

// dynamic writes the type of a value as binary data with its JSON, and the value.
func (w *packWriter) dynamic(is cty.Type, raw any) bool {
	typ, err := is.MarshalJSON()
	w.buf = append(w.buf, 0x92)
	if n := len(typ); n <= math.MaxUint8 {
		w.buf = append(w.buf, 0xc4, byte(n))
	} else {
		w.length(n, 0, 0xc5)
	}
	w.buf = append(w.buf, typ...)
	return err == nil && w.value(is, is, raw)
}

// left leaves a part of the value to cty.
func (w *packWriter) left(is, ty cty.Type, raw any) bool {
	b, err := msgpack.Marshal(closed(is, raw), ty)
	w.buf = append(w.buf, b...)
	return err == nil
}

func (w *packWriter) elements(is, ty cty.Type, vals []any) bool {
	from, to := innerOf(is), innerOf(ty)
	w.length(len(vals), 0x90, 0xdc)
	for i, e := range vals {
		if !w.value(from.element(i), to.element(i), e) {
			return false
		}
	}
	return true
}

func (w *packWriter) members(is, ty cty.Type, vals map[string]any) bool {
	from, to := innerOf(is), innerOf(ty)
	w.length(len(vals), 0x80, 0xde)
	var few [16]string // most objects have no more attributes
	names := slices.AppendSeq(few[:0], maps.Keys(vals))
	slices.Sort(names)
	for _, name := range names {
		w.string(name)
		if !w.value(from.member(name), to.member(name), vals[name]) {
			return false
		}
	}
	return true
}

// length appends the number of elements or members: in the first byte if there are fewer than 16, otherwise in two or
// four bytes after one of two successive codes.
func (w *packWriter) length(n int, few, many byte) {
	switch {
	case n < 16:
		w.buf = append(w.buf, few|byte(n))
	case n <= math.MaxUint16:
		w.buf = binary.BigEndian.AppendUint16(append(w.buf, many), uint16(n))
	default:
		w.buf = binary.BigEndian.AppendUint32(append(w.buf, many+1), uint32(n))
	}
}

func (w *packWriter) string(s string) {
	switch n := len(s); {
	case n < 32:
		w.buf = append(w.buf, 0xa0|byte(n))
	case n <= math.MaxUint8:
		w.buf = append(w.buf, 0xd9, byte(n))
	default:
		w.length(n, 0, 0xda)
	}
	w.buf = append(w.buf, s...)
}

// integer appends a number in the fewest bytes.
func (w *packWriter) integer(n int64) {
	switch {
	case -32 <= n && n <= math.MaxInt8:
		w.buf = append(w.buf, byte(n))
	case n > 0 && n <= math.MaxUint8:
		w.buf = append(w.buf, 0xcc, byte(n))
	case n > 0 && n <= math.MaxUint16:
		w.buf = binary.BigEndian.AppendUint16(append(w.buf, 0xcd), uint16(n))
	case n > 0 && n <= math.MaxUint32:
		w.buf = binary.BigEndian.AppendUint32(append(w.buf, 0xce), uint32(n))
	case n > 0:
		w.buf = binary.BigEndian.AppendUint64(append(w.buf, 0xcf), uint64(n))
	case n >= math.MinInt8:
		w.buf = append(w.buf, 0xd0, byte(n))
	case n >= math.MinInt16:
		w.buf = binary.BigEndian.AppendUint16(append(w.buf, 0xd1), uint16(n))
	case n >= math.MinInt32:
		w.buf = binary.BigEndian.AppendUint32(append(w.buf, 0xd2), uint32(n))
	default:
		w.buf = binary.BigEndian.AppendUint64(append(w.buf, 0xd3), uint64(n))
	}
}
