package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

const tofuLock = "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future " +
	"updates.\n"

const otherState = `{"version":4,"terraform_version":"1.9.0","serial":1,"lineage":"l","outputs":{},"resources":[` +
	`{"mode":"managed","type":"null_resource","name":"a","provider":"provider[\"registry.opentofu.org/x/null\"]",` +
	`"instances":[]}]}`

func TestFlavorPrecedence(t *testing.T) {
	entry := func(host string) string {
		return "provider \"" + host + "/hashicorp/null\" {\n  version = \"3.2.1\"\n}\n"
	}
	for name, tt := range map[string]struct {
		files   map[string]string
		environ string
		says    flavor.Flavor
		persona flavor.Flavor
		want    flavor.Flavor
	}{
		"nothing":   {want: flavor.Terraform},
		"lock file": {files: map[string]string{lockfile.Name: tofuLock}, want: flavor.OpenTofu},
		"lock file of terraform": {files: map[string]string{lockfile.Name: entry("registry.terraform.io")},
			want: flavor.Terraform},
		"lock file without header": {files: map[string]string{lockfile.Name: entry("registry.opentofu.org")},
			want: flavor.OpenTofu},
		"lock file with both hosts": {files: map[string]string{lockfile.Name: entry("registry.opentofu.org") +
			entry("registry.terraform.io")}, want: flavor.Terraform},
		"state": {files: map[string]string{"terraform.tfstate": otherState}, want: flavor.OpenTofu},
		"lock file before state": {files: map[string]string{"terraform.tfstate": otherState,
			lockfile.Name: entry("registry.terraform.io")}, want: flavor.Terraform},
		"name before lock file": {files: map[string]string{lockfile.Name: tofuLock}, persona: flavor.Terraform,
			want: flavor.Terraform},
		"setting before name": {files: map[string]string{"rc": `flavor = "opentofu"`}, persona: flavor.Terraform,
			want: flavor.OpenTofu},
		"environment before setting": {files: map[string]string{"rc": `flavor = "opentofu"`}, environ: "terraform",
			want: flavor.Terraform},
		"caller before environment": {environ: "terraform", says: flavor.OpenTofu, want: flavor.OpenTofu},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, tt.files)
			s := surroundings(t, dir, flavor.Variable+"="+tt.environ, "TF_CLI_CONFIG_FILE="+rc(t, dir))
			s.ChosenFlavor, s.CalledAs = tt.says, tt.persona
			if got := s.Flavor(); got != tt.want {
				t.Errorf("the flavor is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestInvalidFlavorVariableStopsLoading(t *testing.T) {
	dir := t.TempDir()
	s := surroundings(t, dir, flavor.Variable+"=tofu", "TF_CLI_CONFIG_FILE="+rc(t, dir))
	if _, diags := s.Load(t.Context(), engine.LoadOptions{}); !strings.Contains(diags.Err().Error(), flavor.Variable) {
		t.Errorf("got %v, want a problem with %s", diags.Err(), flavor.Variable)
	}
}

// A Terraform project is initialised as an OpenTofu project: the lock file keeps the version although there is a later
// one, and the provider of an object that is only in the state becomes OpenTofu's.
func TestTerraformProjectContinuesInOpenTofu(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"main.tf": "terraform {\n  required_providers {\n    null = {}\n  }\n}\n",
		lockfile.Name: "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.1\"\n  hashes = " +
			"[\"h1:b\"]\n}\n",
		"rc": `flavor = "opentofu"`,
		"terraform.tfstate": strings.NewReplacer("registry.opentofu.org/x/null", "registry.terraform.io/x/old",
			`"instances":[]`, `"instances":[{"schema_version":0,"attributes":{}}]`).Replace(otherState),
	})
	for _, p := range []string{"hashicorp/null/3.2.1", "hashicorp/null/3.2.2", "x/old/1.0.0"} {
		typ := strings.Split(p, "/")[1]
		write(t, dir, map[string]string{filepath.Join("terraform.d/plugins/registry.opentofu.org", p,
			packages.Current().String(), "terraform-provider-"+typ): "never started"})
	}
	s := surroundings(t, dir, "TF_CLI_CONFIG_FILE="+rc(t, dir))
	diags := s.Install(t.Context(), engine.InstallOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if len(diags) != 1 || diags[0].Summary != "Dependency lock file entries automatically updated" {
		t.Errorf("got the warnings %v, want one of the lock file", diags)
	}
	src, err := os.ReadFile(filepath.Join(dir, lockfile.Name))
	if err != nil {
		t.Fatal(err)
	}
	if lockfile.Writer(src) != flavor.OpenTofu || strings.Contains(string(src), "terraform.io") {
		t.Errorf("the lock file is not one of OpenTofu:\n%s", src)
	}
	locked, _ := lockfile.Parse(lockfile.Name, src)
	want := map[string]string{"registry.opentofu.org/hashicorp/null": "3.2.1", "registry.opentofu.org/x/old": "1.0.0"}
	for _, e := range locked.Entries() {
		if want[e.Provider.String()] != e.Version.String() {
			t.Errorf("%s has version %s, want %q", e.Provider, e.Version, want[e.Provider.String()])
		}
		delete(want, e.Provider.String())
	}
	if len(want) > 0 {
		t.Errorf("the lock file lacks %v:\n%s", want, src)
	}
}

func surroundings(t *testing.T, dir string, environ ...string) *engine.Surroundings {
	return &engine.Surroundings{Dir: dir, Environ: append(environ, "HOME="+t.TempDir())}
}

// rc returns the CLI configuration of a directory, which is created if there is none.
func rc(t *testing.T, dir string) string {
	name := filepath.Join(dir, "rc")
	if _, err := os.Stat(name); err != nil {
		write(t, dir, map[string]string{"rc": ""})
	}
	return name
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}
