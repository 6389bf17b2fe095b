package handler

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// replacementFinder finds the paths with force_new, at any depth, at which two objects differ. An object that only one
// of them has is compared with one whose attributes are null.
type replacementFinder struct {
	words func(*provider.Attribute) *manifest.Words
	found []cty.Path
}

func (f *replacementFinder) object(path cty.Path, attrs map[string]*provider.Attribute,
	blocks map[string]*provider.NestedBlock, prior, now cty.Value) {
	for name, a := range attrs {
		at, was, is := path.GetAttr(name), attrOf(prior, name, a.ImpliedType()), attrOf(now, name, a.ImpliedType())
		switch {
		case was.RawEquals(is):
		case f.words(a).ForceNew:
			f.found = append(f.found, at.Copy())
		case a.Nested != nil:
			f.members(a.Nested.Nesting, at, a.Nested.Attributes, nil, was, is)
		}
	}
	for name, nb := range blocks {
		was, is := attrOf(prior, name, nb.ImpliedType()), attrOf(now, name, nb.ImpliedType())
		if !was.RawEquals(is) {
			f.members(nb.Nesting, path.GetAttr(name), nb.Attributes, nb.Blocks, was, is)
		}
	}
}

func attrOf(obj cty.Value, name string, ty cty.Type) cty.Value {
	switch {
	case !obj.IsKnown():
		return cty.UnknownVal(ty)
	case obj.IsNull():
		return cty.NullVal(ty)
	}
	return obj.GetAttr(name)
}

func (f *replacementFinder) members(nesting provider.Nesting, path cty.Path, attrs map[string]*provider.Attribute,
	blocks map[string]*provider.NestedBlock, prior, now cty.Value) {
	switch nesting {
	case provider.NestingSingle, provider.NestingGroup:
		f.object(path, attrs, blocks, prior, now)
		return
	case provider.NestingSet:
		if f.projected(attrs, blocks, prior) != f.projected(attrs, blocks, now) {
			f.found = append(f.found, path.Copy())
		}
		return
	}
	was, is := keyed(prior), keyed(now)
	for key := range is {
		if _, ok := was[key]; !ok {
			was[key] = cty.NullVal(is[key].Type())
		}
	}
	for key, w := range was {
		i, ok := is[key]
		if !ok {
			i = cty.NullVal(w.Type())
		}
		f.object(append(path.Copy(), cty.IndexStep{Key: key.value()}), attrs, blocks, w, i)
	}
}

// key is an index of a list or a key of a map.
type key struct {
	text   string
	number int64
	isText bool
}

func (k key) value() cty.Value {
	if k.isText {
		return cty.StringVal(k.text)
	}
	return cty.NumberIntVal(k.number)
}

// keyed returns the elements of a list or map. A null or unknown value has none.
func keyed(v cty.Value) map[key]cty.Value {
	out := map[key]cty.Value{}
	switch {
	case v.IsNull() || !v.IsKnown():
	case v.Type().IsMapType() || v.Type().IsObjectType():
		for name, ev := range v.AsValueMap() {
			out[key{text: name, isText: true}] = ev
		}
	default:
		for i, ev := range v.AsValueSlice() {
			out[key{number: int64(i)}] = ev
		}
	}
	return out
}

// projected encodes the parts of a set's elements with force_new, sorted and without duplicates, because elements of a
// set cannot be compared one by one.
func (f *replacementFinder) projected(attrs map[string]*provider.Attribute, blocks map[string]*provider.NestedBlock,
	set cty.Value) string {
	if set.IsNull() {
		return ""
	}
	if !set.IsKnown() {
		return "unknown"
	}
	var parts []string
	for _, ev := range set.AsValueSlice() {
		parts = append(parts, f.projection(attrs, blocks, ev))
	}
	slices.Sort(parts)
	out := ""
	for _, p := range slices.Compact(parts) {
		out += p
	}
	return out
}

func (f *replacementFinder) projection(attrs map[string]*provider.Attribute, blocks map[string]*provider.NestedBlock,
	v cty.Value) string {
	out := ""
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		a := attrs[name]
		av := attrOf(v, name, a.ImpliedType())
		switch {
		case f.words(a).ForceNew:
			out += name + "=" + av.GoString() + ";"
		case a.Nested != nil:
			members(a.Nested.Nesting, nil, av, func(path cty.Path, v cty.Value) {
				out += name + value.FormatPath(path) + "{" + f.projection(a.Nested.Attributes, nil, v) + "}"
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		nb := blocks[name]
		members(nb.Nesting, nil, attrOf(v, name, nb.ImpliedType()), func(path cty.Path, v cty.Value) {
			out += name + value.FormatPath(path) + "{" + f.projection(nb.Attributes, nb.Blocks, v) + "}"
		})
	}
	return out
}
