package ctyfast

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// written generates values like those in configurations: tuples and objects of few types, untyped nulls, and the types
// of variables and parameters.
type written struct{ r *rand.Rand }

var names = []string{"a", "b", "c", "d"}

func (g *written) value(depth int) cty.Value {
	n := 14
	if depth == 0 {
		n = 8
	}
	var v cty.Value
	switch g.r.IntN(n) {
	case 0, 1:
		v = cty.StringVal([]string{"x", "7", "true", ""}[g.r.IntN(4)])
	case 2, 3:
		v = cty.NumberIntVal(int64(g.r.IntN(3)))
	case 4:
		v = cty.BoolVal(g.r.IntN(2) == 0)
	case 5:
		v = cty.NullVal(cty.DynamicPseudoType)
	case 6:
		v = []cty.Value{cty.DynamicVal, cty.UnknownVal(cty.String), cty.UnknownVal(cty.Number).RefineNotNull(),
			cty.NullVal(cty.String), capsuleValue}[g.r.IntN(5)]
	case 7:
		v = cty.EmptyTupleVal
	case 8, 9, 10:
		v = cty.TupleVal(g.members(depth))
	default:
		v = g.object(depth)
	}
	if g.r.IntN(20) == 0 {
		v = v.Mark("secret")
	}
	if ty := v.Type(); g.r.IntN(4) == 0 && depth > 0 {
		collection := []cty.Type{cty.List(cty.DynamicPseudoType), cty.Set(cty.DynamicPseudoType),
			cty.Map(cty.DynamicPseudoType)}[g.r.IntN(3)]
		if out, err := asked(v, collection); err == nil && !ty.HasDynamicTypes() {
			v = out
		}
	}
	return v
}

var capsuleValue = cty.CapsuleVal(capsule, new(int))

// members are often copies of a few, as in long lists.
func (g *written) members(depth int) []cty.Value {
	some := make([]cty.Value, 1+g.r.IntN(3))
	shape := g.object(depth)
	for i := range some {
		some[i] = g.value(depth - 1)
		if shape.Type().IsObjectType() && g.r.IntN(2) == 0 {
			some[i] = g.like(shape)
		}
	}
	all := make([]cty.Value, g.r.IntN(6))
	for i := range all {
		all[i] = some[g.r.IntN(len(some))]
		if g.r.IntN(2) == 0 {
			all[i] = g.like(all[i])
		}
	}
	return all
}

func (g *written) object(depth int) cty.Value {
	members := map[string]cty.Value{}
	for _, name := range names[:g.r.IntN(len(names))] {
		members[name] = g.value(max(depth-1, 0))
	}
	return cty.ObjectVal(members)
}

// like returns a value with the same members, some of which are changed.
func (g *written) like(v cty.Value) cty.Value {
	if v.IsMarked() || !v.Type().IsObjectType() || !v.IsKnown() || v.IsNull() {
		return g.value(0)
	}
	members := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(v.AsValueMap())) {
		m := v.GetAttr(name)
		if g.r.IntN(3) == 0 {
			m = g.value(0)
		}
		members[name] = m
	}
	return cty.ObjectVal(members)
}

// wanted returns a type that a value could perhaps be converted to.
func (g *written) wanted(ty cty.Type) cty.Type {
	inner := func(etys []cty.Type) cty.Type {
		if len(etys) == 0 || g.r.IntN(4) == 0 {
			return cty.DynamicPseudoType
		}
		return g.wanted(etys[g.r.IntN(len(etys))])
	}
	switch n := g.r.IntN(12); {
	case n == 0:
		return cty.DynamicPseudoType
	case n < 3 && ty.IsPrimitiveType():
		return []cty.Type{cty.String, cty.Number, cty.Bool}[g.r.IntN(3)]
	case ty.IsTupleType() && n < 10:
		return []func(cty.Type) cty.Type{cty.List, cty.Set}[n%2](inner(ty.TupleElementTypes()))
	case ty.IsTupleType():
		var etys []cty.Type
		for _, ety := range ty.TupleElementTypes() {
			etys = append(etys, g.wanted(ety))
		}
		return cty.Tuple(etys)
	case ty.IsCollectionType():
		return []func(cty.Type) cty.Type{cty.List, cty.Set, cty.Map}[n%3](inner([]cty.Type{ty.ElementType()}))
	case ty.IsObjectType() && n < 6:
		var atys []cty.Type
		for _, name := range names {
			if ty.HasAttribute(name) {
				atys = append(atys, ty.AttributeType(name))
			}
		}
		return cty.Map(inner(atys))
	case ty.IsObjectType():
		atys := map[string]cty.Type{}
		var optional []string
		for _, name := range names {
			switch {
			case ty.HasAttribute(name) && g.r.IntN(8) > 0:
				atys[name] = g.wanted(ty.AttributeType(name))
			case g.r.IntN(4) == 0:
				atys[name] = cty.Object(map[string]cty.Type{"o": cty.String})
			default:
				continue
			}
			if g.r.IntN(2) == 0 || !ty.HasAttribute(name) {
				optional = append(optional, name)
			}
		}
		return cty.ObjectWithOptionalAttrs(atys, optional)
	}
	return ty
}

