package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A journal may come with a project, and have any size without taking room on the disk.
func TestAHugeJournalIsRefused(t *testing.T) {
	dir := t.TempDir()
	seedOn(t, openDefault(t, dir), put("t.a", "0"))
	name := filepath.Join(dir, "terraform.tfstate.journal")
	must(t, os.WriteFile(name, nil, 0o600))
	if err := os.Truncate(name, 100<<30); err != nil {
		t.Skipf("needs files with holes: %s", err)
	}
	if _, err := openDefault(t, dir).Read(ctx); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("got %v", err)
	}
}
