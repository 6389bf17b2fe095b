package web

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// incoming converts an object in a response, decoded from JSON, to the types of the schema. cty.NilVal stands for
// values that the response does not contain.
type incoming struct {
	m *manifest.Manifest
	// whole means that no value of the object is known, so that all values of the server are used.
	whole    bool
	problems []string
	path     cty.Path
}

func (in *incoming) failf(format string, args ...any) {
	place := value.FormatPath(in.path)
	if place == "" {
		place = "the object"
	}
	in.problems = append(in.problems, place+": "+fmt.Sprintf(format, args...))
}

func (in *incoming) at(step cty.PathStep, f func() cty.Value) cty.Value {
	in.path = append(in.path, step)
	defer func() { in.path = in.path[:len(in.path)-1] }()
	return f()
}

// convert converts a value to a type. It omits members that the type does not have; missing ones become null.
func (in *incoming) convert(ty cty.Type, v cty.Value) cty.Value {
	switch {
	case v == cty.NilVal || v.IsNull():
		return cty.NullVal(ty)
	case ty == cty.DynamicPseudoType:
		return v
	case ty.IsObjectType():
		if !isObject(v) {
			break
		}
		vals := map[string]cty.Value{}
		for name, inner := range ty.AttributeTypes() {
			vals[name] = in.at(cty.GetAttrStep{Name: name}, func() cty.Value {
				return in.convert(inner, member(v, name))
			})
		}
		return cty.ObjectVal(vals)
	case ty.IsMapType() && !ty.ElementType().HasDynamicTypes():
		if !isObject(v) {
			break
		}
		vals := map[string]cty.Value{}
		for name, e := range v.AsValueMap() {
			vals[name] = in.at(cty.IndexStep{Key: cty.StringVal(name)}, func() cty.Value {
				return in.convert(ty.ElementType(), e)
			})
		}
		if len(vals) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(vals)
	case (ty.IsListType() || ty.IsSetType()) && !ty.ElementType().HasDynamicTypes():
		if !isSequence(v) {
			break
		}
		list := v.AsValueSlice()
		for i := range list {
			list[i] = in.at(cty.IndexStep{Key: cty.NumberIntVal(int64(i))}, func() cty.Value {
				return in.convert(ty.ElementType(), list[i])
			})
		}
		return sequence(ty, list)
	default:
		if out, err := convert.Convert(v, ty); err == nil {
			return out
		}
	}
	in.failf("%s was expected, not %s", friendly(ty), friendly(v.Type()))
	return cty.NullVal(ty)
}

// friendly returns the name of a type in JSON.
func friendly(ty cty.Type) string {
	switch {
	case ty.IsTupleType() || ty.IsListType() || ty.IsSetType():
		return "an array"
	case ty.IsObjectType() || ty.IsMapType():
		return "an object"
	case ty == cty.Bool:
		return "a boolean"
	}
	return "a " + ty.FriendlyName()
}

func sequence(ty cty.Type, list []cty.Value) cty.Value {
	switch {
	case len(list) == 0 && ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case len(list) == 0:
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(list)
	}
	return cty.ListVal(list)
}

