package wire

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

func TestRandomValuesPassUnchanged(t *testing.T) {
	for seed := range uint64(3000) {
		r := newRandom(seed)
		ty := r.typ(3, true)
		v := r.value(ty)
		m, err := encodeValue(v, ty)
		if err != nil {
			t.Fatalf("seed %d: %#v: %v", seed, v, err)
		}
		got, err := decodeValue(m, ty)
		if err != nil {
			t.Fatalf("seed %d: %#v: %v", seed, v, err)
		}
		if !got.RawEquals(v) {
			t.Errorf("seed %d: got %#v\nwant %#v", seed, got, v)
		}
		ty2, err := decodeType(must(encodeType(ty)))
		if err != nil || !ty2.Equals(ty) {
			t.Errorf("seed %d: type %#v became %#v (%v)", seed, ty, ty2, err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestJSONIsAccepted(t *testing.T) {
	ty := cty.Object(map[string]cty.Type{"n": cty.Number, "d": cty.DynamicPseudoType, "s": cty.Set(cty.String)})
	got, err := decodeValue(&plugin6.DynamicValue{
		Json: []byte(`{"n":12345678901234567890123,"d":{"type":"string","value":"x"},"s":["a","a"]}`)}, ty)
	if err != nil {
		t.Fatal(err)
	}
	want := cty.ObjectVal(map[string]cty.Value{
		"n": cty.MustParseNumberVal("12345678901234567890123"), "d": cty.StringVal("x"),
		"s": cty.SetVal([]cty.Value{cty.StringVal("a")}),
	})
	if !got.RawEquals(want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestAbsentAndEmptyValuesAreNull(t *testing.T) {
	for _, m := range []*plugin6.DynamicValue{nil, {}, {Msgpack: []byte{}}} {
		if got, err := decodeValue(m, cty.String); err != nil || !got.RawEquals(cty.NullVal(cty.String)) {
			t.Errorf("%v: got %#v, %v", m, got, err)
		}
	}
}

func TestMarkedValuesAreNotSent(t *testing.T) {
	ty := cty.Object(map[string]cty.Type{"a": cty.List(cty.String)})
	v := cty.ObjectVal(map[string]cty.Value{"a": cty.ListVal([]cty.Value{cty.StringVal("hush").Mark("secret")})})
	_, err := encodeValue(v, ty)
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("got error %v, want one without the value", err)
	}
}

func TestInvalidDataIsAnError(t *testing.T) {
	object := cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.Number})
	deep := func(open string, n int) string { return strings.Repeat(open, n) }
	for _, tt := range []struct {
		name string
		hex  string
		ty   cty.Type
		says string
	}{
		{"empty map for an object", "80", object, `the attribute "a" is missing`},
		{"attribute missing", "81a161a0", object, `the attribute "b" is missing`},
		{"attribute unknown to the schema", "83a161a0a16201a163a0", object, `the attribute "c" is not in the schema`},
		{"attribute under another name", "82a161a0a163a0", object, `the attribute "c" is not in the schema`},
		{"attribute twice", "82a161a0a161a0", object, `the attribute "a" is not in the schema, or occurs twice`},
		{"attribute missing deep inside", "9181a161dc000281a161a0",
			cty.List(cty.Map(cty.List(cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.String})))), "middle"},
		{"attribute missing in an element", "9181a16b92c082a161a0a16201",
			cty.List(cty.Map(cty.List(cty.Object(map[string]cty.Type{"a": cty.String, "c": cty.Number})))),
			`[0]["k"][1]: the attribute "b" is not in the schema`},
		{"attribute missing in an attribute", "82a16181a16bc0a16201",
			cty.Object(map[string]cty.Type{"a": cty.Object(map[string]cty.Type{"k": cty.Bool, "l": cty.Bool}),
				"b": cty.Number}), `a: the attribute "l" is missing`},
		{"empty array for a tuple", "90", cty.Tuple([]cty.Type{cty.String}), "elements"},
		{"string for a number", "a161", cty.Number, "number is required"},
		{"not a number", "cb7ff8000000000001", cty.Number, "contradictory"},
		{"list of four billion", "ddffffffff", cty.List(cty.String), "middle"},
		{"map of four billion", "dfffffffff", cty.Map(cty.String), "middle"},
		{"string longer than the data", "dbffffffff61", cty.String, "middle"},
		{"cut", "82a161", object, "middle"},
		{"nothing after the code", "cd", cty.Number, "middle"},
		{"trailing data", "c0c0", cty.String, "more data"},
		{"no such code", "c1", cty.String, "0xc1"},
		{"too deep", deep("91", 2000) + "c0", cty.DynamicPseudoType, "levels deep"},
		{"dynamic in dynamic, too deep", deep("92c4092264796e616d696322", 2000) + "c0", cty.DynamicPseudoType,
			"levels deep"},
		{"dynamic of three parts", "93c0c0c0", cty.DynamicPseudoType, "two elements"},
		{"dynamic with a bad type", "92c402227bc0", cty.DynamicPseudoType, ""},
		{"dynamic with a type that is too deep",
			"92c5" + hex.EncodeToString(append([]byte{0x13, 0x88}, bytes.Repeat([]byte("["), 5000)...)) + "c0",
			cty.DynamicPseudoType, "levels deep"},
		{"list of different types", "9292c40822737472696e6722a16192c40822" + hex.EncodeToString([]byte("number")) +
			"2201", cty.List(cty.DynamicPseudoType), "contradictory"},
		{"bounds that exclude each other", "c7090c8203920ac304920" + "1c3", cty.Number, ""},
		{"bound of another type", "c7040c8105a161", cty.String, "refinement"},
		{"refinements beyond all measure", "c8ffff0c" + strings.Repeat("00", 65535), cty.String, "refinement"},
		{"extension of an unknown kind", "d54200" + "00", cty.String, "extension"},
	} {
		b, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		v, err := decodeValue(&plugin6.DynamicValue{Msgpack: b}, tt.ty)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %#v, error %v; want one with %q", tt.name, v, err, tt.says)
		}
	}
	for _, tt := range []struct {
		name, json string
		ty         cty.Type
	}{
		{"another type", `"x"`, object}, {"cut", `{"a":`, object}, {"extra", `{"a":"x","b":1,"c":1}`, object},
		{"too long", `{"a":"x","b":1e9999999}`, object}, {"too deep", strings.Repeat("[", 100000),
			cty.DynamicPseudoType}, {"too deep behind a string", `{"\"[":` + strings.Repeat(`{"a":`, 2000),
			cty.DynamicPseudoType},
	} {
		if v, err := decodeValue(&plugin6.DynamicValue{Json: []byte(tt.json)}, tt.ty); err == nil {
			t.Errorf("JSON, %s: got %#v", tt.name, v)
		}
	}
}

