package pack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

// The test binary does the same as the main function of the command, so that it can be packed as the host.
func TestMain(m *testing.M) {
	if dir, ok := generic.Started(os.Args[0]); ok {
		os.Exit(generic.Serve(dir, nil, serve.Options{}))
	}
	if filepath.Base(os.Args[0]) == "tombolo" {
		os.Exit(cli.Main())
	}
	var err error
	if workspace, err = os.MkdirTemp("", "pack"); err != nil {
		panic(err)
	}
	code := m.Run()
	for _, end := range ends {
		end()
	}
	if err := os.RemoveAll(workspace); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// workspace is a folder for all tests; ends are called after them.
var (
	workspace string
	ends      []func()
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is the folder of a provider.
type folder struct {
	t   *testing.T
	dir string
}

const simple = `{"protocol": 1, "name": "demo", "version": "1.2.3", "command": ["sh", "./demo.sh"], "schema": ` +
	`{"resource_schemas": {"demo_thing": {"attributes": {"a": {"type": "string", "optional": true}}}}}}`

func newFolder(t *testing.T, manifest string) *folder {
	f := &folder{t, t.TempDir()}
	f.write("tombolo-provider.json", manifest, 0o644)
	f.write("demo.sh", "#!/bin/sh\necho '{}'\n", 0o644)
	return f
}

func (f *folder) write(name, text string, mode os.FileMode) {
	f.t.Helper()
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	must(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(f.t, os.WriteFile(path, []byte(text), mode))
	must(f.t, os.Chmod(path, mode))
}

// host returns a small host for this platform.
func host(t *testing.T) map[packages.Platform]string {
	t.Helper()
	return map[packages.Platform]string{packages.Current(): crossBuilt(t, packages.Current())}
}

func (f *folder) options(out string) pack.Options {
	source, err := addr.ParseProvider("example/demo")
	must(f.t, err)
	return pack.Options{Dir: f.dir, Source: source, Out: out, Hosts: host(f.t)}
}

func (f *folder) build(o pack.Options) (*pack.Result, diag.List) {
	return pack.Build(context.Background(), o)
}

func (f *folder) mustBuild(o pack.Options) *pack.Result {
	f.t.Helper()
	r, diags := f.build(o)
	if diags.HasErrors() {
		f.t.Fatal(diags.Err())
	}
	return r
}

func TestArchivesContainOnlyFilesWithTheirPermissions(t *testing.T) {
	f := newFolder(t, simple)
	f.write("lib/data.txt", "x", 0o600)
	f.write("lib/tool", "y", 0o700)
	f.write("lib/__pycache__/a.pyc", "z", 0o644)
	f.write(".git/config", "z", 0o644)
	f.write("terraform.tfstate", "z", 0o644)
	f.write("tests/a", "z", 0o644)
	f.write("lib/b.bak", "z", 0o644)
	if err := os.Symlink("data.txt", filepath.Join(f.dir, "lib", "same.txt")); err != nil {
		t.Skip("needs symbolic links")
	}
	out := filepath.Join(f.dir, "dist") // the output is not packed
	o := f.options(out)
	o.Exclude = []string{"tests/", "*.bak"}
	r := f.mustBuild(o)
	z, err := zip.OpenReader(r.Archives[0].Path)
	must(t, err)
	defer z.Close()
	var got []string
	for _, e := range z.File {
		got = append(got, fmt.Sprint(e.Mode(), " ", e.Name))
	}
	want := []string{"-rwxr-xr-x demo.sh", "-rw-r--r-- lib/data.txt", "-rw-r--r-- lib/same.txt", "-rwxr-xr-x lib/tool",
		"-rwxr-xr-x terraform-provider-demo_v1.2.3", "-rw-r--r-- tombolo-provider.json"}
	if packages.Current().OS == "windows" {
		want[4] += ".exe"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if name, want := filepath.Base(r.Archives[0].Path), "terraform-provider-demo_1.2.3_"+packages.Current().String()+
		".zip"; name != want {
		t.Errorf("got %s, want %s", name, want)
	}

	again := filepath.Join(t.TempDir(), "elsewhere")
	o.Out = again
	long := time.Unix(1e9, 0)
	must(t, os.Chtimes(filepath.Join(f.dir, "demo.sh"), long, long))
	f.mustBuild(o) // beside the output of the earlier run
	o.Out = out
	second := f.mustBuild(o)
	for _, name := range second.Files {
		a, err := os.ReadFile(name)
		must(t, err)
		b, err := os.ReadFile(filepath.Join(again, filepath.Base(name)))
		must(t, err)
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs between two runs", filepath.Base(name))
		}
	}
}

func TestMirrorsKeepEarlierReleases(t *testing.T) {
	f := newFolder(t, simple)
	out := t.TempDir()
	f.mustBuild(f.options(out))
	f.write("tombolo-provider.json", strings.Replace(simple, "1.2.3", "1.3.0-beta.1", 1), 0o644)
	r := f.mustBuild(f.options(out))
	source, _ := addr.ParseProvider("example/demo")
	found, err := packages.Search(r.FilesystemMirror, source)
	must(t, err)
	var versions []string
	for _, p := range found {
		versions = append(versions, p.Version.String())
	}
	if diff := cmp.Diff([]string{"1.3.0-beta.1", "1.2.3"}, versions); diff != "" {
		t.Error(diff)
	}
	dir := packages.ProviderPath(r.NetworkMirror, source)
	var index struct{ Versions map[string]any }
	read(t, filepath.Join(dir, "index.json"), &index)
	if len(index.Versions) != 2 || index.Versions["1.2.3"] == nil {
		t.Errorf("index.json has %v", index.Versions)
	}
	var version struct {
		Archives map[string]struct {
			URL    string
			Hashes []string
		}
	}
	read(t, filepath.Join(dir, "1.2.3.json"), &version)
	a := version.Archives[packages.Current().String()]
	archive := packages.Package{Path: filepath.Join(dir, a.URL), Packed: true}
	h1, err := archive.Hash(t.Context())
	must(t, err)
	zh, err := archive.ArchiveHash(t.Context())
	must(t, err)
	if diff := cmp.Diff([]string{string(h1), string(zh)}, a.Hashes); diff != "" {
		t.Error(diff)
	}
}

// A source without a host is in another registry for each engine, and the mirrors have it for all of them.
func TestMirrorsServeEveryEngine(t *testing.T) {
	for source, want := range map[string][]string{
		"example/demo":                        {"registry.terraform.io", "registry.opentofu.org"},
		"registry.opentofu.org/example/demo":  {"registry.opentofu.org"},
		"providers.example.test/example/demo": {"providers.example.test"},
	} {
		o := newFolder(t, simple)
		options := o.options(t.TempDir())
		var err error
		options.Source, err = addr.ParseProvider(source)
		must(t, err)
		r := o.mustBuild(options)
		for _, mirror := range []string{r.FilesystemMirror, r.NetworkMirror} {
			hosts, err := os.ReadDir(mirror)
			must(t, err)
			if len(hosts) != len(want) {
				t.Errorf("%s: %s has %v, want %v", source, mirror, hosts, want)
			}
			for _, host := range want {
				provider := addr.Provider{Host: host, Namespace: "example", Type: "demo"}
				if found, err := packages.Search(mirror, provider); err != nil || len(found) != 1 {
					t.Errorf("%s: %s has %v (%v) of %s, want one package", source, mirror, found, err, provider)
				}
			}
		}
		for _, host := range want {
			var index struct{ Versions map[string]any }
			read(t, filepath.Join(r.NetworkMirror, host, "example/demo/index.json"), &index)
			if len(index.Versions) != 1 {
				t.Errorf("%s: the index of %s has %v", source, host, index.Versions)
			}
		}
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	must(t, json.Unmarshal(text, into))
}

func TestRegistriesGetTheirFiles(t *testing.T) {
	nested := strings.Replace(simple, `"type": "string"`,
		`"nested_type": {"nesting_mode": "single", "attributes": {"b": {"type": "string", "optional": true}}}`, 1)
	for name, c := range map[string]struct {
		manifest  string
		protocols []string
	}{"any": {simple, []string{"5.0", "6.0"}}, "nested attributes": {nested, []string{"6.0"}}} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t, c.manifest)
			key, err := openpgp.NewEntity("Test", "", "test@example.com", &packet.Config{
				Algorithm: packet.PubKeyAlgoEdDSA})
			must(t, err)
			var private bytes.Buffer
			must(t, key.SerializePrivate(&private, nil))
			f.write(".key", private.String(), 0o600)
			o := f.options(filepath.Join(f.dir, "dist"))
			o.Sign, err = pack.ReadKey(filepath.Join(f.dir, ".key"), nil)
			must(t, err)
			r := f.mustBuild(o)
			base := filepath.Join(o.Out, "terraform-provider-demo_1.2.3")
			sums, err := os.ReadFile(base + "_SHA256SUMS")
			must(t, err)
			for _, name := range []string{r.Archives[0].Path, base + "_manifest.json"} {
				text, err := os.ReadFile(name)
				must(t, err)
				if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(text), filepath.Base(name)); !strings.Contains(
					string(sums), line) {
					t.Errorf("the checksums have no %q:\n%s", line, sums)
				}
			}
			signature, err := os.Open(base + "_SHA256SUMS.sig")
			must(t, err)
			defer signature.Close()
			if _, err := openpgp.CheckDetachedSignature(openpgp.EntityList{key}, bytes.NewReader(sums), signature,
				nil); err != nil {
				t.Errorf("the signature is not good: %s", err)
			}
			var about struct {
				Version  int
				Metadata struct {
					Protocols []string `json:"protocol_versions"`
				}
			}
			read(t, base+"_manifest.json", &about)
			if diff := cmp.Diff(c.protocols, about.Metadata.Protocols); diff != "" || about.Version != 1 {
				t.Errorf("version %d, protocols %s", about.Version, diff)
			}
		})
	}
}

