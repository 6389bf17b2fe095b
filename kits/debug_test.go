//go:build unix

package kits_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// The debugger that the user chose can be reached while a session runs.
func TestADebuggerCanAttachToASession(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node, which has a debugger")
	}
	l := languages[1]
	m, diags := manifest.Load(l.folderOf(t, []byte(echoPrograms[l.name]), echoManifest, "session"))
	must(t, diags.Err())
	lines := make(chan string, 100)
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Cache: t.TempDir(),
		Env: append(os.Environ(), "TOMBOLO_PROGRAM_DEBUG=p=node --inspect=127.0.0.1:0")}),
		handler.Options{Output: func(o handler.Output) { lines <- o.Line }})
	defer p.Close()
	resp := p.ReadData(t.Context(), provider.ReadDataRequest{Type: "p_echo", Config: cty.ObjectVal(map[string]cty.Value{
		"in": cty.True, "bad": cty.StringVal(""), "out": cty.NullVal(cty.DynamicPseudoType)})})
	must(t, resp.Diagnostics.Err())
	var said []string
	for len(lines) > 0 {
		said = append(said, <-lines)
	}
	where := regexp.MustCompile(`ws://(127\.0\.0\.1:\d+)/`).FindStringSubmatch(strings.Join(said, "\n"))
	if where == nil {
		t.Fatalf("the debugger did not say where it listens: %q", said)
	}
	answer, err := http.Get("http://" + where[1] + "/json/list")
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	var targets []struct{ Title string }
	if err := json.Unmarshal(text, &targets); err != nil || len(targets) != 1 ||
		!strings.HasSuffix(targets[0].Title, l.program) {
		t.Errorf("the debugger has %s (%v)", text, err)
	}
}
