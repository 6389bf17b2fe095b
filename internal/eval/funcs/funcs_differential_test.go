package funcs

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// oracle runs the terraform binary.
type oracle struct {
	path, dir, home string
}

// newOracle prepares a working directory with the configuration that expressions in testdata refer to.
func newOracle(t *testing.T) oracle {
	t.Helper()
	path, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("needs terraform 1.11 on PATH to compare with")
	}
	dir, home := writeFixture(t)
	o := oracle{path: path, dir: dir, home: home}
	if version, _, err := o.run("", "version"); err != nil || !strings.HasPrefix(version, "Terraform v1.11.") {
		t.Skipf("needs terraform 1.11 on PATH: it is %q", version)
	}
	return o
}

// run returns output and errors of one terraform process. The state is kept out of the working directory, so that
// fileset does not see its lock.
func (o oracle) run(stdin string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(o.path, args...)
	cmd.Dir = o.dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = programtest.Environ("HOME="+o.home, "TF_IN_AUTOMATION=1", "TF_DATA_DIR="+filepath.Join(o.home,
		".terraform"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return plainText(out.String()), plainText(errs.String()), err
}

// console evaluates one expression. (Of several lines of input, terraform prints only the result of the last.)
func (o oracle) console(expression string, args ...string) (stdout, stderr string, err error) {
	args = append([]string{"console", "-state=" + filepath.Join(o.home, "state")}, args...)
	return o.run(expression+"\n", args...)
}

func tuple(expressions []string) string { return "[" + strings.Join(expressions, ",") + "]" }

var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func plainText(s string) string { return strings.TrimSpace(colour.ReplaceAllString(s, "")) }

// planned is a configuration with the values of plannedScope.
const planned = `
resource "terraform_data" "later" {
  input = "x"
}
variable "passing" {
  type      = string
  default   = "e"
  ephemeral = true
}
locals {
  unknown = terraform_data.later.id
  dynamic = try(terraform_data.later.id, 1)
}
`

func TestUnknownAndEphemeralArgumentsEqualTerraform(t *testing.T) {
	terraform := newOracle(t)
	terraform.configure(t, planned)
	ctx := plannedScope(terraform.dir, terraform.home)
	expressions := expressionsIn(t, "unknown.txt")
	wanted := terraform.printedResults(t, expressions)
	for i, expression := range expressions {
		if got := printResult(t, expression, ctx); got != wanted[i] {
			t.Errorf("%s: terraform gives %s, tombolo gives %s", expression, wanted[i], got)
		}
	}
	if *update {
		writeOutcomes(t, "unknown.json", terraform.dir, expressions, wanted)
	}
}

// configure replaces the configuration.
func (o oracle) configure(t *testing.T, config string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, "main.tf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := o.run("", "init"); err != nil {
		t.Fatalf("terraform init: %v\n%s", err, stderr)
	}
}

// printedResults returns what the console prints for each expression, as JSON, while planning.
func (o oracle) printedResults(t *testing.T, expressions []string) []string {
	t.Helper()
	input := make([]string, len(expressions))
	for i, expression := range expressions {
		input[i] = encoded(expression)
	}
	stdout, stderr, err := o.console(tuple(input), "-plan")
	if err != nil {
		t.Fatalf("terraform console: %v\n%s", err, stderr)
	}
	lines := strings.Split(strings.TrimSuffix(strings.TrimPrefix(stdout, "[\n"), "\n]"), "\n")
	if len(lines) != len(expressions) {
		t.Fatalf("terraform console gave %d results for %d expressions", len(lines), len(expressions))
	}
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(strings.TrimSpace(line), ",")
	}
	return lines
}

// TestKnownDifferencesFromTerraform lists intended differences. It fails if terraform's results are no longer as
// listed.
func TestKnownDifferencesFromTerraform(t *testing.T) {
	terraform := newOracle(t)
	terraform.configure(t, planned)
	for _, difference := range knownDifferences {
		stdout, _, err := terraform.console(encoded(difference.expression), "-plan")
		if err != nil {
			stdout = "error"
		}
		if stdout != difference.terraform {
			t.Errorf("%s: terraform gives %s, not %s", difference.expression, stdout, difference.terraform)
		}
	}
}

func TestSignaturesEqualTerraform(t *testing.T) {
	terraform := newOracle(t)
	stdout, stderr, err := terraform.run("", "metadata", "functions", "-json")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	type parameter struct {
		Name     string          `json:"name"`
		Nullable bool            `json:"is_nullable"`
		Type     json.RawMessage `json:"type"`
	}
	type signature struct {
		Return   json.RawMessage `json:"return_type"`
		Params   []parameter     `json:"parameters"`
		Variadic *parameter      `json:"variadic_parameter"`
	}
	var metadata struct {
		Functions map[string]signature `json:"function_signatures"`
	}
	if err := json.Unmarshal([]byte(stdout), &metadata); err != nil {
		t.Fatal(err)
	}
	typeJSON := func(ty cty.Type) json.RawMessage {
		if ty.IsCapsuleType() {
			ty = cty.DynamicPseudoType // an expression, for try, can and templatestring
		}
		encoded, err := ty.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	parameterOf := func(p function.Parameter) parameter {
		return parameter{Name: p.Name, Nullable: p.AllowNull, Type: typeJSON(p.Type)}
	}
	table := Table(Options{})
	for name, want := range metadata.Functions {
		f, found := table[name]
		if !found {
			t.Errorf("no function %s", name)
			continue
		}
		if f.Description() == "" {
			t.Errorf("%s has no description", name)
		}
		var got signature
		types := []cty.Type{}
		for _, p := range f.Params() {
			got.Params = append(got.Params, parameterOf(p))
			types = append(types, p.Type)
		}
		if p := f.VarParam(); p != nil {
			variadic := parameterOf(*p)
			got.Variadic = &variadic
			types = append(types, p.Type)
		}
		returned, err := f.ReturnType(types)
		if err != nil {
			returned = cty.DynamicPseudoType
		}
		got.Return = typeJSON(returned)
		for i := range got.Params {
			// terraform sets the type of templatestring's template itself
			if strings.HasSuffix(name, "templatestring") && i == 0 {
				got.Params[i].Type = typeJSON(cty.String)
			}
		}
		// Known difference: newer versions of the library return the type even for unknown arguments.
		if f := strings.TrimPrefix(name, "core::"); f == "format" || f == "formatlist" {
			got.Return = typeJSON(cty.DynamicPseudoType)
		}
		asText := cmp.Transformer("JSON", func(raw json.RawMessage) string {
			return strings.Join(strings.Fields(string(raw)), "")
		})
		if diff := cmp.Diff(want, got, asText); diff != "" {
			t.Errorf("%s (-terraform +tombolo):\n%s", name, diff)
		}
	}
	extra := maps.Clone(table)
	maps.DeleteFunc(extra, func(name string, _ function.Function) bool {
		_, listed := metadata.Functions[name]
		return listed
	})
	var want []string
	for _, name := range []string{"base64gunzip", "cidrcontains", "convert", "list", "map", "urldecode"} {
		want = append(want, name, "core::"+name)
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(extra)); !slices.Equal(got, want) {
		t.Errorf("functions that terraform does not list: %v, want %v", got, want)
	}
}
