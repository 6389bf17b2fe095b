package funcs

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/value"
)

type saying struct {
	text   string
	quoted []string
}

func (s saying) Error() string    { return s.text }
func (s saying) Quoted() []string { return s.quoted }

func TestErrorsOfProvidersShowNoPartOfAnArgument(t *testing.T) {
	secret := func(v cty.Value) cty.Value { return v.Mark(value.Sensitive) }
	for _, c := range []struct {
		err  error
		arg  cty.Value
		want string // empty if it is withheld
	}{
		{errors.New("bad value hunter22, sorry"), secret(cty.StringVal("hunter22")),
			"bad value (sensitive value), sorry"},
		{errors.New(`bad value "HUNTER2"`), secret(cty.StringVal("hunter22")), `bad value "(sensitive value)"`},
		{errors.New("at nter: unexpected t"), secret(cty.StringVal("hunter22")), "at (sensitive value): unexpected t"},
		{errors.New("no such zone"), secret(cty.StringVal("hunter22")), "no such zone"},
		{errors.New("größenwahn!"), secret(cty.StringVal("größen")), "(sensitive value)wahn!"},
		{errors.New("abc is short"), secret(cty.StringVal("abc")), ""},
		{errors.New("it is short"), secret(cty.StringVal("abc")), "it is short"},
		{errors.New("it is empty"), secret(cty.StringVal("")), "it is empty"},
		{errors.New("port 65536 is too large"), secret(cty.NumberIntVal(65536)), "port (sensitive value) is too large"},
		{errors.New("must be false"), secret(cty.True), "must be (sensitive value)"},
		{errors.New("must be set"), secret(cty.True), "must be set"},
		{errors.New("key topsecret: no"), secret(cty.MapVal(map[string]cty.Value{"topsecret": cty.StringVal("")})),
			"key (sensitive value): no"},
		{errors.New("hunter22"), cty.StringVal("hunter22"), "hunter22"},
		{saying{"the interpreter says: hunter", []string{"hunter"}}, secret(cty.StringVal("hunter22")),
			"the interpreter says: (sensitive value)"},
		{saying{"our own words: zone x", []string{"zone x"}}, secret(cty.StringVal("words")), "our own words: zone x"},
		{function.NewArgErrorf(0, "bad value hunter22"), secret(cty.StringVal("hunter22")),
			"bad value (sensitive value)"},
	} {
		f := OfProvider("f", function.New(&function.Spec{
			Params: []function.Parameter{{Name: "v", Type: cty.DynamicPseudoType}},
			Type:   function.StaticReturnType(cty.String),
			Impl:   func([]cty.Value, cty.Type) (cty.Value, error) { return cty.NilVal, c.err },
		}), nil)
		_, diags := evaluate("f(v)", &hcl.EvalContext{Functions: map[string]function.Function{"f": f},
			Variables: map[string]cty.Value{"v": c.arg}})
		want := c.want
		if want == "" {
			want = errWithheld.Error()
		}
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want+".") {
			t.Errorf("%v of %#v: want %q, got %v", c.err, c.arg, want, diags)
		}
	}
}

func FuzzSecretsAreRemovedCompletely(f *testing.F) {
	f.Add("bad value hunter22", "hunter22")
	f.Add("größenwahn", "größen")
	f.Add("aaaaaaaa", "aaaaa")
	f.Fuzz(func(t *testing.T, text, secret string) {
		clean, ok := hide(text, []string{secret})
		if !ok {
			return
		}
		// The replacement may look like a secret, and is ignored.
		for _, rest := range strings.Split(clean, hidden) {
			for i := range max(0, len(secret)-piece+1) {
				if strings.Contains(foldASCII(rest), foldASCII(secret[i:i+piece])) && !strings.Contains(foldASCII(text),
					foldASCII(hidden)) {
					t.Fatalf("%q is left of %q in %q", secret[i:i+piece], text, clean)
				}
			}
		}
	})
}

func TestTryHidesElementsInJSON(t *testing.T) {
	vars := map[string]cty.Value{
		"m": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("canary-secret")}).Mark(value.Sensitive),
		"n": cty.ListVal([]cty.Value{cty.NumberIntVal(4711)}).Mark(value.Sensitive),
		"p": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("known")}),
	}
	for _, c := range []struct{ text, secret string }{
		{"${try([for v in m : tonumber(v)])}", "canary"},
		{"${try([for v in m : tonumber(strrev(v))])}", "terces"},
		{"${try([for v in m : tonumber(upper(v))])}", "CANARY"},
		{"${try({for v in [1, 2] : m[\"a\"] => v})}", "canary"},
		{"${try([for v in n : tobool(\"x${v * 2}\")])}", "9422"},
		{"${try(1 + [], try([for v in m : tonumber(strrev(v))]))}", "terces"},
		{"${[for w in [1] : try([for v in m : tonumber(strrev(v))])]}", "terces"},
	} {
		e, diags := json.ParseExpression([]byte(`"`+strings.ReplaceAll(c.text, `"`, `\"`)+`"`), "x.tf.json")
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		_, diags = e.Value(&hcl.EvalContext{Functions: Table(Options{}), Variables: vars})
		if !diags.HasErrors() || strings.Contains(diags.Error(), c.secret) {
			t.Errorf("%s: %v", c.text, diags)
		}
		for _, d := range diags {
			if strings.Contains(d.Detail, c.secret) {
				t.Errorf("%s: %s", c.text, d.Detail)
			}
		}
	}
	e, _ := json.ParseExpression([]byte(`"${try([for v in p : tonumber(strrev(v))])}"`), "x.tf.json")
	delete(vars, "m")
	delete(vars, "n")
	_, diags := e.Value(&hcl.EvalContext{Functions: Table(Options{}), Variables: vars})
	if strings.Contains(diags.Error(), "withheld") {
		t.Errorf("nothing is secret here: %v", diags)
	}
}
