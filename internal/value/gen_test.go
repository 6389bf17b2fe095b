package value

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// gen generates random schemas and values from a seed. Values are drawn from few candidates, so that equal ones are
// frequent, which the rules are about.
type gen struct {
	r *rand.Rand
	// unknown is the chance, in percent, that a configured value is unknown.
	unknown int
	// dynamic allows attributes of any type, writeOnly write-only ones.
	dynamic, writeOnly bool
}

func newGen(seed uint64) *gen { return &gen{r: rand.New(rand.NewPCG(seed, seed)), dynamic: true} }

func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

// block generates a block; inSet means that it is within a set.
func (g *gen) block(depth int, inSet bool) *provider.Block {
	b := &provider.Block{Attributes: map[string]*provider.Attribute{}, Blocks: map[string]*provider.NestedBlock{}}
	for i := range 1 + g.r.IntN(4) {
		b.Attributes[fmt.Sprintf("a%d", i)] = g.attribute(depth, inSet, false)
	}
	if depth > 0 {
		for i := range g.r.IntN(3) {
			b.Blocks[fmt.Sprintf("b%d", i)] = g.nestedBlock(depth-1, inSet)
		}
	}
	return b
}

func (g *gen) nestedBlock(depth int, inSet bool) *provider.NestedBlock {
	nesting := provider.NestingSingle + provider.Nesting(g.r.IntN(5))
	inner := g.block(depth, inSet || nesting == provider.NestingSet)
	if nesting == provider.NestingGroup {
		for _, a := range inner.Attributes {
			if a.Required { // a group exists even if it is not written
				a.Required, a.Optional = false, true
			}
		}
	}
	nb := &provider.NestedBlock{Nesting: nesting}
	nb.Attributes, nb.Blocks = inner.Attributes, inner.Blocks
	return nb
}

func (g *gen) attribute(depth int, inSet, inCollection bool) *provider.Attribute {
	a := &provider.Attribute{}
	switch g.r.IntN(6) {
	case 0:
		a.Required = true
	case 1, 2:
		a.Optional = true
	case 3:
		a.Computed = true
	default:
		a.Optional, a.Computed = true, true
	}
	a.Sensitive = g.chance(10)
	if depth > 0 && g.chance(35) {
		modes := []provider.Nesting{provider.NestingSingle, provider.NestingList, provider.NestingSet,
			provider.NestingMap}
		o := &provider.NestedObject{Nesting: modes[g.r.IntN(len(modes))], Attributes: map[string]*provider.Attribute{}}
		set := inSet || o.Nesting == provider.NestingSet
		for i := range 1 + g.r.IntN(3) {
			o.Attributes[fmt.Sprintf("n%d", i)] = g.attribute(depth-1, set, true)
		}
		a.Nested = o
		return a
	}
	if g.writeOnly && !a.Computed && !inSet && g.chance(15) {
		a.WriteOnly = true
	}
	a.Type = g.attributeType(!inSet && !inCollection)
	return a
}

func (g *gen) attributeType(dynamic bool) cty.Type {
	switch g.r.IntN(12) {
	case 0, 1, 2:
		return cty.String
	case 3:
		return cty.Number
	case 4:
		return cty.Bool
	case 5:
		return cty.List(cty.String)
	case 6:
		return cty.Map(cty.String)
	case 7:
		return cty.Set(cty.String)
	case 8:
		return cty.Object(map[string]cty.Type{"x": cty.String, "y": cty.Number})
	case 9:
		return cty.Set(cty.Object(map[string]cty.Type{"x": cty.String, "y": cty.Number}))
	case 10:
		if g.dynamic && dynamic {
			return cty.DynamicPseudoType
		}
	}
	return cty.List(cty.Object(map[string]cty.Type{"x": cty.String}))
}

