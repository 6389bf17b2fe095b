package value

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// Propose merges a prior object and a configuration into the proposed object for a provider's plan.
//
// Attributes that are not computed take the configuration's value, including null. A computed attribute that the
// configuration leaves null keeps its prior value; on a create (prior is null) it stays null, for the provider to fill
// in or to declare unknown. Lists of nested objects are matched by index, maps by key, sets by all members that are not
// computed; an object without a counterpart is new. A null configuration results in null.
func Propose(block *provider.Block, prior, config cty.Value) cty.Value {
	v, _ := merger{}.object(blockShape(block), prior, config)
	return v
}

// ProposeUnset is like Propose, with computed values from the caller: unset returns the value of each computed
// attribute that the configuration leaves null, at any depth, including those of new objects. Its argument is the value
// that Propose would use, which is null if there is no prior value; the result must have the same type.
func ProposeUnset(block *provider.Block, prior, config cty.Value, unset func(a *provider.Attribute,
	prior cty.Value) cty.Value) cty.Value {
	v, _ := merger{unset: unset}.object(blockShape(block), prior, config)
	return v
}

// ProposeKept is Propose for a provider that does not change the blocks that it has filled in.
func ProposeKept(block *provider.Block, prior, config cty.Value) cty.Value {
	v, _ := merger{keep: true}.object(blockShape(block), prior, config)
	return v
}

// ForPlan returns a configuration in the form for a provider's plan: computed blocks that are not configured are null
// instead of empty (newer/computed_blocks).
func ForPlan(block *provider.Block, config cty.Value) cty.Value {
	if !block.HasComputedBlocks() {
		return config
	}
	r := rewriter{block: func(nb *provider.NestedBlock, v cty.Value) (cty.Value, bool) {
		if !nb.Computed || absent(v) || nb.Nesting == provider.NestingSingle || nb.Nesting == provider.NestingGroup ||
			v.LengthInt() > 0 {
			return v, false
		}
		return cty.NullVal(v.Type()), true
	}}
	v, _ := r.object(blockShape(block), config)
	return v
}

// merger is one merge of a prior object and a configuration; see ProposeUnset and ProposeKept for its fields, which
// Propose does not set.
type merger struct {
	unset func(a *provider.Attribute, prior cty.Value) cty.Value
	keep  bool
}

// PlannedForData returns the planned value of a data source that cannot be read yet: its configuration, with unknown
// values for computed attributes and blocks that are not configured. (Terraform plans attributes within sets and maps
// as null, and no blocks, which dependents cannot rely on.)
func PlannedForData(block *provider.Block, config cty.Value) cty.Value {
	// All parts of an unknown prior object are unknown, so the merge uses unknown values for all prior ones.
	return ProposeKept(block, cty.UnknownVal(block.ImpliedType()), ForPlan(block, config))
}

// origin is the value that a merged value is equal to. Objects whose members all have the same origin need not be
// built.
type origin uint8

const (
	fromConfig origin = 1 << iota
	fromPrior
)

func (m merger) object(s shape, prior, config cty.Value) (cty.Value, origin) {
	switch {
	case absent(config):
		return config, compareOrigin(prior, config)
	case prior.IsNull() && m.unset == nil:
		return config, fromConfig // there is nothing to merge, at any depth
	}
	// Members are kept in a list until a new object must be built; otherwise most objects would cost an unused map.
	type member struct {
		name string
		val  cty.Value
	}
	var buf [12]member
	members := buf[:0]
	all := fromConfig | fromPrior
	if absent(prior) {
		all = fromConfig
	}
	for name, a := range s.attrs {
		c := ctyfast.Attr(config, name)
		v, from := m.attribute(a, attrOf(prior, name, c), c, all)
		members, all = append(members, member{name, v}), all&from
	}
	for name, nb := range s.blocks {
		c := ctyfast.Attr(config, name)
		v, from := m.blocks(nb, attrOf(prior, name, c), c)
		members, all = append(members, member{name, v}), all&from
	}
	switch {
	case all&fromConfig != 0:
		return config, all
	case all&fromPrior != 0:
		return prior, all
	}
	vals := make(map[string]cty.Value, len(members))
	for _, m := range members {
		vals[m.name] = m.val
	}
	return cty.ObjectVal(vals), all
}

// compareOrigin returns the origin of a value that was taken unchanged from the configuration.
func compareOrigin(prior, config cty.Value) origin {
	if ctyfast.RawEquals(config, prior) {
		return fromConfig | fromPrior
	}
	return fromConfig
}

// attribute merges one attribute. It only compares the configuration with the prior value as long as that can matter
// according to wanted.
func (m merger) attribute(a *provider.Attribute, prior, config cty.Value, wanted origin) (cty.Value, origin) {
	if a.Computed && config.IsNull() && m.unset != nil {
		was := prior
		if cameFromConfig(a, prior) {
			was = config
		}
		v := m.unset(a, was)
		var from origin
		if ctyfast.RawEquals(v, config) {
			from |= fromConfig
		}
		if ctyfast.RawEquals(v, prior) {
			from |= fromPrior
		}
		return v, from
	}
	if a.Computed && config.IsNull() {
		if cameFromConfig(a, prior) {
			return config, fromConfig
		}
		if prior.IsNull() && prior.Type().Equals(config.Type()) {
			return config, fromConfig | fromPrior
		}
		return prior, fromPrior
	}
	if a.Nested != nil {
		return m.nested(a.Nested, prior, config)
	}
	if wanted&fromPrior == 0 {
		return config, fromConfig
	}
	return config, compareOrigin(prior, config)
}

