package funcs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/builtin"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// secret is part of every secret value that the test plants.
const secret = "hunter2"

// TestErrorsNeverShowSensitiveArguments calls every function with every mixture of secret and ordinary arguments , most
// of which fail, and searches the errors for the secret.
func TestErrorsNeverShowSensitiveArguments(t *testing.T) {
	dir, home := writeFixture(t)
	secrets := map[string]cty.Value{
		"text":     cty.StringVal(secret),
		"pattern":  cty.StringVal("/" + secret + "(/"),
		"regex":    cty.StringVal(secret + "("),
		"verb":     cty.StringVal("%" + secret),
		"json":     cty.StringVal(`{"` + secret + `": ` + secret),
		"yaml":     cty.StringVal("a: *" + secret),
		"csv":      cty.StringVal(secret + "," + secret + "\n1,2"),
		"path":     cty.StringVal(secret + "/\x00"),
		"glob":     cty.StringVal(secret + "["),
		"time":     cty.StringVal("2020-" + secret),
		"prefix":   cty.StringVal(secret + "/33"),
		"template": cty.StringVal("${" + secret + "} ${" + secret + "("),
		"list":     cty.TupleVal([]cty.Value{cty.StringVal(secret), cty.StringVal(secret)}),
		"object":   cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal(secret), "name": cty.NumberIntVal(1)}),
	}
	marked, deep := map[string]cty.Value{}, map[string]cty.Value{}
	for name, v := range secrets {
		marked[name] = v.Mark(value.Sensitive)
		deep[name] = cty.TupleVal([]cty.Value{v.Mark(value.Ephemeral)})
	}
	table := Table(Options{BaseDir: dir, Home: home, Files: NewFileRecord(nil)})
	terraform := builtin.New(builtin.Options{})
	schema, diags := terraform.Schema(t.Context())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for name, described := range schema.Functions {
		f := described.Spec(func(args []cty.Value) (cty.Value, error) {
			return terraform.CallFunction(t.Context(), name, args)
		})
		table["provider::terraform::"+name] = OfProvider(name, f, nil)
	}
	ctx := &hcl.EvalContext{Functions: table, Variables: map[string]cty.Value{
		"secret": cty.ObjectVal(marked), "deep": cty.ObjectVal(deep),
	}}

	ordinary := []string{`"x"`, "1", `"10.0.0.0/8"`, `["a", null]`, `{a = 1}`, `"fail.tftpl"`}
	calls, failures := 0, 0
	check := func(expression string) {
		_, diags := evaluate(expression, ctx)
		calls++
		if diags.HasErrors() {
			failures++
		}
		for _, diag := range diags {
			if strings.Contains(diag.Summary+diag.Detail, secret) {
				t.Errorf("%s shows a secret: %s: %s", expression, diag.Summary, diag.Detail)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if strings.HasPrefix(name, "core::") || name == "bcrypt" { // bcrypt is slow
			continue
		}
		most := len(table[name].Params())
		if table[name].VarParam() != nil {
			most += 2
		}
		for kind := range secrets {
			for length := max(1, len(table[name].Params())); length <= most; length++ {
				for position := range length {
					args := make([]string, length)
					for _, other := range ordinary {
						for i := range args {
							args[i] = other
						}
						args[position] = "secret." + kind
						check(name + "(" + strings.Join(args, ", ") + ")")
					}
					args[position] = "deep." + kind
					check(name + "(" + strings.Join(args, ", ") + ")")
					args[position] = "deep." + kind + "[0]"
					check(name + "(" + strings.Join(args, ", ") + ")")
				}
			}
		}
	}
	if failures < 1000 {
		t.Errorf("only %d of %d calls failed", failures, calls)
	}
	t.Logf("%d calls, %d failed", calls, failures)
}

func TestWithheldErrorStaysWithItsArgument(t *testing.T) {
	ctx := &hcl.EvalContext{Functions: Table(Options{})}
	_, diags := evaluate(`timecmp("2020-01-01T00:00:00Z", sensitive("x"))`, ctx)
	if len(diags) != 1 || diags[0].Summary != "Invalid function argument" || !strings.Contains(diags[0].Detail,
		`"timestamp_b"`) || !strings.Contains(diags[0].Detail, "withheld") {
		t.Errorf("got %v", diags)
	}
	_, diags = evaluate(`timecmp("2020-01-01T00:00:00Z", "x")`, ctx)
	if len(diags) != 1 || strings.Contains(diags[0].Detail, "withheld") {
		t.Errorf("nothing is marked, got %v", diags)
	}
}

func TestResultsOfMarkedArgumentsAreMarked(t *testing.T) {
	ctx := &hcl.EvalContext{Functions: Table(Options{Pure: true}), Variables: map[string]cty.Value{
		"passing": cty.StringVal("x").Mark(value.Ephemeral),
		"both":    cty.StringVal("x").Mark(value.Ephemeral).Mark(value.Sensitive),
		"later":   cty.UnknownVal(cty.String).Mark(value.Sensitive),
	}}
	for expression, want := range map[string]cty.ValueMarks{
		`upper(passing)`:                       cty.NewValueMarks(value.Ephemeral),
		`base64encode(both)`:                   cty.NewValueMarks(value.Ephemeral, value.Sensitive),
		`sensitive(passing)`:                   cty.NewValueMarks(value.Ephemeral, value.Sensitive),
		`nonsensitive(both)`:                   cty.NewValueMarks(value.Ephemeral),
		`ephemeralasnull(both)`:                cty.NewValueMarks(value.Sensitive),
		`bcrypt(both)`:                         cty.NewValueMarks(value.Ephemeral, value.Sensitive),
		`tostring(later)`:                      cty.NewValueMarks(value.Sensitive),
		`file(later)`:                          cty.NewValueMarks(value.Sensitive),
		`templatefile(later, {a = passing})`:   cty.NewValueMarks(value.Ephemeral, value.Sensitive),
		`templatestring(later, {a = passing})`: cty.NewValueMarks(value.Ephemeral, value.Sensitive),
		`lookup({a = 1}, later, 1)`:            cty.NewValueMarks(value.Sensitive),
		`cidrsubnet(later, 1, 1)`:              cty.NewValueMarks(value.Sensitive),
		`issensitive(both)`:                    nil,
	} {
		got, diags := evaluate(expression, ctx)
		if diags.HasErrors() || !got.Marks().Equal(want) {
			t.Errorf("%s: marks %#v %v, want %#v", expression, got.Marks(), diags, want)
		}
	}
}
