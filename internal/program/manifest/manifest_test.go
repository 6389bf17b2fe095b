package manifest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// parse decodes a manifest of one resource type with the given members.
func parse(t *testing.T, text string) *manifest.Manifest {
	t.Helper()
	m, diags := manifest.Parse([]byte(text), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return m
}

func withType(members string) string {
	return `{"protocol": 1, "name": "p", "command": ["x"], "schema": {"resource_schemas": {"p_t": {` + members + `}}}}`
}

func withAttribute(members string) string {
	return withType(`"attributes": {"a": {` + members + `}}`)
}

func withFunction(members string) string {
	return `{"protocol": 1, "name": "p", "command": ["x"], "schema": {"functions": {"f": {"return_type": "string", ` +
		members + `}}}}`
}

// everyWord is a manifest with every keyword.
const everyWord = `{
	  "$schema": "x", "protocol": 1, "name": "p", "version": "1.2.3-rc.1", "description": "d", "mode": "session",
	"concurrency": 4,
	  "command": {"default": ["bash", "./p.sh", "{os}"], "windows": ["pwsh"], "linux_arm64": ["./bin/{os}_{arch}/x"]},
	  "prepare": {"default": ["python3", "-m", "venv", "{cache}/venv"]}, "prepare_from": ["./requirements.txt"],
	  "requires": [{"command": "jq", "hint": "get it"}], "implements": ["configure"],
	  "schema": {
	    "provider": {"version": 0, "block": {"attributes": {"r": {"type": "string", "optional": true}}}},
	    "resource_schemas": {"p_t": {
	      "version": 3, "block": {"description": "text", "description_kind": "markdown", "attributes": {
	        "a": {"type": ["map", "number"], "optional": true, "force_new": true, "encoding": "string",
	"default": {"x": 1e3}, "sensitive": true},
	        "b": {"type": "string", "computed": true, "stable": true, "deprecated": true},
	        "c": {"nested_type": {"nesting_mode": "set", "attributes": {"d": {"type": "bool",
	"required": true}}}, "optional": true},
	        "w": {"type": "string", "optional": true, "write_only": true}},
	        "block_types": {"e": {"nesting_mode": "list",
	"min_items": 1, "max_items": 2, "block": {"attributes": {"f": {"type": "string", "required": true}}}}}},
	      "implements": ["create", "plan"], "timeouts": {"create": "10m"}, "retry": {"attempts": 2, "delay": "5s"},
	      "import": "b", "identity": {"version": 1, "attributes": {"b": {"type": "string",
	"required_for_import": true}}}}},
	    "data_source_schemas": {"p_d": {"attributes": {"x": {"type": "dynamic", "computed": true}}}},
	    "ephemeral_resource_schemas": {"p_e": {}},
	    "list_resource_schemas": {"p_t": {"attributes": {"count": {"type": "number",
	"optional": true, "default": 1}}, "timeouts": {"list": "1m"}}},
	    "action_schemas": {"p_a": {"implements": ["invoke",
	"validate"], "timeouts": {"invoke": "1m"}, "attributes": {"provider": {"type": "string", "required": true}}}},
	    "functions": {"f": {"parameters": [{"name": "s", "type": "string",
	"is_nullable": true}], "variadic_parameter": {"name": "v", "type": "bool"}, "return_type": ["list", "string"], "summary": "s"}}
	  }}`

func TestEveryKeywordIsDecoded(t *testing.T) {
	m := parse(t, everyWord)
	if m.Mode != manifest.Session || m.Concurrency != 4 || !m.Does("configure") || m.Requires[0].Hint != "get it" {
		t.Errorf("got %+v", m)
	}
	if got := m.Command.For("linux", "amd64"); !slices.Equal(got, []string{"bash", "./p.sh", "linux"}) {
		t.Errorf("got %q", got)
	}
	if got := manifest.InPackage("/pkg", m.Command.For("linux", "arm64")); !slices.Equal(got, []string{
		filepath.FromSlash("/pkg/bin/linux_arm64/x")}) {
		t.Errorf("got %q", got)
	}
	if got := m.Command.For("windows", "386"); !slices.Equal(got, []string{"pwsh"}) {
		t.Errorf("got %q", got)
	}
	rt, typ := m.Schema.Resources["p_t"], m.Type(provider.ManagedResource, "p_t")
	want := manifest.Type{Implements: []string{"create", "plan"}, Timeouts: map[string]time.Duration{
		"create": 10 * time.Minute}, Import: "b", Retry: manifest.Retry{Attempts: 2, Delay: 5 * time.Second},
		ForcesNew: true}
	if diff := cmp.Diff(want, *typ); diff != "" {
		t.Error(diff)
	}
	if rt.Version != 3 || rt.Block.DescriptionKind != provider.Markdown || rt.Identity.Version != 1 ||
		rt.Block.Blocks["e"].MaxItems != 2 || rt.Block.Attributes["c"].Nested.Nesting != provider.NestingSet {
		t.Errorf("got %+v", rt)
	}
	a := rt.Block.Attributes["a"]
	w := m.Words(a)
	if !a.Computed || !a.Sensitive || !w.ForceNew || !w.AsText ||
		!w.Default.RawEquals(cty.MapVal(map[string]cty.Value{"x": cty.NumberIntVal(1000)})) {
		t.Errorf("got %+v %+v", a, w)
	}
	if !m.Words(rt.Block.Attributes["b"]).Stable || m.Words(rt.Block.Attributes["w"]).ForceNew {
		t.Error("words of b or w")
	}
	if f := m.Schema.Functions["f"]; !f.Params[0].AllowNull || f.VarParam.Type != cty.Bool ||
		!f.Return.Equals(cty.List(cty.String)) {
		t.Errorf("got %+v", f)
	}
	if !m.Type(provider.DataSource, "p_d").Does("data") || !m.Type(provider.EphemeralResource, "p_e").Does("open") {
		t.Error("types do what types usually do")
	}
	list, action := m.Type(provider.ListResource, "p_t"), m.Type(provider.Action, "p_a")
	if !list.Does("list") || list.Timeouts["list"] != time.Minute ||
		m.Schema.Lists["p_t"].Block.Attributes["count"] == nil {
		t.Errorf("got the list %+v", list)
	}
	if !action.Does("invoke") || !action.Does("validate") || action.Does("plan") ||
		m.Schema.Actions["p_a"].Block.Attributes["provider"] == nil {
		t.Errorf("got the action %+v", action)
	}
}

func TestMistakesAreNamedWithLineAndNearestWord(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"protocol\": 1,\n \"nmae\": \"x\"}": `m.json:3,2-2|` +
			`no member "nmae". Did you mean "name"?`,
		`{"protocol": 2, "name": "p", "command": ["x"], "schema": {}}`:                              `m.json:1,14-14|version 2 of the protocol`,
		`{"name": "p", "command": ["x"], "schema": {}}`:                                             `needs "protocol": 1`,
		`{"protocol": 1, "command": ["x"], "schema": {}}`:                                           `needs a "name"`,
		`{"protocol": 1, "name": "P", "command": ["x"], "schema": {}}`:                              `needs a "name"`,
		`{"protocol": 1, "name": "p", "schema": {}}`:                                                `needs a "command"`,
		`{"protocol": 1, "name": "p", "command": [], "schema": {}}`:                                 `at least the name of a program`,
		`{"protocol": 1, "name": "p", "command": {}, "schema": {}}`:                                 `add at least "default"`,
		`{"protocol": 1, "name": "p", "command": {"Windows 11": ["x"]}, "schema": {}}`:              `"linux", "darwin" or "windows"`,
		`{"protocol": 1, "name": "p", "command": "x", "schema": {}}`:                                `must be an array with a string for each word`,
		`{"protocol": 1, "name": "p", "command": ["x"]}`:                                            `needs a "schema"`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {}, "mode": "sesion"}`:            `Did you mean "session"?`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {}, "version": "1"}`:              `three numbers`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {}, "implements": ["pla"]}`:       `no action "pla"`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {"resource_schema": {}}}`:         `Did you mean "resource_schemas"?`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {"resource_schemas": {"t": {}}}}`: `"p_t"`,
		`{"protocol": 1,}`:                  "This is not JSON",
		`[]`:                                "must be an object, not an array",
		withType(`"implements": ["crate"]`): `Did you mean "create"?`,
		withType(`"implements": ["read"]`):  `must implement "create"`,
		withType(`"implements": ["create", "list"]`): `has no "identity"`,
		withType(
			`"timeouts": {"creat": "1m"}`): `Did you mean "create"?`,
		withType(
			`"timeouts": {"create": 10}`): `a time such as "30s"`,
		withType(`"import": "id"`): `no attribute "id"`,
		withType(`"import": "n", "attributes": {"n": {"type": "number", "required": true}}`): `must be a string`,
		withType(
			`"attributes": {"count": {"type": "number", "optional": true}}`): `name "count" is reserved by the language`,
		withType(
			`"attributes": {"A": {"type": "number", "optional": true}}`): `lower-case letters`,
		withType(
			`"block_types": {"b": {"block": {}}}`): `needs a "nesting_mode"`,
		withType(
			`"block_types": {"b": {"nesting_mode": "lst", "block": {}}}`): `Did you mean "list"?`,
		withType(
			`"block_types": {"b": {"nesting_mode": "single", "max_items": 3, "block": {}}}`): `no effect in this ` +
			`nesting mode`,
		withType(
			`"identity": {"attributes": {"a": {"type": "string"}}}`): `"required_for_import" or`,
		withAttribute(
			`"type": "string"`): `must be "required", "optional" or "computed"`,
		withAttribute(
			`"optional": true`): `either a "type" or a "nested_type"`,
		withAttribute(
			`"type": "strin", "optional": true`): `The type cannot be read`,
		withAttribute(`"type": "string", "required": true, "computed": true`): `is "required", so`,
		withAttribute(`"type": "string", "required": true, "default": "x"`):   `is "required", so`,
		withAttribute(
			`"type": "string", "computed": true, "default": "x"`): `can have a default`,
		withAttribute(
			`"type": "string", "optional": true, "default": 1`): `does not fit the type`,
		withAttribute(`"type": "string", "optional": true, "default": null`):                       `default of null`,
		withAttribute(`"type": "string", "optional": true, "write_only": true, "force_new": true`): `"a_version"`,
		withAttribute(
			`"type": "string", "optional": true, "write_only": true, "default": "x"`): `is write-only, so its value`,
		withAttribute(`"type": "string", "computed": true, "force_new": true`): `cannot be set`,
		withAttribute(
			`"type": "string", "optional": true, "stable": true`): `only has an effect`,
		withAttribute(`"type": "string", "optional": true, "encoding": "string"`): `contains no numbers`,
		withAttribute(
			`"type": "number", "optional": true, "encoding": "hex"`): `must be one of "string"`,
		withAttribute(
			`"type": "string", "optional": "yes"`): `true or false was expected`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"pattern": "("}`): `keywords cannot be used`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"$ref": "http://x/y"}`): `keywords cannot be used`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"minLength": "1"}`): `keywords cannot be used`,
		withAttribute(`"type": "string", "optional": true, "json_schema": true`): `must be an object`,

		`{"protocol": 1, "name": "p", "command": "bash ./x.sh", "schema": {}}`:                                       `["bash", "./provider.sh"]`,
		`{"protocol": 1, "name": "p", "command": {"default": "x"}, "schema": {}}`:                                    `m.json:1,53-53|no shell splits`,
		`{"protocol": 1, "name": "p", "command": {"macos": ["x"]}, "schema": {}}`:                                    `"darwin"`,
		`{"protocol": 1, "name": "p", "command": ["x"], "prepare_from": ["./a"], "schema": {}}`:                      `no effect without "prepare"`,
		`{"protocol": 1, "name": "p", "command": ["x"], "prepare": ["y"], "prepare_from": ["a"], "schema": {}}`:      `with a leading ./`,
		`{"protocol": 1, "name": "p", "command": ["x"], "prepare": ["y"], "prepare_from": ["./../a"], "schema": {}}`: `with a leading ./`,
		`{"protocol": 1, "name": "p", "command": ["x"], "prepare": ["y"], "prepare_from": [], "schema": {}}`:         `is empty`,
		`{"protocol": 1, "name": "p", "command": ["x"], "prepare": "make", "schema": {}}`:                            `no shell splits`,
		`{"protocol": 1, "name": "p", "command": {"linus": ["x"]}, "schema": {}}`:                                    `Did you mean "linux"?`,
		`{"protocol": 1, "name": "p", "command": ["bash", "./../x"], "schema": {}}`:                                  `m.json:1,50-50|outside of the folder`,
		`{"protocol": 1, "name": "my-p", "command": ["x"], "schema": {}}`:                                            `m.json:1,25-25|needs a "name"`,
		`{"protocol": 1, "name": "", "command": ["x"], "schema": {}}`:                                                `needs a "name"`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {}, "requires": ["jq"]}`:                           `{"command": "jq"`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {}, "timeouts": {}}`:                               `The members are $schema, command`,
		withType(
			`"implements": ["create"], "timeouts": {"update": "1m"}`): `"update", which the type does not implement`,
		withType(
			`"retry": {"attempts": 0}`): `At least one attempt`,
		withType(
			`"import": ""`): `no attribute ""`,
		withType(
			`"attributes": {}, "block": {}`): `in both places`,
		withType(
			`"block_types": {"b": {"nesting_mode": "list", "attributes": {}, "block": {}}}`): `in both places`,
		strings.Replace(withType(`"implements": ["validate"]`), "resource_s", "data_source_s",
			1): `must implement "data"`,
		strings.Replace(withType(`"implements": ["renew"]`), "resource_s", "ephemeral_resource_s",
			1): `must implement "open"`,
		strings.Replace(withType(`"timeouts": {"raed": "1s"}`), "resource_s", "data_source_s",
			1): `the actions are "validate" or "data".`,
		strings.Replace(withAttribute(`"type": "string", "optional": true, "force_new": true`), "resource_s",
			"data_source_s", 1): `remove force_new`,
		withSchema(`"list_resource_schemas": {"p_t": {}}`):                                  `m.json:1,92-92|the resource type "p_t", which the manifest does not declare`,
		withSchema(`"resource_schemas": {"p_t": {}}, "list_resource_schemas": {"p_t": {}}`): `has no "identity"`,
		withSchema(`"resource_schemas": {"p_tt": {"identity": {"attributes": {"a": {"required_for_import": true}}}}}, ` +
			`"list_resource_schemas": {"p_t": {}}`): `Did you mean "p_tt"?`,
		withSchema(`"list_resource_schemas": {"p_t": {"attributes": {"a": {"type": "string", "computed": ` +
			`true}}}}`): `cannot be "computed"`,
		withSchema(`"list_resource_schemas": {"p_t": {"implements": ["invoke"]}}`):   `the actions are "list"`,
		withSchema(`"action_schemas": {"p_t": {"implements": ["plan"]}}`):            `must implement "invoke"`,
		withSchema(`"action_schemas": {"p_t": {"timeouts": {"plan": "1s"}}}`):        `"plan", which the type does not implement`,
		withSchema(`"action_schemas": {"t": {}}`):                                    `"p_t"`,
		withSchema(`"resource_schemas": {"p_t": {}}, "action_schemas": {"p_t": {}}`): `The resource has the name "p_t", too`,
		withSchema(`"data_source_schemas": {"p_t": {}}, "action_schemas": {"p_t": ` +
			`{}}`): `The data source has the name "p_t", too`,
		withSchema(`"action_schemas": {"p_t": {"attributes": {"a": {"type": "string", "optional": true, ` +
			`"write_only": true}}}}`): `or "write_only"`,
		withAttribute(
			`"type": ["map", "strin"], "optional": true`): `Did you mean "string"?`,
		withAttribute(
			`"type": ["lst", "string"], "optional": true`): `Did you mean "list"?`,
		withAttribute(
			`"type": ["object", {"a": "integer"}], "optional": true`): `Did you mean "number"?`,
		withAttribute(
			`"type": ["object", {"a": "string"}, ["a"]], "optional": true`): `cannot be optional`,
		withAttribute(
			`"nested_type": {"nesting_mode": "list"}, "optional": true`): `needs "attributes"`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"patern": "^/"}`): `m.json:1,161-161|Did you mean ` +
			`"pattern"?`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"anyOf": [{"maxlength": 3}]}`): `Did you mean ` +
			`"maxLength"?`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"not": {"format": "ipv44"}}`): `Did you mean "ipv4"?`,
		withAttribute(
			`"type": "string", "optional": true, "default": "x", "json_schema": {"pattern": "^/"}`): `does not satisfy`,
		withAttribute(
			`"type": ["object", {"a": "string"}], "optional": true, "default": {"b": "x"}`): `type: there is no ` +
			`attribute "b". Did you mean "a"?`,
		withFunction(
			`"parameters": [{"name": "a", "type": "string"}], "variadic_parameter": {"name": "a", "type": "string"}`): `two parameters named "a"`,

		withSchema(
			`"provider": {"attributes": {"a": {"type": "string", "computed": true}}}`): `m.json:1,87-87|cannot be ` +
			`"computed"`,
		withSchema(
			`"provider": {"attributes": {"a": {"type": "string", "optional": true, "write_only": true}}}`): `or "write_only"`,
		withSchema(`"provider": {"block_types": {"b": {"nesting_mode": "list", "attributes": {"a": {"type": ` +
			`"string", "computed": true}}}}}`): `cannot be "computed"`,
		withSchema(
			`"provider_meta": {"attributes": {"a": {"type": "string", "computed": true}}}`): `cannot be "computed"`,
		withSchema(`"provider": {"attributes": {"a": {"nested_type": {"nesting_mode": "list", "attributes": {"b": ` +
			`{"type": "string", "computed": true}}}, "optional": true}}}`): `The attribute "b" is in a block`,
		withType(
			`"identity": {"attributes": {"a": {"type": ["map", "string"], "required_for_import": true}}}`): `lists of these`,
		withType(
			`"identity": {"attributes": {"a": {"type": ["list", ["object", {}]], "required_for_import": true}}}`): `lists of these`,
		withType(
			`"identity": {"attributes": {"a": {"type": "dynamic", "required_for_import": true}}}`): `lists of these`,
		withSchema(`"resource_schemas": {"p_t": {"identity": {"attributes": {"a": {"type": "string", ` +
			`"required_for_import": true}}}}}, "resource_identity_schemas": {"p_t": {"attributes": {"a": {"type": ` +
			`"string", "required_for_import": true}}}}`): `already has its own`,
		withType(
			`"implements": ["create", "read", "create"]`): `m.json:1,121-121|"create" is listed twice`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {}, "implements": ["validate", "validate"]}`: `is listed twice`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {}, "requires": [{"command": "jq"}, {"command": ` +
			`"jq"}]}`: `required twice`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {}, "version": ""}`:    `three numbers`,
		`{"protocol": 1, "name": "p", "command": {"linux_x86_64": ["x"]}, "schema": {}}`: `Use the name "amd64"`,
		`{"protocol": 1, "name": "p", "command": {"linux_amd46": ["x"]}, "schema": {}}`:  `Did you mean "amd64"?`,
		withType(
			`"import": "a", "attributes": {"a": {"type": "string", "optional": true, "write_only": true}}`): `not be stored`,
		withAttribute(
			`"type": "number", "optional": true, "json_schema": {"minLength": 1}`): `m.json:1,161-161|Did you mean ` +
			`"minimum"?`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"maximum": 1}`): `Did you mean "maxLength"?`,
		withAttribute(
			`"type": ["list", "string"], "optional": true, "json_schema": {"pattern": "^/"}`): `for values that are ` +
			`strings`,
		withAttribute(
			`"type": ["list", "string"], "optional": true, "json_schema": {"items": {"minimum": 1}}`): `Did you mean "minLength"?`,
		withAttribute(
			`"type": ["map", "number"], "optional": true, "json_schema": {"additionalProperties": {"pattern": "x"}}`): `for values that are strings`,
		withAttribute(
			`"type": ["map", "number"], "optional": true, "json_schema": {"minItems": 1}`): `Did you mean ` +
			`"minProperties"?`,
		withAttribute(`"type": ["object", {"port": "number"}], "optional": true, "json_schema": {"properties": ` +
			`{"prot": {"minimum": 1}}}`): `Did you mean "port"?`,
		withAttribute(
			`"type": ["object", {"port": "number"}], "optional": true, "json_schema": {"required": ["x"]}`): `It has port.`,
		withAttribute(`"type": ["tuple", ["string", "number"]], "optional": true, "json_schema": {"prefixItems": ` +
			`[{}, {"pattern": "x"}]}`): `for values that are strings`,
		withAttribute(
			`"type": "string", "computed": true, "json_schema": {"pattern": "x"}`): `have no effect`,
		withAttribute(`"nested_type": {"nesting_mode": "single", "attributes": {"x": {"type": "string", "optional": ` +
			`true, "default": "x"}}}, "computed": true`): `The attribute "x" cannot be set`,
		withAttribute(`"nested_type": {"nesting_mode": "single", "attributes": {"x": {"type": "string", "required": ` +
			`true, "force_new": true}}}, "computed": true`): `The attribute "x" cannot be set`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"type": "strng"}`): `no type "strng"`,
		withType(
			`"block_types": {"dynamic": {"nesting_mode": "list"}}`): `"dynamic" is reserved by the language`,
		`{"protocol": 1, "name": "p", "command": ["./{platform}/x"], "schema": {}}`: `the placeholders are {os}, {arch}, {cache}`,
		`{"protocol": 1, "name": "p", "command": ["./{OS}/x"], "schema": {}}`:       `Did you mean "{os}"?`,
		withAttribute(
			`"type": "bool", "optional": true, "json_schema": {"format": "ipv4"}`): `always of the kind "boolean"`,
		withAttribute(
			`"type": "number", "optional": true, "json_schema": {"type": "string"}`): `Remove the keyword`,
		withAttribute(
			`"type": "number", "optional": true, "json_schema": {"enum": [1, "2"]}`): `of the kind "string"`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"enum": ["a", null]}`): `null is always allowed`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"const": 1}`): `of the kind "number"`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"anyOf": [{"minimum": 1}]}`): `Did you mean ` +
			`"minLength"?`,
		withAttribute(
			`"type": "string", "optional": true, "json_schema": {"minLength": 3, "maxLength": 2}`): `swap "minLength"`,
		withAttribute(`"nested_type": {"nesting_mode": "list", "attributes": {"p": {"type": "string", "optional": ` +
			`true}}}, "optional": true, "json_schema": {"minProperties": 1}`): `Did you mean "minItems"?`,
		withFunction(
			`"parameters": [{"name": "A b", "type": "string"}]`): `name of the parameter "A b"`,
		withFunction(
			`"parameters": [{"name": "a", "type": "strng"}]`): `Did you mean "string"?`,
	} {
		m, diags := manifest.Parse([]byte(text), "m.json", "/pkg")
		place, want, ok := strings.Cut(want, "|")
		if !ok {
			place, want = "", place
		}
		found := ""
		hit := false
		for _, d := range diags {
			found += "\n\t" + d.Error()
			hit = hit || d.Subject != nil && strings.HasPrefix(d.Subject.String(), place) &&
				strings.Contains(d.Detail, want)
		}
		if !hit || m != nil {
			t.Errorf("%s\nwant %s %q, got %s", text, place, want, found)
		}
	}
}

func withSchema(members string) string {
	return `{"protocol": 1, "name": "p", "command": ["x"], "schema": {` + members + `}}`
}

func TestKeywordsThatFitAreAccepted(t *testing.T) {
	for _, attribute := range []string{
		`"type": "number", "json_schema": {"type": "integer", "minimum": 1, "maximum": 1, "not": {"const": 3}}`,
		`"type": "string", "json_schema": {"type": ["string", "null"], "enum": ["a", "b"], "if": {"pattern": "^a"}, ` +
			`"then": {"maxLength": 3}}`,
		`"type": ["set", "number"], "json_schema": {"items": {"minimum": 1}, "contains": {"const": 7}, ` +
			`"uniqueItems": true}`,
		`"type": ["map", ["list", "string"]], "json_schema": {"propertyNames": {"pattern": "^[a-z]"}, ` +
			`"additionalProperties": {"items": {"format": "ipv4"}}, "patternProperties": {"^x": {"minItems": 1}}}`,
		`"type": ["object", {"a": "bool"}], "json_schema": {"properties": {"a": {"const": true}}, "required": ["a"]}`,
		`"type": "dynamic", "json_schema": {"anyOf": [{"type": "string", "minLength": 3}, {"type": "array", ` +
			`"minItems": 1}]}`,
		`"type": "string", "json_schema": {"$defs": {"x": {"minimum": 1}}, "minLength": 1}`,
		`"type": ["map", "string"], "json_schema": {"additionalProperties": false, "properties": {"a": true}}`,
	} {
		if _, diags := manifest.Parse([]byte(withAttribute(attribute+`, "optional": true`)), "m.json", "/pkg"); len(
			diags) > 0 {
			t.Errorf("%s: %v", attribute, diags.Err())
		}
	}
}

func TestAMissingManifestIsNamed(t *testing.T) {
	dir := t.TempDir()
	_, diags := manifest.Load(dir)
	if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), dir) {
		t.Errorf("got %v", diags.Err())
	}
	if err := os.WriteFile(filepath.Join(dir, manifest.FileName), []byte(withType("")), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, diags := manifest.Load(dir); diags.HasErrors() || m.Dir != dir {
		t.Errorf("got %+v %v", m, diags.Err())
	}
}

func TestChecksReportProblemsWithoutSecrets(t *testing.T) {
	m := parse(t, withType(`"attributes": {
	  "s": {"type": "string", "optional": true, "json_schema": {"pattern": "^a+$", "maxLength": 3}},
	  "n": {"type": "number", "optional": true, "json_schema": {"multipleOf": 10, "maximum": 12345678901234567890}},
	  "l": {"type": ["set", "string"], "optional": true, "json_schema": {"minItems": 2, "items": {"enum": ["x", "y"]}}},
	  "r": {"type": "string", "optional": true, "json_schema": {"$ref": "#"}},
	  "e": {"type": "string", "optional": true, "json_schema": {"format": "ipv4"}}}`))
	set := func(s ...string) cty.Value {
		var list []cty.Value
		for _, x := range s {
			list = append(list, cty.StringVal(x))
		}
		return cty.SetVal(list)
	}
	for _, tt := range []struct {
		name string
		v    cty.Value
		want string
	}{
		{"s", cty.StringVal("aa"), ""}, {"s", cty.StringVal("b"), "pattern"}, {"s", cty.StringVal("aaaa"), "maxLength"},
		{"s", cty.NullVal(cty.String), ""}, {"s", cty.UnknownVal(cty.String), ""},
		{"n", cty.NumberIntVal(20), ""}, {"n", cty.NumberIntVal(21), "multipleOf"},
		{"n", cty.MustParseNumberVal("12345678901234567900"), "maximum"},
		{"l", set("x", "y"), ""}, {"l", set("x"), "minItems"}, {"l", set("x", "z"), "must be one of"},
		{"r", cty.StringVal("x"), "cycle"},
		{"e", cty.StringVal("10.0.0.1"), ""}, {"e", cty.StringVal("10.0.0"), "ipv4"},
	} {
		check := m.Words(m.Schema.Resources["p_t"].Block.Attributes[tt.name]).Check
		got := check.Problem(tt.v, true)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %#v: got %q, want %q", tt.name, tt.v, got, tt.want)
		}
		if tt.want != "" && tt.v.Type() == cty.String && strings.Contains(check.Problem(tt.v, false), tt.v.AsString()+
			"'") {
			t.Errorf("%s: the value is shown", tt.name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(
		withAttribute(
			`"type": ["map", "number"], "optional": true, "default": {"x": 1}, "json_schema": {"minProperties": 1}`)))
	f.Add([]byte(withType(`"identity": {"attributes": {"a": {"type": "string", "required_for_import": true}}}, ` +
		`"import": "a", "block_types": {"b": {"nesting_mode": "set", "block": {"attributes": {"c": {"type": ` +
		`"dynamic", "optional": true}}}}}`)))
	f.Add([]byte(`{"protocol": 1, "name": "p", "command": {"linux": ["x"]}, "schema": {"functions": {"f": ` +
		`{"parameters": [{}], "return_type": "dynamic"}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, diags := manifest.Parse(text, "m.json", "/pkg")
		if (m == nil) != diags.HasErrors() {
			t.Fatalf("manifest %v, diagnostics %v", m, diags.Err())
		}
		if m == nil || m.Schema == nil {
			return
		}
		for _, rt := range m.Schema.Resources {
			_ = rt.Block.EmptyValue()
			_ = fmt.Sprintf("%#v", rt.Block.ImpliedType())
		}
	})
}

