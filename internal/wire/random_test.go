package wire

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// random generates schemas, values and problems.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 1))} }

func (r random) chance(percent int) bool { return r.IntN(100) < percent }

func (r random) text() string {
	words := []string{"", "a", "é", "<&>", "line\nline", "\u2028", "日本語", "long " + fmt.Sprint(r.Uint64())}
	return words[r.IntN(len(words))]
}

func (r random) name(i int) string { return fmt.Sprintf("n%d", i) }

// typ generates a type. Collections do not contain dynamic types, which they cannot hold.
func (r random) typ(depth int, dynamic bool) cty.Type {
	n := 8
	if depth == 0 {
		n = 3
	}
	switch k := r.IntN(n + 1); {
	case k == 0:
		return cty.Number
	case k == 1:
		return cty.Bool
	case k == n && dynamic:
		return cty.DynamicPseudoType
	case k == 3:
		return cty.List(r.typ(depth-1, false))
	case k == 4:
		return cty.Set(r.typ(depth-1, false))
	case k == 5:
		return cty.Map(r.typ(depth-1, false))
	case k == 6:
		tys := make([]cty.Type, r.IntN(3))
		for i := range tys {
			tys[i] = r.typ(depth-1, dynamic)
		}
		return cty.Tuple(tys)
	case k == 7:
		tys := map[string]cty.Type{}
		for i := range r.IntN(3) {
			tys[r.name(i)] = r.typ(depth-1, dynamic)
		}
		return cty.Object(tys)
	}
	return cty.String
}

var numbers = []string{
	"0", "-1", "127", "128", "-129", "65536", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
	"0.1", "1.5", "-2.25", "1e300", "1e-300",
	"12345678901234567890123", "3.14159265358979323846264338327950288419716939937510582097494459", "1e1000",
}

// value generates a value of a type.
func (r random) value(ty cty.Type) cty.Value {
	if r.chance(10) {
		return cty.NullVal(ty)
	}
	if ty == cty.DynamicPseudoType {
		if r.chance(20) {
			return cty.DynamicVal
		}
		return r.value(r.typ(2, false))
	}
	if r.chance(10) {
		return r.unknown(ty)
	}
	switch {
	case ty == cty.String:
		return cty.StringVal(r.text())
	case ty == cty.Number:
		return cty.MustParseNumberVal(numbers[r.IntN(len(numbers))])
	case ty == cty.Bool:
		return cty.BoolVal(r.chance(50))
	case ty.IsTupleType():
		vals := []cty.Value{}
		for _, ety := range ty.TupleElementTypes() {
			vals = append(vals, r.value(ety))
		}
		return cty.TupleVal(vals)
	case ty.IsObjectType():
		vals := map[string]cty.Value{}
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) { // for reproducible values
			vals[name] = r.value(ty.AttributeType(name))
		}
		return cty.ObjectVal(vals)
	}
	return r.collection(ty)
}

func (r random) collection(ty cty.Type) cty.Value {
	ety := ty.ElementType()
	var list []cty.Value
	byName := map[string]cty.Value{}
	for i := range r.IntN(4) {
		v := r.value(ety)
		list, byName[r.name(i)+r.text()] = append(list, v), v
	}
	switch {
	case len(list) == 0 && ty.IsListType():
		return cty.ListValEmpty(ety)
	case len(list) == 0 && ty.IsSetType():
		return cty.SetValEmpty(ety)
	case len(list) == 0:
		return cty.MapValEmpty(ety)
	case ty.IsListType():
		return cty.ListVal(list)
	case ty.IsSetType():
		return cty.SetVal(list)
	}
	return cty.MapVal(byName)
}

// unknown generates an unknown value, often with refinements.
func (r random) unknown(ty cty.Type) cty.Value {
	v := cty.UnknownVal(ty)
	switch b := v.Refine(); {
	case r.chance(40):
		return v
	case ty == cty.String && r.chance(50):
		return b.StringPrefixFull("prefix-" + r.text()).NewValue()
	case ty == cty.Number && r.chance(50):
		return b.NumberRangeLowerBound(cty.MustParseNumberVal("-1.5"), r.chance(50)).NumberRangeUpperBound(
			cty.MustParseNumberVal("12345678901234567890123"), r.chance(50)).NewValue()
	case ty.IsCollectionType() && r.chance(50):
		return b.NotNull().CollectionLengthLowerBound(1).CollectionLengthUpperBound(5).NewValue()
	default:
		return b.NotNull().NewValue()
	}
}

