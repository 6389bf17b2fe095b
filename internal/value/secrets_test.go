package value

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestSecretsAreTakenOutOfTextsFromOutside(t *testing.T) {
	var s Secrets
	v := cty.ObjectVal(map[string]cty.Value{
		"password": cty.StringVal("hunter2").Mark(Sensitive), "plain": cty.StringVal("visible"), "short": cty.StringVal("abc"),
		"key": cty.MapVal(map[string]cty.Value{"pem": cty.StringVal("first line\nsecond line")}),
	})
	s.Add(v, []cty.Path{cty.GetAttrPath("password"), cty.GetAttrPath("short"), cty.GetAttrPath("key"), cty.GetAttrPath("nosuch")})
	for in, want := range map[string]string{
		"debug: {\"password\":\"hunter2\"}": "debug: {\"password\":\"(sensitive value)\"}",
		"visible abc":                       "visible abc",
		"> second line":                     "> (sensitive value)",
	} {
		if got := s.Redact(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := (*Secrets)(nil).Redact("x"); got != "x" {
		t.Errorf("no secrets at all changed a text to %q", got)
	}
}
