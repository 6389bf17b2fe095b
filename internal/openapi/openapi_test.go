package openapi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/openapi"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

func mapped(t *testing.T, file string, o openapi.Options) *openapi.Provider {
	t.Helper()
	d, err := openapi.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	p := openapi.Map(d, o)
	sound(t, d, p)
	return p
}

// sound checks every provider: the manifest is valid, and each operation is either mapped or listed.
func sound(t *testing.T, d *openapi.Document, p *openapi.Provider) {
	t.Helper()
	if _, diags := manifest.Parse(p.Manifest(), manifest.FileName, t.TempDir()); diags.HasErrors() {
		t.Errorf("%s\nthe manifest is none: %s", p.Manifest(), diags.Err())
	}
	has := func(lines []openapi.Line, op *openapi.Operation) bool {
		return slices.ContainsFunc(lines, func(l openapi.Line) bool { return l.Operation == op && l.Says != "" })
	}
	for _, op := range d.Operations {
		if is := has(p.Mapped, op); is == has(p.Listed, op) {
			t.Errorf("%s: mapped and listed are both %t", op, is)
		}
		if !strings.Contains(string(p.Report()), "- `"+op.String()+"`: ") {
			t.Errorf("the report does not mention %s", op)
		}
	}
}

// find returns the value at a path in the manifest.
func find(t *testing.T, p *openapi.Provider, place ...string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(p.Manifest(), &v); err != nil {
		t.Fatal(err)
	}
	for _, name := range place {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func TestDocumentsBecomeProviders(t *testing.T) {
	const res, data, lists = "schema/resource_schemas", "schema/data_source_schemas", "schema/list_resource_schemas"
	for _, c := range []struct {
		file, place, want string
	}{
		{"shop.yaml", "http/url", `"${coalesce(provider.url, env.SHOP_URL, \"https://${coalesce(provider.region, ` +
			`env.SHOP_REGION, \"eu\")}.shop.example.com/v2\")}"`},
		{"shop.yaml", "http/auth", `{"bearer":"${coalesce(provider.token, env.SHOP_TOKEN)}"}`},
		{"shop.yaml", "http/error_message", `"${try(answer.body.error.message, answer.body.error, null)}"`},
		// an envelope in responses; a patch that replaces whole objects, with required members
		{"shop.yaml", res + "/shop_team/http/read", `{"object":"${answer.body.team}",` +
			`"path":"/teams/${self.id}"}`},
		{"shop.yaml", res + "/shop_team/http/update/body", `"${merge({for name, value in fields : name => ` +
			`value if contains([\"name\"], name)}, {for name, value in changes : name => try(fields[name], null) ` +
			`if value != null || contains([\"displayColor\"], name)})}"`},
		{"shop.yaml", res + "/shop_team/attributes/id", `{"computed":true,"stable":true,"type":"string"}`},
		{"shop.yaml", res + "/shop_team/attributes/count", "null"},
		{"shop.yaml", res + "/shop_team/attributes/team_count/http", `{"name":"count"}`},
		{"shop.yaml", res + "/shop_team/attributes/plan", `{"force_new":true,"http":{"read":true,` +
			`"send":"create"},"json_schema":{"enum":["small","large"]},"required":true,"type":"string"}`},
		{"shop.yaml", res + "/shop_team/attributes/first_password", `{"force_new":true,"http":{"name":` +
			`"firstPassword","read":false,"send":"create"},"optional":true,"sensitive":true,"type":"string"}`},
		{"shop.yaml", res + "/shop_team/attributes/tags/type", `["set","string"]`},
		{"shop.yaml", res + "/shop_team/attributes/target/type", `"dynamic"`},
		{"shop.yaml", res + "/shop_team/attributes/parent/nested_type/attributes/child/nested_type/attributes/" +
			"child/type", `"dynamic"`},
		// parents, and names that the user chooses
		{"shop.yaml", res + "/shop_member/http/create", `{"method":"PUT","path":` +
			`"/teams/${self.team_id}/members/${self.email}"}`},
		{"shop.yaml", res + "/shop_member/http/import/state/email",
			`"${try(identity.email, split(\"/\", id)[1])}"`},
		// an id that is only in a header
		{"shop.yaml", res + "/shop_note/http/create/state", `{"id":"${basename(answer.headers.location)}"}`},
		{"shop.yaml", res + "/shop_settings/import", `"team_id"`},
		{"shop.yaml", lists + "/shop_team/http/list/pages", `{"by":"page","first":1,"items":` +
			`"${answer.body.teams}","parameter":"page"}`},
		{"shop.yaml", data + "/shop_notes/http/data/pages/link", "true"},
		{"pets.json", "http/auth/header/X-App", `"${coalesce(provider.x_app, env.PETS_X_APP)}"`},
		// an update whose path has no id
		{"pets.json", res + "/pets_pet/http/update", `{"body":"${merge(fields, {\"id\" = ` +
			`tonumber(self.id)})}","path":"/pet"}`},
		{"pets.json", res + "/pets_pet/attributes/matrix/type", `["list",["list","number"]]`},
		{"pets.json", res + "/pets_pet/attributes/type/http", `{"name":"@type"}`},
		{"pets.json", res + "/pets_owner/http/create/encoding", `"form"`},
		{"pets.json", res + "/pets_owner/attributes/age/json_schema", `{"exclusiveMinimum":0}`},
		{"pets.json", lists + "/pets_owner/http/list/pages/token", `"${try(answer.body.next_cursor, null)}"`},
		{"split/hints.yaml", "http/auth/oauth/scopes", `["write"]`},
		{"split/hints.yaml", res + "/hints_thing/import", `"uid"`},
		{"split/hints.yaml", res + "/hints_thing/http/delete", `{"path":"/remove-thing/${self.uid}"}`},
		{"split/hints.yaml", res + "/hints_thing/attributes/title/http", `{"name":"label"}`},
		{"split/hints.yaml", res + "/hints_thing/attributes/size/type", `"number"`},
		{"split/hints.yaml", res + "/hints_thing/attributes/internal", `null`},
		{"split/hints.yaml", res + "/hints_thing/attributes/zone/force_new", `true`},
	} {
		p := mapped(t, filepath.Join("testdata", c.file), openapi.Options{})
		var got strings.Builder
		e := json.NewEncoder(&got)
		e.SetEscapeHTML(false)
		if err := e.Encode(find(t, p, strings.Split(c.place, "/")...)); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(got.String()) != c.want {
			t.Errorf("%s, %s:\ngot  %swant %s", c.file, c.place, got.String(), c.want)
		}
	}
}

// TestReportContainsReasons checks the reasons in the report.
func TestReportContainsReasons(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"shop.yaml", "- `GET /export`: it answers with text/csv, not with described JSON\n"},
		{"shop.yaml", "- `POST /teams/{teamId}/archive`: it makes no object that another operation reads"},
		{"shop.yaml", "- `target` has several forms (oneOf, anyOf): it has any type\n"},
		{"shop.yaml", "- `extra` has no type in the document: it has any type\n"},
		{"shop.yaml", "- `locked` can be set by updates only"},
		{"shop.yaml", "- `items` holds values of any type: it has any type itself\n"},
		{"shop.yaml", "4 resources, 7 data sources, 1 list, of 16 of 18 operations."},
		{"pets.json", "- `POST /pet/{petId}/photo`: it makes no object"},
		{"pets.json", "the `url` has to end with `/api`"},
		{"split/hints.yaml", "- the hint `x-speakeasy-retries` has no meaning here\n"},
		{"split/hints.yaml", "- `GET /hidden`: the hint x-speakeasy-ignore leaves it out\n"},
	} {
		p := mapped(t, filepath.Join("testdata", c.file), openapi.Options{})
		if !strings.Contains(string(p.Report()), c.want) {
			t.Errorf("%s: the report lacks %q:\n%s", c.file, c.want, p.Report())
		}
	}
}

