//go:build unix

package handler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// slowDebugger waits longer than programs may, and then runs the program, as a debugger that waits for its user.
const slowDebugger = "echo 'waiting for a client' >&2; sleep 1; exec sh \"$@\""

const debuggedManifest = `{"protocol": 1, "name": "s", "command": ["sh", "./p.sh"], "mode": %q, "schema": {
  "data_source_schemas": {"s_d": {"timeouts": {"data": "300ms"}, "attributes": {"id": {"type": "string",
"computed": true}}}}}}`

const debuggedProgram = `answer='{"state":{"id":"x"}}'
if [ $# -gt 0 ]; then echo "$answer"; exit; fi
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in *initialize*) result='{"protocol":1}' ;; *) result=$answer ;; esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done
`

// A debugger stops a program for longer than any time limit. The user sees which command was started; without the
// variable, or with that of another provider, limits apply.
func TestProgramsInADebuggerHaveNoTimeLimits(t *testing.T) {
	for _, mode := range []string{"one-shot", "session"} {
		for _, name := range []string{"s", "other", "s=x"} {
			t.Run(mode+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				for file, text := range map[string]string{"p.sh": debuggedProgram, "debugger.sh": slowDebugger} {
					if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				m, diags := manifest.Parse([]byte(fmt.Sprintf(debuggedManifest, mode)),
					filepath.Join(dir, manifest.FileName), dir)
				if diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				var mu sync.Mutex
				var lines []string
				variable := "TOMBOLO_PROGRAM_DEBUG=" + name + "=sh " + filepath.Join(dir, "debugger.sh")
				if name == "s=x" {
					variable = "TOMBOLO_PROGRAM_DEBUG=s=debugger --listen 0.0.0.0:5678"
				}
				p := handler.New(m, handler.NewCaller(m, handler.Surroundings{
					Env: append(os.Environ(), variable), Cache: t.TempDir(), Patience: 500 * time.Millisecond,
				}), handler.Options{Output: func(o handler.Output) {
					mu.Lock()
					defer mu.Unlock()
					lines = append(lines, o.Line)
				}})
				defer p.Close()
				resp := p.ReadData(t.Context(), provider.ReadDataRequest{Type: "s_d",
					Config: cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String)})})
				if name == "s=x" {
					if got := texts(resp.Diagnostics); !strings.Contains(got, "Use 127.0.0.1") {
						t.Errorf("a debugger that all machines can reach was started: %s", got)
					}
					return
				}
				if resp.Diagnostics.HasErrors() || resp.State.GetAttr("id").AsString() != "x" {
					t.Fatal(texts(resp.Diagnostics))
				}
				mu.Lock()
				defer mu.Unlock()
				said := strings.Join(lines, "\n")
				for _, want := range []string{"Started under a debugger", "debugger.sh", "waiting for a client"} {
					if strings.Contains(said, want) != (name == "s") {
						t.Errorf("%q is not in the output, or without a reason:\n%s", want, said)
					}
				}
			})
		}
	}
}
