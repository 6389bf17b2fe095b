// Package atlantis runs a project with the steps of Atlantis, unmodified, and reads the output as its comments do.
// TOMBOLO_DRIVEN names the program that it runs as terraform.
package atlantis

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/go-version"
	"github.com/runatlantis/atlantis/server/core/runtime"
	"github.com/runatlantis/atlantis/server/events/command"
	"github.com/runatlantis/atlantis/server/events/models"
	"github.com/runatlantis/atlantis/server/logging"
)

const project = `
variable "names" { default = ["kept", "replaced"] }
variable "edition" { default = 1 }
resource "terraform_data" "a" {
  for_each         = toset(var.names)
  input            = { edition = var.edition, lines = "first ${var.edition}\nsecond\n" }
  triggers_replace = each.key == "replaced" ? var.edition : null
}
resource "terraform_data" "imported" {}
output "names" { value = var.names }
`

// executor runs the program like Atlantis: through a shell, without colors.
type executor struct {
	t       *testing.T
	program string
}

func (e executor) RunCommandWithVersion(_ command.ProjectContext, path string, args []string, _ map[string]string,
	_ *version.Version, workspace string) (string, error) {
	cmd := exec.Command("sh", "-c", e.program+" "+strings.Join(args, " "))
	cmd.Dir = path
	cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=true", "WORKSPACE="+workspace, "ATLANTIS_TERRAFORM_VERSION=1.11.4")
	out, err := cmd.CombinedOutput()
	return colors.ReplaceAllString(string(out), ""), err
}

func (executor) EnsureVersion(logging.SimpleLogging, *version.Version) error { return nil }

var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// work is a project that Atlantis has checked out.
type work struct {
	t       *testing.T
	dir     string
	ctx     command.ProjectContext
	plan    runtime.Runner
	show    runtime.Runner
	version *version.Version
	exec    executor
}

func checkOut(t *testing.T) *work {
	t.Helper()
	program := os.Getenv("TOMBOLO_DRIVEN")
	if program == "" {
		t.Skip("needs TOMBOLO_DRIVEN, the path of a program, which TestProgramsThatReadPlans sets")
	}
	w := &work{t: t, dir: t.TempDir(), exec: executor{t, program}, version: version.Must(version.NewVersion("1.11.4"))}
	w.ctx = command.ProjectContext{Workspace: "staging", Log: logging.NewNoopLogger(t), TerraformVersion: w.version}
	w.plan = runtime.NewPlanStepRunner(w.exec, w.version, nil, nil)
	var err error
	if w.show, err = runtime.NewShowStepRunner(w.exec, w.version); err != nil {
		t.Fatal(err)
	}
	w.write("main.tf", project)
	w.step(&runtime.InitStepRunner{TerraformExecutor: w.exec, DefaultTFVersion: w.version})
	return w
}

func (w *work) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		w.t.Fatal(err)
	}
}

// step runs a step that succeeds, with the arguments of a comment.
func (w *work) step(r runtime.Runner, args ...string) string {
	w.t.Helper()
	out, err := r.Run(w.ctx, args, w.dir, nil)
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return out
}

// planned plans and returns what the comment says about it.
func (w *work) planned(args ...string) models.PlanSuccess {
	w.t.Helper()
	text := w.step(w.plan, args...)
	if strings.Contains(text, "Refreshing state...") {
		w.t.Errorf("the comment has lines of progress:\n%s", text)
	}
	return models.PlanSuccess{TerraformOutput: text}
}

// says checks the counts, the summary and lines of the difference as GitHub colors it.
func (w *work) says(p models.PlanSuccess, stats models.PlanSuccessStats, summary string, lines ...string) {
	w.t.Helper()
	if got := p.Stats(); got != stats {
		w.t.Errorf("Atlantis counts %+v, want %+v:\n%s", got, stats, p.TerraformOutput)
	}
	if got := strings.TrimSpace(p.Summary()); got != summary {
		w.t.Errorf("the summary is %q, want %q", got, summary)
	}
	shown := strings.Split(p.DiffMarkdownFormattedTerraformOutput(), "\n")
	for _, line := range lines {
		found := false
		for _, one := range shown {
			sign := one == "" || one[0] != ' '
			found = found || sign && strings.HasPrefix(strings.Join(strings.Fields(one), " "), line)
		}
		if !found {
			w.t.Errorf("no line of the difference begins with %q:\n%s", line, strings.Join(shown, "\n"))
		}
	}
}

