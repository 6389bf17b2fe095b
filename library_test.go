package tombolo_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fenced matches the blocks of a page: a fence of three or more backticks, the language, the text.
var fenced = regexp.MustCompile("(?ms)^(`{3,})(\\w+)\n(.*?)^(`{3,})\n")

// guide holds the parts of docs/library.md: files of configuration, and programs with their output.
type guide struct {
	files    map[string]string
	programs []struct{ source, output string }
}

func readGuide(t *testing.T) (g guide) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	g.files = map[string]string{}
	rest := string(text)
	for {
		at := fenced.FindStringSubmatchIndex(rest)
		if at == nil {
			return g
		}
		fence, language := rest[at[2]:at[3]], rest[at[4]:at[5]]
		body, after, ok := strings.Cut(rest[at[5]+1:], "\n"+fence+"\n")
		if !ok {
			t.Fatalf("a block of docs/library.md does not end: %.60s", rest[at[0]:])
		}
		rest = after
		switch body += "\n"; language {
		case "hcl":
			name, content, _ := strings.Cut(strings.TrimPrefix(body, "# "), "\n")
			g.files[name] = content
		case "go":
			g.programs = append(g.programs, struct{ source, output string }{source: body})
		case "text":
			g.programs[len(g.programs)-1].output = body
		}
	}
}

// outside builds programs in a module outside of this one, as an embedder does, and returns one binary; its first
// argument is the number of the program to run.
func outside(t *testing.T, sources []string) string {
	t.Helper()
	module := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	// The versions that this module is tested with, so that no versions are looked up.
	_, requirements, _ := strings.Cut(string(mod), "\ngo ")
	if i := strings.Index(requirements, "\ntool "); i >= 0 {
		requirements = requirements[:i] + "\n"
	}
	write(t, filepath.Join(module, "go.mod"), fmt.Sprintf("module example.com/guide\n\ngo %s\n"+
		"require github.com/tombolo-iac/tombolo v0.0.0\nreplace github.com/tombolo-iac/tombolo => %s\n", requirements,
		here))
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(module, "go.sum"), string(sums))
	// All programs are in one binary, since linking takes the longest: they are packages, and the first argument
	// chooses whose Main runs.
	imports, calls := "", ""
	for i, source := range sources {
		name := fmt.Sprintf("p%d", i)
		source = strings.Replace(source, "package main\n", "package "+name+"\n", 1)
		write(t, filepath.Join(module, name, "main.go"), strings.Replace(source, "\nfunc main() {", "\nfunc Main() {",
			1))
		imports += fmt.Sprintf("\t%q\n", "example.com/guide/"+name)
		calls += fmt.Sprintf("\tcase %q:\n\t\t%s.Main()\n", name, name)
	}
	write(t, filepath.Join(module, "main.go"), "package main\n\nimport (\n\t\"os\"\n"+imports+
		")\n\nfunc main() {\n\tname := os.Args[1]\n\tos.Args = os.Args[1:]\n\tswitch name {\n"+calls+"\t}\n}\n")
	bin := filepath.Join(module, "guide.bin")
	build := exec.Command("go", "build", "-o", bin, ".")
	build.Dir = module
	// With the build flags of this test: other flags would compile all packages again.
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod "+os.Getenv("GOFLAGS"), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", err, out)
	}
	return bin
}

// runOutside runs a program that outside built, in an empty directory, with the project in another directory.
func runOutside(t *testing.T, bin string, program int, dir string, env ...string) string {
	t.Helper()
	cmd := exec.Command(bin, fmt.Sprintf("p%d", program), dir)
	cmd.Dir = t.TempDir()
	settings := filepath.Join(t.TempDir(), "none.tfrc")
	write(t, settings, "")
	cmd.Env = append(os.Environ(), append(env, "TF_CLI_CONFIG_FILE="+settings)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s\n%s%s", err, out.String(), errs.String())
	}
	if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
		t.Errorf("the working directory of the process has %v (%v): everything belongs in the project's", left, err)
	}
	return out.String()
}

// installed is an embedder's program for a project with a backend, modules and plugins.
const installed = `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tombolo-iac/tombolo"
)

func main() {
	ctx := context.Background()
	o := tombolo.Options{Dir: os.Args[1], Variables: map[string]any{"n": 7}}
	check(tombolo.Install(ctx, o, tombolo.InstallOptions{}).Err())
	project, diags := tombolo.Load(ctx, o)
	check(diags.Err())
	defer project.Close()
	run, diags := project.Open(ctx, tombolo.OpenOptions{})
	check(diags.Err())
	defer run.Close(ctx)
	plan, diags := run.Plan(ctx, tombolo.PlanOptions{})
	check(diags.Err())
	counts, diags := run.Apply(ctx, plan, tombolo.ApplyOptions{})
	check(diags.Err())
	var words int
	check(run.Output("words", &words))
	fmt.Println(counts, words)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
`

