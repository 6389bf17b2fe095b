package schema

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// tagName is the tag of struct fields for attributes.
const tagName = "tombolo"

var ownTags = []string{tagName}

var ctyValueType = reflect.TypeFor[cty.Value]()

// Decoder is the source of Decode: a *ResourceData, a *ResourceDiff or an *EphemeralData.
type Decoder interface {
	Decode(target interface{}) error
}

// Decode returns an object as a struct whose fields have tags with the names of attributes: `tombolo:"name"`. Null
// becomes zero, or nil in a pointer. A field of type cty.Value gets the value unchanged. Other unknown values are an
// error while planning, as are names and types that do not match the schema.
func Decode[T any](d Decoder) (T, error) {
	var v T
	err := d.Decode(&v)
	return v, err
}

// Decode is like the function Decode, and stores the result in a pointer to a struct.
func (r *reader) Decode(target interface{}) error {
	return decoding{planning: r.planning, tags: ownTags}.whole(r.object, r.current, target)
}

// GetProviderMeta decodes the provider_meta block of the object's module, like Decode, into a pointer to a struct whose
// fields have tags `tombolo:"name"` or `cty:"name"`. Without such a block, and while an object is being imported, the
// target does not change.
func (d *ResourceData) GetProviderMeta(target interface{}) error {
	if d.providerMeta == cty.NilVal {
		return nil
	}
	filled, err := d.providerMetaType.withDefaults(d.providerMeta)
	if err != nil {
		return err
	}
	of := func(f *field) cty.Value { return member(filled, f.name, f.ty) }
	return decoding{tags: []string{tagName, "cty"}}.whole(d.providerMetaType.object, of, target)
}

// Encode sets the attributes that the tags of a struct name: the opposite of Decode. A tag "id" sets the id; write-only
// attributes and timeouts are ignored.
func (d *ResourceData) Encode(source interface{}) error {
	rv := reflect.ValueOf(indirect(source))
	if rv.Kind() != reflect.Struct {
		return fmt.Errorf("encode: expected a struct, not %T", source)
	}
	members, err := structMembers(nil, rv)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if f := d.object.fields[name]; f != nil && (f.schema.WriteOnly || f.implicit && name != idField) {
			continue
		}
		errs = append(errs, d.Set(name, members[name]))
	}
	return errors.Join(errs...)
}

// structMembers returns the tagged fields of a struct, including those of embedded structs.
func structMembers(path cty.Path, v reflect.Value) (map[string]interface{}, error) {
	out := map[string]interface{}{}
	err := tagged(v, ownTags, func(name string, f reflect.Value) error {
		if _, twice := out[name]; twice {
			return mistake(path, "%s has two fields with the tag %q", v.Type(), name)
		}
		out[name] = f.Interface()
		return nil
	})
	if err == nil && len(out) == 0 {
		return nil, mistake(path, "%s has no fields with tags such as `%s:\"name\"`", v.Type(), tagName)
	}
	return out, err
}

// tagged calls a function for each tagged field.
func tagged(v reflect.Value, tags []string, each func(name string, f reflect.Value) error) error {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		name, ok := "", false
		for _, tag := range tags {
			if !ok {
				name, ok = sf.Tag.Lookup(tag)
			}
		}
		switch {
		case ok && name == "-":
		case ok && !sf.IsExported():
			return fmt.Errorf("the field %s of %s has a tag, but is not exported", sf.Name, v.Type())
		case ok:
			if err := each(name, v.Field(i)); err != nil {
				return err
			}
		case sf.Anonymous && sf.Type.Kind() == reflect.Struct:
			if err := tagged(v.Field(i), tags, each); err != nil {
				return err
			}
		}
	}
	return nil
}

// decoding converts values to Go values of the target's types.
type decoding struct {
	planning bool
	tags     []string // the tags to use
}

func (into decoding) whole(o *object, of func(*field) cty.Value, target interface{}) error {
	rv := reflect.ValueOf(target)
	if rv.Kind() != reflect.Pointer || rv.IsNil() || rv.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("decode: expected a pointer to a struct, not %T", target)
	}
	return into.members(o, of, nil, rv.Elem())
}

func (into decoding) members(o *object, of func(*field) cty.Value, path cty.Path, target reflect.Value) error {
	found := 0
	err := tagged(target, into.tags, func(name string, rv reflect.Value) error {
		found++
		f := o.fields[name]
		if f == nil {
			return mistake(path, "decode: the schema has no %q.%s", name, diag.DidYouMean(name, o.names))
		}
		return into.field(f, of(f), append(path.Copy(), cty.GetAttrStep{Name: name}), rv)
	})
	if err == nil && found == 0 {
		return mistake(path, "decode: %s has no fields with tags such as `%s:\"name\"`", target.Type(), tagName)
	}
	return err
}

func (into decoding) field(f *field, v cty.Value, path cty.Path, rv reflect.Value) error {
	if rv.Type() == ctyValueType {
		rv.Set(reflect.ValueOf(v))
		return nil
	}
	if !v.IsKnown() && into.planning {
		return mistake(path, "decode: %s is known only after apply", value.FormatPath(path)[1:])
	}
	if v.IsNull() || !v.IsKnown() {
		return into.null(f, path, rv)
	}
	if rv.Kind() == reflect.Pointer {
		if rv.IsNil() {
			rv.Set(reflect.New(rv.Type().Elem()))
		}
		return into.field(f, v, path, rv.Elem())
	}
	if rv.Kind() == reflect.Interface && rv.NumMethod() == 0 {
		if into.planning && !v.IsWhollyKnown() {
			return mistake(path, "decode: part of %s is known only after apply", value.FormatPath(path)[1:])
		}
		rv.Set(reflect.ValueOf(f.decode(v)))
		return nil
	}
	switch f.schema.Type {
	case TypeList, TypeSet:
		return into.slice(f, v, path, rv)
	case TypeMap:
		return into.mapping(f, v, path, rv)
	}
	return into.primitive(f, v, path, rv)
}

