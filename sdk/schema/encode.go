package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// encode converts a Go value to the value of a field. like is the value that it replaces, or cty.NilVal; it is kept if
// both have the same meaning. So a zero value does not replace an unset argument, nor a rounded number the exact one.
func (f *field) encode(path cty.Path, v interface{}, like cty.Value) (cty.Value, error) {
	v = indirect(v)
	if v == nil {
		return cty.NullVal(f.ty), nil
	}
	if like != cty.NilVal && !like.IsKnown() {
		like = cty.NilVal
	}
	var out cty.Value
	var err error
	switch f.schema.Type {
	case TypeList, TypeSet:
		out, err = f.encodeElements(path, v, like)
	case TypeMap:
		out, err = f.encodeMap(path, v, like)
	case TypeAny:
		out, err = encodeAny(path, v)
	default:
		out, err = f.encodePrimitive(path, v)
	}
	if err != nil || like == cty.NilVal {
		return out, err
	}
	return f.keep(out, like), nil
}

// keep returns the old value if it has the same meaning as the new one.
func (f *field) keep(v, like cty.Value) cty.Value {
	switch {
	case like.IsNull():
		// It was not set: a zero value is ignored unless the provider computes the value.
		if !f.schema.Required && !f.schema.Computed && sameValue(f.decode(v), f.zero()) {
			return cty.NullVal(f.ty)
		}
	case f.schema.StateFunc != nil && f.schema.Type.primitive() &&
		f.schema.StateFunc(f.decode(v)) == f.schema.StateFunc(f.decode(like)):
		return like
	case f.schema.StateFunc != nil && f.schema.Type == TypeString && f.schema.StateFunc(f.decode(like)) == v.AsString():
		return like
	case f.schema.Type == TypeFloat && f.decode(v) == f.decode(like):
		return like
	}
	return v
}

func mistake(path cty.Path, format string, args ...any) error {
	return path.NewErrorf(format, args...)
}

func (f *field) wants(path cty.Path, v interface{}) error {
	return mistake(path, "%s needs %s, not %T", f.schema.Type, goTypes[f.schema.Type], v)
}

var goTypes = map[ValueType]string{
	TypeBool: "a bool", TypeInt: "an integer", TypeFloat: "a number", TypeString: "a string", TypeList: "a slice",
	TypeSet: "a *Set or a slice", TypeMap: "a map with strings as keys",
}

// indirect follows pointers; a nil pointer is nil. A *Set is not followed.
func indirect(v interface{}) interface{} {
	if v == nil {
		return nil
	}
	if s, ok := v.(*Set); ok {
		if s == nil {
			return nil
		}
		return s
	}
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer || rv.Kind() == reflect.Interface {
		if rv.IsNil() {
			return nil
		}
		rv = rv.Elem()
		if s, ok := rv.Interface().(*Set); ok {
			return indirect(s)
		}
	}
	return rv.Interface()
}

func (f *field) encodePrimitive(path cty.Path, v interface{}) (cty.Value, error) {
	rv := reflect.ValueOf(v)
	switch f.schema.Type {
	case TypeBool:
		if rv.Kind() == reflect.Bool {
			return cty.BoolVal(rv.Bool()), nil
		}
	case TypeString:
		if rv.Kind() == reflect.String {
			return cty.StringVal(rv.String()), nil
		}
	case TypeInt, TypeFloat:
		n, err := encodeNumber(path, v)
		if err == nil && n != cty.NilVal && f.schema.Type == TypeInt && !isInt(n) {
			return cty.NilVal, mistake(path, "TypeInt needs an integer, not %v", v)
		}
		if err != nil || n != cty.NilVal {
			return n, err
		}
	}
	return cty.NilVal, f.wants(path, v)
}

// encodeNumber converts any Go number, and returns cty.NilVal for other values. A float becomes its shortest decimal,
// as in a configuration.
func encodeNumber(path cty.Path, v interface{}) (cty.Value, error) {
	if n, ok := v.(json.Number); ok {
		parsed, err := cty.ParseNumberVal(n.String())
		if err != nil {
			return cty.NilVal, mistake(path, "%q is not a number", n.String())
		}
		return parsed, nil
	}
	rv := reflect.ValueOf(v)
	switch {
	case rv.CanInt():
		return cty.NumberIntVal(rv.Int()), nil
	case rv.CanUint():
		return cty.NumberUIntVal(rv.Uint()), nil
	case rv.CanFloat():
		n := rv.Float()
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return cty.NilVal, mistake(path, "%v cannot be stored", n)
		}
		return cty.ParseNumberVal(strconv.FormatFloat(n, 'g', -1, rv.Type().Bits()))
	}
	return cty.NilVal, nil
}