// rendered is an embedder's program that passes invalid values, renders a plan in every form, and keeps the state in
// its own store.
const rendered = `package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/state"
)

// audited is a store that says which workspaces are used.
type audited struct{ state.Store }

func (a audited) Workspace(name string) (state.Workspace, error) {
	fmt.Println("workspace:", name)
	return a.Store.Workspace(name)
}

func main() {
	ctx := context.Background()
	o := tombolo.Options{Dir: os.Args[1], Store: audited{tombolo.MemoryStore()}, Environ: []string{}}
	for _, wrong := range []map[string]any{{"name": "Ada", "age": 36}, {"name": "Ada", "sizes": "large"}} {
		o.Variables = wrong
		_, diags := tombolo.Load(ctx, o)
		for _, d := range diags {
			fmt.Println("refused:", d.Summary)
		}
	}
	o.Variables = map[string]any{"name": "Ada"}
	project, diags := tombolo.Load(ctx, o)
	check(diags.Err())
	defer project.Close()
	run, diags := project.Open(ctx, tombolo.OpenOptions{})
	check(diags.Err())
	defer run.Close(ctx)
	plan, diags := run.Plan(ctx, tombolo.PlanOptions{})
	check(diags.Err())

	var text, document, markdown, page bytes.Buffer
	check(project.Text(&text, plan, tombolo.TextOptions{}))
	check(project.JSON(&document, plan))
	check(project.Markdown(&markdown, plan, tombolo.MarkdownOptions{}))
	check(project.HTML(&page, plan, tombolo.HTMLOptions{}))
	var changes struct {
		Changes []struct {
			Address string
			Change  struct{ Actions []string }
		} ` + "`json:\"resource_changes\"`" + `
	}
	check(json.Unmarshal(document.Bytes(), &changes))
	fmt.Println(changes.Changes)
	for _, form := range []string{text.String(), markdown.String()} {
		fmt.Println(strings.Contains(form, "terraform_data.greeting"))
	}
	fmt.Println(strings.HasPrefix(strings.ToLower(page.String()), "<!doctype html>")) // its data is compressed
	counts, diags := run.Apply(ctx, plan, tombolo.ApplyOptions{})
	check(diags.Err())
	fmt.Println(counts.Added, "added,", len(run.State().Resources()), "stored")
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
`

// project has a backend block, values in files and in the environment, a module, and a provider in a mirror within the
// directory.
var project = map[string]string{
	"main.tf": `terraform {
  required_providers { notes = { source = "example/notes" } }
  backend "local" { path = "state/here.tfstate" }
}
variable "dir" { type = string }
variable "text" { type = string }
variable "n" { type = number }
provider "notes" { dir = var.dir }
resource "notes_note" "a" {
  title = "t"
  text  = "${var.text} ${var.n}"
}
module "m" {
  source = "./mod"
  x      = notes_note.a.words
}
output "words" { value = module.m.y }
`,
	"mod/main.tf":      "variable \"x\" {}\noutput \"y\" { value = var.x * 10 }\n",
	"terraform.tfvars": "text = \"from a file\"\n",
}

// The programs of docs/library.md build in their own module and print the output on the page. So does a program for a
// project with a backend block, values from every source and an installed plugin.
func TestTheLibraryWorksFromOutside(t *testing.T) {
	g := readGuide(t)
	if len(g.programs) < 5 || len(g.files) < 2 {
		t.Fatalf("docs/library.md has %d programs and %d files", len(g.programs), len(g.files))
	}
	sources := []string{}
	for _, p := range g.programs {
		sources = append(sources, p.source)
	}
	bin := outside(t, append(sources, installed, rendered))
	for i, p := range g.programs {
		t.Run(fmt.Sprintf("program %d", i), func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range g.files {
				write(t, filepath.Join(dir, name), text)
			}
			if i > 0 { // the first program installs the module
				runOutside(t, bin, 0, dir)
				for _, name := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
					if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
				}
			}
			if diff := cmp.Diff(p.output, runOutside(t, bin, i, dir)); diff != "" {
				t.Errorf("what docs/library.md says, and what it prints (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("rendered", func(t *testing.T) {
		dir := t.TempDir()
		for name, text := range g.files {
			write(t, filepath.Join(dir, name), text)
		}
		runOutside(t, bin, 0, dir) // installs the module
		want := `refused: Value for undeclared variable
refused: Invalid value for input variable
workspace: default
[{terraform_data.greeting {[create]}}]
true
true
true
1 added, 1 stored
`
		if diff := cmp.Diff(want, runOutside(t, bin, len(g.programs)+1, dir)); diff != "" {
			t.Errorf("it prints (-want +got):\n%s", diff)
		}
	})
	t.Run("installed", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "the project")
		for name, text := range project {
			write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
		}
		plugin := filepath.Join(dir, "terraform.d", "plugins", "registry.terraform.io", "example", "notes", "1.0.0",
			runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-notes")
		build := exec.Command("go", "build", "-o", plugin, "./examples/provider-notes")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s\n%s", err, out)
		}
		if got := runOutside(t, bin, len(g.programs), dir, "TF_VAR_dir=notes here"); got != "{1 0 0 0 0 0} 40\n" {
			t.Errorf("it prints %q", got)
		}
		for _, name := range []string{"state/here.tfstate", "notes here/t.txt", ".terraform.lock.hcl",
			".terraform/terraform.tfstate"} {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				t.Error(err)
			}
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
