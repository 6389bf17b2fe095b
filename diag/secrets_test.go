package diag

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

func TestTitlesKeepTheirFixedWords(t *testing.T) {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"v": cty.StringVal("argument").Mark("secret")}}
	d := &Diagnostic{Summary: `Invalid function argument "argument"`, Detail: "an argument", EvalContext: ctx}
	hideSecrets(d, oneByOne())
	if want := "Invalid function argument " + withheld; d.Summary != want {
		t.Errorf("want %q, got %q", want, d.Summary)
	}
	if want := "an " + withheld; d.Detail != want {
		t.Errorf("want %q, got %q", want, d.Detail)
	}
}
