package value

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// Diff returns the paths at which two values differ, as deep as possible and sorted: attributes, keys and indexes that
// differ or that only one of them has. Sets differ as a whole. Unknown values only equal unknown values of the same
// type and refinements.
func Diff(a, b cty.Value) []cty.Path {
	if ctyfast.RawEquals(a, b) {
		return nil
	}
	d := differ{}
	d.compare(nil, a, b)
	SortPaths(d.found)
	return d.found
}

type differ struct{ found []cty.Path }

func (d *differ) add(path cty.Path) { d.found = append(d.found, path.Copy()) }

func (d *differ) compare(path cty.Path, a, b cty.Value) {
	if ctyfast.RawEquals(a, b) {
		return
	}
	ma, mb := a.IsMarked(), b.IsMarked()
	switch ta, tb := a.Type(), b.Type(); {
	case ma || mb || absent(a) || absent(b):
		d.add(path)
	case ta.IsObjectType() && tb.IsObjectType():
		d.keyed(path, a, b, func(k string) cty.PathStep { return cty.GetAttrStep{Name: k} })
	case ta.IsMapType() && tb.IsMapType():
		d.keyed(path, a, b, func(k string) cty.PathStep { return cty.IndexStep{Key: cty.StringVal(k)} })
	case isSequence(a) && isSequence(b):
		before, n, m := len(d.found), a.LengthInt(), b.LengthInt()
		for i := range max(n, m) {
			at := append(path, cty.IndexStep{Key: intKey(i)})
			if i >= n || i >= m {
				d.add(at)
				continue
			}
			d.compare(at, a.Index(intKey(i)), b.Index(intKey(i)))
		}
		if len(d.found) == before {
			d.add(path) // a list and a tuple with the same elements
		}
	default:
		d.add(path)
	}
}

func (d *differ) keyed(path cty.Path, a, b cty.Value, step func(string) cty.PathStep) {
	before := len(d.found)
	inA, inB := a.AsValueMap(), b.AsValueMap()
	for k, av := range inA {
		at := append(path, step(k))
		if bv, ok := inB[k]; ok {
			d.compare(at, av, bv)
		} else {
			d.add(at)
		}
	}
	for k := range inB {
		if _, ok := inA[k]; !ok {
			d.add(append(path, step(k)))
		}
	}
	if len(d.found) == before {
		d.add(path) // of different types, such as maps of different element types, without a different member
	}
}

// FilterReplacePaths returns the paths, of those that a provider returned as requiring a replacement, at which the
// planned object differs from the prior one, sorted. Unknown values differ, and so do paths that only one of the
// objects has; a path to or into a write-only attribute is always kept, because its old value is unknown. A path into a
// set stands for the set.
//
// invalid are the paths that neither object has, which is a mistake of the provider. Without a prior object there is
// nothing to replace.
func FilterReplacePaths(block *provider.Block, prior, planned cty.Value, paths []cty.Path) (kept, invalid []cty.Path) {
	if prior.IsNull() {
		return nil, nil
	}
	for _, path := range paths {
		was, wasAt, wok := lookup(prior, path)
		now, at, nok := lookup(planned, path)
		if !nok {
			at = wasAt
		}
		switch {
		case !wok && !nok:
			invalid = append(invalid, path)
		case !wok || !nok || isWriteOnly(block, path) || mayDiffer(was, now):
			kept = append(kept, at)
		}
	}
	return UnionPaths(kept), UnionPaths(invalid)
}

func mayDiffer(a, b cty.Value) bool {
	same := a.Equals(b)
	return !same.IsKnown() || same.False()
}

func isWriteOnly(block *provider.Block, path cty.Path) bool {
	if !block.HasWriteOnly() {
		return false
	}
	a := block.AttributeAt(path)
	return a != nil && a.WriteOnly
}
