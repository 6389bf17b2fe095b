//go:build unix

package pack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/starter"
)

// starterTools are the programs that a provider of "provider new" needs, by language. Other tests have packages in the
// other languages.
var starterTools = map[string][]string{"ruby": {"ruby"}, "c": {"clang", "wasm-ld"}, "rust": {"rustc"}, "http": nil}

// What "provider new" writes becomes packages with small hosts in two commands, and every engine installs and uses
// them.
func TestStartersBecomePackagesForEveryEngine(t *testing.T) {
	hosts := builtHosts(t)
	for lang, tools := range starterTools {
		t.Run(lang, func(t *testing.T) {
			for _, tool := range tools {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("needs %s on PATH", tool)
				}
			}
			env := things(t)
			p := newProject(t, example{name: "provider-bash"}, "tombolo")
			p.env = append(p.env, env...)
			p.run("provider", "new", "demo", "-lang", lang)
			dir := filepath.Join(p.dir, "demo")
			compileStarter(t, lang, dir)
			p.run("provider", "build", dir, "-source", "example/demo", "-hosts", hosts, "-exclude", "main.*")
			mirror := filepath.Join(p.dir, "dist", "filesystem-mirror")
			for _, program := range []string{"tombolo", "terraform", "tofu"} {
				t.Run(program, func(t *testing.T) {
					p := newProject(t, example{name: "provider-bash"}, program)
					p.env = append(p.env, env...)
					p.file("main.tf", starterUse(lang))
					p.file("rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
						mirror))
					p.run("init")
					p.says("Apply complete!", "apply", "-auto-approve", "-no-color")
					p.says("Destroy complete!", "destroy", "-auto-approve", "-no-color")
				})
			}
		})
	}
}

// compileStarter runs the command that the README of a module names.
func compileStarter(t *testing.T, lang, dir string) {
	t.Helper()
	_, command, _ := strings.Cut(starter.Try(lang, "tombolo", "demo", "."), "&& ")
	command, test, found := strings.Cut(command, " && ")
	if !found || !strings.Contains(test, "provider test") {
		return // nothing is compiled
	}
	var out []byte
	var err error
	for _, one := range []string{command, // Rust before 1.78 has another name, and Debian's is beside that of rustup
		strings.NewReplacer("wasm32-wasip1", "wasm32-wasi", "rustc ", "/usr/bin/rustc ").Replace(command)} {
		cmd := exec.Command("sh", "-c", one)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "PWD="+dir)
		if out, err = cmd.CombinedOutput(); err == nil {
			return
		}
	}
	t.Skipf("needs a compiler for %s with WASI: %v\n%s", lang, err, out)
}

// starterUse returns a configuration that uses a provider of "provider new".
func starterUse(lang string) string {
	use := "resource \"demo_file\" \"a\" {\n  path = abspath(\"a.txt\")\n  text = \"hello\"\n}\n"
	switch lang {
	case "c", "rust":
		use = "data \"demo_label\" \"a\" {\n  text = \"Hello, world\"\n}\n" +
			"resource \"terraform_data\" \"a\" {\n  input = data.demo_label.a.label\n}\n"
	case "http":
		use = "resource \"demo_thing\" \"a\" {\n  name = \"a\"\n}\n"
	}
	return "terraform {\n  required_providers {\n    demo = { source = \"example/demo\" }\n  }\n}\n" + use
}

// things starts an API with things for the provider that "provider new -lang http" writes, and returns the environment
// of its users.
func things(t *testing.T) []string {
	t.Helper()
	var mu sync.Mutex
	all := map[string]map[string]any{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := strings.TrimPrefix(r.URL.Path, "/things/")
		var given map[string]any
		switch {
		case r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&given) == nil:
			given["id"] = fmt.Sprint("thing-", len(all)+1)
			all[given["id"].(string)] = given
		case all[id] == nil:
			w.WriteHeader(http.StatusNotFound)
			return
		case r.Method == http.MethodDelete:
			delete(all, id)
			w.WriteHeader(http.StatusNoContent)
			return
		default:
			given = all[id]
		}
		if err := json.NewEncoder(w).Encode(given); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return []string{"API_URL=" + s.URL, "API_TOKEN=token"}
}
