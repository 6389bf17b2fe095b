// Package terratest tests a project with Terratest, as its users do: the library is unmodified. TOMBOLO_DRIVEN names
// the program that it runs as terraform.
package terratest

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gruntwork-io/terratest/modules/logger"
	"github.com/gruntwork-io/terratest/modules/retry"
	"github.com/gruntwork-io/terratest/modules/terraform"
	tfjson "github.com/hashicorp/terraform-json"
)

const project = `
variable "names" {
  type    = list(string)
  default = []
}
variable "tags" {
  type    = map(any)
  default = {}
}
variable "edition" {
  type    = number
  default = 1
}
resource "terraform_data" "a" {
  for_each         = toset(var.names)
  input            = var.tags
  triggers_replace = each.key == "replaced" ? var.edition : null
}
module "m" {
  source  = "./m"
  edition = var.edition
}
check "edition" {
  assert {
    condition     = var.edition < 9
    error_message = "The edition is too new."
  }
}
output "text" { value = "edition ${var.edition}" }
output "names" { value = var.names }
output "tags" { value = var.tags }
output "count" { value = 2.5 }
output "objects" { value = [for n in var.names : { name = n, length = length(n) }] }
output "by_name" { value = { for n in var.names : n => { length = length(n), tags = var.tags } } }
output "secret" {
  value     = "hidden ${var.edition}"
  sensitive = true
}
`

const module = `
variable "edition" {}
resource "terraform_data" "c" { input = var.edition }
`

// write writes the files of a project and returns the options of its tests.
func write(t *testing.T, main string) *terraform.Options {
	t.Helper()
	program := os.Getenv("TOMBOLO_DRIVEN")
	if program == "" {
		t.Skip("needs TOMBOLO_DRIVEN, the path of a program, which TestProgramsThatReadPlans sets")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"main.tf": main, "m/main.tf": module} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return terraform.WithDefaultRetryableErrors(t, &terraform.Options{
		TerraformBinary: program, TerraformDir: dir, Logger: logger.Discard,
		Vars: map[string]any{"names": []string{"kept", "replaced"}, "tags": map[string]any{"k": "v", "n": 1}},
	})
}

func counted(t *testing.T, text string, add, change, destroy int) {
	t.Helper()
	got := terraform.GetResourceCount(t, text)
	if want := (terraform.ResourceCount{Add: add, Change: change, Destroy: destroy}); *got != want {
		t.Errorf("Terratest counts %+v, want %+v:\n%s", *got, want, text)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %#v, want %#v", what, got, want)
	}
}

// TestProjectIsPlannedAppliedAndDestroyed reads counts, exit codes and plans, with and without colors.
func TestProjectIsPlannedAppliedAndDestroyed(t *testing.T) {
	for _, plain := range []bool{false, true} {
		o := write(t, project)
		o.NoColor = plain
		counted(t, terraform.InitAndPlan(t, o), 3, 0, 0)
		equal(t, "exit code", terraform.PlanExitCode(t, o), 2)

		planned, err := o.Clone()
		if err != nil {
			t.Fatal(err)
		}
		planned.PlanFilePath = filepath.Join(t.TempDir(), "saved plan")
		shown := terraform.InitAndPlanAndShowWithStruct(t, planned)
		terraform.RequirePlannedValuesMapKeyExists(t, shown, "module.m.terraform_data.c")
		terraform.RequireResourceChangesMapKeyExists(t, shown, `terraform_data.a["replaced"]`)
		object := shown.ResourcePlannedValuesMap["module.m.terraform_data.c"]
		equal(t, "planned input", object.AttributeValues["input"], 1.0)
		equal(t, "planned output", shown.RawPlan.PlannedValues.Outputs["text"].Value, "edition 1")
		counted(t, terraform.Apply(t, planned), 3, 0, 0)
		equal(t, "exit code without changes", terraform.PlanExitCode(t, o), 0)
		counted(t, terraform.Plan(t, o), 0, 0, 0)
		counted(t, terraform.InitAndApplyAndIdempotent(t, o), 0, 0, 0)

		o.Vars["edition"] = 2
		o.Vars["names"] = []string{"new", "replaced"}
		changed := terraform.Plan(t, o)
		counted(t, changed, 2, 1, 2)
		shown = terraform.InitAndPlanAndShowWithStructNoLogTempPlanFile(t, o)
		actions := map[string]tfjson.Actions{}
		for address, change := range shown.ResourceChangesMap {
			actions[address] = change.Change.Actions
		}
		equal(t, "actions", actions, map[string]tfjson.Actions{
			`terraform_data.a["kept"]`: {tfjson.ActionDelete}, `terraform_data.a["new"]`: {tfjson.ActionCreate},
			`terraform_data.a["replaced"]`: {tfjson.ActionDelete, tfjson.ActionCreate},
			"module.m.terraform_data.c":    {tfjson.ActionUpdate}})
		counted(t, terraform.Apply(t, o), 2, 1, 2)
		counted(t, terraform.Destroy(t, o), 0, 0, 3)
	}
}

