package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// A program that only reads ends on the first interrupt: the plan does not wait for it.
func TestInterruptedPlanDoesNotWaitForReads(t *testing.T) {
	dir := t.TempDir()
	source := `
data "external" "slow" {
  program = ["sh", "-c", "touch '${path.module}/started'; sleep 60; echo '{}'"]
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	project, diags := engine.Load(t.Context(), engine.Options{Dir: dir})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(t.Context(), engine.OpenOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer run.Close(t.Context())

	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		defer interrupt()
		for range 1000 {
			if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	start := time.Now()
	if _, diags = run.Plan(ctx, engine.PlanOptions{}); !diags.HasErrors() {
		t.Error("an interrupted plan passed for a whole one")
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the plan waited %s for a program that only reads", took)
	}
}
