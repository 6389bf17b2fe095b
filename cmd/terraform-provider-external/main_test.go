//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The test binary is the plugin if it has the plugin's name.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); strings.HasPrefix(name, "terraform-provider-external") &&
		!strings.HasSuffix(name, ".test") {
		main()
	}
	os.Exit(m.Run())
}

const configuration = `
terraform {
  required_providers {
    external = { source = "hashicorp/external" }
  }
}
resource "external_resource" "a" {
  program   = ["/bin/sh", "-c", "cat >&2; echo '{\"id\":\"1\",\"arguments\":{},\"result\":{}}'", "program"]
}
data "external" "b" {
  program = ["/bin/sh", "-c", "cat >/dev/null; echo \"{\\\"seen\\\":\\\"$(env | grep -c '^PLUGIN_\\|^TF_PLUGIN_MAGIC')\\\"}\""]
  query   = { id = external_resource.a.id }
}
output "handshake_variables" { value = data.external.b.result.seen }
`

// project is a directory for terraform, with a CLI configuration.
type project struct {
	t         *testing.T
	dir       string
	cliConfig string
}

func newProject(t *testing.T, installation string) *project {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("needs terraform on PATH: the plugin is tested with it")
	}
	p := &project{t: t, dir: t.TempDir(), cliConfig: filepath.Join(t.TempDir(), "rc")}
	text := "disable_checkpoint = true\nprovider_installation {\n" + installation + "\n}\n"
	for file, data := range map[string]string{p.cliConfig: text, filepath.Join(p.dir, "main.tf"): configuration} {
		if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *project) terraform(env []string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("terraform", args...)
	cmd.Dir = p.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TF_CLI_CONFIG_FILE=" + p.cliConfig,
		"CHECKPOINT_DISABLE=1"}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("terraform %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// plugin puts the plugin into a directory.
func plugin(t *testing.T, dir, name string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func TestTerraformInstallsThePluginFromAMirror(t *testing.T) {
	mirror := t.TempDir()
	p := newProject(t, fmt.Sprintf("filesystem_mirror { path = %q }", mirror))
	plugin(t, filepath.Join(mirror, "registry.terraform.io/hashicorp/external/2.9.0", runtime.GOOS+"_"+runtime.GOARCH),
		"terraform-provider-external_v2.9.0")
	p.terraform(nil, "init")
	lock, err := os.ReadFile(filepath.Join(p.dir, ".terraform.lock.hcl"))
	if err != nil || !strings.Contains(string(lock), `version = "2.9.0"`) || !strings.Contains(string(lock), `"h1:`) {
		t.Errorf("lock file: %v\n%s", err, lock)
	}
	out := p.terraform([]string{"TF_LOG=trace"}, "apply", "-auto-approve", "-no-color")
	if !strings.Contains(out, `handshake_variables = "0"`) {
		t.Errorf("no result in:\n%s", out)
	}
	if !strings.Contains(out, `terraform-provider-external_v2.9.0: {"arguments":{}}: `) {
		t.Error("standard error of the program is not in the log")
	}
	p.terraform(nil, "init", "-lockfile=readonly")
	if out := p.terraform(nil, "plan", "-no-color"); !strings.Contains(out, "No changes.") {
		t.Errorf("a second plan has changes:\n%s", out)
	}
	p.terraform(nil, "destroy", "-auto-approve")
}

// The program in docs/programs.md works with the plugin under the documented address.
func TestTerraformUsesTheDocumentedResource(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3 on PATH: the documentation uses it")
	}
	docs, err := os.ReadFile(filepath.FromSlash("../../docs/programs.md"))
	if err != nil {
		t.Fatal(err)
	}
	mirror := t.TempDir()
	p := newProject(t, fmt.Sprintf("filesystem_mirror { path = %q }", mirror))
	plugin(t, filepath.Join(mirror, "registry.terraform.io/tombolo/external/0.1.0", runtime.GOOS+"_"+runtime.GOARCH),
		"terraform-provider-external_v0.1.0")
	files := regexp.MustCompile("(?s)<!-- file: resource/([^\n]*?) -->\n```[a-z]*\n(.*?)```").FindAllStringSubmatch(
		string(docs), -1)
	requirement := regexp.MustCompile("(?s)```hcl\n(terraform .*?)```").FindStringSubmatch(string(docs))
	if len(files) != 2 || requirement == nil {
		t.Fatal("docs/programs.md does not show the resource, its program, and where the provider comes from")
	}
	for _, file := range append(files, []string{"", "versions.tf", requirement[1]}) {
		if err := os.WriteFile(filepath.Join(p.dir, file[1]), []byte(file[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.terraform(nil, "init")
	if out := p.terraform(nil, "apply", "-auto-approve", "-no-color"); !strings.Contains(out, `words = "2"`) {
		t.Errorf("no result in:\n%s", out)
	}
	if out := p.terraform(nil, "plan", "-no-color"); !strings.Contains(out, "No changes.") {
		t.Errorf("a second plan has changes:\n%s", out)
	}
	p.terraform(nil, "destroy", "-auto-approve")
	if left, err := os.ReadDir(filepath.Join(p.dir, "notes")); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

func TestTerraformRunsThePluginWithDevOverrides(t *testing.T) {
	dir := t.TempDir()
	p := newProject(t, fmt.Sprintf("dev_overrides {\n \"hashicorp/external\" = %q\n}", dir))
	plugin(t, dir, "terraform-provider-external")
	if out := p.terraform(nil, "apply", "-auto-approve", "-no-color"); !strings.Contains(out,
		`handshake_variables = "0"`) {
		t.Errorf("no result in:\n%s", out)
	}
}

func TestTerraformUsesThePluginThatRunsInADebugger(t *testing.T) {
	dir := t.TempDir()
	p := newProject(t, "direct {}")
	plugin(t, dir, "terraform-provider-external")
	cmd := exec.Command(filepath.Join(dir, "terraform-provider-external"), "-debug")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var setting string
	for lines := bufio.NewScanner(out); setting == "" && lines.Scan(); {
		if _, value, found := strings.Cut(lines.Text(), "TF_REATTACH_PROVIDERS='"); found {
			setting = "TF_REATTACH_PROVIDERS=" + strings.TrimSuffix(value, "'")
		}
	}
	if setting == "" {
		t.Fatal("it does not say how to reach it")
	}
	for range 2 { // the plugin outlives a command
		if out := p.terraform([]string{setting}, "apply", "-auto-approve", "-no-color"); !strings.Contains(out,
			`handshake_variables = "0"`) {
			t.Errorf("no result in:\n%s", out)
		}
	}
	p.terraform([]string{setting}, "destroy", "-auto-approve")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it did not end well: %v", err)
	}
}
