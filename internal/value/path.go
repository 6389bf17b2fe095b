package value

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/zclconf/go-cty/cty"
)

// PathError is a problem at one path of an object. Problem is a clause without a full stop, such as `planned "b", but
// the configuration says "a"`; it shows no sensitive values.
type PathError struct {
	Path    cty.Path
	Problem string
	// Quoted holds the foreign parts of the problem: values, and names from outside of the engine.
	Quoted []string
	// Tolerable problems are accepted from a provider that sets LegacyTypeSystem, whose framework cannot avoid them.
	// All others are errors for every provider.
	Tolerable bool
}

// AlwaysErrors returns the problems that are errors even under the legacy type system.
func AlwaysErrors(errs []PathError) []PathError {
	var hard []PathError
	for _, e := range errs {
		if !e.Tolerable {
			hard = append(hard, e)
		}
	}
	return hard
}

// Error returns the path and the problem.
func (e PathError) Error() string {
	if len(e.Path) == 0 {
		return "the object: " + e.Problem
	}
	return FormatPath(e.Path) + ": " + e.Problem
}

// FormatPath formats a path for messages: .attr["key"][0].x. The empty path is "". A step into a set, which can only be
// named by the element itself, is written as [*]: the element may be long or secret.
func FormatPath(path cty.Path) string {
	var b strings.Builder
	for _, s := range path {
		switch s := s.(type) {
		case cty.GetAttrStep:
			b.WriteByte('.')
			b.WriteString(s.Name)
		case cty.IndexStep:
			b.WriteString(formatKey(s.Key))
		}
	}
	return b.String()
}

func formatKey(key cty.Value) string {
	key, marks := key.Unmark()
	switch {
	case len(marks) > 0 || absent(key):
		return "[*]"
	case key.Type() == cty.String:
		return "[" + strconv.Quote(key.AsString()) + "]"
	case key.Type() == cty.Number:
		return "[" + key.AsBigFloat().Text('f', -1) + "]"
	}
	return "[*]"
}

// ComparePaths compares paths step by step: attributes by name before indexes, numbers before strings, and a path
// before its continuations. It is the order of every list of paths that the engine stores or prints.
func ComparePaths(a, b cty.Path) int { return comparePaths(a, b) }

// SortPaths sorts paths in place by ComparePaths.
func SortPaths(paths []cty.Path) { slices.SortFunc(paths, comparePaths) }

// UnionPaths returns all paths of the lists, sorted and unique. It does not change the lists.
func UnionPaths(lists ...[]cty.Path) []cty.Path {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	if n == 0 {
		return nil
	}
	all := make([]cty.Path, 0, n)
	for _, l := range lists {
		all = append(all, l...)
	}
	SortPaths(all)
	return slices.CompactFunc(all, func(a, b cty.Path) bool { return comparePaths(a, b) == 0 })
}

// SubtractPaths returns the paths of a that are not in b, sorted.
func SubtractPaths(a, b []cty.Path) []cty.Path {
	drop := UnionPaths(b)
	return slices.DeleteFunc(UnionPaths(a), func(p cty.Path) bool { return HasPath(drop, p) })
}

// HasPath reports whether a sorted list contains a path.
func HasPath(sorted []cty.Path, path cty.Path) bool {
	_, ok := slices.BinarySearchFunc(sorted, path, comparePaths)
	return ok
}

// EqualPaths reports whether two lists contain the same paths in any order.
func EqualPaths(a, b []cty.Path) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	return slices.EqualFunc(UnionPaths(a), UnionPaths(b), func(x, y cty.Path) bool { return comparePaths(x, y) == 0 })
}

// CoveredByAny reports whether a path is one of the given ones or within one. Steps into sets match each other, because
// their elements have no stable key.
func CoveredByAny(path cty.Path, outer []cty.Path) bool {
	return slices.ContainsFunc(outer, func(o cty.Path) bool { return covers(o, path) })
}

// Overlap reports whether one path is within the other or both are equal.
func Overlap(a, b cty.Path) bool { return covers(a, b) || covers(b, a) }

func covers(outer, inner cty.Path) bool {
	if len(outer) > len(inner) {
		return false
	}
	for i, s := range outer {
		if !sameStep(s, inner[i]) {
			return false
		}
	}
	return true
}

func sameStep(a, b cty.PathStep) bool {
	switch a := a.(type) {
	case cty.GetAttrStep:
		b, ok := b.(cty.GetAttrStep)
		return ok && a.Name == b.Name
	case cty.IndexStep:
		b, ok := b.(cty.IndexStep)
		return ok && (!namesElement(a.Key) && !namesElement(b.Key) || a.Key.RawEquals(b.Key))
	}
	return false
}

// namesElement reports whether a key is one of a list or map. A set of strings or numbers looks the same, which only
// makes sameStep stricter there.
func namesElement(key cty.Value) bool {
	return !key.IsMarked() && !absent(key) && (key.Type() == cty.String || key.Type() == cty.Number)
}

// TraversalPath converts the steps of a static reference, such as an element of ignore_changes, to a path. A root name
// becomes an attribute. It returns an error for splats and for indexes that are not known numbers or strings.
func TraversalPath(traversal hcl.Traversal) (cty.Path, error) {
	path := make(cty.Path, 0, len(traversal))
	for _, step := range traversal {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			path = append(path, cty.GetAttrStep{Name: step.Name})
		case hcl.TraverseAttr:
			path = append(path, cty.GetAttrStep{Name: step.Name})
		case hcl.TraverseIndex:
			if !namesElement(step.Key) {
				return nil, fmt.Errorf("an index must be a known number or string")
			}
			path = append(path, cty.IndexStep{Key: step.Key})
		default:
			return nil, fmt.Errorf("only attribute names and indexes are possible here")
		}
	}
	return path, nil
}

