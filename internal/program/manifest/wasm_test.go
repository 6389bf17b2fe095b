package manifest_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

func TestAManifestNamesAModuleInsteadOfACommand(t *testing.T) {
	compiled, err := jsonschema.NewCompiler().Compile("../../../docs/schemas/tombolo-provider.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	with := func(members string) string { return `{"protocol": 1, "name": "p", "schema": {}, ` + members + `}` }
	cases := map[string]string{
		`"wasm": "p.wasm"`:                                       "",
		`"wasm": "./bin/p.wasm", "mode": "session"`:              "",
		`"wasm": "p.wasm", "memory": 2048`:                       "",
		`"wasm": "../p.wasm"`:                                    "names a file in the folder of the provider",
		`"wasm": "/p.wasm"`:                                      "names a file in the folder of the provider",
		`"wasm": "."`:                                            "names a file in the folder of the provider",
		`"wasm": "bin\\p.wasm"`:                                  "names a file in the folder of the provider",
		`"wasm": ""`:                                             "names a file in the folder of the provider",
		`"wasm": ["p.wasm"]`:                                     "A string was expected here",
		`"wasm": "p.wasm", "memory": 0`:                          "from 1 to 2048",
		`"wasm": "p.wasm", "memory": 2049`:                       "from 1 to 2048",
		`"wasm": "p.wasm", "command": ["x"]`:                     `remove "command"`,
		`"wasm": "p.wasm", "prepare": ["x"]`:                     `remove "prepare"`,
		`"wasm": "p.wasm", "requires": [{"command": "x"}]`:       `remove "requires"`,
		`"wasm": "p.wasm", "http": {"url": "https://localhost"}`: `remove "wasm"`,
		`"command": ["x"], "memory": 1`:                          `there is no "wasm"`,
		`"command": ["x"], "permissions": {}`:                    `there is no "wasm"`,
	}
	for asks, want := range map[string]string{
		`{}`:                                        "",
		`{"network": []}`:                           `has no member "network"`,
		`{"env": ["A-B"]}`:                          "the name of an environment variable",
		`{"env": ["*"]}`:                            "the name of an environment variable",
		`{"http": ["A.com"]}`:                       "a host in lower case",
		`{"http": ["*"]}`:                           "a host in lower case",
		`{"http": ["a/b"]}`:                         "a host in lower case",
		`{"http": ["a:0"]}`:                         "a host in lower case",
		`{"files": ["zones"]}`:                      "must be an object",
		`{"files": [{"path": "../zones"}]}`:         "needs a \"path\"",
		`{"files": [{"path": "a, b"}]}`:             "needs a \"path\"",
		`{"files": [{"path": "a", "as": "b"}]}`:     "begins with a slash",
		`{"files": [{"path": "a", "as": "/b/.."}]}`: "begins with a slash",
		`{"files": [{"path": "a"}, {"path": "b", "as": "/a"}]}`:     "Two folders",
		`{"files": [{"path": "."}, {"path": "/a", "write": true}]}`: "",
		`{"env": ["A", "A"]}`: "listed twice",
		`{"http": ["http://[::1]:8080", "*.a-b.example:8443"]}`: "",
	} {
		cases[`"wasm": "p.wasm", "permissions": `+asks] = want
	}
	for members, want := range cases {
		text := with(members)
		m, diags := manifest.Parse([]byte(text), "m.json", "/pkg")
		if (want == "") == diags.HasErrors() || want != "" && !strings.Contains(diags.Err().Error(), want) {
			t.Errorf("%s: got %v, want %q", members, diags.Err(), want)
		}
		if m != nil && m.Module() != filepath.Join("/pkg", filepath.FromSlash(m.Wasm)) {
			t.Errorf("%s: the module is %s", members, m.Module())
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(doc); err != nil && want == "" {
			t.Errorf("%s: %v", members, err)
		} else if err == nil && want != "" && !strings.Contains(want, "in the folder") && !finer(want) {
			t.Errorf("the schema accepts %s", members)
		}
	}
}

// finer reports whether the JSON Schema cannot express a rule.
func finer(problem string) bool {
	return slices.Contains([]string{"begins with a slash", "Two folders", "needs a \"path\""}, problem)
}

func TestPermissionsAreLinesThatUsersGrant(t *testing.T) {
	m, diags := manifest.Parse([]byte(`{"protocol": 1, "name": "dns", "schema": {}, "wasm": "p.wasm", "permissions": {
		"env": ["TOKEN"], "http": ["api.example.com", "*.example.org:8443"],
		"files": [{"path": "zones", "write": true}, {"path": "/etc/dns"}, {"path": ".", "as": "/here"}]}}`), "m.json", "/p")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	want := []string{"env TOKEN", "http *.example.org:8443", "http api.example.com", "read .", "read /etc/dns",
		"write zones"}
	if got := m.Permissions.Lines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := []string{m.Permissions.Folders[0].As, m.Permissions.Folders[1].As}; !slices.Equal(got,
		[]string{"/zones", "/etc/dns"}) {
		t.Errorf("the folders are %q for the module", got)
	}
	granted := manifest.ParseGrants(" env TOKEN,http  api.example.com, write /etc/dns,,read zones")
	want = []string{"http *.example.org:8443", "read .", "write zones"}
	if got := m.Permissions.Missing(granted); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: who may write may read, but not the reverse", got, want)
	}
	for text, want := range map[string]string{"env A": "", "provider me, env A, env B": "env A+env B",
		"provider other, env A": "", "env A, provider me, env B, provider other, env C": "env B",
		"provider other, env A, provider me, read x": "read x", "provider me": "", "provider, env A": ""} {
		got := manifest.GrantsTo(text, func(name string) bool { return name == "me" })
		if strings.Join(got, "+") != want {
			t.Errorf("%q grants %q, want %q", text, got, want)
		}
	}
	if got := m.GrantsVariable(); got != "TOMBOLO_GRANTS_DNS" {
		t.Errorf("the variable is %s", got)
	}
}
