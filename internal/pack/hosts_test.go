//go:build unix

package pack_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// smallHosts is a folder with the hosts of this platform for each kind of provider, once they are built.
var smallHosts string

func builtHosts(t *testing.T) string {
	t.Helper()
	if smallHosts != "" {
		return smallHosts
	}
	if testing.Short() {
		t.Skip("runs the compiler for a long time")
	}
	dir, err := os.MkdirTemp(workspace, "hosts")
	must(t, err)
	for _, kind := range manifest.Kinds() {
		name := filepath.Join(dir, pack.HostName(kind, packages.Current()))
		flags := slices.DeleteFunc(pack.HostFlags(kind), func(flag string) bool {
			return strings.HasPrefix(flag, "-gcflags") // the libraries need not be compiled once more
		})
		cmd := exec.Command("go", append(append([]string{"build", "-o", name}, flags...),
			"github.com/tombolo-iac/tombolo/cmd/tombolo-host")...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, text)
		}
	}
	smallHosts = dir
	return dir
}

// zipped returns an archive of a folder, as a release has it.
func zipped(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	must(t, z.AddFS(os.DirFS(dir)))
	must(t, z.Close())
	name := filepath.Join(t.TempDir(), "hosts.zip")
	must(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}

// The packages with the host for their kind do all that those with the whole program do.
func TestExamplesRunWithSmallHosts(t *testing.T) {
	hosts, out := builtHosts(t), t.TempDir()
	archive := zipped(t, hosts)
	for _, e := range examples {
		if e.name != "provider-bash" && e.name != "provider-http" {
			continue
		}
		builder := newProject(t, e, "tombolo")
		dir, err := filepath.Abs(filepath.Join("../../examples", e.name))
		must(t, err)
		for i, from := range []string{hosts, archive} {
			builder.says("Packed", "provider", "build", dir, "-source", "example/"+sourceName(e), "-exclude", "use",
				"-exclude", "docs", "-exclude", "examples", "-out", filepath.Join(out, fmt.Sprint(i)), "-hosts", from)
		}
		if !bytes.Equal(onlyArchive(t, filepath.Join(out, "0"), sourceName(e)),
			onlyArchive(t, filepath.Join(out, "1"), sourceName(e))) {
			t.Errorf("%s: a folder of hosts gives another archive than an archive of them", e.name)
		}
		for _, program := range []string{"tombolo", "terraform", "tofu"} {
			t.Run(e.name+" under "+program, func(t *testing.T) {
				p := newProject(t, e, program)
				p.file("rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
					filepath.Join(out, "0", "filesystem-mirror")))
				p.run("init")
				p.life(e)
			})
		}
	}
}

// onlyArchive returns the archive of a provider in the output of a build.
func onlyArchive(t *testing.T, dir, name string) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "terraform-provider-"+name+"_*.zip"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	must(t, err)
	return text
}

// kindManifests are valid manifests of each kind.
var kindManifests = map[manifest.Kind]string{
	manifest.Program: simple,
	manifest.Module: strings.NewReplacer(`"command": ["sh", "./demo.sh"]`, `"wasm": "demo.wasm"`).
		Replace(simple),
	manifest.Requests: strings.NewReplacer(`"command": ["sh", "./demo.sh"]`, `"http": {"url": "http://127.0.0.1:1"}`,
		`{"attributes": {"a": {"type": "string", "optional": true}}}`,
		`{"attributes": {"id": {"type": "string", "computed": true}, "a": {"type": "string", "optional": true}}, `+
			`"http": {"create": {"path": "/a"}, "read": {"path": "/a/${self.id}"}, `+
			`"update": {"path": "/a/${self.id}"}, "delete": {"path": "/a/${self.id}"}}}`).Replace(simple),
}

