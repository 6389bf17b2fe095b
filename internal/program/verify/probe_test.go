//go:build unix

package verify_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/verify"
)

// TestProgramsThatASignalDoesNotEndAreFound tries different ways in which programs wait for their input.
func TestProgramsThatASignalDoesNotEndAreFound(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash for the programs")
	}
	const hello = `read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocol":1}}'; `
	for name, c := range map[string]struct {
		mode, script string
		stays        bool
	}{
		"one-shot":                  {"one-shot", "cat >/dev/null", false},
		"one-shot, ends by itself":  {"one-shot", "exit 3", false},
		"one-shot, does not listen": {"one-shot", "trap '' TERM; while :; do sleep 0.1; done", true},
		"session":                   {"session", hello + "cat >/dev/null", false},
		"session, ends in a handler": {"session", "trap 'exit 0' TERM; " + hello + "while :; do sleep 0.1; done",
			false},
		"session, does not listen":    {"session", "trap '' TERM; " + hello + "while :; do sleep 0.1; done", true},
		"session, begins with an end": {"session", "exit 1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{
				"provider.sh": c.script, "tombolo-test.json": "{}",
				"tombolo-provider.json": fmt.Sprintf(`{"protocol": 1, "name": "p", "mode": %q, "command": ["bash", `+
					`"./provider.sh"], "schema": {"functions": {"f": {"return_type": "string"}}}}`, c.mode),
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tried, diags := verify.Load(t.Context(), dir, "")
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			patience := time.Minute
			if c.stays {
				patience = 300 * time.Millisecond
			}
			problem, err := tried.Ends(t.Context(), patience)
			for range 9 { // a program has one second to start, which may be too short on a busy machine
				if c.stays && problem == "" && err == nil {
					problem, err = tried.Ends(t.Context(), patience)
				}
			}
			if err != nil || strings.Contains(problem, "SIGTERM") != c.stays {
				t.Errorf("got %q, %v", problem, err)
			}
		})
	}
}
