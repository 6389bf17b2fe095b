package funcs

import (
	"bytes"
	"encoding/base64"
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
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
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
		t.Skip("no terraform on PATH to compare with")
	}
	dir, home := writeFixture(t)
	file := hclwrite.NewEmptyFile()
	locals := file.Body().AppendNewBlock("locals", nil).Body()
	for name, v := range fixtureLocals().AsValueMap() {
		locals.SetAttributeValue(name, v)
	}
	quoted := string(hclwrite.TokensForValue(cty.StringVal(secretTemplate)).Bytes())
	config := string(file.Bytes()) + `
locals {
  secret_template = sensitive(` + quoted + `)
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	o := oracle{path: path, dir: dir, home: home}
	if version, _, err := o.run("", "version"); err != nil || !strings.HasPrefix(version, "Terraform v1.11.") {
		t.Skipf("terraform on PATH is not a 1.11 but %q", version)
	}
	return o
}

// run gives output and errors of one terraform process. The state is kept out of the working directory, so that
// fileset does not see its lock.
func (o oracle) run(stdin string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(o.path, args...)
	cmd.Dir = o.dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(),
		"HOME="+o.home, "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_DATA_DIR="+filepath.Join(o.home, ".terraform"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return plainText(out.String()), plainText(errs.String()), err
}

// console evaluates one expression. (Of several lines of input, terraform prints the result of the last only.)
func (o oracle) console(expression string, args ...string) (stdout, stderr string, err error) {
	args = append([]string{"console", "-state=" + filepath.Join(o.home, "state")}, args...)
	return o.run(expression+"\n", args...)
}

// batches splits expressions so that each batch, written as a tuple, fits into the one line of input that terraform
// reads, of at most 64 kB.
func batches(expressions []string) [][]string {
	const limit = 60_000
	var all [][]string
	size := limit
	for _, expression := range expressions {
		if size += len(expression) + 1; size > limit {
			all, size = append(all, nil), len(expression)
		}
		last := &all[len(all)-1]
		*last = append(*last, expression)
	}
	return all
}

func tuple(expressions []string) string { return "[" + strings.Join(expressions, ",") + "]" }

var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func plainText(s string) string { return strings.TrimSpace(colour.ReplaceAllString(s, "")) }

func TestFunctionsGiveWhatTerraformGives(t *testing.T) {
	terraform := newOracle(t)
	ctx := scope(terraform.dir, Table(Options{BaseDir: terraform.dir, Home: terraform.home, ConsoleMode: true}))
	expressions := expressionsIn(t, "expressions.txt")
	wanted := terraform.outcomes(t, expressions)
	for i, expression := range expressions {
		if diff := cmp.Diff(wanted[i], observe(t, expression, ctx)); diff != "" {
			t.Errorf("%s (-terraform +tombolo):\n%s", expression, diff)
		}
	}
	if *update {
		writeOutcomes(t, "expressions.json", terraform.dir, expressions, wanted)
	}
}

// outcomes asks terraform for the outcome of each expression.
func (o oracle) outcomes(t *testing.T, expressions []string) []outcome {
	t.Helper()
	input := make([]string, len(expressions))
	for i, expression := range expressions {
		input[i] = observed(expression)
	}
	var all []outcome
	for _, batch := range batches(input) {
		// base64 because strings are printed in a syntax that is neither JSON nor quite HCL
		stdout, stderr, err := o.console("base64encode(jsonencode(" + tuple(batch) + "))")
		if err != nil {
			t.Fatalf("terraform console: %v\n%s", err, stderr)
		}
		decoded, err := base64.StdEncoding.DecodeString(strings.Trim(stdout, `"`))
		if err != nil {
			t.Fatalf("terraform console: %v in %.2000s", err, stdout)
		}
		var outcomes []string
		if err := json.Unmarshal(decoded, &outcomes); err != nil || len(outcomes) != len(batch) {
			t.Fatalf("terraform console gave %d results for %d expressions: %v", len(outcomes), len(batch), err)
		}
		for _, text := range outcomes {
			all = append(all, readOutcome(t, text))
		}
	}
	o.addTypes(t, expressions, all)
	return all
}

