package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

var asText = &provider.Attribute{Type: cty.Map(cty.Number), Optional: true}

var block = &provider.Block{
	Attributes: map[string]*provider.Attribute{
		"s":   {Type: cty.String, Optional: true},
		"n":   {Type: cty.Number, Optional: true},
		"b":   {Type: cty.Bool, Optional: true},
		"l":   {Type: cty.List(cty.String), Optional: true},
		"set": {Type: cty.Set(cty.Number), Optional: true},
		"m":   {Type: cty.Map(cty.Number), Optional: true},
		"t":   asText,
		"o":   {Type: cty.Object(map[string]cty.Type{"x": cty.String, "y": cty.Number}), Optional: true},
		"tup": {Type: cty.Tuple([]cty.Type{cty.String, cty.Bool}), Optional: true},
		"any": {Type: cty.DynamicPseudoType, Optional: true},
		"nested": {Optional: true, Nested: &provider.NestedObject{Nesting: provider.NestingMap,
			Attributes: map[string]*provider.Attribute{
				"a": {Type: cty.String, Optional: true}, "c": {Type: cty.String, Computed: true},
			}}},
	},
	Blocks: map[string]*provider.NestedBlock{
		"rule": {Nesting: provider.NestingList, Block: provider.Block{Attributes: map[string]*provider.Attribute{
			"a": {Type: cty.String, Optional: true}, "c": {Type: cty.String, Computed: true},
		}}},
		"one": {Nesting: provider.NestingSingle, Block: provider.Block{Attributes: map[string]*provider.Attribute{
			"a": {Type: cty.String, Optional: true}}}},
		"dyn": {Nesting: provider.NestingList, Block: provider.Block{Attributes: map[string]*provider.Attribute{
			"d": {Type: cty.DynamicPseudoType, Optional: true}}}},
	},
}

var codec = message.Codec{Block: block, AsText: func(a *provider.Attribute) bool { return a == asText }}

func with(given map[string]cty.Value) cty.Value {
	vals := block.EmptyValue().AsValueMap()
	for k, v := range given {
		vals[k] = v
	}
	return cty.ObjectVal(vals)
}

func pair(a, c cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"a": a, "c": c}) }

var str = cty.StringVal

func parse(t *testing.T, text string) *strictjson.Value {
	t.Helper()
	if text == "" {
		return nil
	}
	v, err := strictjson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %s", text, err)
	}
	return v
}

func TestEncodeWritesByTheSchema(t *testing.T) {
	big := cty.MustParseNumberVal("1e25")
	values, unknown := codec.Encode(with(map[string]cty.Value{
		"s": str("<é&\u2028>"), "n": big, "t": cty.MapVal(map[string]cty.Value{"k": cty.MustParseNumberVal("0.1")}),
		"b":      cty.UnknownVal(cty.Bool),
		"set":    cty.SetVal([]cty.Value{cty.NumberIntVal(2), cty.NumberIntVal(1)}),
		"any":    cty.TupleVal([]cty.Value{cty.True, cty.UnknownVal(cty.String)}),
		"nested": cty.MapVal(map[string]cty.Value{"k": pair(str("a"), cty.UnknownVal(cty.String))}),
		"rule": cty.ListVal([]cty.Value{pair(str("a"), str("c")),
			pair(cty.NullVal(cty.String), cty.UnknownVal(cty.String))}),
	}))
	want := `{"any":{"value":[true,null],"type":["tuple",["bool","string"]]},"b":null,"dyn":[],"l":null,"m":null,"n":10000000000000000000000000,` +
		`"nested":{"k":{"a":"a","c":null}},"o":null,"one":null,"rule":[{"a":"a","c":"c"},{"a":null,"c":null}],"s":"<é&` + `\u2028` + `>","set":[1,2],"t":{"k":"0.1"},"tup":null}`
	if string(values) != want {
		t.Errorf("got  %s\nwant %s", values, want)
	}
	if want := `{"any":{"value":[false,true]},"b":true,"nested":{"k":{"c":true}},"rule":[false,{"c":true}]}`; string(
		unknown) != want {
		t.Errorf("got  %s\nwant %s", unknown, want)
	}
	if values, unknown := codec.Encode(cty.NullVal(block.ImpliedType())); string(values) != "null" ||
		string(unknown) != "{}" {
		t.Errorf("null: got %s %s", values, unknown)
	}
}

