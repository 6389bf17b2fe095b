package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asProgram is the variable with which this test is the program itself.
const asProgram = "TOMBOLO_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// started runs the program as a process of its own, and returns what it prints.
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

// Were the package startup initialized late, or the tables of libraries three times as large, this would fail.
func TestTheStartCollectsNoGarbage(t *testing.T) {
	if said := started(t, "GOGC="); strings.Contains(said, "gc 1 @") {
		t.Errorf("it has collected garbage: %s", said)
	}
	if said := started(t, "GOGC=100"); !strings.Contains(said, "gc 1 @") {
		t.Errorf("GOGC is not heeded, or nothing is collected any more by itself: %s", said)
	}
}
