package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// finder is a provider that responds to a list, and to calls for one object, with given values.
type finder struct {
	provider.Base
	identity, object, config cty.Value
	results                  int // number of results
	generates                bool
	asked                    *provider.ListRequest
}

func (f *finder) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{GenerateConfig: f.generates,
		Resources: map[string]*provider.ResourceType{"finder_thing": {
			Block: &provider.Block{Attributes: map[string]*provider.Attribute{
				"name": {Type: cty.String, Required: true},
				"key":  {Type: cty.String, Optional: true, Sensitive: true}}},
			Identity: &provider.IdentitySchema{Attributes: map[string]*provider.IdentityAttribute{
				"id": {Type: cty.String, RequiredForImport: true}}}}},
		Lists: map[string]*provider.ResourceType{"finder_thing": {Block: &provider.Block{
			Attributes: map[string]*provider.Attribute{"prefix": {Type: cty.String, Required: true}}}}},
	}, nil
}

func (f *finder) List(_ context.Context, req provider.ListRequest) (resp provider.ListResponse) {
	f.asked = &req
	for range f.results {
		resp.Results = append(resp.Results, provider.Listed{Identity: f.identity, DisplayName: "a thing",
			Object: f.object})
	}
	return resp
}

func (f *finder) GenerateConfig(context.Context,
	provider.GenerateConfigRequest) provider.GenerateConfigResponse {
	return provider.GenerateConfigResponse{Config: f.config}
}

// query runs the list blocks of a file against a provider.
func query(t *testing.T, f *finder, lists string, generate bool) ([]*plan.List, diag.List) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.tfquery.hcl": lists, "main.tf": "terraform {\n" +
		"  required_providers {\n    finder = {\n      source = \"tombolo/finder\"\n    }\n  }\n}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source, err := addr.ParseProvider("tombolo/finder")
	if err != nil {
		t.Fatal(err)
	}
	project, diags := engine.Load(t.Context(), engine.Options{Dir: dir, Query: true,
		Providers: map[addr.Provider]provider.Factory{
			source: func(context.Context) (provider.Provider, error) { return f, nil }}})
	if diags.HasErrors() {
		return nil, diags
	}
	defer project.Close()
	run, diags := project.Open(t.Context(), engine.OpenOptions{NoLock: true, Reading: true})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer run.Close(t.Context())
	return run.Query(t.Context(), engine.QueryOptions{GenerateConfig: generate})
}

// TestQueryChecksResponses uses a provider that responds with every pair of valid and invalid values.
func TestQueryChecksResponses(t *testing.T) {
	thing := func(name, key cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"name": name, "key": key})
	}
	text := cty.StringVal
	identities := map[string]cty.Value{"right": cty.ObjectVal(map[string]cty.Value{"id": text("a")}),
		"none": cty.NilVal, "null": cty.NullVal(cty.Object(map[string]cty.Type{"id": cty.String})),
		"unknown part": cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)}),
		"other type":   cty.ObjectVal(map[string]cty.Value{"id": cty.True}), "text": text("a")}
	objects := map[string]cty.Value{"right": thing(text("a"), text("a-long-secret")), "none": cty.NilVal,
		"null":         cty.NullVal(thing(text("a"), text("b")).Type()),
		"unknown part": thing(cty.UnknownVal(cty.String), text("a-long-secret")),
		"unknown":      cty.UnknownVal(thing(text("a"), text("b")).Type()),
		"other type":   text("a")}
	for idName, identity := range identities {
		for objectName, object := range objects {
			for configName, config := range objects {
				for _, generate := range []bool{false, true} {
					f := &finder{identity: identity, object: object, config: config, results: 1, generates: true}
					lists, diags := query(t, f, "list \"finder_thing\" \"a\" {\n  provider = finder\n"+
						"  include_resource = true\n  config {\n    prefix = \"x\"\n  }\n}\n", generate)
					generated := configName == "right" || configName == "none" || configName == "null" // nothing to set
					sound := idName == "right" && objectName == "right" && (!generate || generated)
					if !generate && idName == "right" && (objectName == "none" || objectName == "null") {
						sound = true
					}
					name := fmt.Sprintf("identity %s, object %s, config %s, generate %t", idName, objectName,
						configName, generate)
					if diags.HasErrors() == sound {
						t.Errorf("%s: %v", name, diags.Err())
					}
					if sound && (len(lists) != 1 || len(lists[0].Found) != 1) {
						t.Errorf("%s: %d lists", name, len(lists))
					}
					if output := fmt.Sprint(diags.Err()); strings.Contains(output, "a-long-secret") {
						t.Errorf("%s: the secret is shown: %s", name, output)
					}
					if sound && strings.Contains(lists[0].Found[0].GeneratedConfig, "a-long-secret") {
						t.Errorf("%s: the secret is written: %s", name, lists[0].Found[0].GeneratedConfig)
					}
				}
			}
		}
	}
}

// TestQueryLimits requests different numbers of objects from a provider that returns more.
func TestQueryLimits(t *testing.T) {
	for limit, want := range map[string]int{"": 100, "limit = 0": 0, "limit = 1": 1, "limit = 7": 7,
		"limit = 1e30": 150, "limit = 9223372036854775807": 150} {
		f := &finder{identity: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("a")}), results: 150}
		lists, diags := query(t, f, "list \"finder_thing\" \"a\" {\n  provider = finder\n  "+limit+
			"\n  config {\n    prefix = \"x\"\n  }\n}\n", false)
		if diags.HasErrors() || len(lists) != 1 || len(lists[0].Found) != want {
			t.Errorf("%s: %v, %v", limit, lists, diags.Err())
		}
		if (f.asked == nil) != (want == 0) || f.asked != nil && f.asked.Limit < 1 {
			t.Errorf("%s: asked %+v", limit, f.asked)
		}
	}
}

// TestQueryNeedsConfig omits a config block that has a required argument.
func TestQueryNeedsConfig(t *testing.T) {
	_, diags := query(t, &finder{}, "list \"finder_thing\" \"a\" {\n  provider = finder\n}\n", false)
	if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "config") {
		t.Errorf("got %v", diags.Err())
	}
}

func TestGeneratedBlocksOfQueriesNameTheirProviderInstance(t *testing.T) {
	text := cty.StringVal
	f := &finder{identity: cty.ObjectVal(map[string]cty.Value{"id": text("a")}), results: 1,
		object: cty.ObjectVal(map[string]cty.Value{"name": text("a"), "key": text("b")})}
	lists, diags := query(t, f, "provider \"finder\" {\n  alias = \"by\"\n  for_each = toset([\"x\", \"y\"])\n}\n"+
		"list \"finder_thing\" \"a\" {\n  for_each = toset([\"x\", \"y\"])\n  provider = finder.by[each.key]\n"+
		"  config {\n    prefix = \"x\"\n  }\n}\n", true)
	if diags.HasErrors() || len(lists) != 2 {
		t.Fatal(lists, diags)
	}
	for i, key := range []string{"x", "y"} {
		found, want := lists[i].Found[0], `provider = finder.by["`+key+`"]`
		if !strings.Contains(found.GeneratedConfig, want) || !strings.Contains(found.GeneratedImport, want) {
			t.Errorf("%s\n%s\ndo not have %s", found.GeneratedConfig, found.GeneratedImport, want)
		}
	}
}