func TestOverlayChangesMentionedMembers(t *testing.T) {
	unk := cty.UnknownVal(cty.String)
	null := cty.NullVal(cty.String)
	exact := cty.MustParseNumberVal("12345678901234567890123")
	base := with(map[string]cty.Value{
		"s": str("old"), "n": exact, "l": cty.ListVal([]cty.Value{str("x")}),
		"set":    cty.SetVal([]cty.Value{exact, cty.NumberIntVal(1)}),
		"o":      cty.ObjectVal(map[string]cty.Value{"x": str("x"), "y": exact}),
		"nested": cty.MapVal(map[string]cty.Value{"k": pair(str("a"), unk)}),
		"rule":   cty.ListVal([]cty.Value{pair(str("a"), str("c"))}),
	})
	for name, tt := range map[string]struct {
		given, unknown string
		want           map[string]cty.Value
	}{
		"nothing":    {`{}`, "", nil},
		"null":       {`{"s": null}`, "", map[string]cty.Value{"s": null}},
		"normalised": {`{"s": "e\u0301"}`, "", map[string]cty.Value{"s": str("é")}},
		"rounded": {
			`{"n": 1.2345678901234568e+22, "o": {"y": 12345678901234567000000}, "set": [1, 12345678901234567000000]}`,
			"", nil},
		"another number": {`{"n": "12345678901234567890124.5e1"}`, "", map[string]cty.Value{
			"n": cty.MustParseNumberVal("123456789012345678901245")}},
		"member of an object": {`{"o": {"x": "new"}}`, "", map[string]cty.Value{
			"o": cty.ObjectVal(map[string]cty.Value{"x": str("new"), "y": exact})}},
		"member of a nested one": {`{"nested": {"k": {"c": "made"}}}`, "", map[string]cty.Value{
			"nested": cty.MapVal(map[string]cty.Value{"k": pair(str("a"), str("made"))})}},
		"keys that go": {`{"nested": {"z": {"a": "b"}}}`, "", map[string]cty.Value{
			"nested": cty.MapVal(map[string]cty.Value{"z": pair(str("b"), null)})}},
		"list of blocks": {`{"rule": [{"c": "d"}, {"a": "n"}]}`, "", map[string]cty.Value{
			"rule": cty.ListVal([]cty.Value{pair(str("a"), str("d")), pair(str("n"), null)})}},
		"blocks are never null": {`{"rule": null}`, "", map[string]cty.Value{
			"rule": cty.ListValEmpty(cty.Object(map[string]cty.Type{"a": cty.String, "c": cty.String}))}},
		"any": {`{"any": {"value": {"a": [1]}, "type": ["object", {"a": ["list", "number"]}]}}`,
			"", map[string]cty.Value{
				"any": cty.ObjectVal(map[string]cty.Value{"a": cty.ListVal([]cty.Value{cty.NumberIntVal(1)})})}},
		"attributes of other form": {`{"any": {"value": {"e\u0301": "x"}, "type": ["object", {"\u00e9": "string"}]}}`,
			"", map[string]cty.Value{"any": cty.ObjectVal(map[string]cty.Value{"é": str("x")})}},
		"dynamic blocks": {
			`{"dyn": [{"d": {"value": 1, "type": "number"}}, {"d": {"value": "x", "type": "string"}}]}`, "",
			map[string]cty.Value{
				"dyn": cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"d": cty.NumberIntVal(1)}),
					cty.ObjectVal(map[string]cty.Value{"d": str("x")})})}},
		"unknown": {`{"s": "x"}`, `{"s": true, "n": false, "b": true}`, map[string]cty.Value{
			"s": unk, "b": cty.UnknownVal(cty.Bool)}},
		"unknown inside": {`{}`, `{"nested": {"k": {"a": true}}, "rule": [{"c": true}]}`,
			map[string]cty.Value{"nested": cty.MapVal(map[string]cty.Value{"k": pair(unk, unk)}),
				"rule": cty.ListVal([]cty.Value{pair(str("a"), unk)})}},
		"unknown beside": {`{"rule": [{}, {"a": "2"}]}`, `{"rule": [false, {"c": true}]}`,
			map[string]cty.Value{"rule": cty.ListVal([]cty.Value{pair(str("a"), str("c")), pair(str("2"), unk)})}},
		"set of unknowns": {`{"set": [null, 3]}`, `{"set": [true, false]}`, map[string]cty.Value{
			"set": cty.SetVal([]cty.Value{cty.UnknownVal(cty.Number), cty.NumberIntVal(3)})}},
	} {
		want := base.AsValueMap()
		for k, v := range tt.want {
			want[k] = v
		}
		got, problems := codec.Overlay(base, parse(t, tt.given), parse(t, tt.unknown), []byte(tt.given))
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		for k, w := range want {
			if g := got.GetAttr(k); !g.RawEquals(w) {
				t.Errorf("%s: %s: got %#v, want %#v", name, k, g, w)
			}
		}
	}
}