// asked returns cty's result; cty panics for some values.
func asked(v cty.Value, want cty.Type) (out cty.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return convert.Convert(v, want)
}

func checkConversion(t *testing.T, seed uint64) (ours bool) {
	g := &written{rand.New(rand.NewPCG(seed, 1))}
	v := g.value(3)
	want := g.wanted(v.Type())
	theirs, err := asked(v, want)
	if err != nil && strings.HasPrefix(err.Error(), "panic") {
		return false
	}
	if v.Type().Equals(want.WithoutOptionalAttributesDeep()) {
		return false
	}
	got, ok := converted(v, want)
	if !ok {
		return false
	}
	// If several types are suitable, cty chooses a random one of the members of objects. A choice with a probability of
	// one in eight, like that of the second of two members, occurs in 400 attempts.
	for range 400 {
		if err == nil && theirs.RawEquals(got) {
			return true
		}
		theirs, err = asked(v, want)
	}
	t.Errorf("seed %d:\n   %#v\nas %#v\nis %#v\nnot %#v %v", seed, v, want, got, theirs, err)
	return false
}

func TestConversionsEqualCty(t *testing.T) {
	ours := 0
	for seed := range uint64(60000) {
		if checkConversion(t, seed) {
			ours++
		}
	}
	if ours < 10000 {
		t.Errorf("only %d of the conversions are not left to cty", ours)
	}
}

func FuzzConversionsEqualCty(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkConversion(t, seed) })
}

func checkUnification(t *testing.T, seed uint64) {
	g := &written{rand.New(rand.NewPCG(seed, 2))}
	some := make([]cty.Value, 1+g.r.IntN(5))
	for i := range some {
		some[i] = g.value(2)
		if i > 0 && g.r.IntN(2) == 0 {
			some[i] = g.like(some[i-1])
		}
	}
	types := make([]cty.Type, g.r.IntN(9))
	for i := range types {
		types[i] = some[g.r.IntN(len(some))].Type()
	}
	for how, unify := range map[string]func([]cty.Type) cty.Type{
		"as a whole": Unify, "part by part": func(types []cty.Type) cty.Type { return unifyLong(edge(types)) },
	} {
		got := unify(types)
		var want cty.Type
		same := false
		for range 400 { // as above
			want, _ = convert.UnifyUnsafe(types)
			if same = equalTypes(got, want); same {
				break
			}
		}
		if !same {
			t.Errorf("seed %d: %#v %s: %#v, not %#v", seed, types, how, got, want)
		}
	}
}

func equalTypes(a, b cty.Type) bool {
	none := a == cty.NilType
	return none == (b == cty.NilType) && (none || a.Equals(b))
}

func TestUnificationsEqualCty(t *testing.T) {
	for seed := range uint64(30000) {
		checkUnification(t, seed)
	}
}

func FuzzUnificationsEqualCty(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkUnification)
}

// ten thousand objects take cty seconds
func TestLongListsConvertFast(t *testing.T) {
	const n = 20000
	list := make([]cty.Value, n)
	members := map[string]cty.Value{}
	for i := range list {
		list[i] = cty.ObjectVal(map[string]cty.Value{"a": cty.NumberIntVal(int64(i)),
			"b": cty.NullVal(cty.DynamicPseudoType), "c": cty.StringVal("x")})
		if i%2 == 0 {
			list[i] = cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("8"), "b": cty.StringVal("y"),
				"c": cty.True})
		}
		members[fmt.Sprint(i)] = list[i]
	}
	object := cty.Object(map[string]cty.Type{"a": cty.Number, "b": cty.String, "c": cty.String})
	anyObject := cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.String, "c": cty.String})
	optional := cty.ObjectWithOptionalAttrs(map[string]cty.Type{"a": cty.Number, "z": cty.String}, []string{"z"})
	for _, c := range []struct {
		v    cty.Value
		want cty.Type
		ety  cty.Type
	}{
		{cty.TupleVal(list), cty.List(object), object},
		{cty.TupleVal(list), cty.List(cty.DynamicPseudoType), anyObject},
		{cty.TupleVal(list), cty.List(optional), optional.WithoutOptionalAttributesDeep()},
		{cty.ObjectVal(members), cty.Map(object), object},
		{cty.ObjectVal(members), cty.Map(cty.DynamicPseudoType), anyObject},
	} {
		out, ok := converted(c.v, c.want)
		if !ok || out.LengthInt() != n || !out.Type().ElementType().Equals(c.ety) {
			t.Errorf("%#v: %t %#v", c.want, ok, out.Type())
		}
	}
}

