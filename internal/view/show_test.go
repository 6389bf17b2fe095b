package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/tfjson/tfjsontest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/state"
)

func diffLines(want, got string) string {
	return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}

func TestStateTextIsAsRecorded(t *testing.T) {
	schemas := tfjsontest.Schemas(t)
	for _, c := range tfjsontest.Cases(t) {
		if c.Files["state.txt"] == "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			var out bytes.Buffer
			if err := State(Options{Out: &out}, c.State(t, "after.tfstate"), schemas); err != nil {
				t.Fatal(err)
			}
			if *updateGolden {
				c.Update(t, "state.txt", out.String())
				return
			}
			if d := diffLines(c.Files["state.txt"], out.String()); d != "" {
				t.Errorf("text differs (-want +got):\n%s", d)
			}
			if strings.Contains(out.String(), tfjsontest.Canary) && !strings.Contains(c.Files["state.txt"],
				tfjsontest.Canary) {
				t.Errorf("a secret was written:\n%s", out.String())
			}
		})
	}
}

func TestOutputTextIsAsRecorded(t *testing.T) {
	for _, c := range tfjsontest.Cases(t) {
		want := c.Files["output.txt"]
		if want == "" || strings.Contains(want, "No outputs found") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Outputs(Options{Out: &out}, c.State(t, "after.tfstate")); err != nil {
				t.Fatal(err)
			}
			if d := diffLines(want, out.String()); d != "" {
				t.Errorf("text differs (-want +got):\n%s", d)
			}
		})
	}
}

func TestValuesAreWrittenAsExpressions(t *testing.T) {
	for _, c := range []struct {
		value cty.Value
		want  string
	}{
		{cty.NullVal(cty.String), "tostring(null)"},
		{cty.NullVal(cty.DynamicPseudoType), "null"},
		{cty.NullVal(cty.List(cty.String)), "tolist(null) /* of string */"},
		{cty.StringVal("${x} \""), `"${x} \""`},
		{cty.StringVal("a\nb"), "<<EOT\na\nb\nEOT"},
		{cty.StringVal("EOT\nEOT_\n"), "<<EOT__\nEOT\nEOT_\n\nEOT__"},
		{cty.ListValEmpty(cty.String), "tolist([])"},
		{cty.StringVal("EOTX\n_EOT_"), "<<EOT\nEOTX\n_EOT_\nEOT"},
		{cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.StringVal("x\ny")}),
			"[\n  1,\n  <<-EOT\n  x\n  y\n  EOT,\n]"},
		{cty.MapVal(map[string]cty.Value{"a b": cty.True}), "tomap({\n  \"a b\" = true\n})"},
		{cty.ObjectVal(map[string]cty.Value{"a": cty.EmptyObjectVal}), "{\n  \"a\" = {}\n}"},
		{cty.NumberFloatVal(1.5e-7), "0.00000015"},
		{cty.UnknownVal(cty.String), "(known after apply)"},
		{cty.StringVal("x").Mark(value.Sensitive), "(sensitive value)"},
		{cty.TupleVal([]cty.Value{cty.StringVal("x").Mark(value.Ephemeral)}), "[\n  (ephemeral value),\n]"},
		{cty.StringVal("a\x1b[31m\u202e\nb"), "<<EOT\na\\u001b[31m\\u202e\nb\nEOT"},
	} {
		if got := FormatValue(c.value); got != c.want {
			t.Errorf("FormatValue(%#v)\n got %s\nwant %s", c.value, got, c.want)
		}
	}
}

func TestRawOutputRefusesValuesWithoutText(t *testing.T) {
	for _, c := range []struct {
		value cty.Value
		want  string // empty: an error
	}{
		{cty.StringVal("a\nb"), "a\nb"},
		{cty.NumberIntVal(5), "5"},
		{cty.True, "true"},
		{cty.NullVal(cty.String), ""},
		{cty.EmptyTupleVal, ""},
		{cty.UnknownVal(cty.String), ""},
	} {
		var out bytes.Buffer
		err := RawOutput(&out, "x", &state.Output{Value: c.value})
		if (err != nil) != (c.want == "") || out.String() != c.want {
			t.Errorf("RawOutput(%#v) wrote %q, error %v", c.value, out.String(), err)
		}
	}
}
