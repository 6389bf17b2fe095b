package starter_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/starter"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

// built writes a provider that is a module into a folder, compiles it with the command of its README, and returns the
// folder. It skips the test if the compiler or its library is missing.
func built(t *testing.T, lang string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range starter.Files(lang, "demo") {
		if strings.Contains(string(text), "NAME") || strings.Contains(string(text), "BUILD") {
			t.Errorf("%s is not filled in", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, command, _ := strings.Cut(starter.Try(lang, "tombolo", "demo", "DIR"), "&& ")
	command, _, _ = strings.Cut(command, " && ")
	if readme := string(starter.Files(lang, "demo")["README.md"]); !strings.Contains(readme, command) {
		t.Errorf("the README does not say %q", command)
	}
	for _, older := range []string{"", "wasm32-wasi"} { // the name of the target before Rust 1.78
		if older != "" {
			command = strings.Replace(command, "wasm32-wasip1", older, 1)
		}
		for _, tool := range []string{"", "/usr/bin/"} { // the compiler of the system may have the library
			cmd := exec.Command("sh", "-c", strings.Replace(command, "rustc ", tool+"rustc ", 1))
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PWD="+dir, "GOFLAGS=", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			if err == nil {
				return dir
			}
			if lang == "go-wasm" {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			t.Logf("%s: %v", cmd, err)
		}
	}
	t.Skipf("needs a compiler with its library for WASI: %s", command)
	return ""
}

func TestModulesOfAllLanguagesWork(t *testing.T) {
	for _, lang := range []string{"c", "go-wasm", "rust"} {
		t.Run(lang, func(t *testing.T) {
			tool := map[string]string{"c": "clang", "go-wasm": "go", "rust": "rustc"}[lang]
			for _, name := range []string{tool, "sh"} {
				if _, err := exec.LookPath(name); err != nil {
					t.Skip("needs ", name, " to compile the module")
				}
			}
			m, diags := manifest.Load(built(t, lang))
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			cache := t.TempDir()
			str := cty.StringVal
			providertest.Run(t, providertest.Options{
				New: func(context.Context) (provider.Provider, error) {
					return handler.New(m, handler.NewCaller(m, handler.Surroundings{Cache: cache}),
						handler.Options{}), nil
				},
				Data: []providertest.Data{{Type: "demo_label",
					Config: providertest.Attrs{"text": str("Größe \"1\" \\ \t\u0001\U0001F600")},
					Want:   providertest.Attrs{"label": str("gr-e-1-"), "bytes": cty.NumberIntVal(20)}}},
				Functions: []providertest.Function{{Name: "label", Args: []cty.Value{str("A  b\n")}, Want: str("a-b-")},
					{Name: "label", Args: []cty.Value{str("")}, Want: str("")}},
			})
		})
	}
}
