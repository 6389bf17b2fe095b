package ctyfast

import (
	"reflect"
	"unsafe"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/set"
)

// rawValue has the memory layout of a cty.Value, rawSet that of the set in one. The content of a value, and of the
// elements of a collection, is
//
//	nil                 null
//	string, bool, *big.Float
//	[]any               a list or tuple
//	map[string]any      a map or object
//	set.Set[any]        a set
//
// Any other content is unknown, marked or encapsulated, and left to cty.
type rawValue struct {
	ty cty.Type
	v  any
}

type rawSet struct {
	vals  map[int][]any
	rules set.Rules[any]
}

// inside reports whether values have the expected memory layout.
var inside = alike(reflect.TypeFor[cty.Value](), reflect.TypeFor[rawValue]()) && alike(reflect.TypeFor[set.Set[any]](),
	reflect.TypeFor[rawSet]()) && readable()

// alike reports whether two structs have the same fields.
func alike(a, b reflect.Type) bool {
	if a.Size() != b.Size() || a.Kind() != reflect.Struct || a.NumField() != b.NumField() {
		return false
	}
	for i := range a.NumField() {
		if fa, fb := a.Field(i), b.Field(i); fa.Name != fb.Name || fa.Type != fb.Type || fa.Offset != fb.Offset {
			return false
		}
	}
	return true
}

// readable checks the layout with one value.
func readable() bool {
	_, raw := open(cty.ObjectVal(map[string]cty.Value{"a": cty.SetVal([]cty.Value{cty.StringVal("b")}),
		"c": cty.ListVal([]cty.Value{cty.True})}))
	members, _ := raw.(map[string]any)
	s, ok := members["a"].(set.Set[any])
	list, _ := members["c"].([]any)
	if !ok || len(list) != 1 || list[0] != true {
		return false
	}
	for _, bucket := range buckets(s) {
		return len(bucket) == 1 && bucket[0] == "b" && closed(cty.String, bucket[0]) == cty.StringVal("b")
	}
	return false
}

func open(v cty.Value) (cty.Type, any) {
	r := (*rawValue)(unsafe.Pointer(&v))
	return r.ty, r.v
}

func closed(ty cty.Type, v any) cty.Value {
	r := rawValue{ty, v}
	return *(*cty.Value)(unsafe.Pointer(&r))
}

// buckets returns the elements of a set by their hashes. They must not be modified.
func buckets(s set.Set[any]) map[int][]any { return (*rawSet)(unsafe.Pointer(&s)).vals }

// inner returns the types of the parts of a value: by name for members, by index for elements.
type inner struct {
	attributes map[string]cty.Type
	elements   []cty.Type
	each       cty.Type
}

func innerOf(ty cty.Type) inner {
	switch {
	case ty.IsObjectType():
		return inner{attributes: ty.AttributeTypes()}
	case ty.IsTupleType():
		return inner{elements: ty.TupleElementTypes()}
	}
	return inner{each: ty.ElementType()}
}

func (t inner) member(name string) cty.Type {
	if t.attributes != nil {
		return t.attributes[name]
	}
	return t.each
}

func (t inner) element(i int) cty.Type {
	if t.elements != nil {
		return t.elements[i]
	}
	return t.each
}
