package config_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// FuzzLoad feeds a native and a JSON file to Load, the native one as an override file, too: it must end without a panic, and
// what it gives must hold together.
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
			case strings.HasSuffix(file.Name, ".tf"):
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
		files := map[string][]byte{
			"main.tf": []byte(native), "other.tf.json": []byte(other), "override.tf": []byte(native),
			"x/main.tf":        []byte(native),
			"terraform.tfvars": []byte(native), "terraform.tfvars.json": []byte(other),
			manifestPath: []byte(`{"Modules":[{"Key":"a","Source":"./x","Dir":"x"},{"Key":"m","Source":"./mod","Dir":"x"}]}`),
		}
		cfg, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(files), LanguageVersion: languageVersion})
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
		again, moreDiags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(cfg.Snapshot()), LanguageVersion: languageVersion})
		if len(moreDiags) != len(diags) || len(again.Modules) != len(cfg.Modules) {
			t.Errorf("the snapshot loads otherwise: %v, before %v", moreDiags.Err(), diags.Err())
		}
	})
}

// visit uses whatever later stages will use without looking.
func visit(m *config.Module) {
	for _, r := range m.SortedResources() {
		m.ResolveProvider(r.ProviderConfig())
		r.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "input"}}, Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}})
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
