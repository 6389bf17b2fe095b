package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/settings"
)

// load loads a text as the file in TF_CLI_CONFIG_FILE.
func load(t *testing.T, name, src string) (*settings.Settings, diag.List) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return settings.Load(settings.Environment{Getenv: getenv(map[string]string{"TF_CLI_CONFIG_FILE": path})})
}

func getenv(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestInstallationMethodsKeepTheirOrder(t *testing.T) {
	native := `
provider_installation {
  dev_overrides {
    "hashicorp/null" = "/dev/null-provider/"
    "example.com/corp/thing" = "../thing"
  }
  filesystem_mirror {
    path    = "/usr/share/providers"
    include = ["example.com/*/*", "Foo/bar"]
  }
  network_mirror {
    url     = "https://mirror.example.com/providers/"
    exclude = ["*/*/*"]
  }
  direct {
    exclude = ["example.com/*/*"]
  }
}`
	inJSON := `{"provider_installation": [{
  "dev_overrides": {"hashicorp/null": "/dev/null-provider/", "example.com/corp/thing": "../thing"},
  "filesystem_mirror": {"path": "/usr/share/providers", "include": ["example.com/*/*", "Foo/bar"]},
  "network_mirror": [{"url": "https://mirror.example.com/providers/", "exclude": ["*/*/*"]}],
  "direct": {"exclude": ["example.com/*/*"]}
}]}`
	corp := settings.Pattern{Host: "example.com"}
	want := []settings.Method{
		{Kind: settings.FilesystemMirror, Location: "/usr/share/providers", Include: []settings.Pattern{
			corp, {Host: addr.DefaultProviderHost, Namespace: "foo", Type: "bar"}}},
		{Kind: settings.NetworkMirror, Location: "https://mirror.example.com/providers/", Exclude: []settings.Pattern{
			{}}},
		{Kind: settings.Direct, Exclude: []settings.Pattern{corp}},
	}
	overrides := map[addr.Provider]string{
		addr.DefaultProvider("null"):                            filepath.FromSlash("/dev/null-provider"),
		{Host: "example.com", Namespace: "corp", Type: "thing"}: filepath.FromSlash("../thing"),
	}
	for name, src := range map[string]string{"rc": native, "rc.json": inJSON} {
		s, diags := load(t, name, src)
		if diags.HasErrors() {
			t.Fatalf("%s: %s", name, diags.Err())
		}
		if diff := cmp.Diff(want, s.Installation); diff != "" || !s.Explicit {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(overrides, s.DevOverrides); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMethodCoversIncludedProviders(t *testing.T) {
	pattern := func(text string) settings.Pattern {
		p, err := settings.ParsePattern(text, addr.DefaultProviderHost)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	m := settings.Method{Include: []settings.Pattern{pattern("hashicorp/*"), pattern("example.com/*/*")},
		Exclude: []settings.Pattern{pattern("hashicorp/null")}}
	for text, want := range map[string]bool{
		"hashicorp/random": true, "hashicorp/null": false, "foo/random": false,
		"example.com/a/b": true, "example.org/a/b": false, "example.org/hashicorp/random": false,
	} {
		p, err := addr.ParseProvider(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Covers(p); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
	all := settings.Method{Include: []settings.Pattern{pattern("*/*/*")}}
	if !all.Covers(addr.DefaultProvider("x")) || !(settings.Method{}).Covers(addr.DefaultProvider("x")) {
		t.Error("a provider is not covered by what covers everything")
	}
}

func TestHostsCredentialsAndCacheAreRead(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CACHE_PARENT", filepath.Dir(dir))
	s, diags := load(t, "rc", `
plugin_cache_dir = "$CACHE_PARENT/`+filepath.Base(dir)+`"
disable_checkpoint = true
plugin_cache_may_break_dependency_lock_file = "true"
something_of_a_later_version { a = 1 }
credentials "Example.com" { token = "abc" }
credentials "example.org:8443" { token = "def" }
credentials_helper "vault" { args = ["-a", "b"] }
host "example.com" {
  services = { "providers.v1" = "https://p.example.com/", "login.v1" = { client = "x" } }
}
`)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if diff := cmp.Diff(map[string]string{"example.com": "abc", "example.org:8443": "def"}, s.Credentials); diff != "" {
		t.Error(diff)
	}
	if s.PluginCacheDir != dir || !s.DisableCheckpoint || !s.PluginCacheMayBreakLockFile {
		t.Errorf("got %+v, want the cache %s", s, dir)
	}
	if diff := cmp.Diff(&settings.CredentialsHelper{Name: "vault", Args: []string{"-a", "b"}}, s.Helper); diff != "" {
		t.Error(diff)
	}
	if got := s.Hosts["example.com"]["providers.v1"]; got != "https://p.example.com/" {
		t.Errorf("got %v", s.Hosts)
	}
}

// Terraform 1.11.4 also reports an error for each of these, except for unparseable text, which it silently ignores.
func TestMistakesAreReportedWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"plugin_cache_dir =", `cannot be parsed`},
		{"provider_installation \"x\" {\n}", `:1,1-1: Invalid provider_installation block`},
		{"provider_installation {\n}\nprovider_installation {}", `:3,1-1: Duplicate provider_installation block`},
		{"provider_installation {\n zork {}\n}",
			`:2,2-2: Invalid provider_installation method block; There is no installation method "zork"`},
		{"provider_installation {\n filesystem_mirror {}\n}", `needs the argument "path"`},
		{"provider_installation {\n filesystem_mirror {\n path = 3\n }\n}",
			`:3,2-2: Invalid CLI configuration; "path" must be a string`},
		{"provider_installation {\n filesystem_mirror {\n path = \"x\"\n foo = 1\n }\n}",
			`:4,2-2: Invalid provider_installation method block; The block "filesystem_mirror" has no argument "foo"`},
		{"provider_installation {\n direct {\n path = \"x\"\n }\n}", `has no argument "path"`},
		{"provider_installation {\n network_mirror {}\n}", `needs the argument "url"`},
		{"provider_installation {\n network_mirror {\n trust_all_hashes = \"x\"\n }\n}", `must be true or false`},
		{"provider_installation {\n filesystem_mirror {\n trust_all_hashes = true\n }\n}", `has no argument`},
		{"provider_installation {\n network_mirror {\n url = \"http://x\"\n }\n}",
			`:2,2-2: Invalid URL for provider installation source`},
		{"provider_installation {\n \"x\" = 1\n}", `"x" must be a block`},
		{"provider_installation {\n direct {}\n dev_overrides {}\n}",
			`:3,2-2: Invalid provider_installation method block; The block dev_overrides must come before`},
		{"provider_installation {\n dev_overrides {\n \"a/b/c/d\" = \"x\"\n }\n}", `Invalid provider source address`},
		{"provider_installation {\n direct {\n include = [\"*/*/x\"]\n }\n}",
			`:3,2-2: Invalid provider source patterns`},
		{"provider_installation {\n direct {\n include = [\"*\"]\n }\n}", `Invalid provider source patterns`},
		{"provider_installation {\n direct {\n include = \"a/b\"\n }\n}", `must be a list of strings`},
		{"host \"x y\" {}", `:1,1-1: Invalid hostname`},
		{"credentials \"x y\" {}", `:1,1-1: Invalid hostname`},
		{"credentials_helper \"x\" {}\ncredentials_helper \"y\" {}", `:2,1-1: Duplicate credentials_helper`},
		{"disable_checkpoint = \"maybe\"", `must be true or false`},
		{"credentials = 3", `"credentials" must be a block`},
		{"plugin_cache_dir = \"/dev/null\"", `Plugin cache directory cannot be used`},
		{"a = " + strings.Repeat("[", 1_000_000), `Nesting too deep`},
	} {
		_, diags := load(t, "rc", c.src)
		if !diags.HasErrors() {
			t.Errorf("accepted: %s", c.src)
			continue
		}
		if got := diags.Err().Error(); !strings.Contains(got, c.want) {
			t.Errorf("%.100s\n got  %.400s\n want %s", c.src, got, c.want)
		}
	}
}

func TestMissingPluginCacheIsAWarning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	s, diags := load(t, "rc", `plugin_cache_dir = "`+filepath.ToSlash(dir)+`"`)
	if diags.HasErrors() || len(diags) != 1 || filepath.Clean(s.PluginCacheDir) != dir {
		t.Errorf("got %q, %v", s.PluginCacheDir, diags)
	}
}

func TestDefaultFilesAreReadTogether(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".terraform.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]string{
		".terraformrc":                       `credentials "a.example" { token = "1" }`,
		".terraform.d/b.tfrc":                `credentials "b.example" { token = "2" }`,
		".terraform.d/credentials.tfrc.json": `{"credentials": {"c.example": {"token": "3"}}}`,
		".terraform.d/ignored.txt":           `credentials "d.example" { token = "4" }`,
	} {
		if err := os.WriteFile(filepath.Join(home, filepath.FromSlash(name)), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, diags := settings.Load(settings.Environment{Getenv: getenv(nil), Home: home})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if diff := cmp.Diff(map[string]string{"a.example": "1", "b.example": "2", "c.example": "3"},
		s.Credentials); diff != "" {
		t.Error(diff)
	}
	missing := filepath.Join(home, "missing")
	s, diags = settings.Load(settings.Environment{Getenv: getenv(map[string]string{"TF_CLI_CONFIG_FILE": missing}),
		Home: home})
	if diags.HasErrors() || len(diags) != 1 || len(s.Credentials) != 0 {
		t.Errorf("a named file that is missing: %v, %v", s, diags)
	}
}

func TestImpliedMirrorsFollowTheUsualFolders(t *testing.T) {
	variables := map[string]string{"XDG_DATA_HOME": "relative", "XDG_DATA_DIRS": "/a:relative:/b", "APPDATA": "/app"}
	for system, want := range map[string][]string{
		"linux": {"terraform.d/plugins", "/home/u/.terraform.d/plugins", "/home/u/.local/share/terraform/plugins",
			"/a/terraform/plugins", "/b/terraform/plugins"},
		"darwin": {"terraform.d/plugins", "/home/u/.terraform.d/plugins",
			"/home/u/Library/Application Support/io.terraform/plugins",
			"/Library/Application Support/io.terraform/plugins"},
		"windows": {"terraform.d/plugins", "/home/u/.terraform.d/plugins", "/app/terraform.d/plugins",
			"/app/HashiCorp/Terraform/plugins"},
	} {
		env := settings.Environment{Home: "/home/u", OS: system, Getenv: getenv(variables)}
		if diff := cmp.Diff(want, env.ImpliedMirrors(flavor.Terraform)); diff != "" {
			t.Errorf("%s: %s", system, diff)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("provider_installation {\n dev_overrides {\n \"a/b\" = \"x\"\n }\n direct {}\n}\n")
	f.Add(`{"provider_installation": [{"filesystem_mirror": [{"path": "x"}]}], "credentials": {"h": {"token": "t"}}}`)
	f.Add("{\"host\\UFFFFFFFF\":\"1.0\"}")
	f.Add("\"\\UFFFFFFFF\" = \"\\UFFFFFFFF\"\nplugin_cache_dir = \"\\UFFFFFFFF\"\n")
	f.Add("host \"h\" { services = { a = [1, {b = 2}] } }")
	f.Fuzz(func(t *testing.T, src string) {
		if _, diags := load(t, "rc", src); diags.HasErrors() && diags.Err().Error() == "" {
			t.Error("an error without words")
		}
	})
}

func TestProgramProvidersComeFromFilesAndTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tfrc")
	src := "program_providers {\n  \"example/notes\" = \"notes\"\n  \"example.com/a/b\" = \"/abs/b\"\n}\n"
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	s, diags := settings.Load(settings.Environment{Getenv: getenv(map[string]string{
		"TF_CLI_CONFIG_FILE": path, settings.ProgramsVariable: "example.com/a/b=./c/, tombolo/d=/e",
	})})
	if len(diags) > 0 {
		t.Fatal(diags.Err())
	}
	got := map[string]string{}
	for p, dir := range s.ProgramProviders {
		got[p.ForDisplay()] = dir
	}
	want := map[string]string{"example/notes": filepath.Join(filepath.Dir(path), "notes"), "example.com/a/b": "c",
		"tombolo/d": filepath.FromSlash("/e")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"notes", "a/b=", "not valid!/x=y"} {
		_, diags := settings.Load(settings.Environment{
			Getenv: getenv(map[string]string{settings.ProgramsVariable: bad})})
		if !diags.HasErrors() {
			t.Errorf("%q: no error", bad)
		}
	}
}