func TestFilesThatCannotBePackedAreNamed(t *testing.T) {
	link := func(to, at string) func(*folder) {
		return func(f *folder) {
			if err := os.Symlink(to, filepath.Join(f.dir, at)); err != nil {
				f.t.Skip("needs symbolic links")
			}
		}
	}
	file := func(name, text string) func(*folder) {
		return func(f *folder) { f.write(name, text, 0o644) }
	}
	for name, c := range map[string]struct {
		change func(*folder)
		want   []string
	}{
		"no version": {file("tombolo-provider.json", strings.Replace(simple, `"version": "1.2.3", `, "", 1)),
			[]string{`has no "version"`}},
		"bad manifest": {file("tombolo-provider.json", strings.Replace(simple, "command", "comand", 1)),
			[]string{`Did you mean "command"`}},
		"link outside":     {link("/etc/hosts", "hosts"), []string{"hosts is a link to /etc/hosts", "outside"}},
		"link to a folder": {link(".", "here"), []string{"here is a link to a folder", "-exclude=here"}},
		"link to nothing":  {link("nothing", "gone"), []string{"gone is a link to a file that does not exist"}},
		"taken for a plugin": {file("terraform-provider-demo.json", "{}"), []string{
			"terraform-provider-demo.json begins like the name of a plugin"}},
		"missing file": {file("tombolo-provider.json", strings.Replace(simple, "./demo.sh", "./other.sh", 1)),
			[]string{"names the file ./other.sh", "not in the package"}},
		"virtual environment": {file("env/pyvenv.cfg", ""), []string{"env is a virtual environment", "-exclude=env"}},
		"backslash":           {file(`a\b`, ""), []string{"backslash"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t, simple)
			c.change(f)
			out := filepath.Join(f.dir, "dist")
			_, diags := f.build(f.options(out))
			wantProblems(t, diags, c.want...)
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestPackagesAreNotWrittenIntoTheFolderItself(t *testing.T) {
	f := newFolder(t, simple)
	_, diags := f.build(f.options(f.dir))
	wantProblems(t, diags, "the folder of the provider, and", "-out="+filepath.Join(f.dir, "dist"))
}

func wantProblems(t *testing.T, diags diag.List, want ...string) {
	t.Helper()
	if !diags.HasErrors() {
		t.Fatalf("no error, want %q", want)
	}
	for _, w := range want {
		if !strings.Contains(diags.Err().Error(), w) {
			t.Errorf("got:\n%s\nwant %q in it", diags.Err(), w)
		}
	}
}

func TestHostsForOtherPlatforms(t *testing.T) {
	windows, mac := packages.Platform{OS: "windows", Arch: "amd64"}, packages.Platform{OS: "darwin", Arch: "arm64"}
	f := newFolder(t, strings.Replace(simple, `["sh", "./demo.sh"]`,
		`{"default": ["sh", "./demo.sh"], "windows": ["./bin/{os}_{arch}/demo.exe"]}`, 1))
	f.write("bin/windows_amd64/demo.exe", "MZ", 0o644)
	f.write("bin/windows_amd64/demo.dll", "MZ", 0o644)
	f.write("bin/windows_arm64/demo.exe", "MZ", 0o644)

	t.Run("another program", func(t *testing.T) {
		o := f.options(t.TempDir())
		o.Hosts = map[packages.Platform]string{windows: f.dir + "/demo.sh"}
		_, diags := f.build(o)
		wantProblems(t, diags, "host for windows_amd64", "is not the tombolo binary")
	})
	t.Run("another platform", func(t *testing.T) {
		o := f.options(t.TempDir())
		o.Hosts = map[packages.Platform]string{windows: crossBuilt(t, mac)}
		_, diags := f.build(o)
		wantProblems(t, diags, "was built for darwin_arm64")
	})
	t.Run("names", func(t *testing.T) {
		f := newFolder(t, simple)
		f.write("aux.txt", "", 0o644)
		f.write("what?", "", 0o644)
		f.write("Readme", "", 0o644)
		f.write("README", "", 0o644)
		if entries, err := os.ReadDir(f.dir); err != nil || len(entries) != 6 {
			t.Skip("needs a file system with such names")
		}
		o := f.options(t.TempDir())
		_, diags := f.build(o)
		if packages.Current().OS == "linux" && diags.HasErrors() {
			t.Errorf("names that are good here are refused: %s", diags.Err())
		}
		o.Hosts[windows] = crossBuilt(t, windows)
		_, diags = f.build(o)
		wantProblems(t, diags, "aux.txt is the name of a device", "what? contains a character",
			"differ only in upper and lower case")
	})
	t.Run("files of one platform", func(t *testing.T) {
		o := f.options(t.TempDir())
		o.Hosts = map[packages.Platform]string{windows: crossBuilt(t, windows), mac: crossBuilt(t, mac)}
		r := f.mustBuild(o)
		var got [][]string
		for _, a := range r.Archives {
			z, err := zip.OpenReader(a.Path)
			must(t, err)
			var names []string
			for _, e := range z.File {
				names = append(names, e.Name)
			}
			must(t, z.Close())
			got = append(got, names)
		}
		want := [][]string{
			{"demo.sh", "terraform-provider-demo_v1.2.3", "tombolo-provider.json"},
			{"bin/windows_amd64/demo.dll", "bin/windows_amd64/demo.exe", "demo.sh",
				"terraform-provider-demo_v1.2.3.exe", "tombolo-provider.json"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

var built = map[packages.Platform]string{} // tests do not run in parallel

// crossBuilt returns a small program of this module's name for a platform.
func crossBuilt(t *testing.T, on packages.Platform) string {
	t.Helper()
	if built[on] != "" {
		return built[on]
	}
	dir, err := os.MkdirTemp(workspace, "host")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module github.com/tombolo-iac/tombolo\n\ngo 1.24\n"),
		0o644))
	must(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o644))
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", "host", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+on.OS, "GOARCH="+on.Arch, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("needs the means to build for %s: %s", on, out)
	}
	built[on] = filepath.Join(dir, "host")
	return built[on]
}

func TestReportedSchemasArePacked(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh for the program")
	}
	f := newFolder(t, `{"protocol": 1, "name": "demo", "version": "1.2.3", "command": ["sh", "./demo.sh"], `+
		`"implements": ["configure", "schema"]}`)
	f.write("demo.sh", `echo '{"schema": {"data_source_schemas": {"demo_x": {"attributes": {"a": {"type": "string", `+
		`"computed": true, "description": "é"}}}}}}'`, 0o644)
	r := f.mustBuild(f.options(filepath.Join(f.dir, "dist")))
	z, err := zip.OpenReader(r.Archives[0].Path)
	must(t, err)
	defer z.Close()
	in, err := z.Open("tombolo-provider.json")
	must(t, err)
	var frozen struct {
		Implements []string
		Schema     map[string]map[string]any
	}
	must(t, json.NewDecoder(in).Decode(&frozen))
	if frozen.Schema["data_source_schemas"]["demo_x"] == nil || !slices.Equal(frozen.Implements, []string{
		"configure"}) {
		t.Errorf("got %+v", frozen)
	}
	own, err := os.ReadFile(filepath.Join(f.dir, "tombolo-provider.json"))
	must(t, err)
	if bytes.Contains(own, []byte("demo_x")) {
		t.Error("the manifest of the author was changed")
	}

	f.write("demo.sh", "echo oh no >&2; exit 3", 0o644)
	_, diags := f.build(f.options(filepath.Join(f.dir, "dist")))
	wantProblems(t, diags, "oh no")
}