// addTypes asks for what JSON hides: a list is not a tuple, a map not an object.
func (o oracle) addTypes(t *testing.T, expressions []string, outcomes []outcome) {
	t.Helper()
	var succeeded []string
	var types []string
	for i, expression := range expressions {
		if !outcomes[i].Failed {
			succeeded = append(succeeded, expression)
		}
	}
	for _, batch := range batches(succeeded) {
		stdout, stderr, err := o.console("type(" + tuple(batch) + ")")
		if err != nil {
			t.Fatalf("terraform console: %v\n%s", err, stderr)
		}
		// one element of the tuple starts where the indentation is that of the first level
		starts := regexp.MustCompile(`(?m)^    [^ })\]]`).FindAllStringIndex(stdout, -1)
		if len(starts) != len(batch) {
			t.Fatalf("terraform console gave %d types for %d expressions", len(starts), len(batch))
		}
		for i := range batch {
			end := len(strings.TrimSuffix(stdout, "\n])"))
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			ty := strings.TrimSuffix(strings.TrimSpace(stdout[starts[i][0]:end]), ",")
			types = append(types, strings.ReplaceAll(ty, "\n    ", "\n"))
		}
	}
	for i := range outcomes {
		if !outcomes[i].Failed {
			outcomes[i].Type, types = types[0], types[1:]
		}
	}
}

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

func TestUnknownAndEphemeralArgumentsGiveWhatTerraformGives(t *testing.T) {
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

// printedResults gives what the console prints for each expression, as JSON, while planning.
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

// TestKnownDifferencesFromTerraform is the list of what differs on purpose. It fails when terraform is found to do what
// is said here of it no longer.
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

// TestErrorsSaySummaryAsTerraform compares what a person reads first. Each expression costs a process.
func TestErrorsSaySummaryAsTerraform(t *testing.T) {
	terraform := newOracle(t)
	ctx := scope(terraform.dir, Table(Options{BaseDir: terraform.dir, Home: terraform.home, ConsoleMode: true}))
	expressions := expressionsIn(t, "errors.txt")
	if testing.Short() {
		expressions = slices.Collect(func(yield func(string) bool) {
			for i := 0; i < len(expressions) && yield(expressions[i]); i += 10 {
			}
		})
	}
	for _, expression := range expressions {
		_, stderr, err := terraform.console(expression)
		if err == nil {
			t.Errorf("%s: terraform accepts it", expression)
			continue
		}
		want := readError(stderr)
		_, diags := evaluate(expression, ctx)
		if !diags.HasErrors() {
			t.Errorf("%s: no error, terraform says %s", expression, want)
			continue
		}
		got := diags[0].Summary + ": " + strings.Join(strings.Fields(diags[0].Detail), " ")
		if summary, _, _ := strings.Cut(want, ":"); summary != diags[0].Summary {
			t.Errorf("%s: terraform says %q, tombolo says %q", expression, want, got)
		} else if want != got {
			t.Logf("%s: other words\n\tterraform: %s\n\ttombolo:   %s", expression, want, got)
		}
	}
}

// readError gives summary and detail of the first error in a box as terraform draws it.
func readError(stderr string) string {
	var summary string
	var detail []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(strings.TrimLeft(line, "│╷╵ "))
		switch {
		case line == "" || strings.HasPrefix(line, "on <console") || strings.HasPrefix(line, "(source code"):
		case summary == "" && strings.HasPrefix(line, "Error: "):
			summary = strings.TrimPrefix(line, "Error: ")
		case summary != "":
			detail = append(detail, strings.Fields(line)...)
		}
	}
	return summary + ": " + strings.Join(detail, " ")
}

func TestSignaturesAreThoseOfTerraform(t *testing.T) {
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
			// terraform writes the type of templatestring's template by hand
			if strings.HasSuffix(name, "templatestring") && i == 0 {
				got.Params[i].Type = typeJSON(cty.String)
			}
		}
		// Known difference: the library has learnt to tell the type even of unknown arguments.
		if f := strings.TrimPrefix(name, "core::"); f == "format" || f == "formatlist" {
			got.Return = typeJSON(cty.DynamicPseudoType)
		}
		asText := cmp.Transformer("JSON", func(raw json.RawMessage) string { return strings.Join(strings.Fields(string(raw)), "") })
		if diff := cmp.Diff(want, got, asText); diff != "" {
			t.Errorf("%s (-terraform +tombolo):\n%s", name, diff)
		}
	}
	extra := maps.Clone(table)
	maps.DeleteFunc(extra, func(name string, _ function.Function) bool {
		_, listed := metadata.Functions[name]
		return listed
	})
	want := []string{"core::list", "core::map", "list", "map"}
	if got := slices.Sorted(maps.Keys(extra)); !slices.Equal(got, want) {
		t.Errorf("functions that terraform does not list: %v, want %v", got, want)
	}
}
