//go:build unix

package handler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

const smallManifest = `{"protocol": 1, "name": "s", "command": %s, %s "schema": {
  "resource_schemas": {"s_t": {"attributes": {"id": {"type": "string", "computed": true}, "name": {"type": "string",
"required": true}}}},
  "functions": {"f": {"return_type": "string"}}}}`

// small creates an object with a provider whose program is a script.
func small(t *testing.T, command, members, script string, perm os.FileMode, name string) provider.ApplyResponse {
	t.Helper()
	dir := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, "p.sh"), []byte(script), perm); err != nil {
			t.Fatal(err)
		}
	}
	m, diags := manifest.Parse([]byte(fmt.Sprintf(smallManifest, command, members)),
		filepath.Join(dir, manifest.FileName), dir)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	d := drive(t, factoryOf(m, dir, handler.Options{}))
	return d.apply(t.Context(), "s_t", d.null("s_t"), d.config("s_t", map[string]cty.Value{
		"name": cty.StringVal(name)}))
}

func TestProgramsThatDoNotStartHaveAdvice(t *testing.T) {
	for name, tt := range map[string]struct {
		command, members, script string
		perm                     os.FileMode
		want                     []string
	}{
		"missing interpreter": {`["no-such-interpreter", "./p.sh"]`, "", "x", 0o600, []string{
			`"no-such-interpreter"`, "not found", "Install it, or add its folder"}},
		"missing interpreter, hint": {`["no-such-interpreter", "./p.sh"]`,
			`"requires": [{"command": "no-such-interpreter", "hint": "apt install it"}],`, "x", 0o600, []string{
				`needs the program "no-such-interpreter"`, "apt install it"}},
		"missing tool": {`["sh", "./p.sh"]`, `"requires": [{"command": "no-such-tool"}],`, "x", 0o600,
			[]string{`needs the program "no-such-tool"`}},
		"missing script": {`["sh", "./p.sh"]`, "", "", 0, []string{
			"names the file ./p.sh", `word 2 of "command"`}},
		"no exec bit": {`["./p.sh"]`, "", "#!/bin/sh\n", 0o600, []string{
			"permission denied", "chmod +x"}},
		"no first line": {`["./p.sh"]`, "", "echo\n", 0o700, []string{
			"exec format error", "#!/usr/bin/env bash"}},
		"interpreter of first line": {`["./p.sh"]`, "", "#!/no/such/sh\n", 0o700, []string{
			"no such file", "interpreter in its first line", `"/no/such/sh"`}},
		"line ends of Windows": {`["./p.sh"]`, "", "#!/bin/sh\r\n", 0o700, []string{"no such file", "CR LF"}},
		"syntax error": {`["sh", "./p.sh"]`, "", "case $1 in\ncreate) echo '{'\n", 0o600, []string{
			"exit status 2", "p.sh"}},
		"command that is not there": {`["sh", "./p.sh"]`, "", "no-such-command\n", 0o600, []string{
			"exit status 127", "is not installed"}},
		"no command for this platform": {`{"plan9": ["rc"]}`, "", "", 0, []string{"has no command for"}},
	} {
		t.Run(name, func(t *testing.T) {
			resp := small(t, tt.command, tt.members, tt.script, tt.perm, "n")
			got := texts(resp.Diagnostics)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("want %q, got\n%s", want, got)
				}
			}
			if resp.State == cty.NilVal || !resp.State.IsNull() {
				t.Errorf("nothing was made, but the state is %#v", resp.State)
			}
		})
	}
}

func TestProgramsWithoutCacheNeedNoHome(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "TOMBOLO_CACHE_DIR"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.UserCacheDir(); err == nil {
		t.Skip("needs a system whose cache folder depends on HOME")
	}
	const script = `echo "{\"state\":{\"id\":\"${TOMBOLO_CACHE_DIR-none} $PYTHONDONTWRITEBYTECODE\"}}"`
	resp := small(t, `["sh", "./p.sh"]`, "", script, 0o600, "x")
	if resp.Diagnostics.HasErrors() {
		t.Fatal(resp.Diagnostics.Err())
	}
	if got := resp.State.GetAttr("id").AsString(); got != "none 1" {
		t.Errorf("got %q", got)
	}
	resp = small(t, `["sh", "./p.sh", "{cache}/x"]`, "", script, 0o600, "x")
	if got := texts(resp.Diagnostics); !strings.Contains(got, "Set XDG_CACHE_HOME or HOME") {
		t.Errorf("got %q", got)
	}
}

func TestAProgramNeedNotReadItsRequest(t *testing.T) {
	resp := small(t, `["sh", "./p.sh"]`, "", "exec 0<&-\necho '{\"state\": {\"id\": \"x\"}}'\n", 0o600,
		strings.Repeat("long ", 400_000))
	if resp.Diagnostics.HasErrors() || resp.State.GetAttr("id").AsString() != "x" {
		t.Errorf("got %s", texts(resp.Diagnostics))
	}
}

func TestProgramsGetTheirSurroundings(t *testing.T) {
	t.Setenv("TF_PLUGIN_MAGIC_COOKIE", "secret-handshake")
	resp := small(t, `["sh", "./p.sh", "{os}"]`, `"version": "1.0.0",`, `
printf '{"state": {"id": "%s"}}' "$1|$2|$3|$TOMBOLO_PROTOCOL|${TOMBOLO_PROVIDER_DIR##*/}|${TOMBOLO_CACHE_DIR##*/}|$TF_PLUGIN_MAGIC_COOKIE|$PYTHONUTF8"
`, 0o600, "n")
	if resp.Diagnostics.HasErrors() {
		t.Fatal(texts(resp.Diagnostics))
	}
	got := resp.State.GetAttr("id").AsString()
	if !strings.Contains(got, "|create|s_t|1|") || !strings.Contains(got, "|s-1.0.0||1") {
		t.Errorf("got %q", got)
	}
}

func TestTheProgramIsOnlyStartedForImplementedActions(t *testing.T) {
	dir := t.TempDir()
	m, diags := manifest.Parse([]byte(fmt.Sprintf(smallManifest, `["/no/such/program"]`, "")),
		filepath.Join(dir, manifest.FileName), dir)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	d := drive(t, factoryOf(m, dir, handler.Options{}))
	config := d.config("s_t", map[string]cty.Value{"name": cty.StringVal("n")})
	diags = d.p.ValidateConfig(t.Context(), provider.ValidateConfigRequest{Config: cty.EmptyObjectVal}).Diagnostics
	diags = diags.Extend(d.p.ValidateResource(t.Context(), provider.ValidateResourceRequest{
		Kind: provider.ManagedResource, Type: "s_t", Config: config}))
	diags = diags.Extend(d.p.Configure(t.Context(), provider.ConfigureRequest{Config: cty.EmptyObjectVal}).Diagnostics)
	diags = diags.Extend(d.plan("s_t", d.null("s_t"), config).Diagnostics)
	if len(diags) > 0 {
		t.Error(texts(diags))
	}
	if _, err := d.p.CallFunction(t.Context(), "f", nil); err == nil || !strings.Contains(err.Error(),
		"/no/such/program") {
		t.Errorf("got %v", err)
	}
}
