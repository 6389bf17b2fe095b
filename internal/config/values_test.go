package config_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/config"
)

func show(v cty.Value) string { return fmt.Sprintf("%#v", v) }

func TestLaterSourcesOfValuesWin(t *testing.T) {
	all := map[string][]byte{
		"main.tf":                 []byte("variable \"a\" {}\n"),
		"terraform.tfvars":        []byte(`a = "terraform.tfvars"`),
		"terraform.tfvars.json":   []byte(`{"a": "terraform.tfvars.json"}`),
		"b.auto.tfvars":           []byte(`a = "b.auto.tfvars"`),
		"a.auto.tfvars.json":      []byte(`{"a": "a.auto.tfvars.json"}`),
		"z.tfvars":                []byte(`a = "z.tfvars"`),
		".hidden.auto.tfvars":     []byte(`a = "hidden"`),
		"named.tfvars":            []byte(`a = "named.tfvars"`),
		"terraform.tfvars.backup": []byte(`bogus`),
	}
	environ := []string{"HOME=/", "TF_VAR_=x", "TF_VAR_a=env", "TF_VAR_other=x=y"}
	option := config.Option{Text: "a=option"}
	file := config.Option{File: true, Text: "named.tfvars"}
	for _, tt := range []struct {
		files   []string
		options []config.Option
		want    string
	}{
		{nil, nil, "env"},
		{[]string{"terraform.tfvars"}, nil, "terraform.tfvars"},
		{[]string{"terraform.tfvars", "terraform.tfvars.json"}, nil, "terraform.tfvars.json"},
		{[]string{"terraform.tfvars", "terraform.tfvars.json", "a.auto.tfvars.json"}, nil, "a.auto.tfvars.json"},
		{[]string{"terraform.tfvars", "a.auto.tfvars.json", "b.auto.tfvars"}, nil, "b.auto.tfvars"},
		{slices.Collect(maps.Keys(all)), nil, "b.auto.tfvars"},
		{[]string{"b.auto.tfvars", "named.tfvars"}, []config.Option{file}, "named.tfvars"},
		{[]string{"b.auto.tfvars", "named.tfvars"}, []config.Option{file, option}, "option"},
		{[]string{"b.auto.tfvars", "named.tfvars"}, []config.Option{option, file}, "named.tfvars"},
	} {
		files := map[string][]byte{"./": nil}
		for _, name := range tt.files {
			files[name] = all[name]
		}
		values, _, diags := config.CollectValues(config.ValueSources{Files: config.SnapshotFiles(files),
			Environ: environ, Options: tt.options})
		if len(diags) > 0 {
			t.Errorf("%v: %v", tt.files, diags.Err())
			continue
		}
		cfg := load(t, "-- main.tf --\nvariable \"a\" {}\n")
		got, diags := cfg.Root.VariableValues(values)
		if len(diags) > 0 || got["a"].AsString() != tt.want {
			t.Errorf("with %v and %v: got %s, want %q (%v)", tt.files, tt.options, show(got["a"]), tt.want, diags.Err())
		}
		if values["other"].Text != "x=y" {
			t.Errorf("the environment's value was cut: %q", values["other"].Text)
		}
	}
}

const declarations = `-- main.tf --
variable "string" {
  type    = string
  default = "d"
}
variable "number" {
  type    = number
  default = 1
}
variable "untyped" {
  default = "d"
}
variable "any" {
  type    = any
  default = "d"
}
variable "list" {
  type    = list(string)
  default = []
}
variable "strict" {
  type     = string
  nullable = false
  default  = "d"
}
variable "needed" {
  type     = string
  nullable = false
}
variable "object" {
  type    = object({ a = string, b = optional(object({ c = optional(number, 5), d = optional(string) }), {}) })
  default = { a = "x" }
}
variable "objects" {
  type    = map(object({ a = optional(list(string), ["x"]) }))
  default = {}
}
`

