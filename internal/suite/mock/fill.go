package mock

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// filler sets computed attributes that have no value.
type filler struct {
	random func() string
	// open leaves them unknown.
	open bool
	// onlyUnknown fills only values that a plan has left unknown, and keeps null values.
	onlyUnknown bool
	path        cty.Path
	diags       diag.List
}

// at calls f with one more step in the path.
func (f *filler) at(step cty.PathStep, run func()) {
	f.path = append(f.path, step)
	run()
	f.path = f.path[:len(f.path)-1]
}

// block fills the value of a block. given holds values for its computed attributes.
func (f *filler) block(b *provider.Block, v cty.Value, given map[string]cty.Value) cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	vals := v.AsValueMap()
	if vals == nil {
		return v
	}
	out := maps.Clone(vals)
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		a := b.Attributes[name]
		f.at(cty.GetAttrStep{Name: name}, func() { out[name] = f.attribute(a, vals[name], given, name) })
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		nb := b.Blocks[name]
		f.at(cty.GetAttrStep{Name: name}, func() {
			if nb.Computed && f.empty(vals[name]) {
				out[name] = f.blocks(nb)
				return
			}
			inner := f.object(given, name)
			out[name] = f.each(nb.Nesting, vals[name], func(v cty.Value) cty.Value {
				return f.block(&nb.Block, v, inner)
			})
		})
	}
	return cty.ObjectVal(out)
}

// blocks returns the value of computed blocks that are not configured: unknown in a plan, otherwise none.
func (f *filler) blocks(nb *provider.NestedBlock) cty.Value {
	if f.open {
		return cty.UnknownVal(nb.ImpliedType())
	}
	return nb.EmptyValue()
}

// empty reports whether a value is to be filled if its attribute is computed.
func (f *filler) empty(v cty.Value) bool {
	return v.IsNull() && !f.onlyUnknown || !v.IsKnown() && (f.onlyUnknown || !f.open)
}

// object returns the values for the attributes of nested objects.
func (f *filler) object(given map[string]cty.Value, name string) map[string]cty.Value {
	v, ok := given[name]
	if !ok || v.IsNull() || !v.IsKnown() {
		return nil
	}
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		f.unsuitable("write its objects as one object, whose attributes are those of all of them")
		return nil
	}
	return v.AsValueMap()
}

func (f *filler) unsuitable(why string) {
	f.diags = append(f.diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Failed to compute attribute",
		Path:   f.path.Copy(),
		Detail: "The value that a mock or an override sets for this attribute cannot be used: " + why + "."})
}

// attribute fills the value of an attribute.
func (f *filler) attribute(a *provider.Attribute, v cty.Value, given map[string]cty.Value, name string) cty.Value {
	switch {
	case a.WriteOnly:
		return cty.NullVal(a.ImpliedType()) // responses never contain its value
	case a.Computed && f.empty(v):
		if f.open {
			return cty.UnknownVal(a.ImpliedType())
		}
		if g, ok := given[name]; ok {
			return f.given(a, g)
		}
		return f.made(a)
	case a.Nested != nil:
		inner := f.object(given, name)
		return f.each(a.Nested.Nesting, v, func(v cty.Value) cty.Value { return f.nested(a.Nested, v, inner) })
	}
	return v
}

// nested fills one nested object.
func (f *filler) nested(n *provider.NestedObject, v cty.Value, given map[string]cty.Value) cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	vals := v.AsValueMap()
	out := maps.Clone(vals)
	for _, name := range slices.Sorted(maps.Keys(n.Attributes)) {
		a := n.Attributes[name]
		f.at(cty.GetAttrStep{Name: name}, func() { out[name] = f.attribute(a, vals[name], given, name) })
	}
	return cty.ObjectVal(out)
}

// each fills all objects of nested blocks or attributes.
func (f *filler) each(n provider.Nesting, v cty.Value, fill func(cty.Value) cty.Value) cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	if n == provider.NestingSingle || n == provider.NestingGroup {
		return fill(v)
	}
	if v.LengthInt() == 0 {
		return v
	}
	byName := map[string]cty.Value{}
	var list []cty.Value
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if n == provider.NestingSet {
			k = e
		}
		f.at(cty.IndexStep{Key: k}, func() { e = fill(e) })
		if n == provider.NestingMap {
			byName[k.AsString()] = e
		} else {
			list = append(list, e)
		}
	}
	switch ty := v.Type(); {
	case ty.IsMapType():
		return cty.MapVal(byName)
	case ty.IsObjectType():
		return cty.ObjectVal(byName)
	case ty.IsSetType():
		return cty.SetVal(list)
	case ty.IsTupleType():
		return cty.TupleVal(list)
	}
	return cty.ListVal(list)
}

// given converts a configured value of an attribute. It generates missing attributes of nested objects.
func (f *filler) given(a *provider.Attribute, v cty.Value) cty.Value {
	if a.Nested != nil && v.IsKnown() && !v.IsNull() && a.Nested.Nesting == provider.NestingSingle &&
		v.Type().IsObjectType() {
		v = f.complete(a.Nested, v)
	}
	out, err := ctyfast.Convert(v, a.ImpliedType())
	if err != nil {
		f.unsuitable(err.Error())
		return f.made(a)
	}
	return out
}

// complete adds missing attributes to an object.
func (f *filler) complete(n *provider.NestedObject, v cty.Value) cty.Value {
	vals := v.AsValueMap()
	out := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(n.Attributes)) {
		a := n.Attributes[name]
		f.at(cty.GetAttrStep{Name: name}, func() {
			if g, ok := vals[name]; ok {
				out[name] = f.given(a, g)
			} else if a.Computed {
				out[name] = f.made(a)
			} else {
				out[name] = cty.NullVal(a.ImpliedType())
			}
		})
	}
	return cty.ObjectVal(out)
}

// made generates the value of an attribute.
func (f *filler) made(a *provider.Attribute) cty.Value {
	if a.Nested != nil && a.Nested.Nesting == provider.NestingSingle {
		return f.complete(a.Nested, cty.EmptyObjectVal)
	}
	return f.value(a.ImpliedType())
}

// value generates a value of a type: random strings, and otherwise the smallest value.
func (f *filler) value(ty cty.Type) cty.Value {
	switch {
	case ty == cty.String:
		return cty.StringVal(f.random())
	case ty == cty.Number:
		return cty.Zero
	case ty == cty.Bool:
		return cty.False
	case ty.IsListType():
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsMapType():
		return cty.MapValEmpty(ty.ElementType())
	case ty.IsTupleType():
		list := make([]cty.Value, 0, ty.Length())
		for _, e := range ty.TupleElementTypes() {
			list = append(list, f.value(e))
		}
		return cty.TupleVal(list)
	case ty.IsObjectType():
		vals := map[string]cty.Value{}
		atys := ty.AttributeTypes()
		for _, name := range slices.Sorted(maps.Keys(atys)) {
			vals[name] = f.value(atys[name])
		}
		return cty.ObjectVal(vals)
	}
	return cty.NullVal(ty)
}
