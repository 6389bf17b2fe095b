package manifest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// withRequests is a manifest without a program. The parts in upper case are replaced.
const withRequests = `{
  "protocol": 1, "name": "p",
  "http": {"url": "https://example.com", "auth": {"bearer": "${provider.token}"}},
  "schema": {
    "provider": {"attributes": {"token": {"type": "string", "required": true, "sensitive": true}}},
    "resource_schemas": {"p_a": {
      "import": "id",
      "attributes": {"id": {"type": "string", "computed": true}, "size": {"type": "number", "optional": true}},
      "http": {
        "create": {"path": "/a"},
        "read": {"path": "/a/${self.id}"}
      }
    }}
  }
}`

func TestRequestsAreCheckedWhenTheManifestIsRead(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"/a/${self.id}"`, `"/a/${self.nmae}"`, `m.json:11,36: Invalid provider manifest; The template cannot be used: ` +
			`Unsupported attribute: This object does not have an attribute named "nmae"`},
		{`"/a/${self.id}"`, `"/a/\u0024{self.nmae}"`, "m.json:11,41"},
		{`"/a/${self.id}"`, `"/a/${selv.id}"`, `There is no variable "selv" here; the variables are env, private, provider, self. ` +
			`Did you mean "self"?`},
		{`"/a/${self.id}"`, `"/a/${self.id"`, "The template cannot be used"},
		{`"/a/${self.id}"`, `"/a/${lowr(self.id)}"`, "There is no function named \"lowr\""},
		{`"/a/${self.id}"`, `"/a/${file(self.id)}"`, "no function named \"file\""},
		{`"/a/${self.id}"`, `["a"]`, "The value here must be a string"},
		{`"/a/${self.id}"`, `"/a/${answer.status}"`, `There is no variable "answer" here`},
		{`"/a/${self.id}"`, `"/a/${env[self.id]}"`, "Name the variable of the environment here"},
		{`"/a/${self.id}"`, `"` + strings.Repeat("${", 3000) + `"`, "nested too deeply"},
		{`"path": "/a"}`, `"path": "/a", "sucess": [200]}`, `has no member "sucess". Did you mean "success"?`},
		{`"path": "/a"}`, `"path": "/a", "success": [20]}`, "Expected an HTTP status here"},
		{`"path": "/a"}`, `"path": "/a", "wait": {"until": "${answer.body.ready}"}, "method": "FETCH"}`,
			"The method must be one of"},
		{`"path": "/a"}`, `"path": "/a", "wait": {}}`, `The member "until" is missing here`},
		{`"path": "/a"}`, `"path": "/a", "wait": {"until": "${answer.status}"}}`, "The value here must be true or false"},
		{`"path": "/a"}`, `"path": "/a", "pages": {"items": "${answer.body}", "link": true, "by": "page"}}`,
			`Set only one of "next", "link", "token" and "by"`},
		{`"path": "/a"}`, `"path": "/a", "pages": {"items": "${answer.body}", "by": "page"}}`, `The "parameter" is missing`},
		{`"path": "/a"}`, `"path": "/a", "state": {"ide": "${answer.body.id}"}}`, `There is no attribute "ide" in this ` +
			`type. Did you mean "id"?`},
		{`"create": {"path": "/a"}`, `"create": {}`, `The member "path" is missing here`},
		{`"create": {"path": "/a"},`, ``, `The type must implement "create"`},
		{`,
        "read": {"path": "/a/${self.id}"}`, `, "update": {"path": "/a", "read_back": true}`,
			`This requires the request "read" of the type`},
		{`"auth": {"bearer": "${provider.token}"}`, `"auth": {}`, `"auth" must have one member`},
		{`{"bearer": "${provider.token}"}`, `{"bearer": "x", "header": {"a": "b"}}`, `"auth" must have one member`},
		{`{"bearer": "${provider.token}"}`, `{"basic": {"username": "x"}}`, `The member "password" is missing here`},
		{`"url": "https://example.com", `, ``, `"http" needs a "url"`},
		{`"name": "p",`, `"name": "p", "command": ["x"],`, `A provider with "http" has no program: remove "command"`},
		{`"name": "p",`, `"name": "p", "mode": "session",`, `remove "mode"`},
		{`"import": "id",`, `"import": "id", "implements": ["create"],`, `Remove "implements"`},
		{`"http": {"url": "https://example.com", "auth": {"bearer": "${provider.token}"}}`, `"command": ["x"]`,
			`Requests need the member "http" of the manifest`},
		{`"auth": {"bearer": "${provider.token}"}`, `"tls": {"key": "x"}`, "A certificate needs its key"},
		{`"auth": {"bearer": "${provider.token}"}`, `"max_body": 1000000000`, "The limit of an answer must be between"},
		{`"optional": true}`, `"optional": true, "http": {"send": "once"}}`, "When to send the value must be one of"},
	} {
		text := strings.Replace(withRequests, c.old, c.new, 1)
		if text == withRequests {
			t.Fatalf("%s is not there", c.old)
		}
		_, diags := manifest.Parse([]byte(text), "m.json", "/pkg")
		output := ""
		for _, d := range diags {
			if d.Subject != nil {
				output += fmt.Sprintf("m.json:%d,%d: ", d.Subject.Start.Line, d.Subject.Start.Column)
			}
			output += d.Summary + "; " + d.Detail + "\n"
		}
		if !strings.Contains(output, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.new, output, c.want)
		}
	}
}

// pathOf parses the path template of the request for read, and evaluates it.
func pathOf(t *testing.T, path string, id cty.Value) (string, error) {
	t.Helper()
	m := parse(t, strings.Replace(withRequests, "/a/${self.id}", path, 1))
	op := m.Type(provider.ManagedResource, "p_a").API.Operations["read"]
	got, _, err := op.Path.Path(manifest.Variables{"self": cty.ObjectVal(map[string]cty.Value{"id": id})})
	return got, err
}

// A value in a path is always a single path segment, so the request cannot go anywhere else.
func TestValuesInPathsAreEscaped(t *testing.T) {
	for id, want := range map[string]string{
		"a": "/a/a", "a b": "/a/a%20b", "a/../../b": "/a/a%2F..%2F..%2Fb", "?x=1": "/a/%3Fx=1", "#": "/a/%23",
		"é": "/a/%C3%A9",
		"":  "", ".": "", "..": "", "%2e%2e": "/a/%252e%252e", "a\r\nX-Evil: 1": "/a/a%0D%0AX-Evil:%201",
	} {
		got, err := pathOf(t, "/a/${self.id}", cty.StringVal(id))
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v; want %q", id, got, err, want)
		}
	}
	if got, err := pathOf(t, "/a/${self.id}", cty.NullVal(cty.String)); err == nil {
		t.Errorf("null leads to %s", got)
	}
	if got, err := pathOf(t, "/a/x${self.id}/b", cty.StringVal("..")); err != nil || got != "/a/x../b" {
		t.Errorf("got %s, %v", got, err)
	}
}

// The manifest in docs/http-providers.md is complete and valid.
func TestTheManifestOfTheDocumentationIsRead(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/http-providers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(docs), "<!-- manifest: whole -->\n```json\n")
	text, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("there is no manifest")
	}
	parse(t, text)
}
