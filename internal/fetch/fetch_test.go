package fetch_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// unpack writes an archive into a new directory and returns the path of a folder in it, which is to be the working
// directory.
func unpack(t *testing.T, archive, folder string) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, archive)
	return filepath.Join(root, folder)
}

func write(t *testing.T, root, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func install(t *testing.T, dir string, opts fetch.Options) ([]string, *fetch.Report, diag.List) {
	t.Helper()
	var lines []string
	opts.Progress = func(line string) { lines = append(lines, line) }
	report, diags := fetch.InstallModules(context.Background(), dir, config.DefaultDataDir, opts)
	return lines, report, diags
}

func manifest(t *testing.T, dir string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, ".terraform", "modules", "modules.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

const tree = `
-- root/main.tf --
module "b" {
  source = "./x/"
}
module "a" {
  source = "./x/../z"
}
module "c" {
  source = "../shared"
}
module "a-b" {
  source = "./x/./y"
}
module "slash" {
  source = ".\\z"
}
module "double" {
  source = "./x//y"
}
-- root/x/main.tf --
module "q" {
  source = "./y"
}
module "up" {
  source = "../z"
}
-- root/x/y/main.tf --
-- root/z/main.tf.json --
{"module": {"out": {"source": "../../shared"}}}
-- shared/main.tf --
locals {
  a = 1
}
`

func TestLocalModulesAreRecorded(t *testing.T) {
	dir := unpack(t, tree, "root")
	lines, report, diags := install(t, dir, fetch.Options{})
	if len(diags) > 0 {
		t.Fatal(diags.Err())
	}
	wantLines := []string{"- a in z", "- a.out in ../shared", "- a-b in x/y", "- b in x", "- b.q in x/y", "- b.up in z",
		"- b.up.out in ../shared",
		"- c in ../shared", "- double in x/y", "- slash in z", "- slash.out in ../shared"}
	if diff := cmp.Diff(wantLines, lines); diff != "" {
		t.Errorf("progress differs (-want +got):\n%s", diff)
	}
	if len(report.Modules) != len(wantLines) || report.Modules[1].Path != addr.ModuleOf("a", "out") ||
		!report.Modules[1].New {
		t.Errorf("the report is wrong: %+v", report.Modules)
	}
	cfg, diags := config.Load(context.Background(), config.Options{Dir: dir})
	if len(diags) > 0 || len(cfg.Modules) != len(wantLines)+1 {
		t.Errorf("what was installed cannot be loaded: %v", diags.Err())
	}
	name := filepath.Join(dir, config.DefaultDataDir, "modules", "modules.json")
	before, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	if again, _, _ := install(t, dir, fetch.Options{}); len(again) > 0 {
		t.Errorf("a second run installed %v", again)
	}
	if after, err := os.Lstat(name); err != nil || !os.SameFile(before, after) {
		t.Errorf("a run that changes nothing has written the record anew (%v)", err)
	}
	if again, _, _ := install(t, dir, fetch.Options{Upgrade: true}); !cmp.Equal(wantLines, again) {
		t.Errorf("an upgrade installed %v", again)
	}
}

func TestManifestEqualsTerraforms(t *testing.T) {
	oracle, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("needs terraform on PATH")
	}
	// Each step changes the configuration in the same directory.
	steps := []string{
		tree,
		"-- root/main.tf --\nmodule \"b\" {\n  source = \"./x\"\n}\n",
		"-- root/main.tf --\nmodule \"b\" {\n  source = \"./z\"\n}\nmodule \"n\" {\n  source = \"../shared\"\n}\n",
		"-- root/main.tf --\nlocals {\n}\n",
	}
	ours, theirs := unpack(t, "", ""), unpack(t, "", "")
	for i, step := range steps {
		write(t, ours, step)
		write(t, theirs, step)
		lines, _, diags := install(t, filepath.Join(ours, "root"), fetch.Options{})
		if len(diags) > 0 {
			t.Fatal(diags.Err())
		}
		cmd := exec.Command(oracle, "get", "-no-color")
		cmd.Dir = filepath.Join(theirs, "root")
		cmd.Env = programtest.Environ()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("step %d: %v\n%s", i, err, out)
		}
		if diff := cmp.Diff(strings.TrimSpace(string(out)), strings.Join(lines, "\n")); diff != "" {
			t.Errorf("step %d: progress differs (-terraform +ours):\n%s", i, diff)
		}
		if diff := cmp.Diff(manifest(t, cmd.Dir), manifest(t, filepath.Join(ours, "root"))); diff != "" {
			t.Errorf("step %d: manifest differs (-terraform +ours):\n%s", i, diff)
		}
	}
}

