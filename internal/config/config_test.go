package config_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch"
)

// sources returns the files of an archive, with a manifest for called local modules.
func sources(t testing.TB, archive string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{"./": nil}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		files[f.Name] = f.Data
	}
	if _, ok := files[manifestPath]; !ok {
		manifest, _, _ := fetch.Resolve(context.Background(), config.SnapshotFiles(files), &config.Manifest{},
			fetch.Options{})
		src, err := manifest.Encode()
		if err != nil {
			t.Fatal(err)
		}
		files[manifestPath] = src
	}
	return files
}

func tryLoad(t testing.TB, archive string) (*config.Config, diag.List) {
	t.Helper()
	return config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(sources(t, archive)),
		LanguageVersion: languageVersion})
}

// load loads a configuration that must have no problems.
func load(t testing.TB, archive string) *config.Config {
	t.Helper()
	cfg, diags := tryLoad(t, archive)
	for _, d := range diags {
		t.Errorf("unexpected %s: %s", d.Severity, d.Error())
	}
	if t.Failed() {
		t.FailNow()
	}
	return cfg
}

func TestBothSyntaxesGiveTheSameModule(t *testing.T) {
	_, mod, _ := strings.Cut(everything, "-- mod/main.tf --")
	native := load(t, everything)
	other := load(t, everythingJSON+"-- mod/main.tf --"+mod)
	if diff := cmp.Diff(outline(native.Root), outline(other.Root)); diff != "" {
		t.Errorf("the outlines differ (-native +JSON):\n%s", diff)
	}
}

