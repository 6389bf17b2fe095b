package value

import (
	"hash/maphash"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// setMatcher finds the prior object of a configured set element. Elements of a set have no key, so an element's prior
// object is the first unused one that the configuration could have produced: equal everywhere except in computed
// attributes that are not configured.
//
// Comparing all pairs would take quadratic time. Objects can only match if they are equal in the attributes that are
// not computed, so they are indexed by a hash of the primitive ones of these.
type setMatcher struct {
	shape shape
	prior []cty.Value
	taken []bool
	keys  []string // nil if there are too few elements for an index
	files map[uint64][]int
	seed  maphash.Seed
}

// fileFrom is the number of comparisons from which an index is worthwhile.
const fileFrom = 64

func newSetMatcher(s shape, prior cty.Value, elements int) *setMatcher {
	m := &setMatcher{shape: s}
	if absent(prior) || elements == 0 || prior.LengthInt() == 0 {
		return m
	}
	m.prior = ctyfast.Elements(prior)
	m.taken = make([]bool, len(m.prior))
	if len(m.prior)*elements < fileFrom {
		return m
	}
	for name, a := range s.attrs {
		if !a.Computed && a.Nested == nil && a.Type.IsPrimitiveType() {
			m.keys = append(m.keys, name)
		}
	}
	if len(m.keys) > 0 {
		m.seed = maphash.MakeSeed()
		m.files = make(map[uint64][]int, len(m.prior))
		for i, p := range m.prior {
			h := hashMembers(m.seed, p, m.keys)
			m.files[h] = append(m.files[h], i)
		}
	}
	return m
}

// take returns the prior object of an element and removes it.
func (m *setMatcher) take(config cty.Value) (cty.Value, bool) {
	if m.files != nil {
		h := hashMembers(m.seed, config, m.keys)
		file := m.files[h]
		for n, i := range file {
			if couldComeFrom(m.shape, m.prior[i], config) {
				m.files[h] = append(file[:n:n], file[n+1:]...)
				return m.prior[i], true
			}
		}
		return cty.NilVal, false
	}
	for i, p := range m.prior {
		if !m.taken[i] && couldComeFrom(m.shape, p, config) {
			m.taken[i] = true
			return p, true
		}
	}
	return cty.NilVal, false
}

// couldComeFrom reports whether a prior object may be the result of a configured one.
//
// The rule is Terraform's, including its edge cases, because plans must be equal: everything in the prior object must
// have a counterpart in the configuration, but not vice versa, so an element to which a nested block was added is still
// the same; nested sets are not matched element by element, so even a computed one that is not configured makes a
// difference.
func couldComeFrom(s shape, prior, config cty.Value) bool {
	switch {
	case absent(prior):
		return true
	case config.IsNull():
		return len(s.attrs)+len(s.blocks) == 0
	}
	for name, a := range s.attrs {
		if !attributeCouldComeFrom(a, ctyfast.Attr(prior, name), ctyfast.Attr(config, name)) {
			return false
		}
	}
	for name, nb := range s.blocks {
		was, is := ctyfast.Attr(prior, name), ctyfast.Attr(config, name)
		if !membersCouldComeFrom(blockShape(&nb.Block), nb.Nesting, was, is) {
			return false
		}
	}
	return true
}

func attributeCouldComeFrom(a *provider.Attribute, prior, config cty.Value) bool {
	if a.Nested != nil {
		return membersCouldComeFrom(objectShape(a.Nested), a.Nested.Nesting, prior, config)
	}
	return ctyfast.RawEquals(config, prior) || a.Computed && config.IsNull() && !a.Type.IsSetType()
}

func membersCouldComeFrom(s shape, nesting provider.Nesting, prior, config cty.Value) bool {
	switch {
	case nesting == provider.NestingSet:
		return ctyfast.RawEquals(config, prior)
	case absent(prior):
		return true
	case nesting == provider.NestingSingle || nesting == provider.NestingGroup:
		return couldComeFrom(s, prior, config)
	case config.IsNull():
		return prior.LengthInt() == 0
	case nesting == provider.NestingList:
		for i := range prior.LengthInt() {
			c, ok := elementAt(config, i)
			if !config.IsKnown() {
				c, ok = cty.UnknownVal(prior.Index(intKey(i)).Type()), true
			}
			if !ok || !couldComeFrom(s, prior.Index(intKey(i)), c) {
				return false
			}
		}
		return true
	}
	for key, p := range prior.AsValueMap() {
		c, ok := elementByKey(config, key)
		if !config.IsKnown() {
			c, ok = cty.UnknownVal(p.Type()), true
		}
		if !ok || !couldComeFrom(s, p, c) {
			return false
		}
	}
	return true
}

// hashMembers hashes primitive members of an object so that equal objects have equal hashes.
func hashMembers(seed maphash.Seed, obj cty.Value, names []string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, name := range names {
		hashPrimitive(&h, ctyfast.Attr(obj, name))
	}
	return h.Sum64()
}

func hashPrimitive(h *maphash.Hash, v cty.Value) {
	switch {
	case !v.IsKnown():
		h.WriteByte(1)
	case v.IsNull():
		h.WriteByte(2)
	case v.Type() == cty.String:
		h.WriteString(v.AsString())
	case v.Type() == cty.Number:
		// Numbers are equal if they have the same decimal form, whatever their precision; that only guarantees equal
		// hashes for whole numbers.
		if i, accuracy := v.AsBigFloat().Int64(); accuracy == 0 {
			maphash.WriteComparable(h, i)
		}
	case v.Type() == cty.Bool:
		maphash.WriteComparable(h, v.True())
	}
	h.WriteByte(0)
}
