package kits_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// A program with the kit of Go is also a module, for single calls and in sessions.
func TestTheKitOfGoWorksInAModule(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs go, which compiles the module")
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "label.wasm"),
		"../bench/testdata/label")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, mode := range []string{"one-shot", "session"} {
		m, diags := manifest.Parse(fmt.Appendf(nil, `{"protocol": 1, "name": "label", "mode": %q, "wasm": "label.wasm",
			"schema": {"functions": {"label": {"parameters": [{"name": "s", "type": "string"}],
			"return_type": "string"}}}}`, mode), filepath.Join(dir, manifest.FileName), dir)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		c := handler.NewCaller(m, handler.Surroundings{Cache: dir})
		for range 3 {
			a, err := c.Call(t.Context(), handler.Call{Action: "call", Type: "label",
				Params: []byte(`{"function": "label", "args": ["Hello, world"]}`), Line: func(string) {},
				Progress: func(string, float64) {}})
			if err != nil || a.Failure != nil || !strings.Contains(string(a.Result), "hello-world") {
				t.Fatalf("%s: got %+v, %v", mode, a, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
