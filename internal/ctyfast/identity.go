package ctyfast

import (
	"unsafe"
	"weak"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/set"
)

// Identity identifies the memory of a collection. Two values with the same identity have the same elements, and after
// the memory is freed, no other value gets the identity. It does not keep the memory alive.
type Identity struct {
	at  weak.Pointer[byte]
	len int
}

// IdentityOf returns the identity of an unmarked collection, and the start of its memory, for runtime.AddCleanup. ok is
// false for an empty collection and for other values.
func IdentityOf(v cty.Value) (id Identity, memory *byte, ok bool) {
	if !inside {
		return Identity{}, nil, false
	}
	n := 0
	switch _, raw := open(v); raw := raw.(type) {
	case []any:
		if n = len(raw); n > 0 {
			memory = (*byte)(unsafe.Pointer(unsafe.SliceData(raw)))
		}
	case map[string]any:
		n, memory = len(raw), *(**byte)(unsafe.Pointer(&raw))
	case set.Set[any]:
		elements := buckets(raw)
		n, memory = len(elements), *(**byte)(unsafe.Pointer(&elements))
	}
	if n == 0 || memory == nil {
		return Identity{}, nil, false
	}
	return Identity{weak.Make(memory), n}, memory, true
}
