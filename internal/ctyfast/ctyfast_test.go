package ctyfast

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
)

func TestValuesHaveTheExpectedMemoryLayout(t *testing.T) {
	if !inside {
		t.Error("cty has changed: everything is left to its own, slow functions")
	}
}

// gen generates values of random types. Few candidates make equal ones frequent.
type gen struct {
	r       *rand.Rand
	unknown bool
}

var capsule = cty.Capsule("thing", reflect.TypeFor[int]())

func (g *gen) typ(depth int) cty.Type {
	n := 12
	if depth == 0 {
		n = 4
	}
	switch g.r.IntN(n) {
	case 0, 1:
		return cty.String
	case 2:
		return cty.Number
	case 3:
		return cty.Bool
	case 4:
		return cty.List(g.typ(depth - 1))
	case 5:
		return cty.Map(g.typ(depth - 1))
	case 6:
		return cty.Tuple([]cty.Type{g.typ(depth - 1), g.typ(depth - 1)})
	case 7, 8:
		return cty.Object(map[string]cty.Type{"b": g.typ(depth - 1), "a": g.typ(depth - 1), "é": cty.String})
	}
	return cty.Set(g.typ(depth - 1))
}

var numbers = func() []cty.Value {
	big1, _, _ := big.ParseFloat("0.1", 10, 512, big.ToNearestEven)
	return []cty.Value{
		cty.Zero, cty.NumberVal(new(big.Float).Neg(new(big.Float))), cty.NumberIntVal(1), cty.NumberIntVal(10),
		cty.NumberIntVal(-2),
		cty.NumberFloatVal(0.1), cty.NumberVal(big1), cty.NumberIntVal(12345678901), cty.NumberIntVal(12345678902),
		cty.NumberIntVal(12345678903), cty.PositiveInfinity,
		cty.NumberFloatVal(1 << 60), cty.NumberIntVal(math.MinInt64), cty.NumberIntVal(math.MaxInt64),
		cty.NumberUIntVal(math.MaxUint64), cty.MustParseNumberVal("9223372036854775807"),
		cty.MustParseNumberVal("-1e30"), cty.MustParseNumberVal("3e18"),
		cty.NumberVal(new(big.Float).SetPrec(3).SetInt64(1000)), cty.NumberVal(new(big.Float).SetPrec(4).SetInt64(15)),
		cty.NumberVal(new(big.Float).SetPrec(4).SetInt64(16)),
	}
}()

func (g *gen) value(ty cty.Type) cty.Value {
	switch n := g.r.IntN(40); {
	case n == 0:
		return cty.NullVal(ty)
	case n == 1 && g.unknown:
		return cty.UnknownVal(ty)
	case n == 2 && g.unknown:
		return cty.UnknownVal(ty).RefineNotNull()
	case n == 3 && g.unknown && ty.IsCollectionType():
		return cty.UnknownVal(ty).Refine().NotNull().CollectionLengthLowerBound(1).CollectionLengthUpperBound(
			9).NewValue()
	}
	n := g.r.IntN(4)
	if g.r.IntN(5) == 0 {
		n = 20
	}
	list := make([]cty.Value, 0, n)
	for range n {
		switch {
		case ty.IsListType(), ty.IsSetType(), ty.IsMapType():
			list = append(list, g.value(ty.ElementType()))
		}
	}
	switch {
	case ty == cty.String:
		return cty.StringVal([]string{"", "a", "b\"\n", "é", "zz", "~", "?", "\u2028", "<&>\\",
			"\x7f\x00"}[g.r.IntN(10)] + fmt.Sprint(g.r.IntN(3)))
	case ty == cty.Number:
		return numbers[g.r.IntN(len(numbers))]
	case ty == cty.Bool:
		return cty.BoolVal(g.r.IntN(2) == 0)
	case ty.IsListType() && n == 0:
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsListType():
		return cty.ListVal(list)
	case ty.IsSetType() && n == 0:
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(list)
	case ty.IsMapType() && n == 0:
		return cty.MapValEmpty(ty.ElementType())
	case ty.IsMapType():
		m := map[string]cty.Value{}
		for i, v := range list {
			m[fmt.Sprint("k", i)] = v
		}
		return cty.MapVal(m)
	case ty.IsTupleType():
		return cty.TupleVal([]cty.Value{g.value(ty.TupleElementType(0)), g.value(ty.TupleElementType(1))})
	}
	m := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) { // one seed, one value
		m[name] = g.value(ty.AttributeType(name))
	}
	return cty.ObjectVal(m)
}