// elements returns the elements of a slice, an array or a set.
func (f *field) elements(path cty.Path, v interface{}) ([]interface{}, error) {
	if s, ok := v.(*Set); ok && f.schema.Type == TypeSet {
		return s.List(), nil
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice && rv.Kind() != reflect.Array {
		return nil, f.wants(path, v)
	}
	out := make([]interface{}, rv.Len())
	for i := range out {
		out[i] = rv.Index(i).Interface()
	}
	return out, nil
}

func (f *field) encodeElements(path cty.Path, v interface{}, like cty.Value) (cty.Value, error) {
	items, err := f.elements(path, v)
	if err != nil {
		return cty.NilVal, err
	}
	old := f.counterparts(like)
	vals := make([]cty.Value, len(items))
	for i, item := range items {
		step := path // elements of a set have no name
		if f.schema.Type == TypeList {
			step = append(path.Copy(), cty.IndexStep{Key: cty.NumberIntVal(int64(i))})
		}
		if vals[i], err = f.encodeElement(step, item, old.at(i)); err != nil {
			return cty.NilVal, f.ofElement(err)
		}
		if found := old.of(f, vals[i]); found != cty.NilVal {
			if vals[i], err = f.encodeElement(step, item, found); err != nil {
				return cty.NilVal, err
			}
		}
	}
	ety := f.elemType()
	switch {
	case f.schema.Type == TypeSet && len(vals) == 0:
		return cty.SetValEmpty(ety), nil
	case f.schema.Type == TypeSet:
		return cty.SetVal(vals), nil
	case f.ty == cty.DynamicPseudoType:
		return cty.TupleVal(vals), nil
	case len(vals) == 0:
		return cty.ListValEmpty(ety), nil
	}
	return cty.ListVal(vals), nil
}

// ofElement returns a mistake in an element; an element of a set has the path of the set.
func (f *field) ofElement(err error) error {
	var p cty.PathError
	if f.schema.Type != TypeSet || !errors.As(err, &p) {
		return err
	}
	return p.Path.NewErrorf("in an element of the set, %s", p.Error())
}

// counterparts are the old elements that new ones replace: in a list the one with the same index, in a set the one with
// the same meaning.
type counterparts struct {
	byIndex []cty.Value
	byText  map[string]cty.Value
}

func (f *field) counterparts(like cty.Value) counterparts {
	if like == cty.NilVal || like.IsNull() || !like.IsKnown() || like.LengthInt() == 0 {
		return counterparts{}
	}
	elems := like.AsValueSlice()
	if f.schema.Type == TypeList {
		return counterparts{byIndex: elems}
	}
	c := counterparts{byText: make(map[string]cty.Value, len(elems))}
	for _, e := range elems {
		c.byText[string(canonical(nil, f.decodeElement(e)))] = e
	}
	return c
}

func (c counterparts) at(i int) cty.Value {
	if i < len(c.byIndex) {
		return c.byIndex[i]
	}
	return cty.NilVal
}

func (c counterparts) of(f *field, v cty.Value) cty.Value {
	if c.byText == nil {
		return cty.NilVal
	}
	if e, ok := c.byText[string(canonical(nil, f.decodeElement(v)))]; ok {
		return e
	}
	return cty.NilVal
}

func (f *field) encodeElement(path cty.Path, v interface{}, like cty.Value) (cty.Value, error) {
	if f.object != nil {
		return f.object.encode(path, v, like)
	}
	return f.elem.encode(path, v, like)
}

func (f *field) encodeMap(path cty.Path, v interface{}, like cty.Value) (cty.Value, error) {
	if f.object != nil {
		return f.object.encode(path, v, like)
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Map || rv.Type().Key().Kind() != reflect.String {
		return cty.NilVal, f.wants(path, v)
	}
	if rv.Len() == 0 {
		return cty.MapValEmpty(f.elem.ty), nil
	}
	vals := make(map[string]cty.Value, rv.Len())
	for _, k := range sortedKeys(rv) {
		key := cty.StringVal(k.String())
		old := cty.NilVal
		if like != cty.NilVal && !like.IsNull() && like.IsKnown() && like.HasIndex(key).True() {
			old = like.Index(key)
		}
		e, err := f.elem.encode(append(path.Copy(), cty.IndexStep{Key: key}), rv.MapIndex(k).Interface(), old)
		if err != nil {
			return cty.NilVal, err
		}
		vals[cty.NormalizeString(k.String())] = e
	}
	return cty.MapVal(vals), nil
}

// sortedKeys returns the keys of a map sorted as text. Of those that are equal after normalization, the last one is
// kept.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// encode converts a map or a struct to a block. Missing fields are null.
func (o *object) encode(path cty.Path, v interface{}, like cty.Value) (cty.Value, error) {
	members, err := o.members(path, indirect(v))
	if err != nil {
		return cty.NilVal, err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if o.fields[name] == nil {
			return cty.NilVal, mistake(path, "there is no %q.%s", name, diag.DidYouMean(name, o.names))
		}
	}
	vals := make(map[string]cty.Value, len(o.fields))
	for _, name := range o.names { // in order, so that the same mistake is reported each time
		f, old := o.fields[name], cty.NilVal
		if like != cty.NilVal && !like.IsNull() && like.IsKnown() {
			old = like.GetAttr(name)
		}
		if vals[name], err = f.encode(append(path.Copy(), cty.GetAttrStep{Name: name}), members[name],
			old); err != nil {
			return cty.NilVal, err
		}
		if nb := o.block.Blocks[name]; nb != nil && vals[name].IsNull() {
			vals[name] = nb.EmptyValue()
		}
	}
	return cty.ObjectVal(vals), nil
}

func (o *object) members(path cty.Path, v interface{}) (map[string]interface{}, error) {
	if v == nil {
		return nil, nil // a block in which nothing is set
	}
	rv := reflect.ValueOf(v)
	switch {
	case rv.Kind() == reflect.Map && rv.Type().Key().Kind() == reflect.String:
		out := make(map[string]interface{}, rv.Len())
		for _, k := range rv.MapKeys() {
			out[k.String()] = rv.MapIndex(k).Interface()
		}
		return out, nil
	case rv.Kind() == reflect.Struct:
		return structMembers(path, rv)
	}
	return nil, mistake(path, "a nested resource needs a map with strings as keys, or a struct, not %T", v)
}

// encodeAny converts a value of any type.
func encodeAny(path cty.Path, v interface{}) (cty.Value, error) {
	switch v = indirect(v); v := v.(type) {
	case nil:
		return cty.NullVal(cty.DynamicPseudoType), nil
	case cty.Value:
		return v, nil
	case *Set:
		return encodeAny(path, v.List())
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Bool:
		return cty.BoolVal(rv.Bool()), nil
	case reflect.String:
		if _, number := v.(json.Number); !number {
			return cty.StringVal(rv.String()), nil
		}
	case reflect.Slice, reflect.Array:
		vals := make([]cty.Value, rv.Len())
		for i := range vals {
			var err error
			if vals[i], err = encodeAny(append(path.Copy(), cty.IndexStep{Key: cty.NumberIntVal(int64(i))}),
				rv.Index(i).Interface()); err != nil {
				return cty.NilVal, err
			}
		}
		return cty.TupleVal(vals), nil
	case reflect.Map:
		if rv.Type().Key().Kind() == reflect.String {
			vals := make(map[string]cty.Value, rv.Len())
			for _, k := range sortedKeys(rv) {
				e, err := encodeAny(append(path.Copy(), cty.GetAttrStep{Name: k.String()}), rv.MapIndex(k).Interface())
				if err != nil {
					return cty.NilVal, err
				}
				vals[cty.NormalizeString(k.String())] = e
			}
			return cty.ObjectVal(vals), nil
		}
	}
	n, err := encodeNumber(path, v)
	if err == nil && n == cty.NilVal {
		err = mistake(path, "a %T cannot be stored", v)
	}
	return n, err
}