// Each host serves programs and its own kind of provider, and no other: for every pair of kinds, the check before
// packing and the host itself agree.
func TestHostsServeTheirKind(t *testing.T) {
	hosts := builtHosts(t)
	for _, serves := range manifest.Kinds() {
		host := filepath.Join(hosts, pack.HostName(serves, packages.Current()))
		for _, kind := range manifest.Kinds() {
			served := kind == serves || kind == manifest.Program
			f := newFolder(t, kindManifests[kind])
			f.write("demo.wasm", "\x00asm\x01\x00\x00\x00", 0o600)
			o := f.options(t.TempDir())
			o.Hosts = map[packages.Platform]string{packages.Current(): host}
			_, diags := f.build(o)
			if diags.HasErrors() == served {
				t.Errorf("a %s provider with the host for %s: %v", kind, serves, diags.Err())
			}
			if text := fmt.Sprint(diags.Err()); !served && !strings.Contains(text,
				"tombolo-hosts-"+string(kind)+"_VERSION.zip") {
				t.Errorf("a %s provider with the host for %s: the right file is not named: %s", kind, serves, text)
			}
			must(t, os.Symlink(host, filepath.Join(f.dir, "terraform-provider-demo")))
			out := schemaOf(t, f.dir)
			refused := strings.Contains(out, "is the host of packages for another kind of provider")
			if refused == served {
				t.Errorf("the host for %s started with a %s provider: %s", serves, kind, out)
			}
		}
	}
}

// overrides uses the plugin in a folder as the provider example/demo.
func (p *project) overrides(dir string) {
	p.file("rc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"example/demo\" = %q\n  }\n"+
		"  direct {}\n}\n", dir))
}

// schemaOf returns what Tombolo prints about the schema of the plugin in a folder.
func schemaOf(t *testing.T, dir string) string {
	t.Helper()
	p := newProject(t, example{name: "provider-bash"}, "tombolo")
	p.file("main.tf", "terraform {\n  required_providers {\n    demo = { source = \"example/demo\" }\n  }\n}\n")
	p.overrides(dir)
	cmd := exec.Command(p.program, "providers", "schema", "-json")
	cmd.Dir, cmd.Env = p.dir, p.env
	out, _ := cmd.CombinedOutput() // the caller looks for the message
	return strings.Join(strings.Fields(strings.ReplaceAll(string(out), "│", " ")), " ")
}

// A host says what it is if someone starts it, and the flags name what is wrong with the hosts.
func TestHostsThatCannotBeUsedAreNamed(t *testing.T) {
	hosts := builtHosts(t)
	out, err := exec.Command(filepath.Join(hosts, pack.HostName(manifest.Program, packages.Current()))).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "does nothing under this name") {
		t.Errorf("got %v\n%s", err, out)
	}
	p := newProject(t, example{name: "provider-bash"}, "tombolo")
	f := newFolder(t, simple)
	empty := t.TempDir()
	p.fails("has no hosts for this kind of provider, such as "+pack.HostName(manifest.Program, packages.Current()),
		"provider", "build", f.dir, "-source", "example/demo", "-hosts", empty)
	p.fails("not a valid zip file", "provider", "build", f.dir, "-source", "example/demo", "-hosts",
		p.file("hosts.zip", "no archive"))
	p.fails("needs a host for that platform", "provider", "build", f.dir, "-source", "example/demo", "-hosts", hosts,
		"-platform", "plan9_386")
	p.fails("omit -platform, -host, -hosts", "provider", "build", f.dir, "-source", "example/demo", "-hosts", hosts,
		"-dev")
}

// Platforms without a command are left out with a warning, unless they are asked for.
func TestHostsOfPlatformsWithoutACommandAreLeftOut(t *testing.T) {
	from := t.TempDir()
	for _, on := range []packages.Platform{packages.Current(), {OS: "windows", Arch: "amd64"}} {
		in, err := os.Open(crossBuilt(t, on))
		must(t, err)
		to, err := os.Create(filepath.Join(from, pack.HostName(manifest.Program, on)))
		must(t, err)
		_, err = io.Copy(to, in)
		must(t, err)
		must(t, in.Close())
		must(t, to.Close())
	}
	f := newFolder(t, strings.Replace(simple, `["sh", "./demo.sh"]`, `{"`+runtime.GOOS+`": ["sh", "./demo.sh"]}`, 1))
	p := newProject(t, example{name: "provider-bash"}, "tombolo")
	args := []string{"provider", "build", f.dir, "-source", "example/demo", "-out", "dist", "-hosts", from}
	p.says("There is no package for windows_amd64", args...)
	if found, err := filepath.Glob(filepath.Join(p.dir, "dist", "*.zip")); err != nil || len(found) != 1 {
		t.Errorf("packed %v, %v", found, err)
	}
	p.fails("needs a host for that platform", append(args, "-platform", "windows_amd64")...)
}

