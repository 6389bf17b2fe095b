package value

import (
	"fmt"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// CheckPlan reports whether a planned object is one that the configuration allows. prior is null for a create.
//
// A configured attribute must be planned as configured, or keep its prior value (then both have the same meaning for
// the provider). One that is not configured must be planned as null unless it is computed; then the provider may plan
// any value, including unknown. Write-only attributes are null in every plan. There are as many nested objects as
// configured, and none of them is unknown as a whole unless it is so in the configuration. Elements of sets cannot be
// matched with configured ones: for nested attributes only their number is checked, and for nested blocks, whose number
// old providers change, not even that. Computed blocks that are null in the configuration (see ForPlan) may be planned
// as any value except null. Refinements of unknown values are ignored.
//
// Values at the hidden paths, and those that the schema declares sensitive, appear in no message.
func CheckPlan(block *provider.Block, prior, config, planned cty.Value, hidden ...cty.Path) []PathError {
	c := planChecker{checker{block: block, hidden: hidden}}
	c.hard = true
	if !c.conforms(planned) {
		return c.result()
	}
	c.writeOnlyNull(blockShape(block), block.HasWriteOnly(), planned)
	if !c.presence(config, planned) {
		return c.result()
	}
	if !planned.IsKnown() {
		c.failf("planned as unknown as a whole; only attributes may be unknown")
		return c.result()
	}
	c.hard = false
	c.object(blockShape(block), prior, config, planned)
	return c.result()
}

type planChecker struct{ checker }

// presence reports an object that is planned but not configured, or vice versa. It returns false if there is nothing
// else to compare.
func (c *planChecker) presence(config, planned cty.Value) bool {
	switch {
	case planned.IsNull() && !config.IsNull():
		c.failf("planned to be absent, but the configuration has it")
	case config.IsNull() && !planned.IsNull():
		c.failf("planned to exist, but the configuration does not have it")
	}
	return !planned.IsNull() && !config.IsNull()
}

func (c *planChecker) object(s shape, prior, config, planned cty.Value) {
	for name, a := range s.attrs {
		cv, pv := attrOfBoth(config, planned, name)
		if a.WriteOnly || ctyfast.RawEquals(cv, pv) {
			continue
		}
		c.enterAttr(name)
		c.attribute(a, attrOf(prior, name, cv), cv, pv)
		c.leave()
	}
	for name, nb := range s.blocks {
		cv := ctyfast.Attr(config, name)
		pv := ctyfast.Attr(planned, name)
		// Elements of sets are only checked briefly, which is cheaper than comparing them.
		if nb.Nesting != provider.NestingSet && !nb.Computed && ctyfast.RawEquals(cv, pv) {
			continue
		}
		c.enterAttr(name)
		c.blocks(nb, attrOf(prior, name, cv), cv, pv)
		c.leave()
	}
}

func (c *planChecker) attribute(a *provider.Attribute, prior, config, planned cty.Value) {
	switch {
	case sameIgnoringRefinements(planned, config):
	case a.Computed && !a.Optional:
	case !prior.IsNull() && !config.IsNull() && ctyfast.RawEquals(planned, prior):
	case config.IsNull():
		// The planned value is not null, because then it would be equal.
		if !a.Computed {
			c.failf("planned %s, but the attribute is not configured and the schema does not let the provider "+
				"compute it", planned)
		}
	case a.Nested != nil:
		c.nested(a.Nested, prior, config, planned)
	case prior.IsNull():
		c.failf("planned %s, but the configuration has %s", planned, config)
	default:
		c.failf("planned %s, which is neither the configured value %s nor the prior value %s", planned, config,
			prior)
	}
}

// sameIgnoringRefinements compares like RawEquals, except that unknown values of one type are equal.
func sameIgnoringRefinements(a, b cty.Value) bool {
	if ctyfast.RawEquals(a, b) {
		return true
	}
	if ctyfast.WhollyKnown(a) || ctyfast.WhollyKnown(b) || !a.Type().Equals(b.Type()) {
		return false
	}
	return ctyfast.RawEquals(unrefined(a), unrefined(b))
}

func unrefined(v cty.Value) cty.Value {
	return replaceUnknown(v, func(u cty.Value) cty.Value { return cty.UnknownVal(u.Type()) })
}

// nested checks a nested attribute that is configured and planned differently. Unlike a block it may be unknown in the
// configuration; then so are all its parts.
func (c *planChecker) nested(o *provider.NestedObject, prior, config, planned cty.Value) {
	s := objectShape(o)
	switch {
	case !c.presence(config, planned):
	case !planned.IsKnown():
		c.failf("planned as unknown, but the configuration has %s", config)
	case o.Nesting == provider.NestingSet:
		c.setLength(config, planned)
	case o.Nesting == provider.NestingSingle:
		c.object(s, prior, config, planned)
	case !config.IsKnown():
		c.failf("planned %s, but their number is not yet known in the configuration", planned)
	case o.Nesting == provider.NestingList:
		c.list(prior, config, planned, func(p, cv, pv cty.Value) { c.nestedElement(s, p, cv, pv) })
	case o.Nesting == provider.NestingMap:
		c.keyed(prior, config, planned, func(p, cv, pv cty.Value) { c.nestedElement(s, p, cv, pv) })
	}
}

// attrOfBoth returns an attribute of two objects, one of which may be null.
func attrOfBoth(a, b cty.Value, name string) (cty.Value, cty.Value) {
	if a.IsNull() {
		bv := ctyfast.Attr(b, name)
		return cty.NullVal(bv.Type()), bv
	}
	av := ctyfast.Attr(a, name)
	return av, attrOf(b, name, av)
}

// nestedElement checks one object of a nested attribute against the configured one. A null or unknown object is like
// one with all attributes null or unknown.
func (c *planChecker) nestedElement(s shape, prior, config, planned cty.Value) {
	if !config.IsNull() || !planned.IsNull() {
		c.object(s, prior, config, planned)
	}
}

// element checks one nested block against the configured one.
func (c *planChecker) element(s shape, prior, config, planned cty.Value) {
	switch {
	case !c.presence(config, planned):
	case !planned.IsKnown():
		c.failf("a nested object must not be planned as unknown as a whole; its attributes may be")
	default:
		c.object(s, prior, config, planned)
	}
}

func (c *planChecker) blocks(nb *provider.NestedBlock, prior, config, planned cty.Value) {
	switch {
	case nb.Computed && config.IsNull() && !(planned.IsNull() && nb.Nesting != provider.NestingSingle):
		return
	case nb.Computed && planned.IsNull() && nb.Nesting != provider.NestingSingle:
		c.failf("without blocks the planned value must be an empty collection, not null")
		return
	case !config.IsKnown() && !planned.IsKnown():
		return
	case !config.IsKnown():
		if planned.IsKnown() {
			c.failf("planned %s for blocks whose number is not yet known in the configuration", planned)
		}
		return
	case !planned.IsKnown():
		c.failf("nested blocks must not be planned as unknown as a whole; their attributes may be")
		return
	}
	s := blockShape(&nb.Block)
	switch nb.Nesting {
	case provider.NestingSingle, provider.NestingGroup:
		if c.presence(config, planned) {
			c.object(s, prior, config, planned)
		}
		return
	}
	if planned.IsNull() {
		if config.IsNull() {
			return
		}
		c.failf("without blocks the planned value must be an empty collection, not null")
		return
	}
	if config.IsNull() {
		// An object of an old provider that ignore_changes restored in the configuration.
		config = nb.EmptyValue()
	}
	switch nb.Nesting {
	case provider.NestingList:
		c.list(prior, config, planned, func(p, cv, pv cty.Value) { c.element(s, p, cv, pv) })
	case provider.NestingMap:
		c.keyed(prior, config, planned, func(p, cv, pv cty.Value) { c.element(s, p, cv, pv) })
	case provider.NestingSet:
		for _, ev := range ctyfast.Each(planned) {
			if !ev.IsKnown() && !ctyfast.RawEquals(planned, config) {
				c.failf("a nested block must not be planned as unknown as a whole; its attributes may be")
			}
		}
	}
}

func (c *planChecker) list(prior, config, planned cty.Value, each func(prior, config, planned cty.Value)) {
	n, want := planned.LengthInt(), config.LengthInt()
	if n != want {
		c.failf("planned with %d elements, but the configuration has %d", n, want)
		return
	}
	for i := range n {
		cv := config.Index(intKey(i))
		found, ok := elementAt(prior, i)
		c.enterIndex(i)
		each(counterpart(found, ok, prior, cv), cv, planned.Index(intKey(i)))
		c.leave()
	}
}

func (c *planChecker) keyed(prior, config, planned cty.Value, each func(prior, config, planned cty.Value)) {
	wanted := ctyfast.Members(config)
	for key, pv := range ctyfast.Members(planned) {
		c.enterKey(key)
		if cv, ok := wanted[key]; ok {
			found, ok := elementByKey(prior, key)
			each(counterpart(found, ok, prior, cv), cv, pv)
			delete(wanted, key)
		} else {
			c.failf("planned, but not in the configuration")
		}
		c.leave()
	}
	for key := range wanted {
		c.enterKey(key)
		c.failf("in the configuration, but not planned")
		c.leave()
	}
}

// setLength compares the numbers of elements of two sets, each of which may be a range because of unknown elements.
func (c *planChecker) setLength(config, planned cty.Value) {
	if fits := planned.Length().Range().Includes(config.Length()); fits.IsKnown() && fits.False() {
		c.failf("planned with %s elements, but the configuration has %s", atMost(planned), atMost(config))
	}
}

func atMost(set cty.Value) string {
	switch {
	case !set.IsKnown():
		return "an unknown number of"
	case !set.Length().IsKnown():
		return fmt.Sprintf("at most %d", set.LengthInt())
	}
	return strconv.Itoa(set.LengthInt())
}