// TestManifestsFitTheirJSONSchema checks that the schema for editors and the reader agree.
func TestManifestsFitTheirJSONSchema(t *testing.T) {
	compiled, err := jsonschema.NewCompiler().Compile("../../../docs/schemas/tombolo-provider.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	fits := func(text string) error {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return err
		}
		return compiled.Validate(doc)
	}
	var examples []string
	for _, name := range []string{"provider-bash", "provider-http"} {
		example, err := os.ReadFile("../../../examples/" + name + "/" + manifest.FileName)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, string(example))
		parse(t, string(example))
	}
	for _, good := range []string{examples[0], examples[1], withRequests, everyWord, withType(""),
		withAttribute(`"type": ["list", ["object", {"a": "string"}]], "optional": true`)} {
		if err := fits(good); err != nil {
			t.Errorf("%v\n%s", err, good)
		}
	}
	for _, bad := range []string{
		`{"protocol": 1, "name": "p", "command": ["x"]}`,
		`{"protocol": 1, "name": "p", "command": ["x"], "schema": {}, "nmae": 1}`,
		withType(`"imports": "id"`), withType(`"implements": ["read"]`), withType(`"timeouts": {"data": "1m"}`),
		withType(`"block_types": {"b": {"block": {}}}`),
		withAttribute(`"type": "string"`), withAttribute(`"type": "strin", "optional": true`),
		withAttribute(`"type": "string", "optional": true, "forcenew": true`),
	} {
		if fits(bad) == nil {
			t.Errorf("accepted: %s", bad)
		}
		if _, diags := manifest.Parse([]byte(bad), "m.json", "/pkg"); !diags.HasErrors() {
			t.Errorf("the reader accepts: %s", bad)
		}
	}
}

// TestEveryKeywordIsDocumented checks that the documentation contains the keywords of the JSON Schema.
func TestEveryKeywordIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/schemas/tombolo-provider.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	docs := ""
	for _, name := range []string{"program-protocol.md", "http-providers.md"} {
		page, err := os.ReadFile("../../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		docs += string(page)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	known := 0
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if words, ok := v["properties"].(map[string]any); ok {
				for word := range words {
					known++
					if !strings.Contains(docs, "`"+word+"`") && !strings.Contains(docs, `"`+word+`"`) {
						t.Errorf("docs/program-protocol.md does not tell of %q", word)
					}
				}
			}
			for _, inner := range v {
				look(inner)
			}
		case []any:
			for _, inner := range v {
				look(inner)
			}
		}
	}
	look(doc)
	if known < 50 {
		t.Errorf("only %d words were found", known)
	}
}
