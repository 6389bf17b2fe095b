package eval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/eval"
)

func TestProblemsOfModuleInstancesComeInTheirOrder(t *testing.T) {
	const many = "abcdefgh"
	var want []string
	for _, key := range strings.Split(many, "") {
		want = append(want, `module.m["`+key+`"]`)
	}
	for range 10 {
		r := enter(t, map[string][]byte{
			"main.tf":                         []byte("module \"m\" {\n  source   = \"./m\"\n  for_each = toset(split(\"\", \"" + many + "\"))\n  key      = each.key\n}\n"),
			".terraform/modules/modules.json": []byte(`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"./m","Dir":"m"}]}`),
			"m/main.tf":                       []byte("variable \"key\" {}\noutput \"o\" { value = tonumber(var.key) }\n"),
		}, eval.Inputs{Variables: map[string]cty.Value{}})
		var got []string
		for _, d := range r.diags.Sorted() {
			got = append(got, d.Within)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("instances with problems (-want +got):\n%s\n%v", diff, r.diags.Err())
		}
	}
}
