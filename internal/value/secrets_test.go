package value

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestSecretsAreTakenOutOfTextsFromOutside(t *testing.T) {
	var s Secrets
	v := cty.ObjectVal(map[string]cty.Value{
		"password": cty.StringVal("hunter2").Mark(Sensitive), "plain": cty.StringVal("visible"),
		"short": cty.StringVal("abc"),
		"key":   cty.MapVal(map[string]cty.Value{"pem": cty.StringVal("first line\nsecond line")}),
	})
	s.Add(v, []cty.Path{cty.GetAttrPath("password"), cty.GetAttrPath("short"), cty.GetAttrPath("key"),
		cty.GetAttrPath("nosuch")})
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

func TestSecretsAreFoundInQuotes(t *testing.T) {
	const secret = "a\"b\\c<é>\t!"
	var s Secrets
	s.Add(cty.StringVal(secret), []cty.Path{{}})
	html, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, quoted := range []string{secret, strconv.Quote(secret), strconv.QuoteToASCII(secret), string(html),
		`"a\"b\\c<é>\t!"`} {
		if got := strings.Trim(s.Redact(quoted), `"`); got != "(sensitive value)" {
			t.Errorf("of %s is left %s", quoted, got)
		}
	}
}
