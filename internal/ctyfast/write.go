package ctyfast

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/set"
)

// MarshalJSON encodes a value like cty/json, which it calls for values that have no JSON or have to be converted first.
func MarshalJSON(v cty.Value, ty cty.Type) ([]byte, error) {
	if inside {
		is, raw := open(v)
		w := jsonWriter{}
		if (is.Equals(ty) || len(is.TestConformance(ty)) == 0) && w.value(is, ty, raw) {
			return w.buf, nil
		}
	}
	return ctyjson.Marshal(v, ty)
}

// jsonWriter encodes values as JSON of the types that they conform to. Its methods return false for values without
// JSON.
type jsonWriter struct{ buf []byte }

func (w *jsonWriter) value(is, ty cty.Type, raw any) bool {
	if ty == cty.DynamicPseudoType && is != cty.DynamicPseudoType {
		return w.dynamic(is, raw)
	}
	switch x := raw.(type) {
	case nil:
		w.buf = append(w.buf, "null"...)
	case string:
		w.string(x)
	case bool:
		w.buf = strconv.AppendBool(w.buf, x)
	case *big.Float:
		return w.number(x)
	case []any:
		return w.elements(is, ty, x)
	case set.Set[any]:
		sorted, ok := sortedElements(is.ElementType(), x)
		return ok && w.elements(is, ty, sorted)
	case map[string]any:
		return w.members(is, ty, x)
	default:
		return false // unknown, marked or encapsulated
	}
	return true
}

// dynamic writes a value and its type, if the requested type is dynamic.
func (w *jsonWriter) dynamic(is cty.Type, raw any) bool {
	typ, err := is.MarshalJSON()
	if err != nil {
		return false
	}
	w.buf = append(w.buf, `{"value":`...)
	if !w.value(is, is, raw) {
		return false
	}
	w.buf = append(w.buf, `,"type":`...)
	w.buf = append(w.buf, typ...)
	w.buf = append(w.buf, '}')
	return true
}

func (w *jsonWriter) elements(is, ty cty.Type, vals []any) bool {
	from, to := innerOf(is), innerOf(ty)
	w.buf = append(w.buf, '[')
	for i, e := range vals {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		if !w.value(from.element(i), to.element(i), e) {
			return false
		}
	}
	w.buf = append(w.buf, ']')
	return true
}

func (w *jsonWriter) members(is, ty cty.Type, vals map[string]any) bool {
	from, to := innerOf(is), innerOf(ty)
	w.buf = append(w.buf, '{')
	for i, name := range slices.Sorted(maps.Keys(vals)) {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.string(name)
		w.buf = append(w.buf, ':')
		if !w.value(from.member(name), to.member(name), vals[name]) {
			return false
		}
	}
	w.buf = append(w.buf, '}')
	return true
}

func (w *jsonWriter) string(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // never fails for a string
			w.buf = append(w.buf, quoted...)
			return
		}
	}
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '"')
}

// number appends the fewest digits that identify the number at its precision. Whole numbers within the precision have
// all digits.
func (w *jsonWriter) number(x *big.Float) bool {
	if n, exact := x.Int64(); exact == big.Exact && n != 0 && x.MantExp(nil) <= int(x.Prec()) {
		w.buf = strconv.AppendInt(w.buf, n, 10)
		return true
	}
	w.buf = x.Append(w.buf, 'f', -1)
	return !x.IsInf()
}
