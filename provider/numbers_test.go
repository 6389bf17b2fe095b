package provider_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

func TestHugeNumbersAreRefused(t *testing.T) {
	for text, ok := range map[string]bool{
		"1e9999": true, "-1.5E-9999": true, "-1e-99999": false, "12": true, "0e9999999": true, "1e+000001": true,
		"1e9999999": false, "-1E-9999999": false, "5.0e+1000000": false,
	} {
		for data, ty := range map[string]cty.Type{
			text: cty.Number, `{"a":[` + text + `]}`: cty.Object(map[string]cty.Type{"a": cty.Set(cty.Number)}),
			`{"a":["b",` + text + `]}`: cty.Map(cty.Tuple([]cty.Type{cty.String, cty.Number})),
		} {
			if err := provider.CheckNumbers([]byte(data), ty, ctyjson.Unmarshal); (err == nil) != ok {
				t.Errorf("%s: %v", data, err)
			}
			if v, read := ctyfast.ReadJSON([]byte(data), ty); read && !ok {
				t.Errorf("%s: was read as %#v", data, v.Type())
			}
		}
		if err := provider.CheckNumbers([]byte(`["`+text+`"]`), cty.Set(cty.String), ctyjson.Unmarshal); err != nil {
			t.Errorf("%s as a string: %v", text, err)
		}
	}
	for _, c := range []struct {
		data   string
		ty     cty.Type
		decode func([]byte, cty.Type) (cty.Value, error)
		ok     bool
	}{
		{"1e999999999", cty.Number, ctyjson.Unmarshal, false},
		{`["-Inf"]`, cty.List(cty.Number), ctyjson.Unmarshal, false},
		{`["-Inf", "inform"]`, cty.List(cty.String), ctyjson.Unmarshal, true},
		{"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", cty.Number, msgpack.Unmarshal, false},
		{"\xcb\xff\xf0\x00\x00\x00\x00\x00\x00", cty.Number, msgpack.Unmarshal, false},
		{"\xcb\x7f\xef\xff\xff\xff\xff\xff\xff", cty.Number, msgpack.Unmarshal, true},
		{"\x91\xca\xff\x80\x00\x00", cty.Set(cty.Number), msgpack.Unmarshal, false},
		{"\xa3Inf", cty.Number, msgpack.Unmarshal, false},
		{"\xd9\x04-inf", cty.Number, msgpack.Unmarshal, false},
		{"\xa3Inf", cty.String, msgpack.Unmarshal, true},
	} {
		if err := provider.CheckNumbers([]byte(c.data), c.ty, c.decode); (err == nil) != c.ok {
			t.Errorf("%q as %#v: %v", c.data, c.ty, err)
		}
	}
	power := append([]byte{0xab}, "1p-99999999"...) // msgpack encodes such numbers as strings
	if err := provider.CheckNumbers(power, cty.Number, msgpack.Unmarshal); err == nil {
		t.Error("an exponent of two was accepted")
	}
}