func TestConversionOfValues(t *testing.T) {
	vars := load(t, declarations).Root.Variables
	str, num, null := cty.StringVal, cty.NumberIntVal, cty.NullVal(cty.DynamicPseudoType)
	obj := func(kv map[string]cty.Value) cty.Value { return cty.ObjectVal(kv) }
	full := obj(map[string]cty.Value{
		"a": str("1"), "b": obj(map[string]cty.Value{"c": num(5), "d": cty.NullVal(cty.String)})})
	for _, tt := range []struct {
		name string
		raw  cty.Value
		want string // a value, or the text of the error
	}{
		{"string", cty.NilVal, show(str("d"))},
		{"string", num(5), show(str("5"))},
		{"string", null, show(cty.NullVal(cty.String))},
		{"string", cty.UnknownVal(cty.Number), show(cty.UnknownVal(cty.String))},
		{"string", num(5).Mark("m"), show(str("5").Mark("m"))},
		{"string", cty.EmptyTupleVal, "string required, but have tuple"},
		{"number", str("x"), "a number is required"},
		{"untyped", cty.EmptyObjectVal, show(cty.EmptyObjectVal)},
		{"any", cty.EmptyObjectVal, show(cty.EmptyObjectVal)},
		{"list", cty.TupleVal([]cty.Value{str("a"), num(1)}), show(cty.ListVal([]cty.Value{str("a"), str("1")}))},
		{"list", cty.TupleVal([]cty.Value{str("a"), cty.EmptyObjectVal}),
			"element 1: string required, but have object"},
		{"strict", null, show(str("d"))},
		{"strict", null.Mark("m"), show(str("d").Mark("m"))},
		{"strict", cty.NilVal, show(str("d"))},
		{"needed", cty.NilVal, config.ErrUnset.Error()},
		{"needed", null, config.ErrNull.Error()},
		{"object", cty.NilVal, show(obj(map[string]cty.Value{"a": str("x"), "b": full.GetAttr("b")}))},
		{"object", obj(map[string]cty.Value{"a": num(1), "extra": str("dropped")}), show(full)},
		{"object", obj(map[string]cty.Value{"a": num(1), "b": null}), show(full)},
		{"object", obj(map[string]cty.Value{"a": num(1), "b": obj(map[string]cty.Value{"c": null})}), show(full)},
		{"object", null, show(cty.NullVal(vars["object"].Type))},
		{"object", cty.EmptyObjectVal, `attribute "a" is required`},
		{"object", obj(map[string]cty.Value{"a": cty.EmptyTupleVal}), `attribute "a": string required, but have tuple`},
		{"objects", obj(map[string]cty.Value{"k": cty.EmptyObjectVal}),
			show(cty.MapVal(map[string]cty.Value{
				"k": obj(map[string]cty.Value{"a": cty.ListVal([]cty.Value{str("x")})})}))},
		{"objects", obj(map[string]cty.Value{"k": obj(map[string]cty.Value{"a": num(1)})}),
			`element "k": attribute "a": list of string required, but have number`},
	} {
		got, err := vars[tt.name].ConvertValue(tt.raw)
		text := show(got)
		if err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("%s of %s:\n got %s\nwant %s", tt.name, show(tt.raw), text, tt.want)
		}
	}
}

