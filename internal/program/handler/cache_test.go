package handler_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

func TestAnswersAreReusedIfTheManifestAllows(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pkg, cache, log := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "log")
	text := strings.NewReplacer(`"toy_echo": {`, `"toy_echo": {"cache": "1h",`, `"slug": {`,
		`"slug": {"cache": "1h",`).Replace(sprintManifest(`["` + filepath.ToSlash(exe) + `"]`))
	private := false
	calls := func(config map[string]cty.Value) (n int) {
		t.Helper()
		m, diags := manifest.Parse([]byte(text), filepath.Join(pkg, manifest.FileName), pkg)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		_ = os.Remove(log)
		s := handler.Surroundings{Env: append(os.Environ(), "TOY_DIR="+pkg, "TOY_LOG="+log)}
		p := handler.New(m, handler.NewCaller(m, s), handler.Options{Cache: cache,
			Private: func() bool { return private }})
		schema, _ := p.Schema(t.Context())
		block := schema.Provider.EmptyValue().AsValueMap()
		for name, v := range config {
			block[name] = v
		}
		p.Configure(t.Context(), provider.ConfigureRequest{Config: cty.ObjectVal(block)})
		data := schema.Type(provider.DataSource, "toy_echo").Block.EmptyValue().AsValueMap()
		data["text"] = cty.StringVal("hi")
		if got := p.ReadData(t.Context(), provider.ReadDataRequest{
			Type: "toy_echo", Config: cty.ObjectVal(data)}); got.Diagnostics.HasErrors() ||
			got.State.GetAttr("out").LengthInt() != 2 {
			t.Errorf("got %#v %s", got.State, texts(got.Diagnostics))
		}
		if v, err := p.CallFunction(t.Context(), "slug", []cty.Value{cty.StringVal("A b")}); err != nil ||
			v.AsString() != "a-b" {
			t.Errorf("got %#v, %v", v, err)
		}
		output, _ := os.ReadFile(log)
		return strings.Count(string(output), "data toy_echo") + strings.Count(string(output), "call slug")
	}
	check := func(why string, want int, config map[string]cty.Value) {
		t.Helper()
		if got := calls(config); got != want {
			t.Errorf("%s: %d calls, want %d", why, got, want)
		}
	}
	check("the first time", 2, nil)
	check("again", 0, nil)
	check("another provider block, which functions do not see", 1, map[string]cty.Value{"prefix": cty.StringVal("x")})
	check("with a secret", 2, map[string]cty.Value{"password": cty.StringVal("hush hush")})
	if err := os.WriteFile(filepath.Join(pkg, "library"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("another program", 2, nil)
	check("and again", 0, nil)
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others", e.Name())
		}
		old := time.Now().Add(-2 * time.Hour)
		_ = os.Chtimes(filepath.Join(cache, e.Name()), old, old)
	}
	check("too old", 2, nil)
	private = true
	check("where nothing may be kept, nothing that was is used", 2, nil)
	if again, _ := os.ReadDir(cache); len(again) > len(entries)+2 {
		t.Errorf("something is kept: %q", again)
	}
}
