package value

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// SchemaSensitivePaths returns the paths in a value that its schema declares sensitive, sorted. Null and unknown
// objects have no paths within them. Sensitive attributes of set elements have the path of the set.
func SchemaSensitivePaths(block *provider.Block, v cty.Value) []cty.Path {
	if !block.HasSensitive() {
		return nil
	}
	var f sensitiveFinder
	f.block(block, nil, v)
	return UnionPaths(f.found)
}

// SensitivePaths returns all sensitive paths of a value: those of the schema, and the configured paths that exist in
// the value.
func SensitivePaths(block *provider.Block, v cty.Value, configured []cty.Path) []cty.Path {
	paths := SchemaSensitivePaths(block, v)
	if len(configured) == 0 {
		return paths
	}
	return UnionPaths(paths, Existing(v, configured))
}

// Existing returns the paths that exist in a value, sorted. A path into a set becomes the path of the set.
func Existing(v cty.Value, paths []cty.Path) []cty.Path {
	var have []cty.Path
	for _, p := range paths {
		if _, at, ok := lookup(v, p); ok && !insideUnknown(v, at) {
			have = append(have, at)
		}
	}
	return UnionPaths(have)
}

// insideUnknown reports whether a path passes through an unknown value, which has no parts to mark.
func insideUnknown(v cty.Value, path cty.Path) bool {
	for n := range path {
		if at, _, ok := lookup(v, path[:n]); ok {
			if at, _ = at.Unmark(); !at.IsKnown() {
				return true
			}
		}
	}
	return false
}

// MarkSensitive is MarkAt for the mark Sensitive.
func MarkSensitive(v cty.Value, paths []cty.Path) cty.Value { return MarkAt(v, Sensitive, paths) }

type sensitiveFinder struct{ found []cty.Path }

func (f *sensitiveFinder) block(b *provider.Block, path cty.Path, v cty.Value) {
	v, _ = v.Unmark()
	if absent(v) {
		return
	}
	attributes, blocks := b.Sensitive()
	for _, name := range attributes {
		f.attribute(name, b.Attributes[name], path, v, true)
	}
	for _, name := range blocks {
		if ctyfast.NullAttr(v, name) {
			continue
		}
		nb := b.Blocks[name]
		f.each(nb.Nesting, path.GetAttr(name), ctyfast.Attr(v, name), func(f *sensitiveFinder, path cty.Path,
			v cty.Value) {
			f.block(&nb.Block, path, v)
		})
	}
}

// attribute collects the sensitive paths in an attribute of a block or nested object. Sensitive attributes of blocks
// are also searched for sensitive parts: this hides nothing more, but Terraform stores these paths.
func (f *sensitiveFinder) attribute(name string, a *provider.Attribute, path cty.Path, v cty.Value, ofBlock bool) {
	if a.Sensitive {
		f.found = append(f.found, path.GetAttr(name))
	}
	if a.Nested == nil || !attributeHasSensitive(a) || a.Sensitive && !ofBlock {
		return
	}
	f.each(a.Nested.Nesting, path.GetAttr(name), ctyfast.Attr(v, name), func(f *sensitiveFinder, path cty.Path,
		v cty.Value) {
		if v, _ = v.Unmark(); absent(v) {
			return
		}
		for name, inner := range a.Nested.Attributes {
			f.attribute(name, inner, path, v, false)
		}
	})
}

// each visits the objects of a nested attribute or of blocks.
func (f *sensitiveFinder) each(nesting provider.Nesting, path cty.Path, v cty.Value,
	visit func(*sensitiveFinder, cty.Path, cty.Value)) {
	v, _ = v.Unmark()
	switch {
	case absent(v):
	case nesting == provider.NestingSingle || nesting == provider.NestingGroup:
		visit(f, path, v)
	case isSequence(v):
		for i := range v.LengthInt() {
			visit(f, path.Index(intKey(i)), v.Index(intKey(i)))
		}
	case v.Type().IsSetType():
		var inside sensitiveFinder
		for _, ev := range ctyfast.Each(v) {
			visit(&inside, nil, ev)
		}
		if len(inside.found) > 0 {
			f.found = append(f.found, path)
		}
	default:
		for key, ev := range v.AsValueMap() {
			at := path.IndexString(key)
			if v.Type().IsObjectType() {
				at = path.GetAttr(key) // blocks of different types
			}
			visit(f, at, ev)
		}
	}
}
