//go:build unix

package pack_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const readable = `{"protocol": 1, "name": "demo", "command": ["sh", "./demo.sh"],
  "schema": {"data_source_schemas": {"demo_made": {"attributes": {"value": {"type": "string", "computed": true}}}}}}`

func TestDevOverridesUseTheProviderFolder(t *testing.T) {
	for _, program := range []string{"terraform", "tombolo"} {
		t.Run(program, func(t *testing.T) {
			p := bare(t, program)
			f := newFolder(t, readable)
			f.write("demo.sh", `echo '{"state": {"value": "first"}}'`, 0o644)
			exe, err := os.Executable()
			must(t, err)
			link := filepath.Join(t.TempDir(), "tombolo")
			must(t, os.Symlink(exe, link))
			out := filepath.Join(p.dir, "dev")
			develop := func(dir, source string) string {
				build := exec.Command(link, "provider", "build", dir, "-source", source, "-dev", "-out", out)
				build.Env = p.env
				block, err := build.Output()
				must(t, err)
				return string(block)
			}
			develop(f.dir, "example/demo")
			p.file("rc", develop(f.dir, "example/demo")) // it can be repeated
			develop(newFolder(t, strings.ReplaceAll(readable, "demo", "other")).dir, "example/other")
			p.file("main.tf", readDemo)
			p.says(`"first"`, "apply", "-auto-approve", "-no-color")
			f.write("demo.sh", `echo '{"state": {"value": "second"}}'`, 0o644)
			p.says(`"second"`, "apply", "-auto-approve", "-no-color")
			must(t, os.Remove(filepath.Join(f.dir, "tombolo-provider.json")))
			p.fails("There is no tombolo-provider.json in", "plan", "-no-color")
		})
	}
}
