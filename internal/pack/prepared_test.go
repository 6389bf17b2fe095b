//go:build unix

package pack_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

const needy = `{"protocol": 1, "name": "demo", "version": "1.2.3", "command": ["{cache}/tool"], "prepare": ["sh", "./prepare.sh"],
  "schema": {"data_source_schemas": {"demo_made": {"attributes": {"value": {"type": "string", "computed": true}}}}}}`

const prepareDemo = `
echo "$0" >>"$DEMO_LOG"
[ -e "$DEMO_LOG.network" ] || { echo "the index cannot be reached" >&2; exit 3; }
printf '#!/bin/sh\necho "{\\"state\\": {\\"value\\": \\"made\\"}}"\n' >"$TOMBOLO_CACHE_DIR/tool"
chmod +x "$TOMBOLO_CACHE_DIR/tool"
`

const readDemo = `
terraform {
  required_providers {
    demo = { source = "example/demo" }
  }
}
data "demo_made" "a" {}
output "value" {
  value = data.demo_made.a.value
}
`

// bare is a project without an example.
func bare(t *testing.T, program string, env ...string) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), program: program}
	if program == "tombolo" {
		exe, err := os.Executable()
		must(t, err)
		p.program = filepath.Join(t.TempDir(), "tombolo")
		must(t, os.Symlink(exe, p.program))
	} else if _, err := exec.LookPath(program); err != nil {
		t.Skipf("needs %s on PATH", program)
	}
	p.env = programtest.Environ(append([]string{"TF_CLI_CONFIG_FILE=" + p.file("rc", ""), "TF_IN_AUTOMATION=1",
		"TF_INPUT=0", "XDG_CACHE_HOME=" + t.TempDir()}, env...)...)
	return p
}

// fails runs the program, which must fail with a text, whatever its line breaks.
func (p *project) fails(want string, args ...string) {
	p.t.Helper()
	cmd := exec.Command(p.program, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), want) {
		p.t.Errorf("%s: %v; does not say %q:\n%s", strings.Join(args, " "), err, want, out)
	}
}

// No command of ours runs between the installation and the first plan under Terraform.
func TestPackagesArePreparedAtFirstUse(t *testing.T) {
	f := newFolder(t, needy)
	f.write("prepare.sh", prepareDemo, 0o644)
	exe, err := os.Executable()
	must(t, err)
	source, err := addr.ParseProvider("example/demo")
	must(t, err)
	dist := t.TempDir()
	_, diags := pack.Build(t.Context(), pack.Options{Dir: f.dir, Source: source, Out: dist,
		Hosts: map[packages.Platform]string{packages.Current(): exe}})
	must(t, diags.Err())
	for _, program := range []string{"terraform", "tombolo"} {
		t.Run(program, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			ran := func(want int) {
				t.Helper()
				text, _ := os.ReadFile(log)
				if got := strings.Count(string(text), "\n"); got != want {
					t.Errorf("prepared %d times, want %d", got, want)
				}
			}
			p := bare(t, program, "DEMO_LOG="+log)
			p.file("rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
				filepath.Join(dist, "filesystem-mirror")))
			p.file("main.tf", readDemo)
			if program == "tombolo" {
				p.fails("the index cannot be reached", "init", "-no-color")
				ran(1)
				must(t, os.Remove(log))
				p.run("init", "-prepare=false")
			} else {
				p.run("init")
			}
			p.run("validate")
			ran(0)
			p.fails("the index cannot be reached", "plan", "-no-color")
			ran(1)
			must(t, os.WriteFile(log+".network", nil, 0o600))
			if program == "tombolo" {
				p.says("Preparing provider demo", "init")
			}
			p.says(`"made"`, "apply", "-auto-approve", "-no-color")
			p.run("plan")
			p.run("init") // the package is unchanged
			ran(2)
		})
	}
}