func TestProblemsOfValuesHaveThePath(t *testing.T) {
	ty := cty.Object(map[string]cty.Type{"list": cty.List(cty.Object(map[string]cty.Type{"n": cty.Number}))})
	bad := must(msgpack.Marshal(cty.ObjectVal(map[string]cty.Value{"list": cty.ListVal([]cty.Value{
		cty.ObjectVal(map[string]cty.Value{"n": cty.StringVal("1")}),
		cty.ObjectVal(map[string]cty.Value{"n": cty.StringVal("x")}),
	})}), cty.Object(map[string]cty.Type{"list": cty.List(cty.Object(map[string]cty.Type{"n": cty.String}))})))
	_, err := decodeValue(&plugin6.DynamicValue{Msgpack: bad}, ty)
	if err == nil || !strings.HasPrefix(err.Error(), `["list"][1]["n"]: `) {
		t.Errorf("got %v", err)
	}
}

// fuzzTypes are the types of fuzzed data.
var fuzzTypes = []cty.Type{
	cty.DynamicPseudoType, cty.String, cty.Number, cty.List(cty.DynamicPseudoType),
	cty.Set(cty.Object(map[string]cty.Type{"a": cty.Number, "b": cty.String})),
	cty.Map(cty.List(cty.Bool)),
	cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.Tuple([]cty.Type{cty.Number, cty.DynamicPseudoType})}),
}

func FuzzDecodeValue(f *testing.F) {
	for seed := range uint64(40) {
		r := newRandom(seed)
		i := int(seed) % 3
		if m, err := encodeValue(r.value(fuzzTypes[i]), fuzzTypes[i]); err == nil {
			f.Add(m.Msgpack, byte(i), false)
		}
	}
	f.Add([]byte(`{"a":"x","b":[1,{"type":"string","value":"y"}]}`), byte(6), true)
	for i := range fuzzTypes {
		for _, text := range []string{
			`1e9999999`, `-0`, `1e-400`, `{"type":"number","value":-1e-999999}`,
			`{"type":["set","dynamic"],"value":[]}`, `{"type":"dynamic","value":null}`,
			`[{"a":1,"b":"\ud800"},{"a":1.0,"b":"\ufffd"}]`,
			`{"a":"e\u0301","a":null,"A":1,"b":[null,null]}`, `{"\u00e9":[true],"e\u0301":[false]}`, `"\u0000"`, ``,
			`null`, `{"value":[{"type":["object",{"":"any"}],"value":{"":1}}]}`,
			`{"type":["object",{"a":"string"},["a"]],"value":{}}`,
		} {
			f.Add([]byte(text), byte(i), true)
			f.Add(append([]byte{0xa0 | byte(len(text)&0x1f)}, text...), byte(i), false)
			f.Add(append([]byte{0xd9, byte(len(text))}, text...), byte(i), false)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, i byte, json bool) {
		ty := fuzzTypes[int(i)%len(fuzzTypes)]
		m := &plugin6.DynamicValue{Msgpack: data}
		if json {
			m = &plugin6.DynamicValue{Json: data}
		}
		v, err := decodeValue(m, ty)
		if err != nil {
			return
		}
		if errs := v.Type().TestConformance(ty); len(errs) > 0 {
			t.Fatalf("%#v is no %#v: %v", v, ty, errs)
		}
		again, err := encodeValue(v, ty)
		if err != nil {
			t.Fatalf("%#v: %v", v, err)
		}
		back, err := decodeValue(again, ty)
		if err != nil {
			t.Fatalf("%#v: %v", v, err)
		}
		// Do not use RawEquals: an unknown value with an empty set of refinements differs from one without.
		if b := must(encodeValue(back, ty)).Msgpack; !bytes.Equal(b, again.Msgpack) {
			t.Fatalf("%#v became %#v", v, back)
		}
	})
}
