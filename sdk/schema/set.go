package schema

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Set is a set of values, in no particular order. Two values are the same if F returns the same hash for them. The zero
// Set is empty and ready for use.
type Set struct {
	// F returns the hash of an element. Nil compares whole elements.
	F SchemaSetFunc
	m map[int]interface{}
}

// NewSet returns a set of elements.
func NewSet(f SchemaSetFunc, items []interface{}) *Set {
	s := &Set{F: f}
	for _, item := range items {
		s.Add(item)
	}
	return s
}

// CopySet returns a new set with the same elements.
func CopySet(s *Set) *Set {
	if s == nil {
		return nil
	}
	return &Set{F: s.F, m: maps.Clone(s.m)}
}

func (s *Set) code(item interface{}) int {
	if s.F != nil {
		return s.F(item)
	}
	return HashValue(item)
}

// Add adds an element.
func (s *Set) Add(item interface{}) {
	if s.m == nil {
		s.m = map[int]interface{}{}
	}
	if code := s.code(item); !s.has(code) {
		s.m[code] = item
	}
}

// Remove removes an element, if it exists.
func (s *Set) Remove(item interface{}) { delete(s.m, s.code(item)) }

// Contains reports whether the set has an element.
func (s *Set) Contains(item interface{}) bool { return s.Len() > 0 && s.has(s.code(item)) }

func (s *Set) has(code int) bool {
	_, ok := s.m[code]
	return ok
}

// Len returns the number of elements. A nil Set has none.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.m)
}

// List returns the elements in the order of their hashes.
func (s *Set) List() []interface{} {
	if s == nil {
		return []interface{}{}
	}
	out := make([]interface{}, 0, len(s.m))
	for _, code := range slices.Sorted(maps.Keys(s.m)) {
		out = append(out, s.m[code])
	}
	return out
}

// Union returns the elements of either set.
func (s *Set) Union(other *Set) *Set {
	return NewSet(s.F, append(s.List(), other.List()...))
}

// Difference returns the elements that the other set does not have.
func (s *Set) Difference(other *Set) *Set {
	return NewSet(s.F, slices.DeleteFunc(s.List(), other.Contains))
}

// Intersection returns the elements that both sets have.
func (s *Set) Intersection(other *Set) *Set {
	return NewSet(s.F, slices.DeleteFunc(s.List(), func(v interface{}) bool { return !other.Contains(v) }))
}

// Equal reports whether the other is a set of the same elements.
func (s *Set) Equal(other interface{}) bool {
	o, ok := other.(*Set)
	if !ok || s.Len() != o.Len() {
		return false
	}
	for _, v := range s.List() {
		if !o.Contains(v) {
			return false
		}
	}
	return true
}

// HashEqual is the same as Equal.
func (s *Set) HashEqual(other interface{}) bool { return s.Equal(other) }

// GoString returns the elements as text.
func (s *Set) GoString() string { return fmt.Sprintf("*Set(%#v)", s.List()) }

// String returns the elements as text.
func (s *Set) String() string { return fmt.Sprint(s.List()) }

// HashString returns a hash of a string.
func HashString(v interface{}) int { return int(crc32.ChecksumIEEE([]byte(v.(string)))) }

// HashInt returns a hash of an int.
func HashInt(v interface{}) int { return HashString(strconv.Itoa(v.(int))) }

// HashResource returns a hash function for nested resources.
func HashResource(*Resource) SchemaSetFunc { return HashValue }

// HashSchema returns a hash function for elements of a type.
func HashSchema(*Schema) SchemaSetFunc { return HashValue }

// HashValue returns a hash of any value that Get returns.
func HashValue(v interface{}) int {
	h := fnv.New64a()
	_, _ = h.Write(canonical(nil, v))
	return int(h.Sum64() & math.MaxInt64)
}

// canonical appends a value in a form that is equal for equal values. Each part begins with its kind and its length.
func canonical(b []byte, v interface{}) []byte {
	text := func(kind byte, s string) {
		b = binary.AppendUvarint(append(b, kind), uint64(len(s)))
		b = append(b, s...)
	}
	switch v := v.(type) {
	case nil:
		return append(b, 'z')
	case string:
		text('s', v)
	case bool:
		text('b', strconv.FormatBool(v))
	case int:
		text('n', strconv.Itoa(v))
	case float64:
		text('n', strconv.FormatFloat(v, 'g', -1, 64))
	case []interface{}:
		b = binary.AppendUvarint(append(b, 'l'), uint64(len(v)))
		for _, e := range v {
			b = canonical(b, e)
		}
	case map[string]interface{}:
		b = binary.AppendUvarint(append(b, 'm'), uint64(len(v)))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			text('s', k)
			b = canonical(b, v[k])
		}
	case *Set:
		elements := make([]string, 0, v.Len())
		for _, e := range v.List() {
			elements = append(elements, string(canonical(nil, e)))
		}
		slices.Sort(elements)
		text('e', strings.Join(slices.Compact(elements), ""))
	default:
		text('?', fmt.Sprintf("%T %#v", v, v))
	}
	return b
}

// sameValue reports whether two results of Get are equal.
func sameValue(a, b interface{}) bool { return string(canonical(nil, a)) == string(canonical(nil, b)) }