// at returns the random source for a path, because the library visits the members of an object in random order.
func at(seed uint64, path cty.Path) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%#v", path)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// pair returns two values of one type, often equal, the second with the elements of its sets in another order.
func (g *gen) pair() (a, b cty.Value) {
	ty := g.typ(1 + g.r.IntN(2))
	seed := g.r.Uint64()
	again := func() cty.Value {
		return (&gen{r: rand.New(rand.NewPCG(seed, 1)), unknown: g.unknown}).value(ty)
	}
	switch a = again(); g.r.IntN(3) {
	case 0:
		return a, g.value(ty)
	case 1:
		return a, again()
	}
	b, _ = cty.Transform(a, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if v.Type().IsSetType() && v.IsKnown() && !v.IsNull() && v.LengthInt() > 0 {
			vals := v.AsValueSlice()
			at(seed, path).Shuffle(len(vals), func(i, j int) { vals[i], vals[j] = vals[j], vals[i] })
			return cty.SetVal(vals), nil
		}
		return v, nil
	})
	return a, b
}

// TestResultsEqualCty compares every function with cty's equivalent.
func TestResultsEqualCty(t *testing.T) {
	for seed := range uint64(400) {
		checkSeed(t, seed)
	}
}

func FuzzResultsEqualCty(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkSeed(t, seed) })
}

func checkSeed(t *testing.T, seed uint64) {
	t.Helper()
	g := &gen{r: rand.New(rand.NewPCG(seed, 2)), unknown: seed%2 == 0}
	a, b := g.pair()
	if got, want := RawEquals(a, b), a.RawEquals(b); got != want {
		t.Fatalf("seed %d: RawEquals is %t, want %t:\n%#v\n%#v", seed, got, want, a, b)
	}
	if got, want := WhollyKnown(a), a.IsWhollyKnown(); got != want {
		t.Fatalf("seed %d: WhollyKnown is %t, want %t: %#v", seed, got, want, a)
	}
	checkOrder(t, seed, a)
	ty := a.Type()
	if g.r.IntN(4) == 0 && ty.IsObjectType() {
		atys := map[string]cty.Type{}
		for name, aty := range ty.AttributeTypes() {
			atys[name] = aty
		}
		atys["a"] = cty.DynamicPseudoType
		ty = cty.Object(atys)
	}
	got, err := MarshalMsgpack(a, ty)
	want, wantErr := msgpack.Marshal(a, ty)
	if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("seed %d: msgpack %x (%v), want %x (%v): %#v", seed, got, err, want, wantErr, a)
	}
	got, err = MarshalJSON(a, ty)
	want, wantErr = ctyjson.Marshal(a, ty)
	if !bytes.Equal(got, want) || err == nil != (wantErr == nil) {
		t.Fatalf("seed %d: JSON %s (%v), want %s (%v): %#v", seed, got, err, want, wantErr, a)
	}
	if HasMarkDeep(a, "m") {
		t.Fatalf("seed %d: marked: %#v", seed, a)
	}
	marked := somewhere(g, a)
	if got, want := HasMarkDeep(marked, "m"), marked.HasMarkDeep("m"); got != want || ContainsMarked(marked) != want {
		t.Fatalf("seed %d: HasMarkDeep is %t, want %t: %#v", seed, got, want, marked)
	}
	if got, want := RawEquals(marked, a), marked.RawEquals(a); got != want || !RawEquals(marked, marked) {
		t.Fatalf("seed %d: RawEquals is %t, want %t: %#v", seed, got, want, marked)
	}
	if got, want := SameType(a.Type(), b.Type()), a.Type().Equals(b.Type()); got != want ||
		!SameType(a.Type(), a.Type()) {
		t.Fatalf("seed %d: SameType is %t, want %t: %#v, %#v", seed, got, want, a.Type(), b.Type())
	}
	if ty := a.Type(); ty.IsObjectType() && !a.IsNull() { // neither supports attributes of a null object
		for name := range ty.AttributeTypes() {
			if got, want := Attr(a, name), a.GetAttr(name); !got.RawEquals(want) || !got.Type().Equals(want.Type()) {
				t.Fatalf("seed %d: Attr(%q) is %#v, want %#v", seed, name, got, want)
			}
			if got, want := NullAttr(a, name), a.GetAttr(name).IsNull(); got != want {
				t.Fatalf("seed %d: NullAttr(%q) is %t, want %t: %#v", seed, name, got, want, a)
			}
		}
	}
	if got, want := WhollyKnown(marked), marked.IsWhollyKnown(); got != want {
		t.Fatalf("seed %d: WhollyKnown is %t, want %t: %#v", seed, got, want, marked)
	}
	checkMembers(t, seed, a, b, marked)
}