// schema generates a schema that a version of the protocol can express.
func (r random) schema(v *version) *provider.Schema {
	types := func() map[string]*provider.ResourceType {
		return map[string]*provider.ResourceType{"t": {Version: r.Int64N(9), Block: r.block(v, 2)}}
	}
	s := &provider.Schema{
		Provider: r.block(v, 1), Meta: r.block(v, 1), Resources: types(), Data: types(), Ephemeral: types(),
		Lists: types(), Actions: types(), GenerateConfig: r.chance(50),
		Functions: map[string]*provider.Function{"f": {
			Params: []provider.FunctionParam{{Name: "p", Type: r.typ(1, true), AllowNull: r.chance(50),
				AllowUnknown: r.chance(50), Description: r.text(),
				DescriptionKind: provider.DescriptionKind(r.IntN(2))}},
			Return: r.typ(2, true), Summary: r.text(), Description: r.text(), DescriptionKind: provider.Markdown,
			Deprecated: r.text(),
			VarParam:   &provider.FunctionParam{Name: "more", Type: r.typ(1, false)},
		}},
		PlanDestroy: r.chance(50), GetProviderSchemaOptional: r.chance(50), MoveResourceState: r.chance(50),
	}
	s.Resources["t"].Identity = &provider.IdentitySchema{Version: 2, Attributes: map[string]*provider.IdentityAttribute{
		"id":   {Type: cty.String, RequiredForImport: true, Description: r.text()},
		"more": {Type: cty.List(cty.Number), OptionalForImport: true},
	}}
	return s
}

func (r random) block(v *version, depth int) *provider.Block {
	b := &provider.Block{}
	r.fill(b, v, depth)
	return b
}

func (r random) fill(b *provider.Block, v *version, depth int) {
	b.Description, b.DescriptionKind, b.Deprecated = r.text(), provider.DescriptionKind(r.IntN(2)), r.chance(20)
	b.DeprecationMessage, b.Computed = r.text(), r.chance(20)
	b.Attributes, b.Blocks = r.attributes(v, depth, true), map[string]*provider.NestedBlock{}
	for i := range r.IntN(3) * depth {
		nb := &provider.NestedBlock{Nesting: provider.Nesting(1 + r.IntN(5)), MinItems: r.IntN(2),
			MaxItems: 2 * r.IntN(2)}
		if nb.Nesting == provider.NestingSet {
			nb.Block.Attributes, nb.Block.Blocks = r.attributes(v, 0, false), map[string]*provider.NestedBlock{}
		} else {
			r.fill(&nb.Block, v, depth-1)
		}
		b.Blocks[fmt.Sprintf("b%d", i)] = nb
		if nb.Computed {
			computed(nb)
		}
	}
	if b.Computed {
		allComputedIn(b)
	}
}

// computed makes nested blocks computed.
func computed(nb *provider.NestedBlock) {
	nb.Computed, nb.MinItems = true, 0
	if nb.Nesting == provider.NestingGroup {
		nb.Nesting = provider.NestingSingle
	}
	allComputedIn(&nb.Block)
}

func allComputedIn(b *provider.Block) {
	for _, a := range b.Attributes {
		a.Required, a.Computed = false, true
	}
	for _, nb := range b.Blocks {
		computed(nb)
	}
}

func (r random) attributes(v *version, depth int, dynamic bool) map[string]*provider.Attribute {
	out := map[string]*provider.Attribute{}
	for i := range r.IntN(4) {
		set := r.IntN(4) // required, or optional, computed, or both
		a := &provider.Attribute{
			Required: set == 0, Optional: set&1 > 0, Computed: set&2 > 0, Sensitive: r.chance(20),
			WriteOnly:   r.chance(10),
			Description: r.text(), DescriptionKind: provider.DescriptionKind(r.IntN(2)), Deprecated: r.chance(10),
			DeprecationMessage: r.text(),
		}
		if v.nestedAttributes && depth > 0 && r.chance(40) {
			nesting := []provider.Nesting{provider.NestingSingle, provider.NestingList, provider.NestingSet,
				provider.NestingMap}[r.IntN(4)]
			a.Nested = &provider.NestedObject{
				Nesting: nesting, Attributes: r.attributes(v, depth-1, nesting == provider.NestingSingle && dynamic)}
		} else {
			a.Type = r.typ(2, dynamic)
		}
		out[r.name(i)] = a
	}
	return out
}

func (r random) problems() diag.List {
	var out diag.List
	for range r.IntN(3) {
		d := &diag.Diagnostic{Severity: diag.Severity(1 + r.IntN(2)), Summary: "s" + r.text(), Detail: r.text()}
		if r.chance(50) {
			d.Path = r.path()
		}
		out = append(out, d)
	}
	return out
}

// warnings returns diagnostics that do not invalidate a response.
func (r random) warnings() diag.List {
	out := r.problems()
	for _, d := range out {
		d.Severity = diag.Warning
	}
	return out
}

func (r random) path() cty.Path {
	path := cty.GetAttrPath("a")
	for range r.IntN(4) {
		switch r.IntN(3) {
		case 0:
			path = path.GetAttr("é" + r.text())
		case 1:
			path = path.IndexString(r.text())
		default:
			path = path.IndexInt(r.IntN(1000) - 1)
		}
	}
	return path
}

func (r random) bytes() []byte {
	out := make([]byte, r.IntN(5))
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}
