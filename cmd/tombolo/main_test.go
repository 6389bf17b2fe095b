package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asProgram is the environment variable that makes the test binary run as the program.
const asProgram = "TOMBOLO_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// started runs the program in a separate process and returns its output.
func started(t *testing.T, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "version")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), asProgram+"=1", "GODEBUG=gctrace=1", "TF_CLI_CONFIG_FILE="+os.DevNull)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Tombolo v") {
		t.Fatalf("it ended with %v: %s", err, out)
	}
	return string(out)
}

// This fails if package startup is initialized late, or if libraries allocate much more memory during initialization.
func TestTheStartCollectsNoGarbage(t *testing.T) {
	if text := started(t, "GOGC="); strings.Contains(text, "gc 1 @") {
		t.Errorf("it has collected garbage: %s", text)
	}
	if text := started(t, "GOGC=25"); !strings.Contains(text, "gc 1 @") {
		t.Errorf("GOGC is not heeded, or nothing is collected any more by itself: %s", text)
	}
}