// TestPullRequest plans, reads and applies what a pull request changes.
func TestPullRequest(t *testing.T) {
	w := checkOut(t)
	apply := &runtime.ApplyStepRunner{TerraformExecutor: w.exec, DefaultTFVersion: w.version}
	w.says(w.planned(), models.PlanSuccessStats{Add: 3, Changes: true}, "Plan: 3 to add, 0 to change, 0 to destroy.",
		`+ resource "terraform_data" "a" {`, `+ input`)
	var document struct {
		Changes []struct{ Address string } `json:"resource_changes"`
	}
	if text := w.step(w.show); json.Unmarshal([]byte(text), &document) != nil || len(document.Changes) != 3 {
		t.Errorf("show -json has other changes: %s", text)
	}
	if text := w.step(apply); !strings.Contains(text, "Apply complete! Resources: 3 added, 0 changed, 0 destroyed.") {
		t.Errorf("apply: %s", text)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "staging.tfplan")); !os.IsNotExist(err) {
		t.Errorf("Atlantis took the apply for a failure: %v", err)
	}
	nothing := w.planned()
	w.says(nothing, models.PlanSuccessStats{}, "No changes. Your infrastructure matches the configuration.")
	if !nothing.NoChanges() {
		t.Errorf("Atlantis sees changes:\n%s", nothing.TerraformOutput)
	}

	w.write("env/staging.tfvars", "edition = 2\nnames = [\"new\", \"replaced\", \"kept\"]\n")
	w.says(w.planned(), models.PlanSuccessStats{Add: 2, Change: 1, Destroy: 1, Changes: true},
		"Plan: 2 to add, 1 to change, 1 to destroy.",
		`-/+ resource "terraform_data" "a" {`, `! resource "terraform_data" "a" {`, `+ resource "terraform_data" "a" {`,
		`! edition = 1 -> 2`)
	w.step(apply)

	w.write("env/staging.tfvars", "edition = 2\nnames = []\n")
	w.says(w.planned(), models.PlanSuccessStats{Destroy: 3, Changes: true},
		"Plan: 0 to add, 0 to change, 3 to destroy.",
		`- resource "terraform_data" "a" {`)
}

// TestImportsAndRemovals runs the commands of comments that change the state.
func TestImportsAndRemovals(t *testing.T) {
	w := checkOut(t)
	w.step(runtime.NewImportStepRunner(w.exec, w.version), "terraform_data.imported", "some")
	w.step(runtime.NewStateRmStepRunner(w.exec, w.version), "terraform_data.imported")
	w.write("import.tf", "import {\n  to = terraform_data.imported\n  id = \"some\"\n}\n")
	w.says(w.planned(), models.PlanSuccessStats{Import: 1, Add: 2, Changes: true},
		"Plan: 1 to import, 2 to add, 0 to change, 0 to destroy.")
}

// TestFailuresAreReported plans a project with an error.
func TestFailuresAreReported(t *testing.T) {
	w := checkOut(t)
	w.write("bad.tf", "output \"o\" { value = terraform_data.nosuch.id }\n")
	out, err := w.plan.Run(w.ctx, nil, w.dir, nil)
	if err == nil || !strings.Contains(out, "Error: Reference to undeclared resource") {
		t.Errorf("the comment does not show the error: %v: %s", err, out)
	}
	if text := w.step(&runtime.VersionStepRunner{TerraformExecutor: w.exec, DefaultTFVersion: w.version}); !regexp.
		MustCompile(`\ATerraform v(.*?)(\s.*)?\n`).MatchString(text) {
		t.Errorf("version: %q", text)
	}
}
