package provider_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestNumbersThatNobodyCanWriteDownAreRefused(t *testing.T) {
	for text, ok := range map[string]bool{
		"1e9999": true, "-1.5E-9999": true, "-1e-99999": false, "12": true, "0e9999999": true, "1e+000001": true,
		"1e9999999": false, "-1E-9999999": false, "5.0e+1000000": false,
	} {
		for data, ty := range map[string]cty.Type{
			text: cty.Number, `{"a":[` + text + `]}`: cty.Object(map[string]cty.Type{"a": cty.Set(cty.Number)}), `{"a":["b",` + text + `]}`: cty.Map(cty.Tuple([]cty.Type{cty.String, cty.Number})),
		} {
			if err := provider.CheckNumbers([]byte(data), ty, ctyjson.Unmarshal); (err == nil) != ok {
				t.Errorf("%s: %v", data, err)
			}
		}
		if err := provider.CheckNumbers([]byte(`["`+text+`"]`), cty.Set(cty.String), ctyjson.Unmarshal); err != nil {
			t.Errorf("%s as a string: %v", text, err)
		}
	}
	power := append([]byte{0xab}, "1p-99999999"...) // in msgpack, numbers that need it are strings
	if err := provider.CheckNumbers(power, cty.Number, msgpack.Unmarshal); err == nil {
		t.Error("an exponent of two was accepted")
	}
}
