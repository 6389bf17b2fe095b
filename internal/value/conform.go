package value

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// Conforms reports whether a value is of the type that a block implies. It is called first for all values from outside
// of the engine; null and unknown objects conform.
//
// Responses have no marks: sensitivity is declared in the schema.
//
// It checks more than the type: if a list or map of nested blocks has attributes of any type, its own type is any, but
// the other functions of this package require a tuple or object of such blocks.
func Conforms(block *provider.Block, v cty.Value) []PathError {
	c := checker{block: block, hard: true}
	c.conforms(v)
	return c.result()
}

func (c *checker) conforms(v cty.Value) bool {
	if v == cty.NilVal {
		c.failf("there is no value")
		return false
	}
	if ctyfast.ContainsMarked(v) {
		c.failf("the value has marks; sensitive attributes are declared in the schema")
		return false
	}
	want := c.block.ImpliedType()
	if !c.block.HasDynamic() && ctyfast.SameType(v.Type(), want) {
		return true
	}
	before := len(c.errs)
	c.conformingType(v.Type(), want)
	if len(c.errs) == before && !absent(v) {
		c.conformingBlocks(c.block, v)
	}
	return len(c.errs) == before
}

// conformingType compares types member by member if possible, so that the message is about the wrong part.
func (c *checker) conformingType(got, want cty.Type) {
	switch {
	case want == cty.DynamicPseudoType || ctyfast.SameType(got, want):
	case got.IsObjectType() && want.IsObjectType():
		for name := range got.AttributeTypes() {
			if !want.HasAttribute(name) {
				c.enterAttr(name)
				c.failf("the schema has no such attribute")
				c.leave()
			}
		}
		for name, aty := range want.AttributeTypes() {
			c.enterAttr(name)
			if got.HasAttribute(name) {
				c.conformingType(got.AttributeType(name), aty)
			} else {
				c.failf("the attribute is missing (one without a value must be null)")
			}
			c.leave()
		}
	case got.IsCollectionType() && want.IsCollectionType() && sameKind(got, want):
		before := len(c.errs)
		c.conformingType(got.ElementType(), want.ElementType())
		for i := before; i < len(c.errs); i++ {
			// A type has no elements, and so no path to one.
			c.errs[i].Problem = "in each element: " + c.errs[i].Problem
		}
	case got.IsTupleType() && want.IsTupleType() && len(got.TupleElementTypes()) == len(want.TupleElementTypes()):
		for i, ety := range want.TupleElementTypes() {
			c.enterIndex(i)
			c.conformingType(got.TupleElementType(i), ety)
			c.leave()
		}
	default:
		c.failf("%s required, found %s", want.FriendlyNameForConstraint(), got.FriendlyName())
	}
}

func sameKind(a, b cty.Type) bool {
	return a.IsListType() == b.IsListType() && a.IsSetType() == b.IsSetType() && a.IsMapType() == b.IsMapType()
}

// conformingBlocks checks collections of blocks that have no implied type.
func (c *checker) conformingBlocks(b *provider.Block, v cty.Value) {
	for name, nb := range b.Blocks {
		if !nb.Block.ImpliedType().HasDynamicTypes() {
			continue
		}
		bv := ctyfast.Attr(v, name)
		if absent(bv) {
			continue
		}
		c.enterAttr(name)
		switch nb.Nesting {
		case provider.NestingList:
			if !isSequence(bv) {
				c.failf("a list or tuple of blocks required, found %s", bv.Type().FriendlyName())
				break
			}
			for i := range bv.LengthInt() {
				c.enterIndex(i)
				c.conformingBlock(&nb.Block, bv.Index(intKey(i)))
				c.leave()
			}
		case provider.NestingMap:
			if !bv.Type().IsObjectType() && !bv.Type().IsMapType() {
				c.failf("a map or object of blocks required, found %s", bv.Type().FriendlyName())
				break
			}
			for key, ev := range bv.AsValueMap() {
				c.enterKey(key)
				c.conformingBlock(&nb.Block, ev)
				c.leave()
			}
		case provider.NestingSingle, provider.NestingGroup:
			c.conformingBlock(&nb.Block, bv)
		}
		c.leave()
	}
}

func (c *checker) conformingBlock(b *provider.Block, v cty.Value) {
	before := len(c.errs)
	c.conformingType(v.Type(), b.ImpliedType())
	if len(c.errs) == before && !absent(v) {
		c.conformingBlocks(b, v)
	}
}

// CheckConfig reports whether a configuration is valid for its block: conforming, required attributes set, attributes
// that only the provider sets unset, and neither too few nor too many nested blocks. Unknown values are assumed to be
// valid.
func CheckConfig(block *provider.Block, config cty.Value) []PathError {
	c := configChecker{checker{block: block, hard: true}}
	if c.conforms(config) {
		c.object(blockShape(block), config)
	}
	return c.result()
}

type configChecker struct{ checker }

func (c *configChecker) object(s shape, v cty.Value) {
	if absent(v) {
		return
	}
	for name, a := range s.attrs {
		c.enterAttr(name)
		c.attribute(a, ctyfast.Attr(v, name))
		c.leave()
	}
	for name, nb := range s.blocks {
		c.enterAttr(name)
		c.blockCount(nb, ctyfast.Attr(v, name))
		c.members(blockShape(&nb.Block), nb.Nesting, ctyfast.Attr(v, name))
		c.leave()
	}
}

func (c *configChecker) attribute(a *provider.Attribute, v cty.Value) {
	switch {
	case v.IsNull():
		if a.Required {
			c.failf("the attribute is required, but it is not set")
		}
	case !a.Required && !a.Optional:
		c.failf("the attribute cannot be set: its value is decided by the provider")
	case a.Nested != nil:
		c.members(objectShape(a.Nested), a.Nested.Nesting, v)
	}
}

func (c *configChecker) blockCount(nb *provider.NestedBlock, v cty.Value) {
	if !v.IsKnown() {
		return
	}
	n := 0
	switch {
	case v.IsNull() || nb.Nesting == provider.NestingGroup:
	case nb.Nesting == provider.NestingSingle:
		n = 1
	default:
		n = v.LengthInt()
	}
	switch {
	case nb.Nesting == provider.NestingGroup:
	case n < nb.MinItems:
		c.failf("at least %d blocks required, found %d", nb.MinItems, n)
	case nb.Nesting == provider.NestingSet && !ctyfast.WhollyKnown(v):
		// Unknown elements may become equal.
	case nb.MaxItems > 0 && n > nb.MaxItems:
		c.failf("no more than %d blocks allowed, found %d", nb.MaxItems, n)
	}
}

// members visits the objects of a nested attribute or of blocks.
func (c *configChecker) members(s shape, nesting provider.Nesting, v cty.Value) {
	if absent(v) {
		return
	}
	switch nesting {
	case provider.NestingList:
		for i := range v.LengthInt() {
			c.enterIndex(i)
			c.object(s, v.Index(intKey(i)))
			c.leave()
		}
	case provider.NestingMap:
		for key, ev := range v.AsValueMap() {
			c.enterKey(key)
			c.object(s, ev)
			c.leave()
		}
	case provider.NestingSet:
		before := len(c.errs)
		for _, ev := range ctyfast.Each(v) {
			c.object(s, ev)
		}
		c.inSet(before)
	default:
		c.object(s, v)
	}
}
