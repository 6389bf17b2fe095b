package value

import (
	"cmp"
	"slices"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/ctymarks"
)

// Mark is a property that expressions propagate from a value to their results.
type Mark string

const (
	// Sensitive values are used as usual but must not be shown to a person.
	Sensitive Mark = "sensitive"
	// Ephemeral values exist for one run only and must not be stored in a plan or a state.
	Ephemeral Mark = "ephemeral"
)

// IsSensitive reports whether the value itself is sensitive. Parts of it may be sensitive even if it is not: see
// HasDeepSensitive.
func IsSensitive(v cty.Value) bool { return v.HasMark(Sensitive) }

// IsEphemeral reports whether the value itself is ephemeral.
func IsEphemeral(v cty.Value) bool { return v.HasMark(Ephemeral) }

// HasDeepSensitive reports whether the value or any part of it is sensitive.
func HasDeepSensitive(v cty.Value) bool { return ctyfast.HasMarkDeep(v, Sensitive) }

// HasDeepEphemeral reports whether the value or any part of it is ephemeral.
func HasDeepEphemeral(v cty.Value) bool { return ctyfast.HasMarkDeep(v, Ephemeral) }

// Withheld returns the replacement for a value that must not be shown, and whether the value is one. It checks only the
// value itself; pass the result of a deep check for a whole structure.
func Withheld(v cty.Value) (string, bool) {
	switch {
	case IsSensitive(v):
		return "(sensitive value)", true
	case IsEphemeral(v):
		return "(ephemeral value)", true
	case v.IsMarked(): // in a for expression, an element of a secret value: see internal/iteration
		return "(sensitive value)", true
	default:
		return "", false
	}
}

// MarkedPaths holds the paths of the marked parts of a value, so that a value can be passed without marks (to a
// provider, to a file) and be marked again afterwards. Paths are in a fixed order: the same value always has the same
// MarkedPaths.
type MarkedPaths struct {
	Sensitive []cty.Path
	Ephemeral []cty.Path
	// Other holds marks that are not from this package.
	Other []cty.PathValueMarks
}

// UnmarkDeep removes all marks and returns their paths. A mark on an element of a set has the path of the set, because
// elements of sets have no stable path.
func UnmarkDeep(v cty.Value) (cty.Value, MarkedPaths) {
	if !ctyfast.ContainsMarked(v) {
		return v, MarkedPaths{}
	}
	unmarked, found := v.UnmarkDeepWithPaths()
	var paths MarkedPaths
	for _, at := range found {
		rest := cty.ValueMarks{}
		for mark := range at.Marks {
			switch mark {
			case Sensitive:
				paths.Sensitive = append(paths.Sensitive, at.Path)
			case Ephemeral:
				paths.Ephemeral = append(paths.Ephemeral, at.Path)
			default:
				rest[mark] = struct{}{}
			}
		}
		if len(rest) > 0 {
			paths.Other = append(paths.Other, cty.PathValueMarks{Path: at.Path, Marks: rest})
		}
	}
	slices.SortFunc(paths.Sensitive, comparePaths)
	slices.SortFunc(paths.Ephemeral, comparePaths)
	slices.SortFunc(paths.Other, func(a, b cty.PathValueMarks) int { return comparePaths(a.Path, b.Path) })
	return unmarked, paths
}

// None reports whether nothing was marked.
func (p MarkedPaths) None() bool {
	return len(p.Sensitive) == 0 && len(p.Ephemeral) == 0 && len(p.Other) == 0
}

// Stored returns the paths that are sensitive in planned and stored values. Ephemeral values are null there, so there
// is nothing to hide.
func (p MarkedPaths) Stored() []cty.Path {
	if len(p.Ephemeral) == 0 {
		return p.Sensitive
	}
	return slices.DeleteFunc(slices.Clone(p.Sensitive), func(path cty.Path) bool {
		return slices.ContainsFunc(p.Ephemeral, path.HasPrefix)
	})
}

// Apply marks the value at all the paths. Paths that the value does not have are ignored: a value from outside may have
// lost the marked part.
func (p MarkedPaths) Apply(v cty.Value) cty.Value {
	if p.None() {
		return v
	}
	all := make([]cty.PathValueMarks, 0, len(p.Sensitive)+len(p.Ephemeral)+len(p.Other))
	for _, path := range p.Sensitive {
		all = append(all, cty.PathValueMarks{Path: path, Marks: cty.NewValueMarks(Sensitive)})
	}
	for _, path := range p.Ephemeral {
		all = append(all, cty.PathValueMarks{Path: path, Marks: cty.NewValueMarks(Ephemeral)})
	}
	return markAll(v, append(all, p.Other...))
}

