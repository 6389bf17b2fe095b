package ctyfast

import (
	"bytes"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
)

// TestReadMsgpackSupportsMarshal checks that ReadMsgpack supports the output of cty, except for sets with unknown
// elements, infinite numbers, and lists and maps of dynamic values.
func TestReadMsgpackSupportsMarshal(t *testing.T) {
	for seed := range uint64(2000) {
		g := &gen{r: rand.New(rand.NewPCG(seed, 4)), unknown: seed%3 == 0}
		v := g.value(g.typ(1 + g.r.IntN(2)))
		ty := v.Type()
		if ty.IsObjectType() && seed%2 == 0 {
			atys := maps.Clone(ty.AttributeTypes())
			atys["a"] = cty.DynamicPseudoType
			ty = cty.Object(atys)
		}
		if seed%11 == 0 {
			ty = cty.DynamicPseudoType
		}
		data, err := msgpack.Marshal(v, ty)
		if err != nil {
			t.Fatal(err)
		}
		if own, err := MarshalMsgpack(v, ty); err != nil || !bytes.Equal(own, data) {
			t.Fatalf("seed %d: written as %x (%v), want %x: %#v", seed, own, err, data, v)
		}
		if !checkUnpacked(t, data, ty) && !g.unknown && !infinite(v) {
			t.Fatalf("seed %d: given up on as %#v:\n%x", seed, ty, data)
		}
	}
}

func infinite(v cty.Value) bool {
	ty, raw := open(v)
	return anyNumber(ty, raw, func(n *big.Float) bool { return n.IsInf() })
}

// checkUnpacked compares the result with cty's. It reports whether ReadMsgpack supported the data.
func checkUnpacked(t *testing.T, data []byte, ty cty.Type) bool {
	t.Helper()
	got, ok := ReadMsgpack(data, ty)
	if !ok {
		if got != cty.NilVal {
			t.Fatalf("given up on with a value: %x", data)
		}
		return false
	}
	want, err := msgpack.Unmarshal(data, ty)
	if err != nil {
		t.Fatalf("cty refuses what was read as %#v, %v:\n%x as %#v", got, err, data, ty)
	}
	if !got.Type().Equals(want.Type()) || !got.RawEquals(want) || got.IsKnown() && !RawEquals(got, want) {
		t.Fatalf("got\n%#v\nwant\n%#v\nfrom %x as %#v", got, want, data, ty)
	}
	return true
}

// TestLengthsInMsgpack compares values of the sizes where the form of a length changes.
func TestLengthsInMsgpack(t *testing.T) {
	check := func(v cty.Value, ty cty.Type) {
		t.Helper()
		want, err := msgpack.Marshal(v, ty)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := MarshalMsgpack(v, ty); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes (%v), want %d", len(got), err, len(want))
		}
		if !checkUnpacked(t, want, ty) {
			t.Fatalf("given up on %d bytes", len(want))
		}
	}
	for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 33, 255, 256, 257, math.MaxUint16, math.MaxUint16 + 1} {
		check(cty.StringVal(strings.Repeat("a", n)), cty.String)
		check(cty.StringVal("ä"+strings.Repeat("a", n)), cty.String)
		if n > 1000 { // only the cheapest collection
			check(cty.ListVal(slices.Repeat([]cty.Value{cty.True}, n)), cty.List(cty.Bool))
			continue
		}
		list, members := make([]cty.Value, n), map[string]cty.Value{}
		for i := range list {
			list[i] = cty.NumberIntVal(int64(i))
			members[strings.Repeat("k", i%7)+cty.NumberIntVal(int64(i)).GoString()] = list[i]
		}
		check(cty.TupleVal(list), cty.Tuple(slices.Repeat([]cty.Type{cty.Number}, n)))
		check(cty.TupleVal(list), cty.DynamicPseudoType) // the type is long, too
		check(cty.ObjectVal(members), cty.DynamicPseudoType)
		if n > 0 {
			check(cty.ListVal(list), cty.List(cty.Number))
			check(cty.MapVal(members), cty.Map(cty.Number))
			check(cty.SetVal(list), cty.Set(cty.Number))
		}
	}
	for shift := range 64 {
		for _, add := range []int64{-1, 0, 1} {
			n := int64(1)<<shift + add
			check(cty.NumberIntVal(n), cty.Number)
			check(cty.NumberIntVal(-n), cty.Number)
			check(cty.NumberUIntVal(uint64(n)), cty.Number)
			check(cty.NumberFloatVal(float64(n)+0.5), cty.Number)
		}
	}
}

// FuzzReadMsgpack compares ReadMsgpack with cty for changed data.
func FuzzReadMsgpack(f *testing.F) {
	types := []cty.Type{cty.DynamicPseudoType, cty.Number, cty.String}
	for seed := range uint64(40) {
		g := &gen{r: rand.New(rand.NewPCG(seed, 5)), unknown: seed%2 == 0}
		v := g.value(g.typ(2))
		data, err := msgpack.Marshal(v, v.Type())
		if err != nil {
			f.Fatal(err)
		}
		types = append(types, v.Type())
		f.Add(data, uint8(len(types)-1))
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		defer func() {
			if r := recover(); r != nil { // cty panics on contradictory values
				if _, ok := ReadMsgpack(data, types[int(which)%len(types)]); ok {
					t.Fatalf("read what cty panics on (%v): %x", r, data)
				}
			}
		}()
		checkUnpacked(t, data, types[int(which)%len(types)])
	})
}

// TestChangedMsgpackIsLeftToCty changes, cuts and repeats bytes of valid data at random.
func TestChangedMsgpackIsLeftToCty(t *testing.T) {
	for seed := range uint64(3000) {
		g := &gen{r: rand.New(rand.NewPCG(seed, 6)), unknown: seed%2 == 0}
		v := g.value(g.typ(2))
		data, err := msgpack.Marshal(v, v.Type())
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + g.r.IntN(2) {
			i := g.r.IntN(len(data))
			switch g.r.IntN(4) {
			case 0:
				data = append(data[:i:i], data[min(i+1+g.r.IntN(3), len(data)):]...)
			case 1:
				data = slices.Insert(data, i, byte(g.r.IntN(256)))
			default:
				data[i] = byte(g.r.IntN(256))
			}
			if len(data) == 0 {
				break
			}
		}
		func() {
			defer func() {
				if r := recover(); r != nil {
					if _, ok := ReadMsgpack(data, v.Type()); ok {
						t.Fatalf("seed %d: read what cty panics on (%v): %x", seed, r, data)
					}
				}
			}()
			checkUnpacked(t, data, v.Type())
		}()
	}
}