// cameFromConfig reports whether a prior value of an optional nested attribute was configured, at least in part: it
// contains a value that only a configuration can set. Such a value is removed when it is removed from the
// configuration, although the attribute is also computed.
func cameFromConfig(a *provider.Attribute, prior cty.Value) bool {
	return a.Optional && a.Nested != nil && holdsConfigured(a.Nested, prior)
}

func holdsConfigured(o *provider.NestedObject, v cty.Value) bool {
	if absent(v) {
		return false
	}
	if o.Nesting == provider.NestingSingle || o.Nesting == provider.NestingGroup {
		return objectHoldsConfigured(o, v)
	}
	for _, ev := range ctyfast.Each(v) {
		if objectHoldsConfigured(o, ev) {
			return true
		}
	}
	return false
}

func objectHoldsConfigured(o *provider.NestedObject, v cty.Value) bool {
	if absent(v) {
		return false
	}
	for name, a := range o.Attributes {
		av := ctyfast.Attr(v, name)
		if av.IsNull() {
			continue
		}
		if !a.Computed || a.Nested != nil && holdsConfigured(a.Nested, av) {
			return true
		}
	}
	return false
}

func (m merger) nested(o *provider.NestedObject, prior, config cty.Value) (cty.Value, origin) {
	if absent(config) {
		return config, compareOrigin(prior, config)
	}
	return m.members(objectShape(o), o.Nesting, prior, config)
}

func (m merger) blocks(nb *provider.NestedBlock, prior, config cty.Value) (cty.Value, origin) {
	if m.keep && nb.Computed && config.IsNull() {
		if prior.IsNull() && prior.Type().Equals(config.Type()) {
			return config, fromConfig | fromPrior
		}
		return prior, fromPrior
	}
	if absent(config) {
		// Unknown: the blocks come from a dynamic block with an unknown for_each.
		return config, compareOrigin(prior, config)
	}
	return m.members(blockShape(&nb.Block), nb.Nesting, prior, config)
}

// members merges configured values that are neither null nor unknown, by nesting mode.
func (m merger) members(s shape, nesting provider.Nesting, prior, config cty.Value) (cty.Value, origin) {
	if prior.IsNull() && m.unset == nil {
		return config, fromConfig
	}
	switch nesting {
	case provider.NestingList:
		return m.list(s, prior, config)
	case provider.NestingMap:
		return m.keyed(s, prior, config)
	case provider.NestingSet:
		return m.set(s, prior, config)
	}
	return m.object(s, prior, config)
}

// collectionOrigin returns the possible common origin of all elements of a collection of n elements.
func collectionOrigin(prior cty.Value, n int) origin {
	if absent(prior) || prior.LengthInt() != n {
		return fromConfig
	}
	return fromConfig | fromPrior
}

// counterpart returns the prior object of an element: the given one, or null if there is none; in an unknown collection
// it is unknown.
func counterpart(found cty.Value, ok bool, prior, element cty.Value) cty.Value {
	switch {
	case ok:
		return found
	case !prior.IsKnown():
		return cty.UnknownVal(element.Type())
	}
	return cty.NullVal(element.Type())
}

func (m merger) list(s shape, prior, config cty.Value) (cty.Value, origin) {
	n := config.LengthInt()
	vals := make([]cty.Value, n)
	all := collectionOrigin(prior, n)
	for i := range n {
		c := config.Index(intKey(i))
		found, ok := elementAt(prior, i)
		v, from := m.object(s, counterpart(found, ok, prior, c), c)
		vals[i], all = v, all&from
	}
	if v, ok := unchanged(all, prior, config); ok {
		return v, all
	}
	return sequenceLike(config, vals), all
}

func (m merger) keyed(s shape, prior, config cty.Value) (cty.Value, origin) {
	vals := ctyfast.Members(config)
	all := collectionOrigin(prior, len(vals))
	for key, c := range vals {
		found, ok := elementByKey(prior, key)
		v, from := m.object(s, counterpart(found, ok, prior, c), c)
		vals[key], all = v, all&from
	}
	if v, ok := unchanged(all, prior, config); ok {
		return v, all
	}
	return keyedLike(config, vals), all
}

func (m merger) set(s shape, prior, config cty.Value) (cty.Value, origin) {
	vals := ctyfast.Elements(config)
	all := collectionOrigin(prior, len(vals))
	match := newSetMatcher(s, prior, len(vals))
	for i, c := range vals {
		found, ok := match.take(c)
		v, from := m.object(s, counterpart(found, ok, prior, c), c)
		vals[i], all = v, all&from
	}
	if v, ok := unchanged(all, prior, config); ok {
		return v, all
	}
	return setLike(config, vals), all
}

// unchanged returns the collection that equals the merged one, if there is one.
func unchanged(all origin, prior, config cty.Value) (cty.Value, bool) {
	switch {
	case all&fromConfig != 0:
		return config, true
	case all&fromPrior != 0 && prior.Type().IsTupleType() == config.Type().IsTupleType() &&
		prior.Type().IsObjectType() == config.Type().IsObjectType():
		return prior, true
	}
	return cty.NilVal, false
}
