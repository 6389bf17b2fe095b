//go:build unix

package handler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/sync/errgroup"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// TestSessionsInOtherLanguages is not the complete suite: on some machines, starting Python takes a third of a second.
func TestSessionsInOtherLanguages(t *testing.T) {
	for dir, tools := range map[string][]string{"testdata/python-session": {"python3"}, "testdata/bash-session": {
		"bash", "jq"}} {
		t.Run(dir, func(t *testing.T) {
			d := drive(t, inFolder(t, dir, tools...))
			root, str := t.TempDir(), cty.StringVal
			if resp := d.p.Configure(t.Context(), provider.ConfigureRequest{
				Config: cty.ObjectVal(map[string]cty.Value{"root": str(root)})}); resp.Diagnostics.HasErrors() {
				t.Fatal(texts(resp.Diagnostics))
			}
			config := func(value string) cty.Value {
				return d.config("kv_pair", map[string]cty.Value{"key": str("k"), "value": str(value)})
			}
			made := d.apply(t.Context(), "kv_pair", d.null("kv_pair"), config("välue\n\"1\""))
			if made.Diagnostics.HasErrors() || made.State.GetAttr("id").AsString() != "k" {
				t.Fatalf("create: got %#v %s", made.State, texts(made.Diagnostics))
			}
			read := d.p.Read(t.Context(), provider.ReadRequest{Type: "kv_pair", Prior: made.State})
			if read.Diagnostics.HasErrors() || !read.State.RawEquals(made.State) {
				t.Errorf("read: got %#v %s", read.State, texts(read.Diagnostics))
			}
			updated := d.apply(t.Context(), "kv_pair", made.State, config("22"))
			if updated.Diagnostics.HasErrors() || !updated.State.GetAttr("length").RawEquals(cty.NumberIntVal(2)) {
				t.Errorf("update: got %#v %s", updated.State, texts(updated.Diagnostics))
			}
			gone := d.p.Apply(t.Context(), provider.ApplyRequest{Type: "kv_pair", Prior: updated.State,
				Planned: d.null("kv_pair"), Config: d.null("kv_pair")})
			read = d.p.Read(t.Context(), provider.ReadRequest{Type: "kv_pair", Prior: updated.State})
			if gone.Diagnostics.HasErrors() || read.Diagnostics.HasErrors() || !read.State.IsNull() {
				t.Errorf("delete: got %#v %s %s", read.State, texts(gone.Diagnostics), texts(read.Diagnostics))
			}
			if v, err := d.p.CallFunction(t.Context(), "reverse", []cty.Value{str("äbc")}); err != nil ||
				v.AsString() != "cbä" {
				t.Errorf("function: got %#v, %v", v, err)
			}
		})
	}
}

func TestPartialStateAndProgressOfAPythonSession(t *testing.T) {
	var c collector
	root := t.TempDir()
	m, diags := manifest.Load("testdata/python-session")
	if diags.HasErrors() || exec.Command("python3", "--version").Run() != nil {
		t.Skip("needs python3 for the program: ", diags.Err())
	}
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Cache: t.TempDir()}), handler.Options{Output: c.take})
	d := drive(t, func(context.Context) (provider.Provider, error) { return p, nil })
	d.p.Configure(t.Context(), provider.ConfigureRequest{
		Config: cty.ObjectVal(map[string]cty.Value{"root": cty.StringVal(root)})})
	make := func(value string) provider.ApplyResponse {
		return d.apply(t.Context(), "kv_pair", d.null("kv_pair"), d.config("kv_pair", map[string]cty.Value{
			"key": cty.StringVal(value), "value": cty.StringVal(value)}))
	}
	if resp := make("slow"); resp.Diagnostics.HasErrors() {
		t.Fatal(texts(resp.Diagnostics))
	}
	if len(c.outputs) != 1 || !c.outputs[0].IsProgress || c.outputs[0].Line != "almost there" {
		t.Errorf("got %+v", c.outputs)
	}
	resp := make("half")
	if got := texts(resp.Diagnostics); !strings.Contains(got, "the disk is full") ||
		resp.State.GetAttr("id").AsString() != "half" || !resp.State.GetAttr("key").IsNull() {
		t.Errorf("got %#v %s", resp.State, got)
	}
}

const trivialManifest = `{"protocol": 1, "name": "kv", "mode": "%s", "concurrency": %d, "command": %s, "schema": ` +
	`{"functions": {"reverse": {"parameters": [{"name": "s", "type": "string"}], "return_type": "string"}}}}`

// callAll calls a function of a program n times, with the given concurrency, after the program was started.
func callAll(b *testing.B, mode, command string, parallel int, env ...string) {
	dir, err := filepath.Abs("testdata/python-session")
	if err != nil {
		b.Fatal(err)
	}
	m, diags := manifest.Parse(fmt.Appendf(nil, trivialManifest, mode, parallel, command), "m.json", dir)
	if diags.HasErrors() {
		b.Fatal(diags.Err())
	}
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Env: append(os.Environ(), env...)}),
		handler.Options{})
	defer p.Close()
	call := func() error {
		_, err := p.CallFunction(b.Context(), "reverse", []cty.Value{cty.StringVal("x")})
		return err
	}
	if err := call(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	var group errgroup.Group
	calls := make(chan struct{}, b.N)
	for range b.N {
		calls <- struct{}{}
	}
	close(calls)
	for range parallel {
		group.Go(func() error {
			for range calls {
				if err := call(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkSession(b *testing.B) {
	exe, _ := os.Executable()
	for _, parallel := range []int{1, 10} {
		b.Run(fmt.Sprintf("go/%d", parallel), func(b *testing.B) {
			callAll(b, "session", fmt.Sprintf("[%q]", exe), parallel, "TOY_DIR=.", "TOY_SESSION=trivial")
		})
		b.Run(fmt.Sprintf("python/%d", parallel), func(b *testing.B) {
			callAll(b, "session", `["python3", "./provider.py"]`, parallel)
		})
	}
}

const answerOnce = `cat >/dev/null; echo {\"result\":\"x\"}`

func BenchmarkOneShot(b *testing.B) {
	argv, _ := json.Marshal([]string{"sh", "-c", answerOnce})
	callAll(b, "one-shot", string(argv), 10)
}

// BenchmarkXargs starts the program of BenchmarkOneShot as often, with xargs.
func BenchmarkXargs(b *testing.B) {
	cmd := exec.CommandContext(b.Context(), "xargs", "-P", "10", "-n", "1", "sh", "-c", answerOnce)
	cmd.Stdin = strings.NewReader(strings.Repeat("x\n", b.N))
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
