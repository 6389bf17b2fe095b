package value

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// IgnoreChanges removes the ignored changes from a configuration, before Propose: at each path the prior value replaces
// the configured one. A path that ends in a key of a map restores, adds or removes that one key. A path that the prior
// object or the configuration does not have is ignored.
//
// With all, the whole prior object replaces the configuration, without the values that only the provider sets.
//
// Ignoring applies to existing objects: with a null prior object, or for the second plan of a replacement, the
// configuration is not changed.
func IgnoreChanges(block *provider.Block, prior, config cty.Value, paths []cty.Path, all bool) cty.Value {
	if prior.IsNull() {
		return config
	}
	if all {
		return NullReadOnly(block, prior)
	}
	return keepPrior(prior, config, paths)
}

// IgnorePlanned does the same to the planned object of a provider with the legacy type system, which may have reverted
// ignored changes. With all, the plan is the prior object.
func IgnorePlanned(prior, planned cty.Value, paths []cty.Path, all bool) cty.Value {
	switch {
	case prior.IsNull():
		return planned
	case all:
		return prior
	}
	return keepPrior(prior, planned, paths)
}

// IgnoreMarks returns the sensitive paths of a configuration after IgnoreChanges: prior values keep their marks, and
// replaced ones lose theirs.
func IgnoreMarks(prior, config cty.Value, was, now []cty.Path, paths []cty.Path, all bool) []cty.Path {
	if all {
		return was
	}
	marks := now
	for _, path := range paths {
		if !restores(prior, config, path) {
			continue
		}
		marks = slices.DeleteFunc(slices.Clone(marks), func(p cty.Path) bool { return p.HasPrefix(path) })
		for _, p := range was {
			switch {
			case p.HasPrefix(path):
				marks = append(marks, p)
			case path.HasPrefix(p):
				marks = append(marks, path)
			}
		}
	}
	return marks
}

// restores reports whether ignoring a path restores the prior value there.
func restores(prior, config cty.Value, path cty.Path) bool {
	if _, ok := mapKey(path); ok {
		path = path[:len(path)-1]
	}
	_, had := exactly(prior, path)
	v, has := exactly(config, path)
	return had && has && (v.IsKnown() || !v.Type().IsMapType())
}

func keepPrior(prior, v cty.Value, paths []cty.Path) cty.Value {
	if absent(v) || len(paths) == 0 {
		return v
	}
	// A path inside another one is done first, so that the outer one takes precedence.
	paths = slices.Clone(paths)
	slices.SortStableFunc(paths, func(a, b cty.Path) int { return len(b) - len(a) })
	original := v
	for _, path := range paths {
		v = keepPriorAt(prior, original, v, path)
	}
	return v
}

func keepPriorAt(prior, original, v cty.Value, path cty.Path) cty.Value {
	if key, ok := mapKey(path); ok {
		outer := path[:len(path)-1]
		was, wok := exactly(prior, outer)
		now, nok := exactly(original, outer)
		if !wok || !nok || ctyfast.RawEquals(was, now) {
			return v
		}
		return updateAt(v, []cty.Path{outer}, func(m cty.Value) cty.Value { return keepPriorKey(was, m, key) })
	}
	was, wok := exactly(prior, path)
	now, nok := exactly(original, path)
	if !wok || !nok || ctyfast.RawEquals(was, now) {
		return v
	}
	if now.Type().IsMapType() && !now.IsKnown() {
		// Terraform does not restore a map without known keys, even if the whole map is ignored.
		return v
	}
	return updateAt(v, []cty.Path{path}, func(cty.Value) cty.Value { return was })
}

// mapKey returns the map key at the end of a path, if there is one.
func mapKey(path cty.Path) (string, bool) {
	if len(path) == 0 {
		return "", false
	}
	index, ok := path[len(path)-1].(cty.IndexStep)
	if !ok || !namesElement(index.Key) || index.Key.Type() != cty.String {
		return "", false
	}
	return index.Key.AsString(), true
}

// exactly returns the value at a path, where each step must match: an attribute of an object, a key of a map, an index
// of a list. A path into a set does not exist.
func exactly(v cty.Value, path cty.Path) (cty.Value, bool) {
	found, err := path.Apply(v)
	return found, err == nil
}

// keepPriorKey returns a map with the prior value of one key, or without the key if it did not exist. A value other
// than a map has no such keys: a["key"] of an object stands for the whole object, as in Terraform.
func keepPriorKey(was, now cty.Value, key string) cty.Value {
	ty := now.Type()
	switch {
	case !ty.IsMapType():
		return was
	case !now.IsKnown() || !was.IsKnown():
		return now // a single key of an unknown value cannot be kept
	}
	vals := map[string]cty.Value{}
	if !now.IsNull() && now.LengthInt() > 0 {
		vals = now.AsValueMap()
	}
	if old, had := elementByKey(was, key); had {
		vals[key] = old
	} else {
		delete(vals, key)
	}
	switch {
	case len(vals) == 0 && now.IsNull():
		return now
	case len(vals) == 0:
		return cty.MapValEmpty(ty.ElementType())
	case !cty.CanMapVal(vals):
		return now // attributes of any type may have held a map of another type
	}
	return cty.MapVal(vals)
}