// checkMembers takes objects and maps apart, and builds objects like others of them.
func checkMembers(t *testing.T, seed uint64, list ...cty.Value) {
	t.Helper()
	var objects []cty.Value
	for _, v := range list {
		_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
			bare, _ := v.Unmark()
			if ty := bare.Type(); bare.IsNull() || !bare.IsKnown() || !ty.IsObjectType() && !ty.IsMapType() {
				return true, nil
			}
			got, want := Members(bare), bare.AsValueMap()
			same := len(got) == len(want)
			for name, member := range want {
				same = same && got[name].Type().Equals(member.Type()) && got[name].RawEquals(member)
			}
			if !same {
				t.Fatalf("seed %d: got\n%#v\nwant\n%#v", seed, got, want)
			}
			objects = append(objects, bare)
			return true, nil
		})
	}
	for _, like := range objects {
		for _, of := range objects {
			vals := of.AsValueMap()
			got, want := ObjectLike(like, vals), cty.ObjectVal(vals)
			if !got.RawEquals(want) || !got.Type().Equals(want.Type()) {
				t.Fatalf("seed %d: got\n%#v\nwant\n%#v\nlike %#v", seed, got, want, like)
			}
		}
	}
}

// somewhere marks a random part of a value.
func somewhere(g *gen, v cty.Value) cty.Value {
	seed := g.r.Uint64()
	out, _ := cty.Transform(v, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if at(seed, path).IntN(30) == 0 {
			return v.Mark("m"), nil
		}
		return v, nil
	})
	return out
}

func checkOrder(t *testing.T, seed uint64, v cty.Value) {
	t.Helper()
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() || v.IsNull() || !v.Type().IsSetType() && !v.Type().IsListType() && !v.Type().IsTupleType() {
			return true, nil
		}
		got, want := Elements(v), v.AsValueSlice()
		same := len(got) == len(want)
		for i := range want {
			same = same && want[i].RawEquals(got[i]) && want[i].Type().Equals(got[i].Type())
		}
		if !same {
			t.Fatalf("seed %d: got\n%#v\nwant\n%#v", seed, got, want)
		}
		for k, e := range Each(v) {
			if v.Type().IsSetType() && !k.RawEquals(e) {
				t.Fatalf("seed %d: key %#v of element %#v", seed, k, e)
			}
		}
		return true, nil
	})
}

func TestSetsOfCapsulesAreLeftToCty(t *testing.T) {
	one, two := 1, 2
	s := cty.SetVal([]cty.Value{
		cty.ObjectVal(map[string]cty.Value{"c": cty.CapsuleVal(capsule, &one)}),
		cty.ObjectVal(map[string]cty.Value{"c": cty.CapsuleVal(capsule, &two)}),
	})
	if got, want := Elements(s), s.AsValueSlice(); len(got) != 2 || !got[0].RawEquals(want[0]) || !RawEquals(s, s) ||
		!WhollyKnown(s) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

// BenchmarkSet measures operations on a set of a thousand objects.
func BenchmarkSet(b *testing.B) {
	make1000 := func() cty.Value {
		vals := make([]cty.Value, 1000)
		for i := range vals {
			vals[i] = cty.ObjectVal(map[string]cty.Value{
				"name": cty.StringVal(fmt.Sprint("key-", i)), "port": cty.NumberIntVal(int64(i)), "open": cty.True,
				"zone": cty.StringVal(fmt.Sprint("zone-", i)), "note": cty.StringVal(fmt.Sprint("some text about ", i)),
			})
		}
		return cty.SetVal(vals)
	}
	s, other := make1000(), make1000()
	for _, bench := range []struct {
		name      string
		ours, cty func()
	}{
		{"Elements", func() { Elements(s) }, func() { s.AsValueSlice() }},
		{"RawEquals", func() { RawEquals(s, other) }, func() { s.RawEquals(other) }},
		{"WhollyKnown", func() { WhollyKnown(s) }, func() { s.IsWhollyKnown() }},
		{"MarshalMsgpack", func() { _, _ = MarshalMsgpack(s, s.Type()) }, func() {
			_, _ = msgpack.Marshal(s, s.Type())
		}},
		{"MarshalJSON", func() { _, _ = MarshalJSON(s, s.Type()) }, func() { _, _ = ctyjson.Marshal(s, s.Type()) }},
	} {
		for name, f := range map[string]func(){"ours": bench.ours, "cty": bench.cty} {
			b.Run(bench.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
	}
}
