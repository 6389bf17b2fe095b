// Package message encodes values as JSON for programs, and decodes the JSON of programs.
//
// The schema determines the encoding: sets are arrays, dynamic values are {"value":…,"type":…}, numbers are complete
// decimals. Unknown values are null, with a tree beside the object that has true in their places. An answer is merged
// into the known values (Overlay), so that a program need only mention what it changes.
//
// The package only handles formats. Package handler decides which values are allowed, and what a problem means for an
// operation.
//
//	values, unknown := codec.Encode(planned)
//	state, problems := codec.Overlay(planned, answer.Get("state"), nil, text)
package message

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/provider"
)

// Codec encodes and decodes objects of one block.
type Codec struct {
	Block *provider.Block
	// AsText reports whether an attribute's numbers are sent as strings; nil means none are.
	AsText func(*provider.Attribute) bool
}

// Encode returns an object and the tree of its unknown values, which is `{}` if there are none. A null object is
// encoded as `null`.
func (c Codec) Encode(v cty.Value) (values, unknown json.RawMessage) {
	e := encoder{asText: c.AsText}
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		tree := json.RawMessage("{}")
		if v != cty.NilVal && !v.IsKnown() {
			tree = json.RawMessage("true")
		}
		return json.RawMessage("null"), tree
	}
	return e.buf(func() any { return e.object(c.Block.Attributes, c.Block.Blocks, v) })
}

// EncodeValue encodes a value of a type, such as the argument of a function, in the same way as Encode.
func EncodeValue(ty cty.Type, v cty.Value) (value, unknown json.RawMessage) {
	var e encoder
	return e.buf(func() any { return e.value(ty, v) })
}

// encoder encodes values. Its methods return the tree of unknown values: nil, true, an object or an array.
type encoder struct {
	out    bytes.Buffer
	asText func(*provider.Attribute) bool
	text   bool // numbers are encoded as strings
}

func (e *encoder) buf(write func() any) (values, unknown json.RawMessage) {
	tree := write()
	unknown = json.RawMessage("{}")
	if tree != nil {
		unknown, _ = json.Marshal(tree) // maps, slices and booleans can always be encoded
	}
	return e.out.Bytes(), unknown
}

// object encodes a block or nested object.
func (e *encoder) object(attrs map[string]*provider.Attribute, blocks map[string]*provider.NestedBlock,
	v cty.Value) any {
	if !v.IsKnown() || v.IsNull() {
		e.out.WriteString("null")
		return unknownness(v)
	}
	tree := map[string]any{}
	names := slices.AppendSeq(slices.Collect(maps.Keys(attrs)), maps.Keys(blocks))
	slices.Sort(names)
	e.out.WriteByte('{')
	for i, name := range names {
		e.name(i, name)
		var inner any
		if a := attrs[name]; a != nil {
			inner = e.attribute(a, v.GetAttr(name))
		} else {
			nb := blocks[name]
			inner = e.members(nb.Nesting, v.GetAttr(name), func(v cty.Value) any {
				return e.object(nb.Attributes, nb.Blocks, v)
			})
		}
		if inner != nil {
			tree[name] = inner
		}
	}
	e.out.WriteByte('}')
	return some(tree)
}

func (e *encoder) attribute(a *provider.Attribute, v cty.Value) any {
	if e.asText != nil && e.asText(a) {
		e.text = true
		defer func() { e.text = false }()
	}
	if a.Nested == nil {
		return e.value(a.Type, v)
	}
	return e.members(a.Nested.Nesting, v, func(v cty.Value) any { return e.object(a.Nested.Attributes, nil, v) })
}

// members encodes the objects of a nested attribute or of blocks.
func (e *encoder) members(nesting provider.Nesting, v cty.Value, each func(cty.Value) any) any {
	switch {
	case !v.IsKnown() || v.IsNull():
		e.out.WriteString("null")
		return unknownness(v)
	case nesting == provider.NestingMap:
		return e.keyed(v, each)
	case nesting == provider.NestingList || nesting == provider.NestingSet:
		return e.sequence(v, func(_ int, v cty.Value) any { return each(v) })
	}
	return each(v)
}

// value encodes a value of a type.
func (e *encoder) value(ty cty.Type, v cty.Value) any {
	if !v.IsKnown() || v.IsNull() {
		e.out.WriteString("null")
		return unknownness(v)
	}
	switch {
	case ty == cty.DynamicPseudoType:
		return e.dynamic(v)
	case ty == cty.String:
		e.string(v.AsString())
	case ty == cty.Number:
		number := v.AsBigFloat().Text('f', -1)
		if e.text {
			number = `"` + number + `"`
		}
		e.out.WriteString(number)
	case ty == cty.Bool:
		if v.True() {
			e.out.WriteString("true")
		} else {
			e.out.WriteString("false")
		}
	case ty.IsMapType():
		return e.keyed(v, func(v cty.Value) any { return e.value(ty.ElementType(), v) })
	case ty.IsObjectType():
		return e.plainObject(ty, v)
	case ty.IsTupleType():
		return e.sequence(v, func(i int, v cty.Value) any { return e.value(ty.TupleElementType(i), v) })
	default:
		return e.sequence(v, func(_ int, v cty.Value) any { return e.value(ty.ElementType(), v) })
	}
	return nil
}

func (e *encoder) plainObject(ty cty.Type, v cty.Value) any {
	tree := map[string]any{}
	e.out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
		e.name(i, name)
		if inner := e.value(ty.AttributeType(name), v.GetAttr(name)); inner != nil {
			tree[name] = inner
		}
	}
	e.out.WriteByte('}')
	return some(tree)
}

func (e *encoder) dynamic(v cty.Value) any {
	ty, err := ctyjson.MarshalType(v.Type())
	if err != nil {
		panic("message: a type has no JSON form: " + err.Error()) // only types that a schema cannot contain
	}
	e.out.WriteString(`{"value":`)
	tree := e.value(v.Type(), v)
	e.out.WriteString(`,"type":`)
	e.out.Write(ty)
	e.out.WriteByte('}')
	if tree == nil {
		return nil
	}
	return map[string]any{"value": tree}
}

func (e *encoder) keyed(v cty.Value, each func(cty.Value) any) any {
	tree := map[string]any{}
	vals := v.AsValueMap()
	e.out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(vals)) {
		e.name(i, name)
		if inner := each(vals[name]); inner != nil {
			tree[name] = inner
		}
	}
	e.out.WriteByte('}')
	return some(tree)
}

func (e *encoder) sequence(v cty.Value, each func(int, cty.Value) any) any {
	trees := make([]any, v.LengthInt())
	found := false
	e.out.WriteByte('[')
	for i, v := range v.AsValueSlice() {
		if i > 0 {
			e.out.WriteByte(',')
		}
		trees[i] = false
		if inner := each(i, v); inner != nil {
			trees[i], found = inner, true
		}
	}
	e.out.WriteByte(']')
	if !found {
		return nil
	}
	return trees
}

func (e *encoder) name(i int, name string) {
	if i > 0 {
		e.out.WriteByte(',')
	}
	e.string(name)
	e.out.WriteByte(':')
}

func (e *encoder) string(s string) { e.out.Write(Text(s)) }

// Text encodes a string as JSON, without the escapes that only matter in web pages.
func Text(s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(strings.ToValidUTF8(s, "\uFFFD")) // strings can always be encoded
	return bytes.TrimRight(out.Bytes(), "\n")
}

func unknownness(v cty.Value) any {
	if v.IsKnown() {
		return nil
	}
	return true
}

func some(tree map[string]any) any {
	if len(tree) == 0 {
		return nil
	}
	return tree
}