// known generates a non-null known value of a type.
func (g *gen) known(ty cty.Type) cty.Value {
	switch {
	case ty == cty.DynamicPseudoType:
		return g.known(g.attributeType(false))
	case ty == cty.String:
		return cty.StringVal([]string{"", "p", "q", "r"}[g.r.IntN(4)])
	case ty == cty.Number:
		return cty.NumberIntVal(int64(g.r.IntN(3)))
	case ty == cty.Bool:
		return cty.BoolVal(g.chance(50))
	case ty.IsObjectType():
		vals := map[string]cty.Value{}
		for _, name := range sortedKeys(ty.AttributeTypes()) {
			vals[name] = g.known(ty.AttributeType(name))
		}
		return cty.ObjectVal(vals)
	case ty.IsTupleType():
		var vals []cty.Value
		for _, ety := range ty.TupleElementTypes() {
			vals = append(vals, g.known(ety))
		}
		return cty.TupleVal(vals)
	case ty.IsMapType():
		vals := map[string]cty.Value{}
		for range g.r.IntN(3) {
			vals[string(rune('k'+g.r.IntN(3)))] = g.known(ty.ElementType())
		}
		if len(vals) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(vals)
	}
	var vals []cty.Value
	for range g.r.IntN(4) {
		vals = append(vals, g.known(ty.ElementType()))
	}
	switch {
	case len(vals) == 0 && ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case len(vals) == 0:
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(vals)
	}
	return cty.ListVal(vals)
}

// config returns a configuration of a block: required attributes set, computed ones unset, some values unknown.
func (g *gen) config(s shape, inSet bool) cty.Value {
	vals := map[string]cty.Value{}
	for _, name := range sortedKeys(s.attrs) {
		vals[name] = g.configAttribute(s.attrs[name], inSet)
	}
	for _, name := range sortedKeys(s.blocks) {
		vals[name] = g.configBlocks(s.blocks[name], inSet)
	}
	return cty.ObjectVal(vals)
}

func (g *gen) configAttribute(a *provider.Attribute, inSet bool) cty.Value {
	ty := a.ImpliedType()
	switch {
	case !a.Required && !a.Optional, !a.Required && g.chance(40):
		return cty.NullVal(ty)
	case g.chance(g.unknown):
		return cty.UnknownVal(ty)
	case a.Nested != nil:
		return g.collection(a.Nested.Nesting, a.Nested.ObjectType(), false, func() cty.Value {
			return g.config(objectShape(a.Nested), inSet || a.Nested.Nesting == provider.NestingSet)
		})
	}
	return g.known(ty)
}

func (g *gen) configBlocks(nb *provider.NestedBlock, inSet bool) cty.Value {
	ty := nb.Block.ImpliedType()
	s := blockShape(&nb.Block)
	switch nb.Nesting {
	case provider.NestingSingle:
		if g.chance(40) {
			return cty.NullVal(ty)
		}
		return g.config(s, inSet)
	case provider.NestingGroup:
		if g.chance(40) {
			return nb.EmptyValue()
		}
		return g.config(s, inSet)
	}
	// The labels of a dynamic block must be known, so blocks in maps are never unknown.
	if g.chance(g.unknown/3) && nb.Nesting != provider.NestingMap && nb.ImpliedType() != cty.DynamicPseudoType {
		return cty.UnknownVal(nb.ImpliedType())
	}
	return g.collection(nb.Nesting, ty, ty.HasDynamicTypes(), func() cty.Value {
		return g.config(s, inSet || nb.Nesting == provider.NestingSet)
	})
}

// collection generates 0 to 2 elements (of a set up to 3, which may coincide).
func (g *gen) collection(nesting provider.Nesting, ety cty.Type, dynamic bool, element func() cty.Value) cty.Value {
	switch nesting {
	case provider.NestingList:
		var vals []cty.Value
		for range g.r.IntN(3) {
			vals = append(vals, element())
		}
		switch {
		case dynamic:
			return cty.TupleVal(vals)
		case len(vals) == 0:
			return cty.ListValEmpty(ety)
		}
		return cty.ListVal(vals)
	case provider.NestingSet:
		var vals []cty.Value
		for range g.r.IntN(4) {
			vals = append(vals, element())
		}
		if len(vals) == 0 {
			return cty.SetValEmpty(ety)
		}
		return cty.SetVal(vals)
	case provider.NestingMap:
		vals := map[string]cty.Value{}
		for range g.r.IntN(3) {
			vals[string(rune('k'+g.r.IntN(3)))] = element()
		}
		switch {
		case dynamic:
			return cty.ObjectVal(vals)
		case len(vals) == 0:
			return cty.MapValEmpty(ety)
		}
		return cty.MapVal(vals)
	}
	return element()
}

