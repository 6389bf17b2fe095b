//go:build unix

package drivers

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProgramsThatReadPlans compiles programs that drive terraform and read its plans from their published sources:
// Terratest, the steps and comments of Atlantis, and tf-summarize. Each has its own module, so that this module
// requires none of them. Their tests run with Tombolo under the name terraform and with the real terraform, if it is
// installed. That compiles hundreds of packages, so it only runs if TOMBOLO_DRIVERS is "all" or the name of one.
func TestProgramsThatReadPlans(t *testing.T) {
	asked := os.Getenv("TOMBOLO_DRIVERS")
	if asked == "" {
		t.Skip("runs with TOMBOLO_DRIVERS=all or the name of a program, since it compiles hundreds of packages")
	}
	for name, test := range map[string]func(*testing.T, string){
		"terratest": testModule, "atlantis": testModule, "tfsummarize": testSummaries,
	} {
		if asked == "all" || asked == name {
			t.Run(name, func(t *testing.T) { test(t, name) })
		}
	}
}

// inModule runs the go command in a module below this folder, which must not need changes of go.mod. If modules cannot
// be downloaded, the test is skipped.
func inModule(t *testing.T, module string, command ...string) {
	t.Helper()
	cmd := exec.Command("go", command...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return
	}
	for _, sign := range []string{"dial tcp", "no such host", "i/o timeout", "module lookup disabled",
		"server response: ", "connection refused"} {
		if strings.Contains(string(out), sign) {
			t.Skipf("needs the modules of %s, in the cache or from a proxy: %v\n%s", module, err, out)
		}
	}
	t.Fatalf("go %v in %s: %v\n%s", command, module, err, out)
}

// driven returns the programs that are driven, by their names.
func driven(t *testing.T) map[string]string {
	programs := map[string]string{"tombolo": ours(t, "terraform")}
	if real := findTerraform(t); real != "" {
		programs["terraform"] = real
	}
	return programs
}

// testModule runs the tests of a module with each program.
func testModule(t *testing.T, module string) {
	bin := filepath.Join(t.TempDir(), module+".test")
	inModule(t, module, "test", "-c", "-o", bin, ".")
	for name, program := range driven(t) {
		t.Run(name, func(t *testing.T) {
			run := exec.Command(bin, "-test.v", "-test.timeout", "10m")
			run.Dir = module
			run.Env = append(os.Environ(), "TOMBOLO_DRIVEN="+program, "HOME="+t.TempDir(), "CHECKPOINT_DISABLE=1")
			out, err := run.CombinedOutput()
			passed := strings.Count(string(out), "--- PASS: ")
			if err != nil || passed == 0 || strings.Contains(string(out), "--- SKIP: ") {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%d passed", passed)
		})
	}
}

// summarized are two versions of a project: the second one creates, changes, replaces in both orders, imports, moves
// and destroys objects and outputs.
var summarized = []map[string]string{{"main.tf": `
resource "terraform_data" "same" { input = 1 }
resource "terraform_data" "changed" { input = { a = 1, b = ["x", "y"] } }
resource "terraform_data" "replaced" { triggers_replace = 1 }
resource "terraform_data" "replaced_first" {
  triggers_replace = 1
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "gone" { count = 2 }
resource "terraform_data" "old" {}
module "m" { source = "./m" }
output "same" { value = 1 }
output "changed" { value = 1 }
output "gone" { value = 1 }
`, "m/main.tf": "resource \"terraform_data\" \"each\" { for_each = toset([\"a\", \"b\"]) }\n"}, {"main.tf": `
resource "terraform_data" "same" { input = 1 }
resource "terraform_data" "changed" { input = { a = 2, b = ["y"] } }
resource "terraform_data" "replaced" { triggers_replace = 2 }
resource "terraform_data" "replaced_first" {
  triggers_replace = 2
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "gone" { count = 1 }
resource "terraform_data" "new" {}
moved {
  from = terraform_data.old
  to   = terraform_data.new
}
resource "terraform_data" "imported" {}
import {
  to = terraform_data.imported
  id = "some"
}
module "m" { source = "./m" }
output "same" { value = 1 }
output "changed" { value = 2 }
output "created" { value = 2 }
`, "m/main.tf": "resource \"terraform_data\" \"each\" { for_each = toset([\"b\", \"c\"]) }\n"}}

// summaries are the formats of tf-summarize.
var summaries = [][]string{{}, {"-md"}, {"-tree"}, {"-tree", "-draw"}, {"-separate-tree"}, {"-json"}, {"-html"}}

// testSummaries compares what tf-summarize says of plans of each program: of documents, and of plan files, for which it
// runs terraform itself.
func testSummaries(t *testing.T, module string) {
	bin := filepath.Join(t.TempDir(), "tf-summarize")
	inModule(t, module, "build", "-o", bin, "github.com/dineshba/tf-summarize")
	said := map[string]string{}
	for name, program := range driven(t) {
		said[name] = summarize(t, bin, program)
	}
	for _, want := range []string{"| CHANGE", "| add      | `module.m.terraform_data.each[\"c\"]`", "| recreate |",
		"| update   | `terraform_data.changed`", "| delete   | `terraform_data.gone[1]`",
		"| import   | `terraform_data.imported`", "terraform_data.replaced_first"} {
		if !strings.Contains(said["tombolo"], want) {
			t.Errorf("tf-summarize does not say %q:\n%s", want, said["tombolo"])
		}
	}
	if real, ok := said["terraform"]; ok {
		if diff := cmp.Diff(likened(real), likened(said["tombolo"])); diff != "" {
			t.Errorf("summaries of plans (-terraform +tombolo):\n%s", diff)
		}
	}
}

var (
	// firstCell has the label of a group, which the first of its lines has. Outputs are in random order.
	firstCell = regexp.MustCompile(`(?m)^\|[^|]*\|`)
	// unlike are values that differ from run to run, and an attribute that terraform 1.11 does not have.
	unlike = regexp.MustCompile(`(?m)^ *"(id|store)": .*\n`)
	commas = regexp.MustCompile(`(?m),$`)
)

// likened returns the lines of a summary sorted, without what two summaries of equal plans may differ in: some
// formats have their parts in random order.
func likened(text string) string {
	text = commas.ReplaceAllString(unlike.ReplaceAllString(firstCell.ReplaceAllString(text, "|"), ""), "")
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// summarize returns all summaries of the plans of a program.
func summarize(t *testing.T, bin, program string) string {
	t.Helper()
	dir := t.TempDir()
	var all strings.Builder
	run := func(input []byte, name string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"),
			"HOME="+dir, "CHECKPOINT_DISABLE=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, &stderr)
		}
		return out
	}
	for _, version := range summarized {
		for name, text := range version {
			path := filepath.Join(dir, name)
			err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666))
			if err != nil {
				t.Fatal(err)
			}
		}
		run(nil, program, "init")
		run(nil, program, "plan", "-out=saved")
		document := run(nil, program, "show", "-json", "saved")
		for _, format := range summaries {
			all.WriteString("\n== " + strings.Join(format, " ") + "\n")
			said := string(run(document, bin, format...))
			all.WriteString(said)
			if ofFile := string(run(nil, bin, append(format, "saved")...)); likened(ofFile) != likened(said) {
				t.Errorf("tf-summarize %v says of the plan file:\n%s\nand of the document:\n%s", format, ofFile, said)
			}
		}
		run(nil, program, "apply", "saved")
	}
	return all.String()
}
