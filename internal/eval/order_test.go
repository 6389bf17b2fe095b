package eval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/eval"
)

func TestProblemsOfModuleInstancesComeInTheirOrder(t *testing.T) {
	for _, tt := range []struct{ body, of string }{
		{`output "o" { value = tonumber(var.key) }`, ""},
		{"resource \"lab_thing\" \"r\" {\n  lifecycle {\n    precondition {\n      condition     = var.key == \"\"\n " +
			"     error_message = \"wrong\"\n    }\n  }\n}", ".lab_thing.r"},
	} {
		const many = "abcdefgh"
		var want []string
		for _, key := range strings.Split(many, "") {
			want = append(want, `module.m["`+key+`"]`+tt.of)
		}
		for range 10 {
			r := enter(t, map[string][]byte{
				"main.tf": []byte(
					"module \"m\" {\n  source   = \"./m\"\n  for_each = toset(split(\"\", \"" + many +
						"\"))\n  key      = each.key\n}\n"),
				".terraform/modules/modules.json": []byte(
					`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"./m","Dir":"m"}]}`),
				"m/main.tf": []byte("variable \"key\" {}\n" + tt.body + "\n"),
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
}