func TestModuleHasTheContentOfItsFiles(t *testing.T) {
	cfg := load(t, everything)
	got := outline(cfg.Root)
	for _, want := range []string{
		`requires rnd = registry.terraform.io/hashicorp/random "~> 3.0" [rnd.other]`,
		`requires short = registry.terraform.io/hashicorp/short "1.0.0" []`,
		`backend local {path=cty.StringVal("x") }`,
		`default cty.ObjectVal(map[string]cty.Value{"a":cty.StringVal("5"), "b":cty.NumberIntVal(7)}) sensitive=true ` +
			`ephemeral=false nullable=false hcl=true ([var.v.b] cty.StringVal("Must be positive."))`,
		`output o "about o" [local.two] sensitive=true ephemeral=false [rnd_pet.p module.m] ([local.one] ` +
			`cty.StringVal("One."))`,
		`  passes rnd.inner = rnd.west`,
		`rnd_pet.p provider=rnd.west of registry.terraform.io/hashicorp/random count=cty.NumberIntVal(2) for_each=- ` +
			`[data.rnd_thing.d] check=false`,
		`  lifecycle cbd=true/true prevent=true ignore=[.length .nested[cty.NumberIntVal(0)].a ` +
			`.tags[cty.StringVal("x")]] all=false triggers=[[data.rnd_thing.d count.index]]`,
		`  provisioner local-exec destroy=true continue=true {command=[self.id] } connection ` +
			`{host=cty.StringVal("i") }`,
		`  body {count=cty.NumberIntVal(5) length=cty.NumberIntVal(3) nested{a=cty.NumberIntVal(1) } }`,
		`data.rnd_thing.inner provider=rnd of registry.terraform.io/hashicorp/random count=- for_each=- [] check=true`,
		`moved rnd_pet.old to rnd_pet.p[0]`,
		`removed module.gone rnd_pet.x destroy=false`,
		`import module.m.rnd_pet.q registry.terraform.io/hashicorp/random [module.m each.key] id=[each.value]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the outline lacks\n%s\nin:\n%s", want, got)
		}
	}
	child := cfg.Module(addr.ModuleOf("m"))
	if child.Dir != "mod" || child.Call.Name != "m" || child.Parent != cfg.Root || cfg.Root.Children["m"] != child ||
		cfg.Root.Dir != "." {
		t.Errorf("the child module is not in its place: %+v", child)
	}
	if in := child.Call.Inputs["in"]; in == nil || refs(in.Expr) != "[local.one]" {
		t.Errorf("the input of the call is missing: %v", child.Call.Inputs)
	}
	if cfg.Resource(addr.ConfigResource{Module: addr.ModuleOf("m"), Resource: addr.Resource{
		Mode: addr.Managed, Type: "rnd_pet", Name: "q"}}) == nil {
		t.Error("the child's resource cannot be found")
	}
}

func TestSnapshotGivesTheSameConfiguration(t *testing.T) {
	first := load(t, everything+"-- notes.txt --\nnot configuration\n")
	snapshot := first.Snapshot()
	if want := []string{".terraform/modules/modules.json", "main.tf", "mod/main.tf"}; !cmp.Equal(want,
		slices.Sorted(maps.Keys(snapshot))) {
		t.Errorf("the snapshot holds %v, want %v", slices.Sorted(maps.Keys(snapshot)), want)
	}
	second, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(snapshot),
		LanguageVersion: languageVersion})
	if len(diags) > 0 {
		t.Fatal(diags.Err())
	}
	if diff := cmp.Diff(outline(first.Root), outline(second.Root)); diff != "" {
		t.Errorf("differs after the round trip:\n%s", diff)
	}
}

func TestSnapshotKeepsModulesWithoutFiles(t *testing.T) {
	cfg := load(t, "-- main.tf --\nmodule \"m\" {\n  source = \"./empty\"\n}\n-- empty/README --\n")
	again, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(cfg.Snapshot())})
	if len(diags) > 0 || again.Module(addr.ModuleOf("m")) == nil {
		t.Errorf("the empty module is lost: %v", diags.Err())
	}
}

func TestProviderConfigurationsAreFoundThroughTheTree(t *testing.T) {
	cfg := load(t, `
-- main.tf --
terraform {
  required_providers {
    p = {
      source = "example.com/a/p"
    }
  }
}
provider "p" {
  alias = "west"
}
module "one" {
  source = "./one"
  providers = {
    q       = p
    q.inner = p.west
  }
}
module "two" {
  source = "./two"
}
-- one/main.tf --
terraform {
  required_providers {
    q = {
      source                = "example.com/a/p"
      configuration_aliases = [q.inner]
    }
  }
}
module "deep" {
  source = "../two"
}
module "deeper" {
  source = "../three"
  providers = {
    p.x = q.inner
  }
}
-- two/main.tf --
terraform {
  required_providers {
    r = {
      source = "example.com/a/p"
    }
  }
}
-- three/main.tf --
terraform {
  required_providers {
    p = {
      source                = "example.com/a/p"
      configuration_aliases = [p.x]
    }
  }
}
provider "own" {
  a = 1
}
`)
	for _, tt := range []struct {
		module addr.Module
		ref    addr.LocalProviderConfig
		want   string
		ok     bool
	}{
		{addr.RootModule, addr.LocalProviderConfig{LocalName: "p"}, `provider["example.com/a/p"]`, true},
		{addr.RootModule, addr.LocalProviderConfig{LocalName: "p", Alias: "west"}, `provider["example.com/a/p"].west`,
			true},
		{addr.RootModule, addr.LocalProviderConfig{LocalName: "p", Alias: "no"}, `provider["example.com/a/p"].no`,
			false},
		{addr.RootModule, addr.LocalProviderConfig{LocalName: "new"}, `provider["registry.terraform.io/hashicorp/new"]`,
			true},
		{addr.RootModule, addr.LocalProviderConfig{LocalName: "terraform"},
			`provider["terraform.io/builtin/terraform"]`, true},
		{addr.ModuleOf("one"), addr.LocalProviderConfig{LocalName: "q"}, `provider["example.com/a/p"]`, true},
		{addr.ModuleOf("one"), addr.LocalProviderConfig{LocalName: "q", Alias: "inner"},
			`provider["example.com/a/p"].west`, true},
		{addr.ModuleOf("two"), addr.LocalProviderConfig{LocalName: "r"}, `provider["example.com/a/p"]`, true},
		{addr.ModuleOf("one", "deep"), addr.LocalProviderConfig{LocalName: "r"}, `provider["example.com/a/p"]`, true},
		{addr.ModuleOf("one", "deeper"), addr.LocalProviderConfig{LocalName: "p", Alias: "x"},
			`provider["example.com/a/p"].west`, true},
		{addr.ModuleOf("one", "deeper"), addr.LocalProviderConfig{LocalName: "own"},
			`module.one.module.deeper.provider["registry.terraform.io/hashicorp/own"]`, true},
		{addr.ModuleOf("two"), addr.LocalProviderConfig{LocalName: "own"},
			`provider["registry.terraform.io/hashicorp/own"]`, true},
	} {
		got, ok := cfg.Module(tt.module).ResolveProvider(tt.ref)
		if got.String() != tt.want || ok != tt.ok {
			t.Errorf("%s in %q: got %s, %t, want %s, %t", tt.ref, tt.module, got, ok, tt.want, tt.ok)
		}
	}
}

func TestIgnoredFilesAreNotRead(t *testing.T) {
	cfg := load(t, `
-- main.tf --
locals {
  a = 1
}
-- .hidden.tf --
bogus
-- main.tf~ --
bogus
-- #main.tf# --
bogus
-- x.tf.bak --
bogus
-- tests.tftest.hcl --
bogus
-- sub/other.tf --
bogus
`)
	if want := []string{"main.tf"}; !cmp.Equal(want, slices.Sorted(maps.Keys(cfg.Files))) {
		t.Errorf("read %v, want %v", slices.Sorted(maps.Keys(cfg.Files)), want)
	}
}

func TestModulesThatCallThemselvesAreRefused(t *testing.T) {
	for name, archive := range map[string]string{
		"child": "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x/main.tf --\nmodule \"b\" {\n  source = " +
			"\"../x\"\n}\n",
		"root": "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x/main.tf --\nmodule \"b\" {\n  source = " +
			"\"../\"\n}\n",
		"long": "-- main.tf --\nmodule \"a\" {\n  source = \"./x\"\n}\n-- x/main.tf --\nmodule \"b\" {\n  source = " +
			"\"../y\"\n}\n-- y/main.tf --\nmodule \"b\" {\n  source = \"../x\"\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			manifest := "-- .terraform/modules/modules.json --\n" +
				`{"Modules":[{"Key":"a","Source":"./x","Dir":"x"},` +
				map[string]string{
					"child": `{"Key":"a.b","Source":"../x","Dir":"x"}`,
					"root":  `{"Key":"a.b","Source":"./..","Dir":"."}`,
					"long":  `{"Key":"a.b","Source":"../y","Dir":"y"},{"Key":"a.b.b","Source":"../x","Dir":"x"}`,
				}[name] + "]}\n"
			_, diags := tryLoad(t, archive+manifest)
			if len(diags) != 1 || diags[0].Summary != "Module calls itself" || !strings.Contains(diags[0].Detail,
				" calls ") {
				t.Errorf("got %v, want one error that names the cycle", diags.Err())
			}
		})
	}
}

func TestUnreadableRootIsAnError(t *testing.T) {
	cfg, diags := config.Load(context.Background(), config.Options{Dir: t.TempDir() + "/missing"})
	if cfg != nil || !diags.HasErrors() || diags[0].Summary != "Unreadable module directory" {
		t.Errorf("got %v, %v", cfg, diags.Err())
	}
}

func TestEmptyDirectoryIsAnEmptyConfiguration(t *testing.T) {
	cfg, diags := config.Load(context.Background(), config.Options{Dir: t.TempDir(), LanguageVersion: languageVersion})
	if len(diags) > 0 || cfg == nil || !cfg.IsEmpty() {
		t.Errorf("got %v, %v", cfg, diags.Err())
	}
	if load(t, "-- main.tf --\n").IsEmpty() {
		t.Error("a directory with an empty file counts as empty")
	}
}

func TestCancelledLoadStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cfg, diags := config.Load(ctx, config.Options{Files: config.SnapshotFiles(sources(t, everything))})
	if cfg != nil || !diags.HasErrors() {
		t.Errorf("got %v, %v, want an error", cfg, diags.Err())
	}
}

func TestSourceKinds(t *testing.T) {
	for _, tt := range []struct {
		raw     string
		version bool
		kind    config.SourceKind
		want    string
	}{
		{"./x", false, config.SourceLocal, "./x"},
		{"./x/", false, config.SourceLocal, "./x"},
		{"./x/../z", false, config.SourceLocal, "./z"},
		{"./x//y", false, config.SourceLocal, "./x/y"},
		{`.\x\y`, false, config.SourceLocal, "./x/y"},
		{"../", false, config.SourceLocal, "./.."},
		{"./..", false, config.SourceLocal, "./.."},
		{"../../a", false, config.SourceLocal, "../../a"},
		{"./", false, config.SourceLocal, "./"},
		{"./x", true, 0, ""},
		{"hashicorp/consul/aws", true, config.SourceRegistry, "registry.terraform.io/hashicorp/consul/aws"},
		{"hashicorp/consul/aws//modules/x", false, config.SourceRegistry,
			"registry.terraform.io/hashicorp/consul/aws//modules/x"},
		{"Example.com/a/b/c", true, config.SourceRegistry, "example.com/a/b/c"},
		{"example.com:8080/a/b/c", true, config.SourceRegistry, "example.com:8080/a/b/c"},
		{"github.com/a/b", false, config.SourceRemote, "git::https://github.com/a/b.git"},
		{"github.com/a/b//sub?ref=v1", false, config.SourceRemote, "git::https://github.com/a/b.git//sub?ref=v1"},
		{"git@github.com:a/b.git", false, config.SourceRemote, "git::ssh://git@github.com/a/b.git"},
		{"git::https://example.com/x.git?ref=v1", false, config.SourceRemote, "git::https://example.com/x.git?ref=v1"},
		{"https://example.com/x.zip", false, config.SourceRemote, "https://example.com/x.zip"},
		{"git::https://example.com/x.git", true, 0, ""},
		{"x", false, 0, ""},
		{"a/b", false, 0, ""},
		{"", false, 0, ""},
		{".", false, 0, ""},
	} {
		kind, got, err := config.ParseSource(tt.raw, tt.version)
		if kind != tt.kind || got != tt.want || (err != nil) != (tt.kind == 0) {
			t.Errorf("ParseSource(%q, %t) = %v, %q, %v, want %v, %q", tt.raw, tt.version, kind, got, err, tt.kind,
				tt.want)
		}
	}
}

// TestBodiesCanReplaceHCLBodies checks that the bodies of this package can replace hcl's.
func TestBodiesCanReplaceHCLBodies(t *testing.T) {
	cfg := load(t, "-- main.tf --\nresource \"x_y\" \"z\" {\n  a = local.a\n  _ {\n    count = local.b\n  }\n}\n"+
		"locals {\n  a = 1\n  b = 2\n}\n-- override.tf --\nresource \"x_y\" \"z\" {\n  a = local.b\n}\n")
	for _, r := range cfg.Root.Resources {
		content, rest, diags := r.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{
			{Name: "count"}}})
		if diags.HasErrors() || len(content.Attributes) != 1 || refs(content.Attributes["count"].Expr) != "[local.b]" {
			t.Errorf("attributes %v, %v", content.Attributes, diags)
		}
		if attrs, _ := rest.JustAttributes(); len(attrs) != 1 || refs(attrs["a"].Expr) != "[local.b]" {
			t.Errorf("attributes left: %v", attrs)
		}
		_, diags = r.Body.Content(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "a"}, {Name: "count"},
			{Name: "needed", Required: true}}})
		if len(diags) != 1 || diags[0].Summary != "Missing required argument" {
			t.Errorf("want one complaint about the missing argument, got %v", diags)
		}
	}
}

func TestUnparseableModulesCauseNoFurtherErrors(t *testing.T) {
	const root = `
-- main.tf --
module "m" {
  source = "./x"
  b      = 1
}
import {
  to = module.m.x_y.z
  id = "1"
}
-- x/main.tf --
`
	for name, child := range map[string]string{
		"syntax":  "variable \"a\" {\n  default = <\n}\n",
		"version": "terraform {\n  required_version = \"> 9\"\n}\nvariable \"a\" {}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := tryLoad(t, root+child)
			for _, d := range diags {
				if !strings.HasPrefix(place(d), "x/") {
					t.Errorf("unexpected %v", d)
				}
			}
			if !diags.HasErrors() {
				t.Error("no error at all")
			}
		})
	}
}

// Terraform reports either of the two, so the archives cannot hold this case.
func TestRequiringAProviderTwiceIsAWarningAtTheSecond(t *testing.T) {
	_, diags := tryLoad(t, `
-- main.tf --
terraform {
  required_providers {
    a = { source = "example.com/x/y" }
    b = { source = "example.com/x/y" }
  }
}
`)
	if len(diags) != 1 || diags[0].Severity != diag.Warning || place(diags[0]) != "main.tf:4" {
		t.Errorf("got %v", diags)
	}
}

func TestProvisionersInheritConnectionArguments(t *testing.T) {
	r := onlyResource(t, load(t, `
-- main.tf --
resource "terraform_data" "a" {
  connection {
    host = "outer"
    user = "outer"
  }
  provisioner "remote-exec" {
    inline = ["x"]
    connection { host = "inner" }
  }
  provisioner "remote-exec" { inline = ["y"] }
}
`))
	hostAndUser := func(body hcl.Body) string {
		if body == nil {
			return "none"
		}
		attrs, _ := body.JustAttributes()
		out := ""
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			v, _ := attrs[name].Expr.Value(nil)
			out += name + "=" + v.AsString() + " "
		}
		return out
	}
	var got []string
	for _, p := range r.Provisioners {
		got = append(got, hostAndUser(p.ConnectionBody(r.Connection)), hostAndUser(p.ConnectionBody(nil)))
	}
	want := []string{"host=inner user=outer ", "host=inner ", "host=outer user=outer ", "none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func onlyResource(t testing.TB, cfg *config.Config) *config.Resource {
	t.Helper()
	all := cfg.Root.SortedResources()
	if len(all) != 1 {
		t.Fatalf("%d resources", len(all))
	}
	return all[0]
}
