//go:build unix

package pack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newerTerraform is the environment variable with the path of a Terraform that supports list and action blocks.
const newerTerraform = "TOMBOLO_TERRAFORM_NEW"

// TestExamplesListAndAct lists the objects of an example, and lets changes and a person trigger its action: from its
// folder, and as a package with each engine that supports list and action blocks.
func TestExamplesListAndAct(t *testing.T) {
	e := examples[1]
	folder, err := filepath.Abs(filepath.Join("../../examples", e.name))
	must(t, err)
	for _, way := range []string{"folder", "package", "package under terraform"} {
		t.Run(way, func(t *testing.T) {
			program := "tombolo"
			if way == "package under terraform" {
				if program = os.Getenv(newerTerraform); program == "" {
					t.Skipf("needs a terraform with list and action blocks in %s", newerTerraform)
				}
			}
			p := newProject(t, e, program)
			if way == "folder" {
				p.env = append(p.env, "TOMBOLO_PROGRAM_PROVIDERS=example/"+sourceName(e)+"="+folder)
			} else {
				dist, err := packed()
				must(t, err)
				mirror, err := filepath.Abs(filepath.Join(dist, "filesystem-mirror"))
				must(t, err)
				p.file("rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
					mirror))
			}
			p.run("init")
			p.listsAndActs(folder)
		})
	}
}

func (p *project) listsAndActs(folder string) {
	p.t.Helper()
	p.says("Apply complete!", "apply", "-auto-approve")
	p.run("validate", "-query")
	found := p.run("query", "-no-color")
	for _, want := range []string{"welcome -> https://example.com/welcome", "/welcome/docs", "id=1"} {
		if !strings.Contains(found, want) {
			p.t.Errorf("query does not find %q:\n%s", want, found)
		}
	}
	p.run("query", "-generate-config-out=generated.txt")
	text, err := os.ReadFile(filepath.Join(p.dir, "generated.txt"))
	must(p.t, err)
	for _, want := range []string{`resource "links_link" "all_0"`, "import {", "identity = {", `"welcome"`} {
		if !strings.Contains(string(text), want) {
			p.t.Errorf("the generated configuration has no %q:\n%s", want, text)
		}
	}
	action, err := os.ReadFile(filepath.Join(folder, "examples/actions/links_warm/action.tf"))
	must(p.t, err)
	p.file("action.tf", string(action))
	planned := p.run("plan", "-no-color")
	if !strings.Contains(planned, "Actions to be invoked after this change in order:") {
		p.t.Errorf("plan does not tell of the action:\n%s", planned)
	}
	const progress = "spring-sale [100%]"
	p.says(progress, "apply", "-auto-approve", "-no-color")
	p.says(progress, "apply", "-auto-approve", "-no-color", "-invoke=action.links_warm.campaign")
	p.file("action.tf", strings.Replace(string(action), `prefix = "spring-"`, `prefix = "autumn-"`, 1))
	p.says("No name begins with", "apply", "-auto-approve", "-no-color", "-invoke=action.links_warm.campaign")
	p.says("Destroy complete!", "destroy", "-auto-approve")
}