func TestInstallFailures(t *testing.T) {
	for _, tt := range []struct{ name, archive, want string }{
		{"missing directory", "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n", "Unreadable module directory"},
		{"a file", "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x --\n", "Unreadable module directory"},
		{"registry", "-- main.tf --\nmodule \"a\" {\n  source = \"a/b/c\"\n}\n", "Module source not supported"},
		{"remote", "-- main.tf --\nmodule \"a\" {\n  source = \"git::https://example.com/x.git\"\n}\n",
			"Module source not supported"},
		{"error in child", "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x/main.tf --\nbogus {}\n",
			"Unsupported block type"},
		{"error in root", "-- main.tf --\nbogus {}\n", "Unsupported block type"},
		{"cycle", "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x/main.tf --\nmodule \"b\" {\n  source = " +
			"\"../x\"\n}\n", "Module calls itself"},
		{"root cycle", "-- main.tf --\nmodule \"a\" {\n  source = \"./\"\n}\n", "Module calls itself"},
		{"version", "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x/main.tf --\nterraform {\n  " +
			"required_version = \"> 9\"\n}\n", "Unsupported Terraform Core version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := unpack(t, tt.archive, "")
			write(t, dir, "-- .terraform/modules/modules.json --\n{\"Modules\":[]}")
			_, _, diags := install(t, dir, fetch.Options{LanguageVersion: "1.11.4"})
			if len(diags) != 1 || diags[0].Summary != tt.want {
				t.Errorf("got %v, want one error %q", diags.Err(), tt.want)
			}
			if got := manifest(t, dir); !strings.HasPrefix(got, `{"Modules":[]}`) {
				t.Errorf("the manifest was changed to %s", got)
			}
		})
	}
}

// A manifest that cannot be read may be anything, so it is not replaced. terraform refuses it as well.
func TestBrokenManifestIsAnError(t *testing.T) {
	dir := unpack(t, "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x/main.tf --\n-- "+
		".terraform/modules/modules.json --\n{\"Mod", "")
	before := manifest(t, dir)
	if _, _, diags := install(t, dir, fetch.Options{}); len(diags) != 1 ||
		diags[0].Summary != "Failed to read module manifest" {
		t.Error(diags.Err())
	}
	if got := manifest(t, dir); got != before {
		t.Errorf("it was replaced by %s", got)
	}
}

func TestAbsoluteDataDirectory(t *testing.T) {
	dir := unpack(t, "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x/main.tf --\n", "")
	data := filepath.Join(t.TempDir(), "data")
	if _, diags := fetch.InstallModules(context.Background(), dir, data, fetch.Options{}); len(diags) > 0 {
		t.Fatal(diags.Err())
	}
	cfg, diags := config.Load(context.Background(), config.Options{Dir: dir, DataDir: filepath.ToSlash(data)})
	if len(diags) > 0 || len(cfg.Modules) != 2 {
		t.Errorf("cannot load: %v", diags.Err())
	}
}

func TestCancelledInstallWritesNothing(t *testing.T) {
	dir := unpack(t, "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x/main.tf --\n", "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, diags := fetch.InstallModules(ctx, dir, config.DefaultDataDir, fetch.Options{}); !diags.HasErrors() {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(dir, config.DefaultDataDir)); err == nil {
		t.Error("something was written")
	}
}