func TestOverlayReportsThePathOfAMistakeAndKeepsTheRest(t *testing.T) {
	base := with(map[string]cty.Value{"s": str("old"), "rule": cty.ListVal([]cty.Value{pair(str("a"), str("c"))})})
	for given, want := range map[string]string{
		`{"nmae": 1}`:                   `there is no attribute or block "nmae".`,
		`{"rul": []}`:                   `Did you mean "rule"?`,
		`{"s": 1}`:                      ".s: a string was expected, not a number",
		`{"b": "true"}`:                 ".b: a boolean was expected, not a string",
		`{"n": "x"}`:                    ".n: expected a number, but the string",
		`{"n": true}`:                   ".n: a number was expected, not a boolean",
		`{"l": {}}`:                     ".l: an array was expected, not an object",
		`{"l": ["a", 1]}`:               ".l[1]: a string was expected",
		`{"m": []}`:                     ".m: an object was expected",
		`{"m": {"é": 1, "e\u0301": 2}}`: "the same after",
		`{"o": {"z": 1}}`:               `.o: there is no attribute "z"`,
		`{"tup": ["a"]}`:                ".tup: 2 elements were expected, not 1",
		`{"any": "x"}`:                  `.any: a value of any type must be written as`,
		`{"any": {"value": 1, "type": "nubmer"}}`: ".any: its type cannot be read",
		`{"rule": [{"x": 1}]}`:                    `.rule[0]: there is no attribute or block "x"`,
		`{"nested": {"k": {"a": 1}}}`:             `.nested["k"].a: a string`,
		`{"one": []}`:                             ".one: an object was expected",
		`[]`:                                      "an object was expected, not an array",
	} {
		got, problems := codec.Overlay(base, parse(t, given), nil, []byte(given))
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%s: got %v, want %q", given, problems, want)
		}
		if errs := value.Conforms(block, got); len(errs) > 0 {
			t.Errorf("%s: %v", given, errs)
		}
	}
}

func TestPathsFollowTheSchema(t *testing.T) {
	for given, want := range map[string]string{
		`["s"]`: ".s", `["rule", 0, "a"]`: ".rule[0].a", `["nested", "k", "a"]`: `.nested["k"].a`, `["set", 1]`: ".set",
		`["any", "x", 1]`: ".any", `[]`: "",
		`["x"]`: "! no attribute", `["rule", "a"]`: ".rule! does not select a part", `["rule", -1]`: ".rule! no index",
		`"s"`: "! a path is an array", `["s", "x"]`: ".s! does not select a part",
	} {
		path, err := message.Path(block.ImpliedType(), parse(t, given))
		got := value.FormatPath(path)
		want, problem, _ := strings.Cut(want, "! ")
		if got != want || (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: got %s, %v; want %s, %q", given, got, err, want, problem)
		}
	}
}

// FuzzOverlay decodes arbitrary answers: the result always conforms to the schema, and encoding and decoding it has the
// same result.
func FuzzOverlay(f *testing.F) {
	f.Add(`{"s": "x", "n": 1e3, "set": [1, 1], "o": {"x": null}, "any": {"value": [1], "type": ["tuple", ["number"]]}}`,
		`{"s": true}`)
	f.Add(`{"rule": [{}, null], "nested": {"k": null}, "one": {}, "dyn": [{"d": null}], "tup": ["a", false]}`,
		`{"rule": [true], "set": [true]}`)
	f.Add(`{"any": {"value": {}, "type": ["map", "dynamic"]}}`, `{"any": {"value": true}}`)
	f.Add(`{"any": {"value": [1, "a"], "type": ["set", "dynamic"]}}`, `{}`)
	base := with(map[string]cty.Value{
		"s": str("old"), "n": cty.MustParseNumberVal("12345678901234567890123"),
		"set":  cty.SetVal([]cty.Value{cty.NumberIntVal(1), cty.UnknownVal(cty.Number)}),
		"rule": cty.ListVal([]cty.Value{pair(str("a"), cty.UnknownVal(cty.String))}),
		"any":  cty.ListVal([]cty.Value{str("x")}),
	})
	f.Fuzz(func(t *testing.T, given, unknown string) {
		g, err := strictjson.Parse([]byte(given))
		if err != nil {
			return
		}
		u, err := strictjson.Parse([]byte(unknown))
		if err != nil {
			u = nil
		}
		got, _ := codec.Overlay(base, g, u, []byte(given))
		if errs := value.Conforms(block, got); len(errs) > 0 {
			t.Fatalf("%s: %v", given, errs)
		}
		values, tree := codec.Encode(got)
		if !json.Valid(values) || !json.Valid(tree) {
			t.Fatalf("%s: wrote %s %s", given, values, tree)
		}
		_, _ = message.Path(block.ImpliedType(), g)
	})
}
