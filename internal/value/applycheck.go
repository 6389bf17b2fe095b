package value

import (
	"hash/maphash"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// CheckApplied reports whether the result of an apply matches the plan: known values are the same, and unknown ones
// have become known values of their type that their refinements allow. Elements of sets are matched with planned ones,
// in which unknown parts match anything; a set may shrink when its elements become known and are equal, but never grow.
//
// Values at the hidden paths, and those that the schema declares sensitive, appear in no message.
func CheckApplied(block *provider.Block, planned, actual cty.Value, hidden ...cty.Path) []PathError {
	c := applyChecker{checker{block: block, hidden: hidden}}
	if !c.start(block, planned, actual) {
		return c.result()
	}
	if unknown := CheckKnown(actual); len(unknown) > 0 {
		c.errs = append(c.errs, unknown...)
		return c.result()
	}
	c.object(blockShape(block), planned, actual)
	return c.result()
}

// CheckReplanned reports whether the plan made during apply, with values that have become known, is consistent with the
// first plan. It compares like CheckApplied, but unknown values may still be unknown. No problem is tolerable here,
// whatever the provider's type system.
func CheckReplanned(block *provider.Block, planned, replanned cty.Value, hidden ...cty.Path) []PathError {
	c := applyChecker{checker{block: block, hidden: hidden}}
	if c.start(block, planned, replanned) {
		c.object(blockShape(block), planned, replanned)
	}
	for i := range c.errs {
		c.errs[i].Tolerable = false
	}
	return c.result()
}

type applyChecker struct{ checker }

// start checks the rules that apply to every provider, and reports whether to compare further.
func (c *applyChecker) start(block *provider.Block, planned, actual cty.Value) bool {
	c.hard = true
	defer func() { c.hard = false }()
	if !c.conforms(actual) {
		return false
	}
	c.writeOnlyNull(blockShape(block), block.HasWriteOnly(), actual)
	if !c.presence(planned, actual) {
		return false
	}
	if !planned.IsKnown() {
		return false
	}
	if !actual.IsKnown() {
		c.failf("was planned, but is unknown as a whole now")
		return false
	}
	return true
}

func (c *applyChecker) presence(planned, actual cty.Value) bool {
	switch {
	case planned.IsNull() && !actual.IsNull():
		c.failf("was planned to be absent, but is present now")
	case actual.IsNull() && !planned.IsNull():
		c.failf("was planned to be present, but is absent now")
	}
	return !planned.IsNull() && !actual.IsNull()
}

func (c *applyChecker) object(s shape, planned, actual cty.Value) {
	for name, a := range s.attrs {
		pv, av := ctyfast.Attr(planned, name), ctyfast.Attr(actual, name)
		if a.WriteOnly || ctyfast.RawEquals(pv, av) {
			continue
		}
		c.enterAttr(name)
		c.value(pv, av)
		c.leave()
		if c.done() {
			return
		}
	}
	for name, nb := range s.blocks {
		pv, av := ctyfast.Attr(planned, name), ctyfast.Attr(actual, name)
		// Comparing sets would sort them each time; their elements are matched by hash below.
		if nb.Nesting != provider.NestingSet && ctyfast.RawEquals(pv, av) {
			continue
		}
		c.enterAttr(name)
		c.blocks(nb, pv, av)
		c.leave()
		if c.done() {
			return
		}
	}
}

func (c *applyChecker) blocks(nb *provider.NestedBlock, planned, actual cty.Value) {
	s := blockShape(&nb.Block)
	if nb.Computed && actual.IsNull() && nb.Nesting != provider.NestingSingle {
		c.failf("without blocks the value must be an empty collection, not null")
		return
	}
	if nb.Nesting == provider.NestingSingle || nb.Nesting == provider.NestingGroup {
		// A dynamic block with an unknown for_each may have produced no block.
		c.blockObject(s, planned, actual)
		return
	}
	if absent(planned) || absent(actual) {
		// Old frameworks cannot distinguish null from empty, so both are accepted.
		return
	}
	switch nb.Nesting {
	case provider.NestingList:
		n := planned.LengthInt()
		if got := actual.LengthInt(); got != n {
			c.failf("was planned with %d blocks, but has %d now", n, got)
			return
		}
		for i := range n {
			c.enterIndex(i)
			c.blockObject(s, planned.Index(intKey(i)), actual.Index(intKey(i)))
			c.leave()
		}
	case provider.NestingMap:
		// Terraform only counts blocks with labels. No framework creates them, so a stricter check breaks no provider.
		found := ctyfast.Members(actual)
		for key, pv := range ctyfast.Members(planned) {
			c.enterKey(key)
			if av, ok := found[key]; ok {
				c.blockObject(s, pv, av)
				delete(found, key)
			} else {
				c.failf("was planned, but has vanished")
			}
			c.leave()
		}
		for key := range found {
			c.enterKey(key)
			c.failf("was not planned, but has appeared")
			c.leave()
		}
	case provider.NestingSet:
		c.set(planned, actual, func(pv, av cty.Value) { c.blockObject(s, pv, av) })
	}
}

func (c *applyChecker) blockObject(s shape, planned, actual cty.Value) {
	if planned.IsKnown() && c.presence(planned, actual) {
		// An unknown object is like one with all attributes unknown, which is valid if all of them were unknown.
		c.object(s, planned, actual)
	}
}

// value compares without a schema, by type.
func (c *applyChecker) value(planned, actual cty.Value) {
	ty := planned.Type()
	switch {
	case c.done():
	case planned.IsNull() && actual.IsNull():
	case ty == cty.DynamicPseudoType:
		// The value was unknown, including its type. A null without a type is like an unknown value.
	case !actual.Type().Equals(ty) && len(actual.Type().TestConformance(ty)) > 0:
		c.failf("was planned as %s, but is %s now", ty.FriendlyName(), actual.Type().FriendlyName())
	case !planned.IsKnown():
		if fits := planned.Range().Includes(actual); fits.IsKnown() && fits.False() {
			c.failf("is %s now, which the plan excluded for the unknown value", actual)
		}
	case planned.IsNull():
		c.failf("was planned as null, but is %s now", actual)
	case actual.IsNull():
		c.failf("was planned as %s, but is null now", planned)
	case !actual.IsKnown():
		c.failf("was planned as %s, but is unknown now", planned)
	case ty.IsPrimitiveType():
		if planned.Equals(actual).False() {
			c.failf("was planned as %s, but is %s now", planned, actual)
		}
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			c.enterAttr(name)
			c.value(ctyfast.Attr(planned, name), ctyfast.Attr(actual, name))
			c.leave()
		}
	case ty.IsMapType():
		c.mapValue(planned, actual)
	case ty.IsListType() || ty.IsTupleType():
		c.sequenceValue(planned, actual)
	case ty.IsSetType():
		c.set(planned, actual, c.value)
	default:
		if !ctyfast.RawEquals(planned, actual) {
			c.failf("has changed since it was planned")
		}
	}
}