// TestPlanOfOutputsHasNoChanges reads the count of a plan that only changes outputs.
func TestPlanOfOutputsHasNoChanges(t *testing.T) {
	o := write(t, "variable \"v\" { default = 1 }\noutput \"o\" { value = var.v }\n")
	o.Vars = nil
	counted(t, terraform.InitAndApply(t, o), 0, 0, 0)
	o.Vars = map[string]any{"v": 2}
	counted(t, terraform.Plan(t, o), 0, 0, 0)
	equal(t, "exit code", terraform.PlanExitCode(t, o), 2)
}

// TestOutputsAreRead reads outputs of every type.
func TestOutputsAreRead(t *testing.T) {
	o := write(t, project)
	terraform.InitAndApply(t, o)
	equal(t, "text", terraform.Output(t, o, "text"), "edition 1")
	equal(t, "number", terraform.OutputRequired(t, o, "count"), "2.5")
	equal(t, "secret", terraform.Output(t, o, "secret"), "hidden 1")
	equal(t, "list", terraform.OutputList(t, o, "names"), []string{"kept", "replaced"})
	equal(t, "map", terraform.OutputMap(t, o, "tags"), map[string]string{"k": "v", "n": "1"})
	equal(t, "JSON", terraform.OutputJson(t, o, "names"), "[\n  \"kept\",\n  \"replaced\"\n]")
	objects := terraform.OutputListOfObjects(t, o, "objects")
	equal(t, "objects", objects[1], map[string]any{"name": "replaced", "length": 8})
	byName := terraform.OutputMapOfObjects(t, o, "by_name")
	if got := byName["kept"].(map[string]any)["length"]; got != 4 {
		t.Errorf("a map of objects: got %#v", byName)
	}
	all := map[string]struct {
		Length int
		Tags   map[string]string
	}{}
	terraform.OutputStruct(t, o, "by_name", &all)
	equal(t, "struct", all["replaced"].Tags["k"], "v")
	keys := terraform.OutputForKeys(t, o, []string{"text", "count"})
	equal(t, "keys", keys, map[string]any{"text": "edition 1", "count": 2.5})
	equal(t, "number of outputs", len(terraform.OutputAll(t, o)), 7)
	if _, err := terraform.OutputE(t, o, "nosuch"); err == nil {
		t.Error("an output that does not exist is read without an error")
	}
	if text := terraform.Show(t, o); len(text) == 0 || text[0] != '{' {
		t.Errorf("show: %.200s", text)
	}
}

// TestWarningsCanBeErrors recognizes a warning by its title.
func TestWarningsCanBeErrors(t *testing.T) {
	o := write(t, project)
	o.NoColor = true
	o.Vars["edition"] = 9
	terraform.InitAndPlan(t, o)
	o.WarningsAsErrors = map[string]string{".*Check block assertion failed.*": "a check fails"}
	if _, err := terraform.PlanE(t, o); err == nil {
		t.Error("the warning is not recognized")
	}
}

// TestErrorsThatPassAreRetried recognizes an error that a registry may cause.
func TestErrorsThatPassAreRetried(t *testing.T) {
	o := write(t, "terraform {\n  required_providers {\n    no = { source = \"tombolo/nosuch\" }\n  }\n}\n")
	rc := filepath.Join(t.TempDir(), "rc")
	mirror := "provider_installation {\n  filesystem_mirror { path = \"" + t.TempDir() + "\" }\n}\n"
	if err := os.WriteFile(rc, []byte(mirror), 0o666); err != nil {
		t.Fatal(err)
	}
	o.EnvVars = map[string]string{"TF_CLI_CONFIG_FILE": rc}
	o.MaxRetries, o.TimeBetweenRetries = 1, 1
	_, err := terraform.InitE(t, o)
	var exceeded retry.MaxRetriesExceeded
	if !errors.As(err, &exceeded) {
		t.Errorf("the error is not retried: %v", err)
	}
}

// TestWorkspacesAreCreatedAndDeleted reads lists of workspaces.
func TestWorkspacesAreCreatedAndDeleted(t *testing.T) {
	o := write(t, project)
	terraform.Init(t, o)
	for range 2 {
		equal(t, "workspace", terraform.WorkspaceSelectOrNew(t, o, "some"), "some")
	}
	equal(t, "workspace", terraform.WorkspaceSelectOrNew(t, o, "default"), "default")
	equal(t, "workspace", terraform.WorkspaceSelectOrNew(t, o, "some"), "some")
	equal(t, "workspace", terraform.WorkspaceDelete(t, o, "some"), "default")
	if _, err := terraform.WorkspaceDeleteE(t, o, "some"); err == nil {
		t.Error("a workspace that does not exist is deleted")
	}
}

// TestConfigurationIsValidated runs validate and get.
func TestConfigurationIsValidated(t *testing.T) {
	o := write(t, project)
	o.NoColor, o.Vars = true, nil // validate has no -var before OpenTofu's
	text := terraform.InitAndValidate(t, o)
	if !strings.Contains(text, "Success! The configuration is valid.") {
		t.Errorf("validate: %q", text)
	}
	terraform.Get(t, o)
	bad := write(t, "resource \"terraform_data\" \"a\" { nosuch = 1 }\n")
	bad.Vars = nil
	if _, err := terraform.InitAndValidateE(t, bad); err == nil {
		t.Error("an invalid configuration is valid")
	}
}