func TestTextIsParsedByTheVariablesMode(t *testing.T) {
	vars := load(t, declarations).Root.Variables
	for _, tt := range []struct{ name, text, want string }{
		{"string", "${x}", show(cty.StringVal("${x}"))},
		{"string", "null", show(cty.StringVal("null"))},
		{"number", "5", show(cty.StringVal("5"))},
		{"untyped", "[1]", show(cty.StringVal("[1]"))},
		{"any", "[1]", show(cty.TupleVal([]cty.Value{cty.NumberIntVal(1)}))},
		{"list", `["a"]`, show(cty.TupleVal([]cty.Value{cty.StringVal("a")}))},
		{"list", `null`, show(cty.NullVal(cty.DynamicPseudoType))},
		{"list", `a`, "Variables not allowed"},
		{"list", `[1,`, "Missing expression"},
		{"list", `upper("x")`, "Function calls not allowed"},
		{"list", strings.Repeat("[", 100000), "Nesting too deep"},
	} {
		v, diags := vars[tt.name].ParseText(tt.text)
		got := show(v)
		if diags.HasErrors() {
			got = diags[0].Summary
		}
		if got != tt.want {
			t.Errorf("%s = %.50s: got %s, want %s", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestProblemsWithValues(t *testing.T) {
	files := map[string][]byte{
		"./":                nil,
		"declares.tfvars":   []byte("variable \"x\" {}\n"),
		"undeclared.tfvars": []byte("neded = 1\nz1 = 1\nz2 = 1\nz3 = 1\n"),
		"twice.tfvars":      []byte("a = 1\na = 2\n"),
		"refers.tfvars":     []byte("number = var.x\n"),
		"type.tfvars":       []byte("number = \"x\"\n"),
		"array.tfvars.json": []byte("[{}]"),
		"deep.tfvars":       []byte("a = " + strings.Repeat("[", 100000)),
	}
	for _, tt := range []struct {
		name    string
		options []config.Option
		environ []string
		want    []string
	}{
		{"missing", nil, nil, []string{"error main.tf:25: No value for required variable"}},
		{"bad option", []config.Option{{Text: "needed"}}, nil, []string{"error -: Invalid -var option",
			"error main.tf:25: No value for required variable"}},
		{"space", []config.Option{{Text: "needed =x"}, {Text: "needed=x"}}, nil, []string{
			"error -: Invalid -var option"}},
		{"undeclared option", []config.Option{{Text: "needed=x"}, {Text: "nope=1"}}, nil, []string{
			"error -: Value for undeclared variable"}},
		{"undeclared in file", []config.Option{{Text: "needed=x"}, {File: true, Text: "undeclared.tfvars"}}, nil,
			[]string{"warning -: Value for undeclared variable", "warning -: Value for undeclared variable",
				"warning -: Values for undeclared variables"}},
		{"undeclared in environment", []config.Option{{Text: "needed=x"}}, []string{"TF_VAR_nope=1"}, nil},
		{"no file", []config.Option{{Text: "needed=x"}, {File: true, Text: "nope.tfvars"}}, nil, []string{
			"error -: Failed to read variables file"}},
		{"declaration", []config.Option{{Text: "needed=x"}, {File: true, Text: "declares.tfvars"}}, nil, []string{
			"error declares.tfvars:1: Variable declaration in .tfvars file"}},
		{"twice", []config.Option{{Text: "needed=x"}, {File: true, Text: "twice.tfvars"}}, nil, []string{
			"error twice.tfvars:2: Attribute redefined", "warning -: Value for undeclared variable"}},
		{"refers", []config.Option{{Text: "needed=x"}, {File: true, Text: "refers.tfvars"}}, nil, []string{
			"error refers.tfvars:1: Variables not allowed"}},
		{"type in file", []config.Option{{Text: "needed=x"}, {File: true, Text: "type.tfvars"}}, nil, []string{
			"error type.tfvars:1: Invalid value for input variable"}},
		{"type in option", []config.Option{{Text: "needed=x"}, {Text: "number=x"}}, nil, []string{
			"error main.tf:5: Invalid value for input variable"}},
		{"expression in environment", []config.Option{{Text: "needed=x"}}, []string{"TF_VAR_list=x"}, []string{
			"error <value for var.list>:1: Variables not allowed"}},
		{"array", []config.Option{{Text: "needed=x"}, {File: true, Text: "array.tfvars.json"}}, nil, []string{
			"error array.tfvars.json:1: Incorrect JSON value type"}},
		{"deep", []config.Option{{Text: "needed=x"}, {File: true, Text: "deep.tfvars"}}, nil, []string{
			"error deep.tfvars:1: Nesting too deep"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values, _, diags := config.CollectValues(config.ValueSources{Files: config.SnapshotFiles(files),
				Environ: tt.environ, Options: tt.options})
			_, moreDiags := load(t, declarations).Root.VariableValues(values)
			var got []string
			for _, d := range diags.Extend(moreDiags) {
				got = append(got, fmt.Sprintf("%s %s: %s", d.Severity, place(d), d.Summary))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("diagnostics differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsWithValuesNameNoValue(t *testing.T) {
	cfg := load(t, "-- main.tf --\nvariable \"n\" {\n  type      = number\n  sensitive = true\n}\n")
	_, diags := cfg.Root.VariableValues(config.Values{"n": {Origin: config.FromEnv, Text: "hunter2"}})
	if !diags.HasErrors() || strings.Contains(diags.Err().Error(), "hunter2") {
		t.Errorf("got %v, want an error without the value", diags.Err())
	}
}

func TestUnsetVariablesAreListed(t *testing.T) {
	root := load(t, declarations).Root
	if got := root.Unset(nil); len(got) != 1 || got[0].Name != "needed" {
		t.Errorf("got %v", got)
	}
	if got := root.Unset(config.Values{"needed": {Origin: config.FromInput, Text: ""}}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if _, err := root.Variables["needed"].ConvertValue(cty.NilVal); !errors.Is(err, config.ErrUnset) {
		t.Errorf("got %v", err)
	}
}
