package ctyfast

import (
	"bytes"
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/set"
)

// The order of cty: known before unknown before null; strings, numbers and booleans by their value; other elements by a
// string of their content. Equal elements in that order keep the order of their buckets.

// An element of a set and its sort key.
type element struct {
	raw   any
	class int8
	text  []byte // or the value itself, for primitive types
}

const (
	classKnown = iota
	classUnknown
	classNull
)

// sortedElements returns the elements of a set in the order of cty. ok is false for the few sets that cty does not
// order reliably.
func sortedElements(ety cty.Type, s set.Set[any]) ([]any, bool) {
	vals := buckets(s)
	out := make([]any, 0, len(vals))
	for _, id := range slices.Sorted(maps.Keys(vals)) {
		out = append(out, vals[id]...)
	}
	switch ety {
	case cty.String:
		return out, sortPrimitive(out, cmp.Compare[string])
	case cty.Number:
		return out, sortPrimitive(out, (*big.Float).Cmp)
	}
	if len(out) < 2 {
		return out, true
	}
	elements, texts, f := make([]element, len(out)), writer{}, formOf(ety)
	ends := make([]int, len(out))
	for i, raw := range out {
		elements[i] = element{raw: raw}
		if raw == nil {
			elements[i].class = classNull
		} else if unknown(ety, raw) {
			elements[i].class = classUnknown
		} else if !texts.value(f, raw) {
			return nil, false
		}
		ends[i] = len(texts.buf)
	}
	start := 0
	for i, end := range ends {
		elements[i].text, start = texts.buf[start:end], end
	}
	slices.SortStableFunc(elements, func(a, b element) int {
		if c := cmp.Compare(a.class, b.class); c != 0 {
			return c
		}
		return bytes.Compare(a.text, b.text)
	})
	for i, e := range elements {
		out[i] = e.raw
	}
	return out, true
}

// sortPrimitive sorts elements of the type T, with unknown and null ones at the end.
func sortPrimitive[T any](vals []any, compare func(a, b T) int) bool {
	class := func(v any) int {
		if _, ok := v.(T); ok {
			return classKnown
		}
		if v == nil {
			return classNull
		}
		return classUnknown
	}
	slices.SortStableFunc(vals, func(a, b any) int {
		ca, cb := class(a), class(b)
		if ca != classKnown || cb != classKnown {
			return cmp.Compare(ca, cb)
		}
		return compare(a.(T), b.(T))
	})
	return true
}

func unknown(ty cty.Type, raw any) bool {
	switch raw.(type) {
	case nil, string, bool, *big.Float, []any, map[string]any, set.Set[any]:
		return false
	}
	return !closed(ty, raw).IsKnown()
}

// writer formats elements.
type writer struct{ buf []byte }

// A form holds properties of the element type, computed once for all elements of a set.
type form struct {
	ty      cty.Type
	members []member // members of objects, sorted by name
	inner   []*form  // elements of tuples, or the only element type of lists, sets and maps
}

type member struct {
	name string
	form *form
}

func formOf(ty cty.Type) *form {
	f := &form{ty: ty}
	switch {
	case ty.IsObjectType():
		atys := ty.AttributeTypes()
		for _, name := range slices.Sorted(maps.Keys(atys)) {
			f.members = append(f.members, member{name, formOf(atys[name])})
		}
	case ty.IsTupleType():
		for _, ety := range ty.TupleElementTypes() {
			f.inner = append(f.inner, formOf(ety))
		}
	case ty.IsCollectionType():
		f.inner = []*form{formOf(ty.ElementType())}
	}
	return f
}

// value appends the content of an element. It returns false if cty's order is inconsistent: a negative zero equals a
// positive one, but has another text.
func (w *writer) value(f *form, raw any) bool {
	switch x := raw.(type) {
	case nil:
		w.buf = append(w.buf, '~')
	case string:
		w.buf = strconv.AppendQuote(w.buf, x)
	case bool:
		if x {
			w.buf = append(w.buf, 'T')
		} else {
			w.buf = append(w.buf, 'F')
		}
	case *big.Float:
		if x.Sign() == 0 && x.Signbit() {
			return false
		}
		w.buf = x.Append(w.buf, 'g', 10)
	case []any:
		return w.sequence(f, x)
	case map[string]any:
		return w.keyed(f, x)
	case set.Set[any]:
		sorted, ok := sortedElements(f.inner[0].ty, x)
		return ok && w.sequence(f, sorted)
	default:
		if !unknown(f.ty, raw) {
			return false // encapsulated
		}
		w.buf = append(w.buf, '?')
	}
	return true
}

func (w *writer) sequence(f *form, vals []any) bool {
	begin, end := byte('['), byte(']')
	if f.ty.IsTupleType() {
		begin, end = '<', '>'
	}
	w.buf = append(w.buf, begin)
	for i, e := range vals {
		of := f.inner[0]
		if begin == '<' {
			of = f.inner[i]
		}
		if !w.value(of, e) {
			return false
		}
		w.buf = append(w.buf, ';')
	}
	w.buf = append(w.buf, end)
	return true
}

func (w *writer) keyed(f *form, vals map[string]any) bool {
	if f.ty.IsObjectType() {
		w.buf = append(w.buf, '<')
		for _, m := range f.members {
			if !w.value(m.form, vals[m.name]) {
				return false
			}
			w.buf = append(w.buf, ';')
		}
		w.buf = append(w.buf, '>')
		return true
	}
	w.buf = append(w.buf, '{')
	for _, key := range slices.Sorted(maps.Keys(vals)) {
		w.buf = append(strconv.AppendQuote(w.buf, key), ':')
		if !w.value(f.inner[0], vals[key]) {
			return false
		}
		w.buf = append(w.buf, ';')
	}
	w.buf = append(w.buf, '}')
	return true
}
