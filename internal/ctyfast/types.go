package ctyfast

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
)

// Every value whose type the schema leaves open is stored with its type, and instances of a block mostly have the same
// one. A type takes more memory than its values, and more time to decode.

const (
	maxTypes    = 512     // maximum number of cached types
	maxTypeText = 1 << 12 // maximum size of one in bytes
)

// typeCache caches types by their JSON.
type typeCache struct {
	mu     sync.Mutex
	byText map[string]cty.Type
}

var writtenTypes typeCache

// read decodes a type; ok is false if the text is not a type.
func (c *typeCache) read(text string, ty *cty.Type) bool {
	c.mu.Lock()
	known, ok := c.byText[text]
	c.mu.Unlock()
	if ok {
		*ty = known
		return true
	}
	if json.Unmarshal([]byte(text), ty) != nil {
		return false
	}
	if len(text) > maxTypeText {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText == nil || len(c.byText) >= maxTypes {
		c.byText = map[string]cty.Type{}
	}
	c.byText[strings.Clone(text)] = *ty // the text is part of a larger one
	return true
}

// namedType is the type of an attribute.
type namedType struct {
	name string
	ty   cty.Type
}

// objectTypes caches, for each object type of a schema whose attributes have open types, the last type of an object.
type objectTypes struct {
	mu       sync.Mutex
	bySchema map[uintptr]objectType // by the address of the attribute types
}

type objectType struct {
	atys  map[string]cty.Type // the attribute types of the schema, which keeps their address in use
	other []namedType
	ty    cty.Type
}

var readTypes objectTypes

// object returns the type of an object whose attributes have the types of a schema, except for others. Of several types
// of an attribute, the last one is used.
func (c *objectTypes) object(atys map[string]cty.Type, other []namedType) cty.Type {
	key := reflect.ValueOf(atys).Pointer()
	c.mu.Lock()
	last := c.bySchema[key]
	c.mu.Unlock()
	if len(last.other) == len(other) {
		same := true
		for i := range other {
			same = same && last.other[i].name == other[i].name && SameType(last.other[i].ty, other[i].ty)
		}
		if same {
			return last.ty
		}
	}
	types := maps.Clone(atys)
	for i := range other {
		other[i].name = strings.Clone(other[i].name) // the text is part of a larger one
		types[other[i].name] = other[i].ty
	}
	ty := cty.Object(types)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySchema == nil || len(c.bySchema) >= maxTypes {
		c.bySchema = map[uintptr]objectType{}
	}
	c.bySchema[key] = objectType{atys, other, ty}
	return ty
}

// LastType is the type of the last of several values, which mostly have the same one.
type LastType struct{ p atomic.Pointer[cty.Type] }

// Share returns a value, with the last type instead of its own if they are equal, so that its own needs no memory.
func (l *LastType) Share(v cty.Value) cty.Value {
	if last := l.p.Load(); last != nil {
		if same, ok := Typed(v, *last); ok {
			return same
		}
	}
	ty := v.Type()
	l.p.Store(&ty)
	return v
}

// Typed returns a value with a type that equals its own, so that many values can share one.
func Typed(v cty.Value, ty cty.Type) (same cty.Value, ok bool) {
	own, raw := open(v)
	if !inside || !own.Equals(ty) {
		return v, false
	}
	return closed(ty, raw), true
}