// prior generates an object that an apply of some configuration may have left: known, with computed attributes filled
// in at random.
func (g *gen) prior(b *provider.Block) cty.Value {
	unknown := g.unknown
	g.unknown = 0
	v := g.config(blockShape(b), false)
	g.unknown = unknown
	return g.complete(SetUnknowns(b, v))
}

// complete replaces every unknown value by a known one that its refinements allow, or by null.
func (g *gen) complete(v cty.Value) cty.Value {
	if v.IsWhollyKnown() {
		return v
	}
	switch ty := v.Type(); {
	case v.IsKnown() && (ty.IsObjectType() || ty.IsMapType()):
		vals := v.AsValueMap()
		for _, k := range sortedKeys(vals) {
			vals[k] = g.complete(vals[k])
		}
		return keyedLike(v, vals)
	case v.IsKnown():
		vals := v.AsValueSlice()
		for i := range vals {
			vals[i] = g.complete(vals[i])
		}
		if ty.IsSetType() {
			return setLike(v, vals)
		}
		return sequenceLike(v, vals)
	}
	return replaceUnknown(v, func(u cty.Value) cty.Value {
		if u.Range().CouldBeNull() && g.chance(30) {
			return cty.NullVal(u.Type())
		}
		for range 100 {
			k := g.known(u.Type())
			if ok := u.Range().Includes(k); !ok.IsKnown() || ok.True() {
				return k
			}
		}
		panic(fmt.Sprintf("no value found for %#v", u))
	})
}

// mutate changes one or a few leaves or elements at random: to other values, null or unknown.
func (g *gen) mutate(v cty.Value) cty.Value {
	return g.mutateWith(v, 12)
}

func (g *gen) mutateWith(v cty.Value, percent int) cty.Value {
	ty := v.Type()
	if g.chance(percent / 3) {
		if g.chance(50) {
			return cty.NullVal(ty)
		}
		return cty.UnknownVal(ty)
	}
	switch {
	case absent(v):
		if g.chance(percent) {
			return g.known(ty)
		}
		return v
	case ty.IsObjectType():
		vals := v.AsValueMap()
		for _, k := range sortedKeys(vals) {
			vals[k] = g.mutateWith(vals[k], percent)
		}
		return keyedLike(v, vals)
	case ty.IsMapType():
		vals := v.AsValueMap()
		for _, k := range sortedKeys(vals) {
			if g.chance(percent / 2) {
				delete(vals, k)
				continue
			}
			vals[k] = g.mutateWith(vals[k], percent)
		}
		if g.chance(percent/2) && len(vals) > 0 {
			vals["z"] = vals[sortedKeys(vals)[0]]
			if vals["z"] == cty.NilVal {
				delete(vals, "z")
			}
		}
		if vals == nil || !cty.CanMapVal(vals) {
			return v
		}
		return keyedLike(v, vals)
	case ty.IsSetType(), isSequence(v):
		vals := v.AsValueSlice()
		for i := range vals {
			vals[i] = g.mutateWith(vals[i], percent)
		}
		if g.chance(percent/2) && len(vals) > 0 {
			vals = vals[1:]
		}
		if g.chance(percent/2) && len(vals) > 0 {
			vals = append(vals, vals[0])
		}
		if !cty.CanListVal(vals) {
			return v
		}
		if ty.IsSetType() {
			return setLike(v, vals)
		}
		return sequenceLike(v, vals)
	case g.chance(percent):
		return g.known(ty)
	}
	return v
}

// sortedKeys makes the order of random draws, and so the whole case, repeatable.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
