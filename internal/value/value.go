// Package value holds the rules for objects of providers: how the engine merges, compares and checks them. They are the
// same for built-in providers, programs and plugins.
//
// The life of an object passes through it in this order:
//
//	CheckConfig     is the configuration of the right shape?
//	IgnoreChanges   what lifecycle.ignore_changes takes back from the configuration
//	Propose         prior object + configuration -> what is asked of the provider
//	Conforms        is the provider's answer of the schema's type at all?
//	CheckPlan       is the planned object one that the configuration allows?
//	FilterReplacePaths, Diff   what really changes, and whether that forces a replacement
//	CheckApplied    is the result what was planned, unknown parts aside? (also: second plan against first)
//	CheckRefreshed, CheckData  is what was read complete?
//	CheckOpened                does an ephemeral object keep what is configured?
//
// Around these stand the rules for single properties: write-only attributes (NullWriteOnly), attributes to be decided
// by the provider (SetUnknowns), sensitivity (SensitivePaths, MarkSensitive and the marks themselves), null collections
// of old providers (NormalizeRead), and paths (FormatPath, SortPaths, UnionPaths).
//
// Values given to these functions carry no marks, unless a function says so: UnmarkDeep takes them off and remembers
// where they were. The checks accept such paths as hidden, so that no message shows what the configuration declared
// sensitive; what the schema declares sensitive they hide by themselves. Object values conform to the type of their
// block (see Conforms); a value that does not is a broken invariant and panics.
//
// What the package leaves out: it calls no provider. Its checks know no addresses and write no diagnostics: a PathError
// says where in the object the problem is and what was found, and BadAnswer makes a diagnostic of it.
//
// All functions are pure and safe for concurrent use. They are called once or more for every instance of a run, so the
// ordinary cases (nothing nested, nothing sensitive, nothing changed) are decided without building new values: Propose
// returns the configuration or the prior object itself where the merge is equal to it.
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

// absent reports whether a value has no content: it is null or unknown as a whole.
func absent(v cty.Value) bool { return v.IsNull() || !v.IsKnown() }

// attrOf reads an attribute of an object that may be null; the attribute is null then.
func attrOf(obj cty.Value, name string, like cty.Value) cty.Value {
	if obj.IsNull() {
		return cty.NullVal(like.Type())
	}
	return ctyfast.Attr(obj, name)
}

// smallInts are the keys of the first elements of lists. Numbers are immutable, so all callers share them.
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

// isSequence reports that the elements of a value are found by number: it is a list or a tuple.
func isSequence(v cty.Value) bool { return v.Type().IsListType() || v.Type().IsTupleType() }

// elementByKey finds an element of a map, or an attribute of an object that stands for a map of dynamic blocks.
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

// elementAt finds an element of a list or tuple.
func elementAt(v cty.Value, i int) (cty.Value, bool) {
	if absent(v) || i >= v.LengthInt() {
		return cty.NilVal, false
	}
	return v.Index(intKey(i)), true
}

// sequenceLike builds a list or tuple of the kind of the given one. Elements whose types have become different make a
// tuple.
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

// keyedLike builds a map or object of the kind of the given one.
func keyedLike(like cty.Value, vals map[string]cty.Value) cty.Value {
	switch {
	case like.Type().IsObjectType() || !cty.CanMapVal(vals):
		return cty.ObjectVal(vals)
	case len(vals) == 0:
		return cty.MapValEmpty(like.Type().ElementType())
	default:
		return cty.MapVal(vals)
	}
}

// setLike builds a set of the type of the given one.
func setLike(like cty.Value, vals []cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.SetValEmpty(like.Type().ElementType())
	}
	return cty.SetVal(vals)
}
