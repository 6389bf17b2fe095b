package encryption_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// document returns a document that a program for keys must decrypt.
func document(meta string) []byte {
	return fmt.Appendf(nil, `{"meta": {"key_provider.external.x": %q}, "encrypted_data": "aGVsbG8=", `+
		`"encryption_version": "v0"}`, meta)
}

// TestFailingProgramsRunOnce counts how often programs of key providers and methods run.
func TestFailingProgramsRunOnce(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh on PATH")
	}
	const (
		keys   = "key_provider \"external\" \"x\" {\ncommand = [\"sh\", \"run.sh\"]\n}\n"
		state  = "state {\nmethod = method.%s.x\n}\n"
		method = "method \"external\" \"x\" {\nencrypt_command = [\"sh\", \"run.sh\"]\n" +
			"decrypt_command = [\"sh\", \"run.sh\"]\n}\n"
	)
	for name, settings := range map[string]string{
		"keys": keys + "method \"aes_gcm\" \"x\" {\nkeys = key_provider.external.x\n}\n" +
			fmt.Sprintf(state, "aes_gcm"),
		"method": method + fmt.Sprintf(state, "external"),
	} {
		for answer, script := range map[string]string{"fails": "exit 1", "says nothing": "exit 0",
			"says other things": "echo '{\"magic\":\"x\",\"version\":1}'"} {
			t.Run(name+" "+answer, func(t *testing.T) {
				dir := t.TempDir()
				script = "cat >/dev/null\necho ran >>ran\n" + script + "\n"
				if err := os.WriteFile(filepath.Join(dir, "run.sh"), []byte(script), 0o600); err != nil {
					t.Fatal(err)
				}
				c := start(t, settings, dir).State()
				ran := func() int {
					text, _ := os.ReadFile(filepath.Join(dir, "ran"))
					return strings.Count(string(text), "ran")
				}
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				if _, _, err := c.Open(ended, document("e30=")); !errors.Is(err, context.Canceled) {
					t.Errorf("an interrupted read: %v", err)
				}
				before := ran() // an interrupt is not a failure of the program
				var wait sync.WaitGroup
				for range 8 {
					wait.Go(func() {
						if _, _, err := c.Open(t.Context(), document("e30=")); err == nil {
							t.Error("it opens")
						}
					})
				}
				wait.Wait()
				if n := ran() - before; n != 1 {
					t.Errorf("the program ran %d times for one document", n)
				}
				other := document("eyJleHRlcm5hbF9kYXRhIjp7ImEiOjF9fQ==") // another key
				if name == "method" {
					other = []byte(strings.Replace(string(other), "aGVsbG8=", "aGVsbG9v", 1))
				}
				if _, _, err := c.Open(t.Context(), other); err == nil {
					t.Error("it opens")
				}
				if n := ran() - before; n != 2 {
					t.Errorf("the program ran %d times for two documents", n)
				}
			})
		}
	}
}
