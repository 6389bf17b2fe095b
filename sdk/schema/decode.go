package schema

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// decode returns the Go form of a field's value. Null and unknown values become the zero value.
func (f *field) decode(v cty.Value) interface{} {
	if v.IsNull() || !v.IsKnown() {
		return f.zero()
	}
	switch f.schema.Type {
	case TypeBool:
		return v.True()
	case TypeInt:
		return toInt(v)
	case TypeFloat:
		n, _ := v.AsBigFloat().Float64()
		return n
	case TypeString:
		return v.AsString()
	case TypeList:
		return f.decodeElements(v)
	case TypeSet:
		return NewSet(f.schema.Set, f.decodeElements(v))
	case TypeMap:
		if f.object != nil {
			return f.object.decode(v)
		}
		out := make(map[string]interface{}, v.LengthInt())
		for k, e := range v.AsValueMap() {
			out[k] = f.elem.decode(e)
		}
		return out
	}
	return decodeAny(v)
}

func (f *field) zero() interface{} {
	switch {
	case f.schema.Type == TypeSet:
		return NewSet(f.schema.Set, nil)
	case f.schema.Type == TypeMap && f.object != nil:
		return f.object.decode(cty.NullVal(f.object.ty))
	}
	return f.schema.Type.Zero()
}

func (f *field) decodeElements(v cty.Value) []interface{} {
	out := make([]interface{}, 0, v.LengthInt())
	for _, e := range v.AsValueSlice() {
		out = append(out, f.decodeElement(e))
	}
	return out
}

func (f *field) decodeElement(v cty.Value) interface{} {
	if f.object != nil {
		return f.object.decode(v)
	}
	return f.elem.decode(v)
}

// decode returns the Go form of a block. A null block has only zero values.
func (o *object) decode(v cty.Value) map[string]interface{} {
	out := make(map[string]interface{}, len(o.names))
	for _, name := range o.names {
		out[name] = o.fields[name].decode(member(v, name, o.fields[name].ty))
	}
	return out
}

// toInt returns the integer nearest to a number. Validation of the configuration has refused numbers that a Go int
// cannot hold.
func toInt(v cty.Value) int {
	n, _ := v.AsBigFloat().Int64()
	return int(n)
}

// isInt reports whether a number is a Go int.
func isInt(v cty.Value) bool {
	n, accuracy := v.AsBigFloat().Int64()
	return accuracy == big.Exact && int64(int(n)) == n
}

// decodeAny returns the Go form of a value according to its type.
func decodeAny(v cty.Value) interface{} {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	switch ty := v.Type(); {
	case ty == cty.Bool:
		return v.True()
	case ty == cty.Number:
		n, _ := v.AsBigFloat().Float64()
		return n
	case ty == cty.String:
		return v.AsString()
	case ty.IsObjectType() || ty.IsMapType():
		out := make(map[string]interface{}, v.LengthInt())
		for k, e := range v.AsValueMap() {
			out[k] = decodeAny(e)
		}
		return out
	default:
		out := []interface{}{}
		for _, e := range v.AsValueSlice() {
			out = append(out, decodeAny(e))
		}
		return out
	}
}

// member returns an attribute of an object that may be null or unknown as a whole.
func member(v cty.Value, name string, ty cty.Type) cty.Value {
	switch {
	case v == cty.NilVal || v.IsNull() || !v.Type().IsObjectType() || !v.Type().HasAttribute(name):
		return cty.NullVal(ty)
	case !v.IsKnown():
		return cty.UnknownVal(ty)
	}
	return v.GetAttr(name)
}

// place is the target of a key such as "rule.0.port".
type place struct {
	field  *field  // an attribute, blocks, or an element of a collection of values
	object *object // a nested resource
	value  cty.Value
	path   cty.Path
	// counts is set if the key is for the number of elements.
	counts bool
}

// find follows a key. top returns the values of top-level fields.
func (o *object) find(key string, top func(*field) cty.Value) (place, error) {
	p := place{object: o}
	steps := strings.Split(key, ".")
	for i := 0; i < len(steps); i++ {
		step := steps[i]
		switch {
		case p.counts:
			return p, fmt.Errorf("%q continues after a number", key)
		case p.field == nil:
			f := p.object.fields[step]
			if f == nil {
				return p, fmt.Errorf("there is no %q.%s", strings.Join(steps[:i+1], "."),
					diag.DidYouMean(step, slices.Sorted(maps.Keys(p.object.fields))))
			}
			if i == 0 {
				p.value = top(f)
			} else {
				p.value = member(p.value, step, f.ty)
			}
			p.field, p.object, p.path = f, nil, append(p.path, cty.GetAttrStep{Name: step})
		case p.field.implicit && p.field.object != nil:
			p.object, p.field = p.field.object, nil
			i--
		case p.field.elem == nil && p.field.object == nil:
			return p, fmt.Errorf("%q continues after %q, which has no parts", key, strings.Join(steps[:i], "."))
		case step == "#" || step == "%":
			p.counts = true
		case p.field.schema.Type == TypeMap:
			p.enterKey(strings.Join(steps[i:], "."))
			i = len(steps)
		default:
			if err := p.enter(step, key); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// enter moves to an element of a list, by its index, or of a set, by its hash.
func (p *place) enter(step, key string) error {
	n, err := strconv.Atoi(step)
	if err != nil || n < 0 {
		return fmt.Errorf("%q in %q is not an index", step, key)
	}
	f, v := p.field, p.value
	p.value = cty.NullVal(f.elemType())
	index := cty.NumberIntVal(int64(n))
	switch {
	case v.IsNull():
	case !v.IsKnown():
		p.value = cty.UnknownVal(f.elemType())
	case f.schema.Type == TypeSet:
		set := NewSet(f.schema.Set, nil)
		for _, e := range v.AsValueSlice() {
			if set.code(f.decodeElement(e)) == n {
				p.value, index = e, e
			}
		}
	case n < v.LengthInt():
		p.value = v.Index(index)
	}
	p.path = append(p.path, cty.IndexStep{Key: index})
	p.field, p.object = f.elem, f.object
	return nil
}

func (p *place) enterKey(key string) {
	f, v := p.field, p.value
	p.value = cty.NullVal(f.elemType())
	k := cty.StringVal(key)
	switch {
	case v.IsNull():
	case !v.IsKnown():
		p.value = cty.UnknownVal(f.elemType())
	case v.HasIndex(k).True():
		p.value = v.Index(k)
	}
	p.path = append(p.path, cty.IndexStep{Key: k})
	p.field, p.object = f.elem, f.object
}

// goValue returns the Go form of the value at the place.
func (p place) goValue() interface{} {
	switch {
	case p.counts:
		if p.value.IsNull() || !p.value.IsKnown() {
			return 0
		}
		return p.value.LengthInt()
	case p.field != nil:
		return p.field.decode(p.value)
	}
	return p.object.decode(p.value)
}