// null makes a target zero, after it was checked that a value would fit.
func (into decoding) null(f *field, path cty.Path, rv reflect.Value) error {
	rv.SetZero()
	ty := rv.Type()
	for ty.Kind() == reflect.Pointer {
		ty = ty.Elem()
	}
	if ty.Kind() == reflect.Interface || f.fits(ty) {
		return nil
	}
	return f.misfit(path, rv.Type())
}

// fits reports whether values of the field fit into a Go type.
func (f *field) fits(ty reflect.Type) bool {
	switch f.schema.Type {
	case TypeBool:
		return ty.Kind() == reflect.Bool
	case TypeString:
		return ty.Kind() == reflect.String
	case TypeInt:
		return reflect.Zero(ty).CanInt() || reflect.Zero(ty).CanUint() || reflect.Zero(ty).CanFloat()
	case TypeFloat:
		return reflect.Zero(ty).CanFloat()
	case TypeList, TypeSet:
		return ty.Kind() == reflect.Slice
	case TypeMap:
		return ty.Kind() == reflect.Map && ty.Key().Kind() == reflect.String || f.object != nil &&
			ty.Kind() == reflect.Struct
	}
	return false
}

func (f *field) misfit(path cty.Path, ty reflect.Type) error {
	return mistake(path, "decode: %s is of %s, which does not fit into %s", value.FormatPath(path)[1:], f.schema.Type,
		ty)
}

func (into decoding) primitive(f *field, v cty.Value, path cty.Path, rv reflect.Value) error {
	if !f.fits(rv.Type()) {
		return f.misfit(path, rv.Type())
	}
	switch f.schema.Type {
	case TypeBool:
		rv.SetBool(v.True())
	case TypeString:
		rv.SetString(v.AsString())
	default:
		n := v.AsBigFloat()
		whole, _ := n.Int64()
		fraction, _ := n.Float64()
		switch {
		case rv.CanFloat():
			rv.SetFloat(fraction)
		case rv.CanInt() && !rv.OverflowInt(whole):
			rv.SetInt(whole)
		case rv.CanUint() && whole >= 0 && !rv.OverflowUint(uint64(whole)):
			rv.SetUint(uint64(whole))
		default:
			return mistake(path, "decode: %s is %s, which does not fit into %s", value.FormatPath(path)[1:],
				n.Text('f', -1), rv.Type())
		}
	}
	return nil
}

func (into decoding) slice(f *field, v cty.Value, path cty.Path, rv reflect.Value) error {
	if rv.Kind() != reflect.Slice {
		return f.misfit(path, rv.Type())
	}
	elems := v.AsValueSlice()
	out := reflect.MakeSlice(rv.Type(), len(elems), len(elems))
	for i, e := range elems {
		inner := path
		if f.schema.Type == TypeList {
			inner = append(path.Copy(), cty.IndexStep{Key: cty.NumberIntVal(int64(i))})
		}
		if err := into.element(f, e, inner, out.Index(i)); err != nil {
			return err
		}
	}
	rv.Set(out)
	return nil
}

func (into decoding) mapping(f *field, v cty.Value, path cty.Path, rv reflect.Value) error {
	if f.object != nil {
		return into.element(f, v, path, rv)
	}
	if rv.Kind() != reflect.Map || rv.Type().Key().Kind() != reflect.String {
		return f.misfit(path, rv.Type())
	}
	out := reflect.MakeMapWithSize(rv.Type(), v.LengthInt())
	elements := v.AsValueMap()
	for _, k := range slices.Sorted(maps.Keys(elements)) {
		target := reflect.New(rv.Type().Elem()).Elem()
		if err := into.element(f, elements[k], append(path.Copy(), cty.IndexStep{Key: cty.StringVal(k)}),
			target); err != nil {
			return err
		}
		out.SetMapIndex(reflect.ValueOf(k).Convert(rv.Type().Key()), target)
	}
	rv.Set(out)
	return nil
}

func (into decoding) element(f *field, v cty.Value, path cty.Path, rv reflect.Value) error {
	if f.object == nil {
		return into.field(f.elem, v, path, rv)
	}
	if rv.Kind() == reflect.Pointer {
		rv.Set(reflect.New(rv.Type().Elem()))
		rv = rv.Elem()
	}
	switch {
	case rv.Kind() == reflect.Struct:
		return into.members(f.object, func(inner *field) cty.Value { return member(v, inner.name, inner.ty) }, path, rv)
	case rv.Kind() == reflect.Map && rv.Type() == reflect.TypeFor[map[string]interface{}](),
		rv.Kind() == reflect.Interface && rv.NumMethod() == 0:
		if into.planning && !v.IsWhollyKnown() {
			return mistake(path, "decode: part of %s is known only after apply", value.FormatPath(path)[1:])
		}
		rv.Set(reflect.ValueOf(f.object.decode(v)))
		return nil
	}
	return f.misfit(path, rv.Type())
}