// A program that asks for a state gets an error that says which package would have it.
func TestSmallHostsExplainThatTheyReadNoStates(t *testing.T) {
	host := filepath.Join(builtHosts(t), pack.HostName(manifest.Program, packages.Current()))
	f := newFolder(t, strings.Replace(simple, `"resource_schemas"`, `"data_source_schemas"`, 1))
	f.write("demo.sh", `echo '{"remote_state": {"a": {"backend": "local", "config": {"path": "x"}}}}'`, 0o644)
	must(t, os.Symlink(host, filepath.Join(f.dir, "terraform-provider-demo")))
	p := newProject(t, example{name: "provider-bash"}, "tombolo")
	p.file("main.tf", "terraform {\n  required_providers {\n    demo = { source = \"example/demo\" }\n  }\n}\n"+
		"data \"demo_thing\" \"a\" {}\n")
	p.overrides(f.dir)
	p.fails("has a small host, which has no backends", "plan", "-no-color")
}

// A plugin in Go becomes a package that every engine installs, for each version of the protocol that it speaks.
func TestPluginsBecomePackages(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the compiler for a long time")
	}
	p := newProject(t, example{name: "provider-bash"}, "tombolo")
	plugin := filepath.Join(p.dir, "terraform-provider-notes")
	cmd := exec.Command("go", "build", "-o", plugin, "github.com/tombolo-iac/tombolo/examples/provider-notes")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	args := []string{"provider", "build", plugin, "-source", "example/notes", "-release"}
	other := packages.Platform{OS: "windows", Arch: "amd64"}
	p.fails("was built for windows_amd64", append(args, "1.2.0", "-host", "darwin_arm64="+crossBuilt(t, other))...)
	p.fails("Set the version of the release", args[:5]...)
	p.fails("version \"one\" is not valid", append(args, "one")...)
	p.fails("packaged alone", append(args, "1.2.0", "-hosts", p.dir)...)
	p.fails("-release is for a plugin", "provider", "build", newFolder(t, simple).dir, "-source", "example/notes",
		"-release", "1.2.0")
	p.says("Packed", append(args, "1.2.0", "-host", other.String()+"="+crossBuilt(t, other))...)
	var about struct {
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		}
	}
	read(t, filepath.Join(p.dir, "dist", "terraform-provider-notes_1.2.0_manifest.json"), &about)
	if got := fmt.Sprint(about.Metadata.Protocols); got != "[5.0 6.0]" {
		t.Errorf("the plugin speaks %s", got)
	}
	z, err := zip.OpenReader(filepath.Join(p.dir, "dist", "terraform-provider-notes_1.2.0_windows_amd64.zip"))
	must(t, err)
	defer z.Close()
	if len(z.File) != 1 || z.File[0].Name != "terraform-provider-notes_v1.2.0.exe" {
		t.Errorf("the archive for Windows has %v", z.File)
	}
	for _, program := range []string{"tombolo", "terraform", "tofu"} {
		t.Run(program, func(t *testing.T) {
			user := newProject(t, example{name: "provider-bash"}, program)
			user.file("main.tf", notesUse)
			user.file("rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
				filepath.Join(p.dir, "dist", "filesystem-mirror")))
			user.run("init")
			user.says("Apply complete!", "apply", "-auto-approve", "-no-color")
			user.says("Destroy complete!", "destroy", "-auto-approve", "-no-color")
		})
	}
}

const notesUse = `terraform {
  required_providers {
    notes = { source = "example/notes" }
  }
}
provider "notes" {
  dir = path.cwd
}
resource "notes_note" "a" {
  title = "a"
  text  = "b"
}
`
