package ctyfast

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
)

// TestReadJSONSupportsMarshalJSON checks that ReadJSON supports all output of MarshalJSON.
func TestReadJSONSupportsMarshalJSON(t *testing.T) {
	for seed := range uint64(300) {
		g := &gen{r: rand.New(rand.NewPCG(seed, 3))}
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
		text, err := ctyjson.Marshal(v, ty)
		if err != nil {
			continue // an infinite number
		}
		for _, text := range [][]byte{text, indented(t, text)} {
			if !checkRead(t, text, ty) {
				t.Fatalf("seed %d: given up on as %#v:\n%s", seed, ty, text)
			}
		}
	}
}

func indented(t *testing.T, text []byte) []byte {
	t.Helper()
	out, err := json.MarshalIndent(json.RawMessage(text), "\t", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// checkRead compares the result with cty's. It reports whether ReadJSON supported the text.
func checkRead(t *testing.T, text []byte, ty cty.Type) bool {
	t.Helper()
	got, ok := ReadJSON(text, ty)
	if !ok {
		if got != cty.NilVal {
			t.Fatalf("given up on with a value: %q", text)
		}
		return false
	}
	want, err := ctyjson.Unmarshal(text, ty)
	switch {
	case err != nil:
		t.Fatalf("cty refuses what was read as %#v, %v:\n%q as %#v", got, err, text, ty)
	case !got.Type().Equals(want.Type()) || !got.RawEquals(want) || !RawEquals(got, want):
		t.Fatalf("got\n%#v\nwant\n%#v\nfrom %q as %#v", got, want, text, ty)
	case !json.Valid(text):
		t.Fatalf("read what is not JSON: %q as %#v", text, ty)
	}
	return true
}

func TestUnusualJSONIsLeftToCty(t *testing.T) {
	object := cty.Object(map[string]cty.Type{"a": cty.String, "n": cty.Number})
	optional := cty.ObjectWithOptionalAttrs(map[string]cty.Type{"a": cty.String}, []string{"a"})
	dynamic := cty.DynamicPseudoType
	for _, c := range []struct {
		ty   cty.Type
		text string
	}{
		{cty.String, ``}, {cty.String, `"a" b`}, {cty.String, `"a`}, {cty.String, "\"\n\""}, {cty.String, `"\x"`},
		{cty.String, `5`}, {cty.String, `true`}, {cty.String, "\ufeff\"a\""},
		{cty.Number, `"5"`}, {cty.Number, `05`}, {cty.Number, `5.`}, {cty.Number, `.5`}, {cty.Number, `5e`},
		{cty.Number, `-`}, {cty.Number, `+5`}, {cty.Number, `0x5`}, {cty.Number, `1_0`},
		{cty.Number, `1e99999`}, {cty.Number, `1e-99999`}, {cty.Number, `1e99999999999`},
		{cty.Number, strings.Repeat("9", 2000)}, {cty.Number, `Infinity`}, {cty.Number, `"Inf"`},
		{cty.Bool, `"true"`}, {cty.Bool, `1`}, {cty.Bool, `True`}, {cty.Bool, `nul`},
		{object, `{"b":null}`}, {object, `{"A":"a"}`}, {object, `{"a":"a",}`}, {object, `{"a":"a"}}`},
		{object, `{"a" "a"}`}, {object, `{"a":"a" "n":1}`}, {object, `{,"a":"a"}`}, {object, `[]`}, {object, `{"a":1`},
		{optional, `{}`}, {cty.List(optional), `[{"a":"x"}]`},
		{cty.List(cty.String), `["a",]`}, {cty.List(cty.String), `[,]`}, {cty.List(cty.String), `["a" "b"]`},
		{cty.List(cty.String), `["a"}`}, {cty.List(cty.String), `{}`},
		{cty.Map(cty.String), "{\"e\u0301\":\"a\"}"}, {cty.Map(cty.String), `{"a":1}`}, {cty.Map(cty.String), `[]`},
		{cty.Tuple([]cty.Type{cty.String}), `["a","b"]`}, {cty.Tuple([]cty.Type{cty.String, cty.String}), `["a"]`},
		{cty.Tuple([]cty.Type{cty.String}), `{"a":"b"}`},
		{dynamic, `"a"`}, {dynamic, `{}`}, {dynamic, `{"value":1}`}, {dynamic, `{"type":"string"}`},
		{dynamic, `{"value":1,"type":"number","value":2}`}, {dynamic, `{"type":"string","type":"number","value":1}`},
		{dynamic, `{"value":1,"type":"number","more":1}`}, {dynamic, `{"value":1,"type":null}`},
		{dynamic, `{"value":1 2,"type":"number"}`}, {dynamic, `{"value":[1}],"type":["list","number"]}`},
		{dynamic, `{"value":{},"type":["object",{},["a"]]}`}, {dynamic, `{"value":"a"b,"type":"string"}`},
		{dynamic, `{"value":,"type":"string"}`},
		{cty.List(dynamic), `[{"value":1,"type":"number"}]`}, {cty.Map(dynamic), `{"a":{"value":1,"type":"number"}}`},
		{cty.Set(dynamic), `[{"value":1,"type":"number"}]`},
		{capsule, `1`}, {nested(101), strings.Repeat("[", 101) + strings.Repeat("]", 101)},
	} {
		if v, ok := ReadJSON([]byte(c.text), c.ty); ok {
			t.Errorf("%q as %#v was read: %#v", c.text, c.ty, v)
		}
		got, gotErr := guarded(UnmarshalJSON, c.text, c.ty)
		want, wantErr := guarded(ctyjson.Unmarshal, c.text, c.ty)
		if place(gotErr) != place(wantErr) || wantErr == nil && c.ty != capsule && c.ty != cty.Number &&
			!got.RawEquals(want) {
			t.Errorf("%q as %#v: got %#v, %s, want %#v, %s", c.text, c.ty, got, place(gotErr), want, place(wantErr))
		}
	}
}

// place returns an error with its path.
func place(err error) string {
	var at cty.PathError
	errors.As(err, &at)
	return fmt.Sprintf("%v at %#v", err, at.Path)
}

func nested(depth int) cty.Type {
	ty := cty.String
	for range depth {
		ty = cty.List(ty)
	}
	return ty
}

func guarded(decode func([]byte, cty.Type) (cty.Value, error), text string, ty cty.Type) (v cty.Value, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	return decode([]byte(text), ty)
}

// anyType generates arbitrary types.
func anyType(r *rand.Rand, depth int) cty.Type {
	n := 20
	if depth == 0 {
		n = 10
	}
	switch k := r.IntN(n); k {
	case 0:
		return cty.DynamicPseudoType
	case 1, 2, 3:
		return cty.Number
	case 4:
		return cty.Bool
	case 5:
		return []cty.Type{capsule, cty.EmptyObject, cty.EmptyTuple, cty.String}[r.IntN(4)]
	case 10, 11:
		return cty.List(anyType(r, depth-1))
	case 12:
		return cty.Map(anyType(r, depth-1))
	case 13, 14:
		return cty.Set(anyType(r, depth-1))
	case 15:
		etys := make([]cty.Type, r.IntN(4))
		for i := range etys {
			etys[i] = anyType(r, depth-1)
		}
		return cty.Tuple(etys)
	case 16, 17, 18, 19:
		atys, optional := map[string]cty.Type{}, []string(nil)
		for _, name := range memberNames {
			if r.IntN(3) == 0 {
				atys[name] = anyType(r, depth-1)
			}
		}
		if len(atys) > 0 && r.IntN(10) == 0 {
			optional = []string{slices.Sorted(maps.Keys(atys))[0]}
		}
		return cty.ObjectWithOptionalAttrs(atys, optional)
	}
	return cty.String
}

var memberNames = []string{"a", "A", "type", "value", "", "é", "e\u0301", "a\"b", "\ufffd", "K"}

// guess generates texts that often, but not always, are values of a type.
type guess struct {
	r *rand.Rand
	b strings.Builder
}

func (g *guess) pick(of ...string) { g.b.WriteString(of[g.r.IntN(len(of))]) }

func (g *guess) gap() {
	if g.r.IntN(8) == 0 {
		g.pick(" ", "\n", "\t\r", " \n ", "\f", "\u00a0")
	}
}

func (g *guess) text() {
	g.pick(`"a"`, `"a"`, `""`, `"é"`, "\"e\u0301\"", `"e\u0301"`, `"\u00e9"`, `"a\"b\\\/\b\f\n\r\t"`, `"\ud83d\ude00"`,
		`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83dx"`, "\"\xff\"", "\"\xed\xa0\x80\"", "\"a\x00\"",
		`"\u0000"`, `"\u00zz"`, `"true"`, `"1"`, `"1e5"`, `"K"`, `"\u212a"`, "\"\u212a\"", `"null"`, "\"\u2028<>&\"",
		`"\'"`, `"type"`, `"value"`, "\"\ufffd\"", `"unknown"`)
}

func (g *guess) number() {
	g.pick("0", "-0", "0.0", "-0.0", "1", "-1", "10", "1.0", "1e1", "1E+1", "10e-1", "0.1", "0.10", "1e-7",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"123456789012345678901234567890.5", "1e400", "1e-400", "1e2466", "1e2467", "1e9999", "1e99999", "1e-99999",
		"00", "01", "1.", ".1", "1e", "--1", "1e1.0", "-", "0x1p-2", strings.Repeat("1", 999),
		strings.Repeat("1", 1001),
		"0."+strings.Repeat("3", 400),
		"3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067982148086513282306647093844609550582231725359408128481117450284102701938521105559644622948954930381964428810975665933446128475648233786783165271201909")
}

func (g *guess) members(opening, closing string, n int, each func(i int)) {
	g.b.WriteString(opening)
	g.gap()
	for i := range n {
		if i > 0 {
			g.b.WriteByte(',')
			g.gap()
		}
		each(i)
		g.gap()
	}
	if g.r.IntN(50) == 0 {
		g.pick(",", "]", "}", "null", "\"")
	}
	g.b.WriteString(closing)
}

func (g *guess) member(name func(), ty cty.Type) {
	name()
	g.gap()
	g.b.WriteByte(':')
	g.gap()
	g.value(ty)
}

func (g *guess) quoted(name string) func() {
	return func() {
		b, _ := json.Marshal(name)
		if g.r.IntN(10) == 0 && len(name) > 0 && name[0] < 0x80 && name[0] != '"' {
			b = fmt.Appendf(nil, `"\u%04x%s`, name[0], b[2:])
		}
		g.b.Write(b)
	}
}

func (g *guess) value(ty cty.Type) {
	switch g.r.IntN(40) {
	case 0, 1:
		g.b.WriteString("null")
		return
	case 2:
		ty = anyType(g.r, 1)
	case 3:
		g.text()
		return
	}
	n := g.r.IntN(4)
	switch {
	case ty == cty.String:
		g.text()
	case ty == cty.Number:
		g.number()
	case ty == cty.Bool:
		g.pick("true", "false", "true", "false", `"true"`, "truE", "t", "1")
	case ty.IsListType(), ty.IsSetType():
		g.members("[", "]", n, func(int) { g.value(ty.ElementType()) })
	case ty.IsMapType():
		g.members("{", "}", n, func(int) { g.member(g.text, ty.ElementType()) })
	case ty.IsTupleType():
		etys := ty.TupleElementTypes()
		if g.r.IntN(30) == 0 {
			etys = append(slices.Clone(etys), cty.String)
		}
		g.members("[", "]", len(etys), func(i int) { g.value(etys[i]) })
	case ty.IsObjectType():
		var names []string
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			if g.r.IntN(10) > 0 {
				names = append(names, name)
			}
		}
		if len(names) > 0 && g.r.IntN(10) == 0 {
			names = append(names, names[g.r.IntN(len(names))])
		}
		g.members("{", "}", len(names), func(i int) { g.member(g.quoted(names[i]), ty.AttributeType(names[i])) })
		if g.r.IntN(60) == 0 {
			g.text()
		}
	case ty == cty.DynamicPseudoType:
		g.dynamic()
	default:
		g.b.WriteString("1")
	}
}

func (g *guess) dynamic() {
	ty := anyType(g.r, g.r.IntN(3))
	typ, err := ctyjson.MarshalType(ty)
	if err != nil || g.r.IntN(30) == 0 {
		typ = []byte([]string{"null", `"strin"`, `["list"]`, `["list",null]`, `["object",{"a":"string"},["b"]]`,
			`["object",null]`, `["tuple",null]`, `["list","string","string"]`, `{}`}[g.r.IntN(9)])
	}
	parts := []func(){
		func() { g.b.WriteString(`"value":`); g.gap(); g.value(ty) },
		func() { g.b.WriteString(`"type":`); g.gap(); g.b.Write(typ) },
	}
	if g.r.IntN(3) == 0 {
		slices.Reverse(parts)
	}
	if g.r.IntN(20) == 0 {
		parts = append(parts, parts[g.r.IntN(2)])
	}
	g.members("{", "}", len(parts), func(i int) { parts[i]() })
}

// mutated changes a few bytes.
func mutated(r *rand.Rand, text []byte) []byte {
	const bytes = "{}[],:\" \\0123456789.eE+-tfnu\xff\xc3\x00\n"
	for range r.IntN(4) {
		at := r.IntN(len(text) + 1)
		switch c := bytes[r.IntN(len(bytes))]; {
		case r.IntN(3) == 0 && at < len(text):
			text[at] = c
		case r.IntN(2) == 0 && at < len(text):
			text = slices.Delete(text, at, at+1)
		default:
			text = slices.Insert(text, at, c)
		}
	}
	return text
}

// guessed generates a type and a text from a seed.
func guessed(seed uint64) (cty.Type, []byte) {
	g := &guess{r: rand.New(rand.NewPCG(seed, 4))}
	ty := anyType(g.r, 1+g.r.IntN(3))
	g.value(ty)
	g.gap()
	text := []byte(g.b.String())
	if seed%3 == 0 {
		text = mutated(g.r, text)
	}
	return ty, text
}

func TestReadJSONEqualsCty(t *testing.T) {
	read, n := 0, uint64(20_000)
	for seed := range n {
		if ty, text := guessed(seed); checkRead(t, text, ty) {
			read++
		}
	}
	if read < int(n/4) {
		t.Errorf("only %d of %d texts were read: this tests little", read, n)
	}
}

// FuzzReadJSON reads arbitrary text as arbitrary types, and text that resembles a value of the type.
func FuzzReadJSON(f *testing.F) {
	for seed := range uint64(50) {
		_, text := guessed(seed)
		f.Add(seed, text)
	}
	f.Fuzz(func(t *testing.T, seed uint64, text []byte) {
		ty, like := guessed(seed)
		checkRead(t, text, ty)
		checkRead(t, like, ty)
	})
}

// BenchmarkMsgpack reads and writes an object of a hundred attributes.
func BenchmarkMsgpack(b *testing.B) {
	v := hundred()
	data, err := msgpack.Marshal(v, v.Type())
	if err != nil {
		b.Fatal(err)
	}
	for who, f := range map[string]func() error{
		"read/ours":  func() error { _, err := UnmarshalMsgpack(data, v.Type()); return err },
		"read/cty":   func() error { _, err := msgpack.Unmarshal(data, v.Type()); return err },
		"write/ours": func() error { _, err := MarshalMsgpack(v, v.Type()); return err },
		"write/cty":  func() error { _, err := msgpack.Marshal(v, v.Type()); return err },
	} {
		b.Run(who, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// hundred returns an object of a hundred attributes.
func hundred() cty.Value {
	vals := map[string]cty.Value{}
	for i := range 100 {
		text := cty.StringVal(fmt.Sprintf("arn:partition:service:region:account:resource/%d", i))
		vals[fmt.Sprintf("attribute_%d", i)] = []cty.Value{
			text, text, text, cty.NullVal(cty.String), cty.NumberIntVal(int64(i)), cty.True,
			cty.ListVal([]cty.Value{text, text}), cty.MapVal(map[string]cty.Value{"Name": text, "Owner": text}),
			cty.SetVal([]cty.Value{text, cty.StringVal("other")}),
			cty.ListVal([]cty.Value{
				cty.ObjectVal(map[string]cty.Value{"name": text, "port": cty.NumberIntVal(80),
					"note": cty.StringVal("a \"b\"\n")})}),
		}[i%10]
	}
	return cty.ObjectVal(vals)
}

// BenchmarkJSON reads and writes an object of a hundred attributes.
func BenchmarkJSON(b *testing.B) {
	v := hundred()
	for name, ty := range map[string]cty.Type{"typed": v.Type(), "dynamic": cty.DynamicPseudoType} {
		text, err := ctyjson.Marshal(v, ty)
		if err != nil {
			b.Fatal(err)
		}
		for who, f := range map[string]func() error{
			"read/" + name + "/ours":  func() error { _, err := UnmarshalJSON(text, ty); return err },
			"read/" + name + "/cty":   func() error { _, err := ctyjson.Unmarshal(text, ty); return err },
			"write/" + name + "/ours": func() error { _, err := MarshalJSON(v, ty); return err },
			"write/" + name + "/cty":  func() error { _, err := ctyjson.Marshal(v, ty); return err },
		} {
			b.Run(who, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