// object merges an object from the server into the known one. Unknown values become the server's. Known values are kept
// if the object was just written; otherwise they become the server's, except for values that are not configured.
func (in *incoming) object(attrs map[string]*provider.Attribute, blocks map[string]*provider.NestedBlock, known,
	given cty.Value, written bool) cty.Value {
	if given != cty.NilVal && !given.IsNull() && !isObject(given) {
		in.failf("an object was expected, not %s", friendly(given.Type()))
		given = cty.NilVal
	}
	vals := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		a := attrs[name]
		f, from := field(in.m, name, a)
		was := cty.UnknownVal(a.ImpliedType())
		if known != cty.NilVal && !known.IsNull() && known.IsKnown() {
			was = known.GetAttr(name)
		}
		vals[name] = in.at(cty.GetAttrStep{Name: name}, func() cty.Value {
			return in.attribute(a, f, was, member(given, from), written)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		nb := blocks[name]
		was := cty.UnknownVal(nb.ImpliedType())
		if known != cty.NilVal && !known.IsNull() && known.IsKnown() {
			was = known.GetAttr(name)
		}
		vals[name] = in.at(cty.GetAttrStep{Name: name}, func() cty.Value {
			return in.block(nb, was, member(given, name), written)
		})
	}
	return cty.ObjectVal(vals)
}

// attribute merges one attribute.
func (in *incoming) attribute(a *provider.Attribute, f manifest.Field, known, given cty.Value, written bool) cty.Value {
	ty := a.ImpliedType()
	fresh := !known.IsKnown() || in.whole && known.IsNull()
	switch {
	case a.WriteOnly:
		return cty.NullVal(ty)
	case f.NotRead && fresh:
		return cty.NullVal(ty)
	case f.NotRead:
		return known
	case fresh:
		return in.fresh(a, given)
	case written && known.IsWhollyKnown():
		return known
	case given == cty.NilVal && !(f.CompareAll && !written):
		return value.UnknownAsNull(known)
	case given == cty.NilVal || given.IsNull():
		if written {
			return value.UnknownAsNull(known)
		}
		return cty.NullVal(ty)
	case known.IsNull() && !a.Computed && !f.CompareAll:
		return known // not configured: ignore changes by the server
	case a.Nested != nil:
		return in.nested(a.Nested.Nesting, ty, known, given, written, func(known, given cty.Value) cty.Value {
			return in.object(a.Nested.Attributes, nil, known, given, written)
		})
	case f.CompareAll || known.IsNull():
		return in.convert(ty, given)
	}
	return in.projected(ty, known, given)
}

// fresh returns an attribute without a known value.
func (in *incoming) fresh(a *provider.Attribute, given cty.Value) cty.Value {
	if a.Nested == nil || given == cty.NilVal || given.IsNull() {
		return in.convert(a.ImpliedType(), given)
	}
	one := func(known, given cty.Value) cty.Value {
		return in.object(a.Nested.Attributes, nil, known, given, false)
	}
	return in.nested(a.Nested.Nesting, a.ImpliedType(), cty.NilVal, given, false, one)
}

func (in *incoming) block(nb *provider.NestedBlock, known, given cty.Value, written bool) cty.Value {
	one := func(known, given cty.Value) cty.Value {
		return in.object(nb.Attributes, nb.Blocks, known, given, written)
	}
	single := nb.Nesting == provider.NestingSingle || nb.Nesting == provider.NestingGroup
	empty := known.IsKnown() && (known.IsNull() || !single && known.LengthInt() == 0)
	switch {
	case written && known.IsWhollyKnown(), given == cty.NilVal && known.IsKnown(), empty && !in.whole:
		return value.UnknownAsNull(known)
	case given == cty.NilVal || given.IsNull():
		return nb.EmptyValue()
	case !known.IsKnown() || empty:
		known = cty.NilVal
	}
	return in.nested(nb.Nesting, nb.ImpliedType(), known, given, written, one)
}

// nested merges the objects of a nested attribute or of blocks. known is cty.NilVal if there is no known value.
func (in *incoming) nested(nesting provider.Nesting, ty cty.Type, known, given cty.Value, written bool,
	one func(known, given cty.Value) cty.Value) cty.Value {
	switch nesting {
	case provider.NestingSingle, provider.NestingGroup:
		return one(known, given)
	case provider.NestingMap:
		if !isObject(given) {
			in.failf("an object was expected, not %s", friendly(given.Type()))
			return cty.NullVal(ty)
		}
		vals := map[string]cty.Value{}
		for name, e := range given.AsValueMap() {
			was := member(known, name)
			if was == cty.NilVal && known != cty.NilVal {
				continue // only the server has it
			}
			vals[name] = in.at(cty.IndexStep{Key: cty.StringVal(name)}, func() cty.Value { return one(was, e) })
		}
		return mapOf(ty, vals)
	}
	if !isSequence(given) {
		in.failf("an array was expected, not %s", friendly(given.Type()))
		return cty.NullVal(ty)
	}
	list := given.AsValueSlice()
	var before []cty.Value
	if isSequence(known) {
		before = known.AsValueSlice()
	}
	for i, e := range list {
		was := cty.NilVal
		if nesting == provider.NestingList && len(before) == len(list) {
			was = before[i]
		}
		list[i] = in.at(cty.IndexStep{Key: cty.NumberIntVal(int64(i))}, func() cty.Value {
			if nesting == provider.NestingSet {
				return in.matched(before, e, one)
			}
			return one(was, e)
		})
	}
	return sequence(ty, list)
}

// matched merges an element of a set into the known element that equals it in all known values, if there is one.
func (in *incoming) matched(before []cty.Value, given cty.Value, one func(known, given cty.Value) cty.Value) cty.Value {
	full := one(cty.NilVal, given)
	for _, was := range before {
		if covers(was, full) {
			return one(was, given)
		}
	}
	return full
}

// covers reports whether a value equals another one in all values that are neither unknown nor null.
func covers(known, full cty.Value) bool {
	switch {
	case !known.IsKnown() || known.IsNull():
		return true
	case full.IsNull():
		return false
	case isObject(known) && isObject(full):
		for name, v := range known.AsValueMap() {
			if other := member(full, name); other == cty.NilVal || !covers(v, other) {
				return false
			}
		}
		return true
	case isSequence(known) && isSequence(full) && !known.Type().IsSetType():
		return slices.EqualFunc(known.AsValueSlice(), full.AsValueSlice(), covers)
	}
	return equal(known, full)
}

func mapOf(ty cty.Type, vals map[string]cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.MapValEmpty(ty.ElementType())
	}
	return cty.MapVal(vals)
}