func TestPathsSelectOperations(t *testing.T) {
	p := mapped(t, filepath.Join("testdata", "shop.yaml"), openapi.Options{Name: "sel",
		Paths: []string{"/teams/{teamId}/n"}})
	if p.Name != "sel" || p.Resources() != 1 || p.Outside != 13 {
		t.Errorf("got %s with %d resources, %d outside", p.Name, p.Resources(), p.Outside)
	}
}

func TestBadDocumentsAreRefused(t *testing.T) {
	const begin = `{"openapi": "3.0.0", "info": {"title": "x", "version": "1"}, "paths": {"/a": {"get": {"responses":` +
		` {"200": {"description": "", "content": {"application/json": {"schema": `
	const end = `}}}}}}}}`
	for _, c := range []struct{ text, want string }{
		{`{"swagger": "2.0"}`, "Swagger 2.0"},
		{`{"openapi": "4.0.0"}`, "version 3.0 or 3.1 is required"},
		{`[1]`, "must be an object"},
		{`a: b`, `no member "openapi"`},
		{`{"a": `, "cannot be read"},
		{"a: &a [*a]", "cannot be read"},
		{begin + `{"$ref": "https://example.com/x.json"}` + end, "refers to https://example.com/x.json; nothing"},
		{begin + `{"$ref": "#/components/schemas/X"}` + end, "#/components/schemas/X, where there is nothing"},
		{begin + `{"$ref": "../x.json"}` + end, "not below the folder of the document"},
		{begin + `{"$ref": "missing.json#/X"}` + end, "missing.json"},
		{begin + strings.Repeat(`{"items": `, 300) + "{}" + strings.Repeat("}", 300) + end, "levels deep"},
		{strings.Repeat(`[`, 100_000), "nests too deeply"},
	} {
		file := filepath.Join(t.TempDir(), "spec.json")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openapi.Load(file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200s: got %v, want %q", c.text, err, c.want)
		}
	}
}

// TestLinksCannotLeaveTheFolder checks that a file beside the document cannot be a link to another folder.
func TestLinksCannotLeaveTheFolder(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "in")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret.json"), []byte(`{"type": "string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "secret.json"), filepath.Join(inside, "s.json")); err != nil {
		t.Skip("needs links: ", err)
	}
	text := fmt.Sprintf(`{"openapi": "3.1.0", "paths": {}, "components": {"schemas": {"A": {"$ref": %q}}}}`, "s.json")
	if err := os.WriteFile(filepath.Join(inside, "spec.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openapi.Load(filepath.Join(inside, "spec.json")); err == nil {
		t.Error("a link out of the folder was followed")
	}
}