func (c *applyChecker) mapValue(planned, actual cty.Value) {
	found := ctyfast.Members(actual)
	for key, pv := range ctyfast.Members(planned) {
		c.enterKey(key)
		if av, ok := found[key]; ok {
			c.value(pv, av)
			delete(found, key)
		} else {
			c.failf("was planned as %s, but has vanished", pv)
		}
		c.leave()
	}
	for key, av := range found {
		c.enterKey(key)
		c.failf("was not planned, but has appeared as %s", av)
		c.leave()
	}
}

func (c *applyChecker) sequenceValue(planned, actual cty.Value) {
	n, got := planned.LengthInt(), actual.LengthInt()
	for i := range max(n, got) {
		c.enterIndex(i)
		switch {
		case i >= got:
			c.failf("was planned as %s, but has vanished", planned.Index(intKey(i)))
		case i >= n:
			c.failf("was not planned, but has appeared as %s", actual.Index(intKey(i)))
		default:
			c.value(planned.Index(intKey(i)), actual.Index(intKey(i)))
		}
		c.leave()
		if c.done() {
			return
		}
	}
}

// set checks that every planned element has a counterpart among the actual ones and vice versa. Candidates are found by
// hash and then tried with compatible.
func (c *applyChecker) set(planned, actual cty.Value, compatible func(planned, actual cty.Value)) {
	plan, act := ctyfast.Elements(planned), ctyfast.Elements(actual)
	if len(act) > len(plan) {
		c.failf("was planned with %d elements, but has %d now", len(plan), len(act))
	}
	if c.done() || len(plan) == 0 {
		return
	}
	files := fileElements(plan, act)
	planOK, actOK := make([]bool, len(plan)), make([]bool, len(act))
	for i, pv := range plan {
		for _, j := range files.candidates(pv) {
			if planOK[i] && actOK[j] {
				continue
			}
			if c.probe(func() { compatible(pv, act[j]) }) {
				planOK[i], actOK[j] = true, true
			}
		}
	}
	missing := false
	for i, ok := range planOK {
		if !ok {
			missing = true
			c.failf("the planned element %s has no counterpart now", plan[i])
		}
	}
	if missing {
		return // the reverse check would only repeat the same difference
	}
	for j, ok := range actOK {
		if !ok {
			c.failf("the element %s has appeared, which was not planned", act[j])
		}
	}
}

// elementFiles finds the actual elements that can be counterparts of a planned one: those that are equal in the members
// that are primitive and known in all planned elements.
type elementFiles struct {
	key   func(cty.Value) uint64
	files map[uint64][]int
	all   []int
}

func fileElements(plan, act []cty.Value) elementFiles {
	var f elementFiles
	if len(plan)*len(act) >= fileFrom {
		f.key = certainKey(plan)
	}
	if f.key == nil {
		f.all = make([]int, len(act))
		for j := range act {
			f.all[j] = j
		}
		return f
	}
	f.files = make(map[uint64][]int, len(act))
	for j, av := range act {
		if !absent(av) {
			h := f.key(av)
			f.files[h] = append(f.files[h], j)
		}
	}
	return f
}

func (f *elementFiles) candidates(planned cty.Value) []int {
	if f.files == nil {
		return f.all
	}
	return f.files[f.key(planned)]
}

// certainKey returns a hash function of the members that are primitive and known in all values, or nil if there are
// none.
func certainKey(vals []cty.Value) func(cty.Value) uint64 {
	for _, v := range vals {
		if absent(v) {
			return nil
		}
	}
	seed := maphash.MakeSeed()
	ty := vals[0].Type()
	if ty.IsPrimitiveType() {
		return func(v cty.Value) uint64 {
			var h maphash.Hash
			h.SetSeed(seed)
			hashPrimitive(&h, v)
			return h.Sum64()
		}
	}
	if !ty.IsObjectType() {
		return nil
	}
	var names []string
	for name, aty := range ty.AttributeTypes() {
		if aty.IsPrimitiveType() && !slices.ContainsFunc(vals, func(v cty.Value) bool {
			return !ctyfast.Attr(v, name).IsKnown()
		}) {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	return func(v cty.Value) uint64 { return hashMembers(seed, v, names) }
}
