package value

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// CheckWriteOnly reports whether all write-only attributes are null, as in every valid response of a provider.
func CheckWriteOnly(block *provider.Block, v cty.Value) []PathError {
	c := checker{block: block, hard: true}
	c.writeOnlyNull(blockShape(block), block.HasWriteOnly(), v)
	return c.result()
}

func (c *checker) writeOnlyNull(s shape, possible bool, v cty.Value) {
	if !possible || absent(v) {
		return
	}
	for name, a := range s.attrs {
		if !a.WriteOnly && a.Nested == nil {
			continue
		}
		av := ctyfast.Attr(v, name)
		switch {
		case a.WriteOnly && !av.IsNull():
			c.enterAttr(name)
			c.failf("the attribute is write-only, but the provider set it; it must be null")
			c.leave()
		case a.Nested != nil && holdsWriteOnly(a.Nested):
			c.enterAttr(name)
			c.eachWriteOnly(objectShape(a.Nested), a.Nested.Nesting, av)
			c.leave()
		}
	}
	for name, nb := range s.blocks {
		if nb.HasWriteOnly() {
			c.enterAttr(name)
			c.eachWriteOnly(blockShape(&nb.Block), nb.Nesting, ctyfast.Attr(v, name))
			c.leave()
		}
	}
}

// holdsWriteOnly reports whether a nested object has a write-only attribute at any depth.
func holdsWriteOnly(o *provider.NestedObject) bool {
	for _, a := range o.Attributes {
		if a.WriteOnly || a.Nested != nil && holdsWriteOnly(a.Nested) {
			return true
		}
	}
	return false
}

func (c *checker) eachWriteOnly(s shape, nesting provider.Nesting, v cty.Value) {
	switch {
	case absent(v):
	case nesting == provider.NestingSingle || nesting == provider.NestingGroup:
		c.writeOnlyNull(s, true, v)
	case isSequence(v):
		for i := range v.LengthInt() {
			c.enterIndex(i)
			c.writeOnlyNull(s, true, v.Index(intKey(i)))
			c.leave()
		}
	case v.Type().IsSetType():
		before := len(c.errs)
		for _, ev := range ctyfast.Each(v) {
			c.writeOnlyNull(s, true, ev)
		}
		c.inSet(before)
	default:
		for key, ev := range v.AsValueMap() {
			c.enterKey(key)
			c.writeOnlyNull(s, true, ev)
			c.leave()
		}
	}
}

// CheckKnown reports every unknown part: the result of an apply or a read must be wholly known.
func CheckKnown(v cty.Value) []PathError {
	var errs []PathError
	for _, path := range UnknownPaths(v) {
		errs = append(errs, PathError{Path: path, Problem: "the value is still unknown"})
	}
	return errs
}

// UnknownPaths returns the paths of all unknown values, sorted. An unknown value in a set has the path of the set.
func UnknownPaths(v cty.Value) []cty.Path {
	if ctyfast.WhollyKnown(v) {
		return nil
	}
	var found []cty.Path
	var walk func(path cty.Path, v cty.Value)
	walk = func(path cty.Path, v cty.Value) {
		v, _ = v.Unmark()
		ty := v.Type()
		switch {
		case ctyfast.WhollyKnown(v):
		case !v.IsKnown() || ty.IsSetType():
			found = append(found, path.Copy())
		case ty.IsObjectType():
			for name, ev := range v.AsValueMap() {
				walk(append(path, cty.GetAttrStep{Name: name}), ev)
			}
		default:
			for k, ev := range ctyfast.Each(v) {
				walk(append(path, cty.IndexStep{Key: k}), ev)
			}
		}
	}
	walk(nil, v)
	SortPaths(found)
	return found
}

// CheckRefreshed reports whether an object that was read may replace the prior one: conforming, wholly known, and
// without values for write-only attributes. A null object means that the real one no longer exists. Differences from
// the prior object are not problems.
func CheckRefreshed(block *provider.Block, v cty.Value) []PathError {
	c := checker{block: block, hard: true}
	if !c.conforms(v) {
		return c.result()
	}
	c.writeOnlyNull(blockShape(block), block.HasWriteOnly(), v)
	c.errs = append(c.errs, CheckKnown(v)...)
	return c.result()
}

// CheckData reports whether the object of a data source is complete: like CheckRefreshed, and not null.
func CheckData(block *provider.Block, v cty.Value) []PathError {
	if errs := CheckRefreshed(block, v); len(errs) > 0 {
		return errs
	}
	if v.IsNull() {
		return []PathError{{Problem: "the provider returned no object"}}
	}
	return nil
}

// CheckOpened reports whether an opened ephemeral object is complete, like CheckData, and keeps configured values: a
// provider may only fill in computed values. No message shows a value of the object.
func CheckOpened(block *provider.Block, config, v cty.Value) []PathError {
	if errs := CheckData(block, v); len(errs) > 0 {
		return errs
	}
	errs := CheckPlan(block, cty.NullVal(v.Type()), config, v)
	for i := range errs {
		errs[i].Problem, errs[i].Quoted = "the value is not the configured one, and the provider may only set "+
			"computed attributes", nil
	}
	return errs
}