// MarkAt adds a mark to the parts of a value at the paths. Paths that the value does not have are ignored; a path into
// a set marks the set. Only the parts on the paths are rebuilt.
func MarkAt(v cty.Value, mark Mark, paths []cty.Path) cty.Value {
	return updateAt(v, paths, func(v cty.Value) cty.Value {
		if v.HasMark(mark) {
			return v
		}
		return v.Mark(mark)
	})
}

// markAll replaces cty's MarkWithPaths: that uses only the first marks of a repeated path, and takes time proportional
// to the number of parts of the value times the number of paths.
func markAll(v cty.Value, all []cty.PathValueMarks) cty.Value {
	slices.SortStableFunc(all, func(a, b cty.PathValueMarks) int { return comparePaths(a.Path, b.Path) })
	merged := all[:0]
	for _, at := range all {
		if last := len(merged) - 1; last >= 0 && comparePaths(merged[last].Path, at.Path) == 0 {
			merged[last].Marks = cty.NewValueMarks(merged[last].Marks, at.Marks)
		} else {
			merged = append(merged, at)
		}
	}
	marked, err := cty.TransformWithTransformer(v, markTransformer(merged))
	if err != nil {
		panic("value: marking cannot fail: " + err.Error())
	}
	return marked
}

// markTransformer is sorted by path, each path once.
type markTransformer []cty.PathValueMarks

func (m markTransformer) Enter(_ cty.Path, v cty.Value) (cty.Value, error) { return v, nil }

func (m markTransformer) Exit(path cty.Path, v cty.Value) (cty.Value, error) {
	i, found := slices.BinarySearchFunc(m, path, func(at cty.PathValueMarks, path cty.Path) int {
		return comparePaths(at.Path, path)
	})
	if !found {
		return v, nil
	}
	return v.WithMarks(m[i].Marks), nil
}

// WithoutMark removes one mark from the value itself and keeps the others, and all marks of its parts.
func WithoutMark(v cty.Value, mark Mark) cty.Value {
	if !v.HasMark(mark) {
		return v
	}
	unmarked, marks := v.Unmark() // Unmark returns a copy of the set
	delete(marks, mark)
	return unmarked.WithMarks(marks)
}

// WithoutMarkDeep removes one mark from the value and all of its parts, and keeps the others.
func WithoutMarkDeep(v cty.Value, mark Mark) cty.Value {
	if !ctyfast.HasMarkDeep(v, mark) {
		return v
	}
	stripped, err := v.WrangleMarksDeep(func(found any, _ cty.Path) (ctymarks.WrangleAction, error) {
		if found == mark {
			return ctymarks.WrangleDrop, nil
		}
		return ctymarks.WrangleKeep, nil
	})
	if err != nil {
		panic("value: dropping a mark cannot fail: " + err.Error())
	}
	return stripped
}

// comparePaths compares paths step by step: shorter before longer, attributes by name, then numbers, then strings.
func comparePaths(a, b cty.Path) int {
	return slices.CompareFunc(a, b, func(x, y cty.PathStep) int {
		xAttr, xIsAttr := x.(cty.GetAttrStep)
		yAttr, yIsAttr := y.(cty.GetAttrStep)
		switch {
		case xIsAttr && yIsAttr:
			return cmp.Compare(xAttr.Name, yAttr.Name)
		case xIsAttr:
			return -1
		case yIsAttr:
			return 1
		}
		return compareKeys(x.(cty.IndexStep).Key, y.(cty.IndexStep).Key)
	})
}

func compareKeys(x, y cty.Value) int {
	rank := func(v cty.Value) int {
		switch {
		case !v.IsKnown() || v.IsNull() || v.IsMarked():
			return 2
		case v.Type() == cty.Number:
			return 0
		case v.Type() == cty.String:
			return 1
		default:
			return 2
		}
	}
	switch rx, ry := rank(x), rank(y); {
	case rx != ry:
		return cmp.Compare(rx, ry)
	case rx == 0:
		return x.AsBigFloat().Cmp(y.AsBigFloat())
	case rx == 1:
		return cmp.Compare(x.AsString(), y.AsString())
	default:
		return cmp.Compare(x.GoString(), y.GoString())
	}
}