// updateAt replaces the parts of a value at the given paths by the results of fn, and rebuilds only the parts on these
// paths. Paths that the value does not have are skipped. A step into a set, or an index of one, stands for the whole
// set. Nested paths are updated from the inside out.
func updateAt(v cty.Value, paths []cty.Path, fn func(cty.Value) cty.Value) cty.Value {
	if len(paths) == 0 {
		return v
	}
	here := false
	var inner []cty.Path
	for _, p := range paths {
		if len(p) == 0 {
			here = true
		} else {
			inner = append(inner, p)
		}
	}
	if len(inner) > 0 {
		bare, marks := v.Unmark()
		switch {
		case absent(bare):
		case bare.Type().IsSetType():
			here = true
		default:
			if updated := updateInside(bare, inner, fn); updated != cty.NilVal {
				v = updated.WithMarks(marks)
			}
		}
	}
	if here {
		return fn(v)
	}
	return v
}

// updateInside is updateAt for the members of an object or collection. It returns NilVal if no path exists.
func updateInside(v cty.Value, paths []cty.Path, fn func(cty.Value) cty.Value) cty.Value {
	ty := v.Type()
	byName := ty.IsObjectType() || ty.IsMapType()
	if !byName && !isSequence(v) {
		return cty.NilVal
	}
	if byName {
		groups := make(map[string][]cty.Path)
		for _, p := range paths {
			if name, ok := nameOf(p[0], ty); ok {
				groups[name] = append(groups[name], p[1:])
			}
		}
		if len(groups) == 0 || v.LengthInt() == 0 {
			return cty.NilVal
		}
		vals := ctyfast.Members(v)
		for name, rest := range groups {
			if old, ok := vals[name]; ok {
				vals[name] = updateAt(old, rest, fn)
			}
		}
		return keyedLike(v, vals)
	}
	groups := make(map[int][]cty.Path)
	for _, p := range paths {
		if i, ok := numberOf(p[0]); ok {
			groups[i] = append(groups[i], p[1:])
		}
	}
	if len(groups) == 0 || v.LengthInt() == 0 {
		return cty.NilVal
	}
	vals := ctyfast.Elements(v)
	for i, rest := range groups {
		if i < len(vals) {
			vals[i] = updateAt(vals[i], rest, fn)
		}
	}
	return sequenceLike(v, vals)
}

// nameOf returns the name in a step into an object or map. Both forms of step apply to both kinds of value, as in the
// language, where a.b and a["b"] are equal.
func nameOf(step cty.PathStep, ty cty.Type) (string, bool) {
	name := ""
	switch step := step.(type) {
	case cty.GetAttrStep:
		name = step.Name
	case cty.IndexStep:
		if !namesElement(step.Key) || step.Key.Type() != cty.String {
			return "", false
		}
		name = step.Key.AsString()
	}
	return name, ty.IsMapType() || ty.HasAttribute(name)
}

func numberOf(step cty.PathStep) (int, bool) {
	index, ok := step.(cty.IndexStep)
	if !ok || !namesElement(index.Key) || index.Key.Type() != cty.Number {
		return 0, false
	}
	i, accuracy := index.Key.AsBigFloat().Int64()
	return int(i), accuracy == 0 && i >= 0
}

// lookup returns the value at a path with the rules of updateAt: leniently, up to a set. at is the path as far as it
// exists.
func lookup(v cty.Value, path cty.Path) (found cty.Value, at cty.Path, ok bool) {
	for i, step := range path {
		v, _ = v.Unmark()
		switch ty := v.Type(); {
		case ty.IsSetType():
			return v, path[:i], true
		case v.IsNull():
			return cty.NilVal, nil, false
		case ty == cty.DynamicPseudoType:
			return cty.DynamicVal, path, true
		case ty.IsObjectType():
			name, has := nameOf(step, ty)
			if !has {
				return cty.NilVal, nil, false
			}
			v = ctyfast.Attr(v, name)
		case !v.IsKnown() && (ty.IsCollectionType() || ty.IsTupleType()):
			return cty.DynamicVal, path, true
		case ty.IsMapType():
			name, has := nameOf(step, ty)
			if has {
				v, has = elementByKey(v, name)
			}
			if !has {
				return cty.NilVal, nil, false
			}
		case isSequence(v):
			n, has := numberOf(step)
			if has {
				v, has = elementAt(v, n)
			}
			if !has {
				return cty.NilVal, nil, false
			}
		default:
			return cty.NilVal, nil, false
		}
	}
	return v, path, true
}

// StepName returns the name of a member or the text of a key or index. The result is false for one that is not known.
func StepName(step cty.PathStep) (string, bool) {
	switch step := step.(type) {
	case cty.GetAttrStep:
		return step.Name, true
	case cty.IndexStep:
		switch {
		case !step.Key.IsKnown() || step.Key.IsNull():
			return "", false
		case step.Key.Type() == cty.String:
			return step.Key.AsString(), true
		case step.Key.Type() == cty.Number:
			return step.Key.AsBigFloat().Text('f', -1), true
		}
	}
	return "", false
}
