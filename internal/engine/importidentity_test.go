package engine_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// TestImportsByIdentity imports an object by its identity, including a sensitive one, which no message shows.
func TestImportsByIdentity(t *testing.T) {
	bring := func(identity string) string {
		return "variable \"s\" {\n  default   = \"a-long-secret\"\n  sensitive = true\n}\n" + thingOne +
			"import {\n  to       = misnamed_thing.a\n  identity = " + identity + "\n}\n"
	}
	for identity, problem := range map[string]string{
		`{ id = "a" }`: "", `{ id = var.s }`: "", `{ id = "a", more = 1 }`: "", `{}`: `"id" is required`,
		`null`: "null", `"a"`: "object required", `{ id = [] }`: "string required",
	} {
		t.Run(identity, func(t *testing.T) {
			st, diags := applyNamed(t, t.TempDir(), &misnamed{}, bring(identity))
			text := ""
			if err := diags.Err(); err != nil {
				text = err.Error()
			}
			if diags.HasErrors() != (problem != "") || !strings.Contains(text, problem) {
				t.Fatalf("the identity is judged %q", text)
			}
			if strings.Contains(text, "a-long-secret") {
				t.Errorf("the secret is shown: %s", text)
			}
			a, _ := addr.ParseInstance("misnamed_thing.a")
			if o := st.Object(addr.Object{Instance: a}); (o != nil) != (problem == "") {
				t.Errorf("the state holds %+v", o)
			}
		})
	}
}

// TestIdentityText formats attributes of every type.
func TestIdentityText(t *testing.T) {
	for want, v := range map[string]cty.Value{
		"<empty>": cty.EmptyObjectVal,
		"a=x,b=<null>,c=[1,true],d=7": cty.ObjectVal(map[string]cty.Value{"d": cty.NumberIntVal(7),
			"a": cty.StringVal("x"), "b": cty.NullVal(cty.String),
			"c": cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.True})}),
		"a=<unknown>": cty.ObjectVal(map[string]cty.Value{"a": cty.UnknownVal(cty.String)}),
	} {
		if got := state.IdentityText(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
