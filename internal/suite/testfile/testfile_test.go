package testfile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/plan"
)

func snapshot(files map[string]string) config.Files {
	out := map[string][]byte{}
	for name, text := range files {
		out[name] = []byte(text)
	}
	return config.SnapshotFiles(out)
}

func TestFilesOfBothDirectoriesAreSorted(t *testing.T) {
	files, diags := testfile.Load(snapshot(map[string]string{
		"z.tftest.hcl": `run "a" {}`, "tests/b.tftest.json": `{"run": {"b": {"command": "plan"}}}`, "tests/c.tf": "",
		".x.tftest.hcl": "nonsense", "main.tf": "",
	}), "tests", flavor.Terraform)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if want := []string{"tests/b.tftest.json", "z.tftest.hcl"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if !files[0].Runs[0].PlanOnly || files[1].Runs[0].PlanOnly {
		t.Error("the commands were read wrong")
	}
}

func TestRunsAreParsed(t *testing.T) {
	f, diags := testfile.Read(snapshot(map[string]string{"tests/x.y.tftest.hcl": `
variables { a = 1 }
mock_provider "foo" {
  alias           = "m"
  override_during = plan
  source          = "./mocks"
  mock_resource "foo_thing" { defaults = { id = "x" } }
}
override_module {
  target  = module.net["a"]
  outputs = { id = "y" }
}
run "first" {
  command   = plan
  state_key = "other"
  providers = { foo = foo.m }
  module { source = "./setup" }
  variables { b = var.a }
  plan_options {
    mode    = refresh-only
    target  = [foo_thing.a]
    replace = [foo_thing.b[0]]
  }
  assert {
    condition     = output.x == 1
    error_message = "no"
  }
  expect_failures = [var.b, check.c]
}
`, "mocks/m.tfmock.hcl": `
mock_resource "foo_thing" { defaults = { id = "hidden" } }
mock_data "foo_thing" {
  override_during = apply
  defaults        = { id = "of a file" }
}
`, "mocks/.m.tfmock.hcl": "mock_data \"foo_thing\" {}\n", "mocks/#m.tfmock.hcl#": "no",
	}), "tests/x.y.tftest.hcl", flavor.Terraform)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	r, m := f.Runs[0], f.Providers[0].Mock
	if got := config.ManifestKey(r.ModulePath); got != "test.tests.x.y.first" {
		t.Errorf("the module is recorded as %s", got)
	}
	if !r.PlanOnly || r.StateKey != "other" || r.Module.Source != "./setup" || r.Options.Mode != plan.RefreshOnly ||
		r.Options.SkipRefresh ||
		len(r.Options.Targets) != 1 || len(r.Options.Replace) != 1 || len(r.Asserts) != 1 ||
		len(r.ExpectFailures) != 2 || len(r.Providers) != 1 {
		t.Errorf("got %+v", r)
	}
	if id := m.Resources["foo_thing"].Values["id"].AsString(); id != "x" || !m.Resources["foo_thing"].AtPlan {
		t.Errorf("the block comes before the file: got %q", id)
	}
	if d := m.Data["foo_thing"]; d == nil || d.AtPlan || d.Values["id"].AsString() != "of a file" {
		t.Errorf("got %+v", d)
	}
	if got := f.Overrides[0].Target.String(); got != `module.net["a"]` {
		t.Errorf("the override is for %s", got)
	}
}

func TestMistakesInFilesAreFoundTogether(t *testing.T) {
	for src, want := range map[string][]string{
		`run "a" {}` + "\n" + `run "a" {}`:         {`Duplicate "run" block names`},
		"variables { a = 1 }\nvariables { b = 1 }": {`Multiple "variables" blocks`},
		`run "a" { command = destroy }`:            {`Invalid "command" keyword`},
		"run \"a b\" {\n plan_options {\n mode = destroy\n }\n}": {"Invalid run block name",
			`Invalid "mode" keyword`},
		"override_resource {}":                    {"Missing target attribute"},
		"override_data { target = a.b }":          {"Invalid override target"},
		"override_resource { target = module.x }": {"Invalid override target"},
		"override_resource { target = a.b }\noverride_resource { target = a.b }": {
			"Duplicate override_resource block"},
		"override_resource {\n target = a.b\n values = 1\n}":                         {"Invalid values attribute"},
		"override_resource {\n target = a.b\n override_during = x\n}":                {"Invalid override_during value"},
		"mock_provider \"a\" {\n mock_resource \"b\" {}\n mock_resource \"b\" {}\n}": {"Duplicate mock_resource block"},
		"mock_provider \"a\" { source = \"./no\" }": {
			"Failed to read mock data directory"},
		"provider \"a\" {}\nmock_provider \"a\" {}":                           {"Duplicate provider block"},
		"run \"a\" {\n module {\n source = \"git::https://x.y/z.git\"\n }\n}": {"Invalid module source address"},
		"tests {}":                                                       {"Unsupported block type"},
		"test {}\ntest {}":                                               {`Multiple "test" blocks`},
		"variable \"a\" {}\nvariable \"a\" {}":                           {`Duplicate "variable" block names`},
		"variable \"a\" {}\nvariables {\n a = 1\n}":                      {`Duplicate "variable" block names`},
		"variable \"a\" { default = var.b }":                             {"Variables not allowed"},
		"run \"a\" { parallel = var.x }":                                 {"Variables not allowed"},
		"override_resource {\n target = a.b\n values = { x = var.y }\n}": {"Variables not allowed"},
	} {
		_, diags := testfile.Read(snapshot(map[string]string{"x.tftest.hcl": src}), "x.tftest.hcl", flavor.Terraform)
		var got []string
		for _, d := range diags {
			got = append(got, d.Summary)
			if d.Subject == nil {
				t.Errorf("%q has no place in\n%s", d.Summary, src)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", src, diff)
		}
	}
}

// FuzzRead reads any text. It must return, and the result must be valid to use.
func FuzzRead(f *testing.F) {
	f.Add("run \"a\" {\n  module { source = \"./x\" }\n  variables { a = run.b.c }\n}\n", false)
	f.Add("mock_provider \"a\" {\n  mock_resource \"b\" { defaults = { c = [1] } }\n  override_data {\n    target = "+
		"data.a.b[0]\n    values = {}\n  }\n}\n", false)
	f.Add(`{"run": {"a": {"command": "plan", "expect_failures": ["var.x"], "state_key": 5}}}`, true)
	f.Fuzz(func(t *testing.T, src string, asJSON bool) {
		name := "tests/x.tftest.hcl"
		if asJSON {
			name = "tests/x.tftest.json"
		}
		file, diags := testfile.Read(snapshot(map[string]string{name: src}), name, flavor.Terraform)
		if file == nil {
			t.Fatal("there is no file")
		}
		seen := map[string]bool{}
		for _, r := range file.Runs {
			if seen[r.Name] {
				t.Errorf("two runs are called %q", r.Name)
			}
			seen[r.Name] = true
			if r.ModulePath.IsRoot() {
				t.Error("a run has no place for its module")
			}
			for _, c := range r.Asserts {
				if c.Condition == nil || c.ErrorMessage == nil {
					t.Error("an assertion lacks a part")
				}
			}
		}
		for _, o := range file.Overrides {
			if o.Target.String() == "" {
				t.Error("an override has no target")
			}
		}
		for _, p := range file.Providers {
			if p.LocalName == "" {
				t.Error("a provider has no name")
			}
		}
		for _, d := range diags {
			if strings.TrimSpace(d.Summary) == "" {
				t.Error("a problem without a summary")
			}
		}
	})
}
