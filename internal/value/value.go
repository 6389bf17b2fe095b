// Package value implements the rules for objects of providers: how the engine merges, compares and checks them. They
// are the same for built-in providers, programs and plugins.
//
// The functions apply to an object in this order:
//
//	CheckConfig     is the configuration valid for its block?
//	IgnoreChanges   remove the changes in lifecycle.ignore_changes from the configuration
//	Propose         prior object + configuration -> proposed object for the provider
//	Conforms        does the provider's response have the schema's type?
//	CheckPlan       does the configuration allow the planned object?
//	FilterReplacePaths, Diff   what changes, and whether that requires a replacement
//	CheckApplied    does the result match the plan, except for unknown parts? (also: second plan and first plan)
//	CheckRefreshed, CheckData  is the result of a read complete?
//	CheckOpened                does an ephemeral object keep configured values?
//
// There are also rules for single properties: write-only attributes (NullWriteOnly), attributes that the provider sets
// (SetUnknowns), sensitivity (SensitivePaths, MarkSensitive and the marks themselves), null collections of old
// providers (NormalizeRead), and paths (FormatPath, SortPaths, UnionPaths).
//
// Values passed to these functions have no marks, unless documented otherwise: UnmarkDeep removes them and returns
// their paths. The checks accept such paths as hidden, so that no message shows values that the configuration marks as
// sensitive; they hide those that the schema declares sensitive themselves. Object values conform to the type of their
// block (see Conforms); a value that does not is a broken invariant and panics.
//
// The package does not call providers. Its checks do not use addresses and do not create diagnostics: a PathError has
// the path and the problem, and BadAnswer converts it to a diagnostic.
//
// All functions are pure and safe for concurrent use. They are called once or more for every instance of a run, so the
// ordinary cases (nothing nested, nothing sensitive, nothing changed) are handled without building new values: Propose
// returns the configuration or the prior object itself if the merge equals it.
package value

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// shape is the common part of a block and a nested object. A nested object has no blocks.
type shape struct {
	attrs  map[string]*provider.Attribute
	blocks map[string]*provider.NestedBlock
}

func blockShape(b *provider.Block) shape         { return shape{attrs: b.Attributes, blocks: b.Blocks} }
func objectShape(o *provider.NestedObject) shape { return shape{attrs: o.Attributes} }

// absent reports whether a value is null or unknown.
func absent(v cty.Value) bool { return v.IsNull() || !v.IsKnown() }

// attrOf returns an attribute of an object, or null if the object is null.
func attrOf(obj cty.Value, name string, like cty.Value) cty.Value {
	if obj.IsNull() {
		return cty.NullVal(like.Type())
	}
	return ctyfast.Attr(obj, name)
}

// smallInts caches the keys of the first elements of lists. Numbers are immutable, so all callers share them.
var smallInts = func() (keys [128]cty.Value) {
	for i := range keys {
		keys[i] = cty.NumberIntVal(int64(i))
	}
	return keys
}()

func intKey(i int) cty.Value {
	if i < len(smallInts) {
		return smallInts[i]
	}
	return cty.NumberIntVal(int64(i))
}

// isSequence reports whether a value is a list or a tuple.
func isSequence(v cty.Value) bool { return v.Type().IsListType() || v.Type().IsTupleType() }

// elementByKey returns an element of a map, or an attribute of an object that represents a map of dynamic blocks.
func elementByKey(v cty.Value, key string) (cty.Value, bool) {
	switch {
	case absent(v):
		return cty.NilVal, false
	case v.Type().IsObjectType():
		if !v.Type().HasAttribute(key) {
			return cty.NilVal, false
		}
		return ctyfast.Attr(v, key), true
	default:
		k := cty.StringVal(key)
		if v.HasIndex(k).False() {
			return cty.NilVal, false
		}
		return v.Index(k), true
	}
}

// elementAt returns an element of a list or tuple.
func elementAt(v cty.Value, i int) (cty.Value, bool) {
	if absent(v) || i >= v.LengthInt() {
		return cty.NilVal, false
	}
	return v.Index(intKey(i)), true
}

// sequenceLike builds a list or tuple like the given one. Elements of different types result in a tuple.
func sequenceLike(like cty.Value, vals []cty.Value) cty.Value {
	switch {
	case like.Type().IsTupleType() || !cty.CanListVal(vals):
		return cty.TupleVal(vals)
	case len(vals) == 0:
		return cty.ListValEmpty(like.Type().ElementType())
	default:
		return cty.ListVal(vals)
	}
}

// keyedLike builds a map or object like the given one.
func keyedLike(like cty.Value, vals map[string]cty.Value) cty.Value {
	switch {
	case like.Type().IsObjectType():
		return ctyfast.ObjectLike(like, vals)
	case !cty.CanMapVal(vals):
		return cty.ObjectVal(vals)
	case len(vals) == 0:
		return cty.MapValEmpty(like.Type().ElementType())
	default:
		return cty.MapVal(vals)
	}
}

// setLike builds a set of the same type as the given one.
func setLike(like cty.Value, vals []cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.SetValEmpty(like.Type().ElementType())
	}
	return cty.SetVal(vals)
}
