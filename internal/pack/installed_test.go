//go:build unix

package pack_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// example is a program provider in examples/, with the configuration beside it.
type example struct {
	name  string   // name of the folder
	tools []string // programs that it needs
	// resource is an address in the configuration, and importID its import ID, which may depend on a folder.
	resource string
	importID func(dir string) string
	// update are arguments with which the second apply changes something.
	update []string
	env    func(t *testing.T) []string
	// request is a configuration that validate accepts.
	request string
}

var examples = []example{
	{
		name: "provider-bash", tools: []string{"bash", "jq"}, resource: "notes_note.hello",
		importID: func(dir string) string { return filepath.Join(dir, "hello-world.txt") },
		update:   []string{"-var", "text=second"}, request: `{"config": {"path": "/a", "text": "b"}}`,
	},
	{
		name: "provider-node", tools: []string{"node"}, resource: "links_link.welcome",
		importID: func(string) string { return "welcome" },
		update:   []string{"-var", "target=https://example.com/other"}, env: linksService,
		request: `{"config": {"target": "https://example.com", "title": ""}}`,
	},
	{
		name: "provider-python", tools: []string{"python3", "psql"}, resource: "sqlrows_row.basic",
		importID: func(string) string { return `["plans", {"code": "basic"}, ["price"]]` },
		update:   []string{"-var", "price=12.50"}, env: plansTable,
		request: `{"config": {"table": "plans", "key": {"code": "x"}, "values": {"price": "1"}}}`,
	},
	{
		name: "provider-http", resource: "inventory_host.web",
		importID: func(string) string { return "2" },
		update:   []string{"-var", "role=database"}, env: inventoryService,
		request: `{"config": {"name": "a"}}`,
	},
}

// packed packs every example once, with this test binary as the host.
var packed = sync.OnceValues(func() (string, error) {
	out := filepath.Join(workspace, "dist")
	exe, err := os.Executable()
	for _, e := range examples {
		_, name, _ := strings.Cut(e.name, "-")
		source, err := addr.ParseProvider("example/" + sourceName(e))
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		_, diags := pack.Build(context.Background(), pack.Options{
			Dir: filepath.Join("../../examples", e.name), Source: source, Out: out, Exclude: []string{
				"use", "docs", "examples"},
			Hosts: map[packages.Platform]string{packages.Current(): exe},
		})
		if diags.HasErrors() {
			return "", diags.Err()
		}
	}
	return out, err
})

func sourceName(e example) string {
	name, _, _ := strings.Cut(e.resource, "_")
	return name
}

// project is a folder with the configuration of an example, and an engine that works on it.
type project struct {
	t       *testing.T
	dir     string
	program string
	env     []string
}

func (p *project) run(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.program, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %s: %s\n%s", filepath.Base(p.program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (p *project) says(want string, args ...string) {
	p.t.Helper()
	if out := p.run(args...); !strings.Contains(out, want) {
		p.t.Errorf("%s does not say %q:\n%s", strings.Join(args, " "), want, out)
	}
}

// life runs all operations of an example after init.
func (p *project) life(e example) {
	p.t.Helper()
	p.run("validate")
	p.says(" to add", "plan")
	p.says("Apply complete!", "apply", "-auto-approve")
	p.says("No changes", "plan", "-detailed-exitcode")
	p.says(" changed, 0 destroyed", append([]string{"apply", "-auto-approve"}, e.update...)...)
	p.says("No changes", append([]string{"plan", "-detailed-exitcode"}, e.update...)...)
	p.run("state", "rm", e.resource)
	p.run(append(append([]string{"import"}, e.update...), e.resource, e.importID(p.dir))...)
	p.says("No changes", append([]string{"plan", "-detailed-exitcode"}, e.update...)...)
	p.says("Destroy complete!", append([]string{"destroy", "-auto-approve"}, e.update...)...)
}

