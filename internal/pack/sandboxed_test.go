//go:build unix

package pack_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/program/starter"
)

const sandboxedUse = `terraform {
  required_providers {
    labels = { source = "example/labels" }
  }
}
data "labels_label" "a" {
  text = "Hello, world"
}
output "label" {
  value = data.labels_label.a.label
}
`

// packedModule packs the starter in Go, which asks for a permission here, for this platform and for another one.
func packedModule(t *testing.T) (dir, mirror string) {
	t.Helper()
	dir, out := t.TempDir(), t.TempDir()
	for name, text := range starter.Files("go-wasm", "labels") {
		text = []byte(strings.Replace(string(text), `"memory": 64,`,
			`"memory": 64, "permissions": {"env": ["LABELS"], "http": ["api.example.com"]},`, 1))
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs go to compile the module")
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", "labels.wasm", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "PWD="+dir)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	source, err := addr.ParseProvider("example/labels")
	must(t, err)
	exe, err := os.Executable()
	must(t, err)
	_, diags := pack.Build(context.Background(), pack.Options{Dir: dir, Source: source, Out: out,
		Exclude: []string{"*.go", "go.mod"}, Hosts: map[packages.Platform]string{packages.Current(): exe}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return dir, filepath.Join(out, "filesystem-mirror")
}

// A packaged module runs under every engine, and only with the permissions that the user has granted in the way of that
// engine.
func TestModulesRunAsPackagesWithTheirPermissions(t *testing.T) {
	dir, mirror := packedModule(t)
	for _, program := range []string{"tombolo", "terraform", os.Getenv("TOMBOLO_TOFU")} {
		t.Run(filepath.Base(program), func(t *testing.T) {
			if program == "" {
				t.Skip("needs tofu in TOMBOLO_TOFU")
			}
			p := newProject(t, example{name: "provider-bash"}, program)
			must(t, os.RemoveAll(filepath.Join(p.dir, "main.tf")))
			p.file("main.tf", sandboxedUse)
			p.file("rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
			p.run("init")
			p.run("validate")
			cmd := exec.Command(p.program, "plan", "-no-color")
			cmd.Dir, cmd.Env = p.dir, p.env
			out, err := cmd.CombinedOutput()
			if text := strings.Join(strings.Fields(string(out)), " "); err == nil || !strings.Contains(text,
				"asks for permissions that it does not have: env LABELS http api.example.com") ||
				!strings.Contains(text, "TOMBOLO_GRANTS_LABELS='provider example/labels, env LABELS, "+
					"http api.example.com'") {
				t.Errorf("got %v\n%s", err, out)
			}
			if program == "tombolo" {
				p.file(".tombolo.lock.hcl", "provider \"registry.terraform.io/example/labels\" {\n"+
					"  granted = [\"env LABELS\", \"http api.example.com\"]\n}\n")
			} else {
				p.env = append(p.env, "TOMBOLO_GRANTS_LABELS=provider other/labels, env LABELS, http api.example.com")
				p.fails("asks for permissions that it does not have", "plan", "-no-color")
				p.env = append(p.env, "TOMBOLO_GRANTS_LABELS=provider example/labels, env LABELS, http api.example.com")
			}
			p.says(`"hello-world"`, "apply", "-auto-approve", "-no-color")
			if program == "tombolo" {
				p.says("checks passed", "provider", "test", dir)
			}
		})
	}
}