// projected converts a value and omits keys that only the server has.
func (in *incoming) projected(ty cty.Type, known, given cty.Value) cty.Value {
	switch {
	case given == cty.NilVal || given.IsNull() || known.IsNull():
		return in.convert(ty, given)
	case ty == cty.DynamicPseudoType && isObject(known) && isObject(given):
		vals := map[string]cty.Value{}
		for name, was := range known.AsValueMap() {
			if e := member(given, name); e != cty.NilVal {
				vals[name] = in.projected(cty.DynamicPseudoType, was, e)
			}
		}
		return like(known, cty.ObjectVal(vals))
	case ty == cty.DynamicPseudoType && isSequence(known) && isSequence(given):
		before, list := known.AsValueSlice(), given.AsValueSlice()
		if len(before) == len(list) && !known.Type().IsSetType() {
			for i := range list {
				list[i] = in.projected(cty.DynamicPseudoType, before[i], list[i])
			}
		}
		return like(known, cty.TupleVal(list))
	case ty == cty.DynamicPseudoType:
		return like(known, given)
	case ty.IsMapType() && isObject(given) && !ty.ElementType().HasDynamicTypes():
		vals := map[string]cty.Value{}
		for name, was := range known.AsValueMap() {
			if e := member(given, name); e != cty.NilVal {
				vals[name] = in.at(cty.IndexStep{Key: cty.StringVal(name)}, func() cty.Value {
					return in.projected(ty.ElementType(), was, e)
				})
			}
		}
		return mapOf(ty, vals)
	case ty.IsObjectType() && isObject(given):
		vals := map[string]cty.Value{}
		for name, inner := range ty.AttributeTypes() {
			was := known.GetAttr(name)
			vals[name] = was
			if e := member(given, name); e != cty.NilVal && !was.IsNull() {
				vals[name] = in.at(cty.GetAttrStep{Name: name}, func() cty.Value { return in.projected(inner, was, e) })
			}
		}
		return cty.ObjectVal(vals)
	case ty.IsListType() && isSequence(given) && known.LengthInt() == given.LengthInt() &&
		!ty.ElementType().HasDynamicTypes():
		before, list := known.AsValueSlice(), given.AsValueSlice()
		for i := range list {
			list[i] = in.at(cty.IndexStep{Key: cty.NumberIntVal(int64(i))}, func() cty.Value {
				return in.projected(ty.ElementType(), before[i], list[i])
			})
		}
		return sequence(ty, list)
	}
	return in.convert(ty, given)
}

// like converts a value to the type of the known one, if possible.
func like(known, given cty.Value) cty.Value {
	if known.Type().IsPrimitiveType() {
		return given // it may have another type
	}
	if out, err := convert.Convert(given, known.Type()); err == nil {
		return out
	}
	return given
}
