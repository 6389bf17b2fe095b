package cli

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// writeOnlyManifest is the manifest of a provider with write-only attributes, on resources and in blocks of each kind.
const writeOnlyManifest = `{
  "protocol": 1, "name": "demo", "command": ["python3", "./demo.py"], "mode": "MODE",
  "schema": { "resource_schemas": { "demo_thing": { "version": VERSION,
    "implements": ["plan", "create", "read", "update", "delete", "import", "upgrade"],
    "attributes": {
      "id":     { "type": "string", "computed": true },
      "size":   { "type": "number", "optional": true },
      "secret": { "type": "string", "optional": true, "write_only": true },
      "nested": { "optional": true, "nested_type": { "nesting_mode": "list", "attributes": {
        "name": { "type": "string", "optional": true },
        "key":  { "type": "string", "optional": true, "write_only": true } } } } } } } }
}`

// writeOnlyProgram returns values of write-only attributes in every response; they must not be stored. "c4nary" and
// "planted" are written apart, so that the program itself does not contain the word.
const writeOnlyProgram = `
import json, sys
WORD = "c4nary" + "planted"
def told(size, unknown=False):
    return {"id": None if unknown else "i", "size": size, "secret": WORD, "nested": [{"name": "n", "key": WORD}]}
def answer(action, r):
    of = r.get("planned") or r.get("proposed") or r.get("state") or {}
    size = of.get("size")
    if action == "plan":
        new = r.get("prior") is None
        return {"planned": told(size, new), "planned_unknown": {"id": True} if new else {}}
    if action in ("create", "read", "update", "import", "upgrade"):
        return {"state": told(size), "private": {"kept": 1}}
    return {}
if len(sys.argv) > 1:
    print(json.dumps(answer(sys.argv[1], json.load(sys.stdin))))
else:
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m:
            continue
        result = {"protocol": 1} if m["method"] == "initialize" else answer(m["method"], m.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
`

const writeOnlyUse = `
terraform {
  required_providers { demo = { source = "demo" } }
}
resource "demo_thing" "a" {
  size   = SIZE
  secret = "given"
  nested = [{ name = "n", key = "given" }]
}
`

// TestWriteOnlyValuesInResponsesAreNotStored has a program return values of write-only attributes in every response,
// and looks for them in all output and in all files afterwards.
func TestWriteOnlyValuesInResponsesAreNotStored(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	for _, mode := range []string{"one-shot", "session"} {
		t.Run(mode, func(t *testing.T) {
			p := newPlanting(t)
			p.environ = append(p.environ, "TOMBOLO_PROGRAM_PROVIDERS=demo=./demo")
			begin := func(size, version string) {
				t.Helper()
				manifest := strings.NewReplacer("MODE", mode, "VERSION", version).Replace(writeOnlyManifest)
				p.write("demo/tombolo-provider.json", []byte(manifest))
				p.write("demo/demo.py", []byte(writeOnlyProgram))
				p.write("main.tf", []byte(strings.ReplaceAll(writeOnlyUse, "SIZE", size)))
			}
			must := func(want string, args ...string) {
				t.Helper()
				if text := p.run(args...); !strings.Contains(text, want) {
					t.Errorf("%s does not say %q:\n%s", strings.Join(args, " "), want, text)
				}
				p.lookEverywhere(strings.Join(args, " "))
			}
			begin("1", "0")
			must("1 to add", "plan", "-out=p")
			must(`"actions":["create"]`, "show", "-json", "p")
			must("1 added", "apply", "-auto-approve")
			must("No changes", "plan")
			must("demo_thing.a", "show")
			must(`"values"`, "show", "-json")
			begin("2", "0")
			must("1 changed", "apply", "-auto-approve")
			begin("2", "1")
			must("No changes", "plan")
			begin("3", "1")
			must("1 changed", "apply", "-auto-approve")
			must("Removed", "state", "rm", "demo_thing.a")
			must("Import", "import", "demo_thing.a", "i")
			must(`"demo_thing"`, "state", "pull")
			must("1 destroyed", "apply", "-auto-approve", "-replace=demo_thing.a")
			must("1 destroyed", "destroy", "-auto-approve")
		})
	}
}

// lookEverywhere looks for the secret in all files of the project, including those in archives.
func (p *planting) lookEverywhere(after string) {
	p.t.Helper()
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p.look(after+": "+path, string(text))
		if archive, err := zip.OpenReader(path); err == nil {
			defer archive.Close()
			for _, f := range archive.File {
				in, err := f.Open()
				if err != nil {
					return err
				}
				text, err := io.ReadAll(in)
				if err != nil {
					return err
				}
				p.look(after+": "+path+": "+f.Name, string(text))
			}
		}
		return nil
	})
	if err != nil {
		p.t.Error(err)
	}
}
