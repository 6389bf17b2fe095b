package config_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// FuzzLoad passes a native and a JSON file to Load, and the native one again as an override file: it must not panic,
// and the result must be consistent.
func FuzzLoad(f *testing.F) {
	archives, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range archives {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(src).Files {
			switch {
			case strings.HasSuffix(file.Name, ".tf"), strings.HasSuffix(file.Name, ".tombolo"):
				f.Add(string(file.Data), "{}")
			case strings.HasSuffix(file.Name, ".tf.json"):
				f.Add("", string(file.Data))
			}
		}
	}
	for _, archive := range []string{everything, everythingJSON} {
		for _, file := range txtar.Parse([]byte(archive)).Files {
			f.Add(string(file.Data), string(file.Data))
		}
	}
	f.Fuzz(func(t *testing.T, native, other string) {
		ext := ".tf"
		if strings.Contains(native, "function \"") || strings.Contains(native, "type \"") {
			ext = ".tombolo" // only these may have such blocks
		}
		files := map[string][]byte{
			"main" + ext: []byte(native), "other" + ext + ".json": []byte(other), "override" + ext: []byte(native),
			"x/main" + ext:     []byte(native),
			"terraform.tfvars": []byte(native), "terraform.tfvars.json": []byte(other),
			manifestPath: []byte(
				`{"Modules":[{"Key":"a","Source":"./x","Dir":"x"},{"Key":"m","Source":"./mod","Dir":"x"}]}`),
		}
		cfg, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(files),
			LanguageVersion: languageVersion})
		for _, d := range diags {
			if d.Summary == "" || d.Severity == 0 {
				t.Errorf("incomplete diagnostic: %+v", d)
			}
		}
		values, _, _ := config.CollectValues(config.ValueSources{Files: config.SnapshotFiles(files)})
		cfg.Root.VariableValues(values)
		for _, m := range cfg.SortedModules() {
			visit(m)
		}
		if diags.HasErrors() {
			return
		}
		again, moreDiags := config.Load(context.Background(), config.Options{
			Files: config.SnapshotFiles(cfg.Snapshot()), LanguageVersion: languageVersion})
		if len(moreDiags) != len(diags) || len(again.Modules) != len(cfg.Modules) {
			t.Errorf("the snapshot loads otherwise: %v, before %v", moreDiags.Err(), diags.Err())
		}
	})
}

var fuzzTable = funcs.Table(funcs.Options{Pure: true, Work: funcs.NewWork(context.Background())})

// visit uses everything that later stages use unchecked.
func visit(m *config.Module) {
	for _, r := range m.SortedResources() {
		m.ResolveProvider(r.ProviderConfig())
		r.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "input"}},
			Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}})
		for _, c := range append(r.Preconditions, r.Postconditions...) {
			c.Condition.Variables()
			c.ErrorMessage.Variables()
		}
		for _, p := range r.Provisioners {
			p.Body.JustAttributes()
		}
	}
	for _, o := range m.SortedOutputs() {
		o.Expr.Variables()
	}
	for _, f := range m.Functions {
		f.Check(fuzzTable)
	}
	for _, l := range m.SortedLocals() {
		l.Expr.Variables()
	}
	for _, c := range m.SortedCalls() {
		c.Body.JustAttributes()
	}
	for _, p := range m.SortedProviderConfigs() {
		m.ResolveProvider(addr.LocalProviderConfig{LocalName: p.LocalName, Alias: p.Alias})
	}
	for _, i := range m.Imports {
		i.ID.Variables()
		i.ToExpr.Variables()
	}
}

// FuzzParseManifest checks that a manifest of any content is refused, or can be encoded again without a change of
// meaning.
func FuzzParseManifest(f *testing.F) {
	for _, seed := range []string{
		`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"a.b","Source":"./x","Version":"1.0.0","Dir":"x"}]}`,
		`{"Modules":null}`, `{}`, `[]`, `{"Modules":[{"Key":1}]}`, `{"Modules":[{"Key":"a","Dir":"x\\y"}]} `,
		`{"Modules":[{"Key":"b"},{"Key":""},{"Key":"a"}]}`, "\xef\xbb\xbf{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		manifest, err := config.ParseManifest(src)
		if err != nil {
			return
		}
		written, err := manifest.Encode()
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		again, err := config.ParseManifest(written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		// Encode sorts them.
		byKey := cmpopts.SortSlices(func(a, b config.ManifestModule) bool { return a.Key < b.Key })
		if diff := cmp.Diff(manifest, again, byKey, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

// long matches numbers with many digits.
var long = regexp.MustCompile(`[eE][+-]?\d{4}`)

// FuzzValues passes texts to every parser of variable values: files in both syntaxes, options, and the conversion to
// types.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		`a = 1`, `{"a": [1, "${x}"]}`, `[1, {b = null}]`, `a = { b = [1], c = "${d}" }`, "a = <<E\nx\nE\n",
		`{"a": {"b": {}}}`, `"x`, `{a=}`, `tobool("x")`,
	} {
		f.Add(seed)
	}
	m := load(f, `
-- main.tf --
variable "a" {}
variable "b" {
  type    = object({ b = optional(list(object({ c = optional(map(number), { d = 1 }) })), [{}]) })
  default = {}
}
variable "c" {
  type     = set(tuple([string, bool]))
  default  = []
  nullable = false
}
`).Root
	f.Fuzz(func(t *testing.T, text string) {
		if long.MatchString(text) {
			return // formatting it takes time quadratic in the exponent
		}
		for _, name := range []string{"x.tfvars", "x.tfvars.json"} {
			values, diags := config.ParseValuesFile([]byte(text), name, config.FromNamedFile)
			for _, d := range diags {
				if d.Summary == "" || d.Severity == 0 {
					t.Errorf("incomplete diagnostic: %+v", d)
				}
			}
			m.RawValues(values)
			check(t, m, values)
		}
		for _, v := range m.SortedVariables() {
			check(t, m, config.Values{v.Name: {Origin: config.FromOption, Text: text}})
		}
	})
}

// check converts values; a value without problems must have the type of its variable.
func check(t *testing.T, m *config.Module, values config.Values) {
	t.Helper()
	final, diags := m.VariableValues(values)
	for name, v := range m.Variables {
		if got := final[name]; !diags.HasErrors() && len(got.Type().TestConformance(v.Type)) > 0 {
			t.Errorf("var.%s has the type %#v", name, got.Type())
		}
	}
}