func newProject(t *testing.T, e example, program string) *project {
	t.Helper()
	for _, tool := range e.tools {
		if exec.Command(tool, "--version").Run() != nil {
			t.Skipf("needs %s for the program", tool)
		}
	}
	p := &project{t: t, dir: t.TempDir(), program: program}
	if real, err := filepath.EvalSymlinks(p.dir); err == nil {
		p.dir = real // configurations contain names below it
	}
	must(t, os.CopyFS(p.dir, os.DirFS(filepath.Join("../../examples", e.name, "use"))))
	p.env = programtest.Environ("TF_CLI_CONFIG_FILE="+p.file("rc", ""), "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		"XDG_CACHE_HOME="+t.TempDir())
	if e.env != nil {
		p.env = append(p.env, e.env(t)...)
	}
	if program == "tombolo" {
		exe, err := os.Executable()
		must(t, err)
		p.program = filepath.Join(t.TempDir(), "tombolo")
		must(t, os.Symlink(exe, p.program))
	} else if _, err := exec.LookPath(program); err != nil {
		t.Skipf("needs %s on PATH", program)
	}
	return p
}

func (p *project) file(name, text string) string {
	p.t.Helper()
	name = filepath.Join(p.dir, name)
	must(p.t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

func TestExamplesRunFromTheirFolders(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			p := newProject(t, e, "tombolo")
			dir, err := filepath.Abs(filepath.Join("../../examples", e.name))
			must(t, err)
			p.env = append(p.env, "TOMBOLO_PROGRAM_PROVIDERS=example/"+sourceName(e)+"="+dir)
			p.run("init")
			p.life(e)
			p.run("provider", "test", dir)
		})
	}
}

// Packages are installed from a mirror, with a shared cache, locked, and used in folders without write permission.
// Files that the programs create must not change the packages, because their hashes are checked at each use.
func TestExamplesRunAsPackages(t *testing.T) {
	dist, err := packed()
	must(t, err)
	for _, e := range examples {
		for _, program := range []string{"terraform", "tombolo"} {
			t.Run(e.name+" under "+program, func(t *testing.T) {
				p := newProject(t, e, program)
				mirror, err := filepath.Abs(filepath.Join(dist, "filesystem-mirror"))
				must(t, err)
				cache := t.TempDir()
				p.file("rc",
					fmt.Sprintf("plugin_cache_dir = %q\nprovider_installation {\n  filesystem_mirror {\n    path = "+
						"%q\n  }\n}\n", cache, mirror))
				p.run("init")
				protect(t, cache)
				p.life(e)
				must(t, os.RemoveAll(filepath.Join(p.dir, ".terraform")))
				p.says("from the shared cache", "init") // as the lock file requires, from the cache
				p.run("providers", "schema", "-json")
				if program == "tombolo" {
					typ, _, _ := strings.Cut(e.resource, ".")
					p.says("{}", "provider", "call", "-input", p.file("request.json", e.request), "-provider",
						"example/"+sourceName(e), "validate", typ)
				}
			})
		}
	}
}

// plan_programs also applies to packaged program providers, although they are plugins.
func TestPackagesKeepToPlanPrograms(t *testing.T) {
	dist, err := packed()
	must(t, err)
	mirror, err := filepath.Abs(filepath.Join(dist, "filesystem-mirror"))
	must(t, err)
	p := newProject(t, examples[0], "tombolo")
	settings := func(provider string) {
		p.file("rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n"+
			"plan_programs {\n  providers = [%q]\n}\n", mirror, provider))
	}
	settings("example/other")
	p.run("init")
	cmd := exec.Command(p.program, "plan", "-no-color")
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if text := strings.Join(strings.Fields(string(out)), " "); err == nil ||
		!strings.Contains(text, "does not allow the provider example/notes to run its program") {
		t.Errorf("got %v\n%s", err, out)
	}
	settings("example/notes")
	p.run("plan")
}

// protect removes the permission to write until the test ends.
func protect(t *testing.T, dir string) {
	t.Helper()
	set := func(mode fs.FileMode) {
		must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			return os.Chmod(name, mode)
		}))
	}
	set(0o555)
	t.Cleanup(func() { set(0o755) })
}
