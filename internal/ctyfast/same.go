package ctyfast

import (
	"sync"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// writers holds buffers for comparisons, which do not keep them.
var writers = sync.Pool{New: func() any { return &jsonWriter{} }}

// SameJSON reports whether MarshalJSON would encode a value as the document, except for white space. A value that
// cannot be encoded equals no document. The order of members matters.
func SameJSON(v cty.Value, ty cty.Type, document []byte) bool {
	w := writers.Get().(*jsonWriter)
	defer writers.Put(w)
	w.buf = w.buf[:0]
	if inside {
		is, raw := open(v)
		if (is.Equals(ty) || len(is.TestConformance(ty)) == 0) && w.value(is, ty, raw) {
			return sameWithoutSpace(w.buf, document)
		}
	}
	plain, err := ctyjson.Marshal(v, ty)
	return err == nil && sameWithoutSpace(plain, document)
}

// sameWithoutSpace compares a JSON document without white space with one that may have some.
func sameWithoutSpace(plain, spaced []byte) bool {
	at, text := 0, false
	for i := 0; i < len(spaced); i++ {
		c := spaced[i]
		if !text && (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
			continue
		}
		if at == len(plain) || plain[at] != c {
			return false
		}
		at++
		switch {
		case c == '"':
			text = !text
		case c == '\\' && text: // the next byte is part of the string
			if i++; i == len(spaced) || at == len(plain) || plain[at] != spaced[i] {
				return false
			}
			at++
		}
	}
	return at == len(plain)
}