// ten thousand members take cty seconds, wherever they are
func TestLongTypesUnifyFast(t *testing.T) {
	const n = 20000
	etys := make([]cty.Type, n)
	atys := map[string]cty.Type{}
	for i := range etys {
		etys[i] = []cty.Type{cty.Number, cty.String, cty.Bool}[i%3]
		atys[fmt.Sprint(i)] = etys[i]
	}
	less := maps.Clone(atys)
	delete(less, "7")
	mixed := maps.Clone(atys)
	mixed["7"] = cty.EmptyObject
	tuple, object, texts := cty.Tuple(etys), cty.Object(atys), cty.List(cty.String)
	boxed := func(ty cty.Type) cty.Type { return cty.Object(map[string]cty.Type{"in": cty.List(ty)}) }
	for i, c := range []struct {
		types []cty.Type
		want  cty.Type
	}{
		{[]cty.Type{tuple, cty.List(cty.Number)}, texts},
		{[]cty.Type{cty.Tuple(etys[1:]), tuple}, texts},
		{[]cty.Type{boxed(cty.Tuple(etys[1:])), boxed(tuple)}, boxed(texts)},
		{[]cty.Type{object, cty.Map(cty.Number)}, cty.Map(cty.String)},
		{[]cty.Type{object, cty.Object(less)}, cty.Map(cty.String)},
		{[]cty.Type{object, cty.Map(cty.EmptyObject)}, cty.NilType},
		{[]cty.Type{cty.Object(mixed), cty.Map(cty.String)}, cty.NilType},
		{[]cty.Type{cty.Tuple(append(etys[1:n:n], cty.EmptyObject)), texts}, cty.NilType},
	} {
		got := Unify(c.types)
		if !equalTypes(got, c.want) {
			t.Errorf("case %d: %.200q, not %.200q", i, fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", c.want))
		}
	}
}

func TestNumbersAreFoundAtAnyDepth(t *testing.T) {
	long := cty.MustParseNumberVal("1e-999999")
	for i, n := range []cty.Value{long, cty.PositiveInfinity, cty.NegativeInfinity, cty.MustParseNumberVal("1e99999"),
		cty.NullVal(cty.Number), cty.UnknownVal(cty.Number)} {
		for _, v := range []cty.Value{
			n, n.Mark("secret"), cty.ListVal([]cty.Value{cty.Zero, n}),
			cty.TupleVal([]cty.Value{cty.True, n.Mark("secret")}), cty.MapVal(map[string]cty.Value{"a": n}),
			cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("x"), "b": cty.ListVal([]cty.Value{n}).Mark(
				"secret")}),
			cty.TupleVal([]cty.Value{capsuleValue, cty.DynamicVal, n}),
		} {
			known := n.IsKnown() && !n.IsNull()
			if got, want := TooLong(v), i == 0; got != want {
				t.Errorf("TooLong(%#v) = %t", v.Type(), got)
			}
			if got, want := Unstorable(v), i == 0 || known && n.AsBigFloat().IsInf(); got != want {
				t.Errorf("Unstorable(%#v) = %t", v.Type(), got)
			}
		}
	}
	if !Unstorable(cty.SetVal([]cty.Value{cty.Zero, cty.PositiveInfinity})) ||
		TooLong(cty.SetVal([]cty.Value{cty.Zero})) {
		t.Error("sets are not looked into")
	}
}

func TestConvertNamesTheFirstOfSeveralUnsuitableMembers(t *testing.T) {
	bad := map[string]cty.Value{}
	want := map[string]cty.Type{}
	for _, name := range strings.Split("hgfedcba", "") {
		bad[name], want[name] = cty.EmptyTupleVal, cty.Number
	}
	object, ty := cty.ObjectVal(bad), cty.Object(want)
	few := cty.ObjectVal(map[string]cty.Value{"b": cty.True})
	for _, tt := range []struct {
		v    cty.Value
		want cty.Type
		text string
	}{
		{object, ty, `attribute "a": number required, but have tuple`},
		{object, cty.Map(cty.Number), `element "a": number required, but have tuple`},
		{cty.TupleVal([]cty.Value{object}), cty.List(ty), `element 0: attribute "a": number required, but have tuple`},
		{cty.TupleVal([]cty.Value{few}), cty.Set(cty.Object(map[string]cty.Type{"b": cty.Number})),
			`element 0: attribute "b": number required, but have bool`},
		{cty.SetVal([]cty.Value{object}), cty.Set(ty),
			`incorrect set element type: attribute "a": number required, but have tuple`},
		{cty.SetVal([]cty.Value{object}), cty.List(ty),
			`incorrect list element type: attribute "a": number required, but have tuple`},
		{cty.MapVal(map[string]cty.Value{"x": object}), cty.Map(ty),
			`incorrect map element type: attribute "a": number required, but have tuple`},
		{few, ty, `attributes "a", "c", "d", "e", "f", "g", and "h" are required`},
		{cty.True, cty.List(cty.Bool), `list of bool required, but have bool`},
		{cty.TupleVal([]cty.Value{cty.True, few}), cty.List(cty.Bool), `element 1: bool required, but have object`},
		{object, cty.Map(cty.Object(map[string]cty.Type{"x": cty.Bool})),
			`element "a": object required, but have tuple`},
	} {
		for range 20 {
			if _, err := Convert(tt.v, tt.want); err == nil || err.Error() != tt.text {
				t.Errorf("%#v to %#v:\ngot  %v\nwant %s", tt.v, tt.want, err, tt.text)
				break
			}
		}
	}
}
