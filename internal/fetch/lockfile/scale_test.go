package lockfile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
)

// A lock file comes with a project: twice the length, of whatever kind, takes twice the work.
func TestReadingALockFileTakesLinearWork(t *testing.T) {
	for what, text := range map[string]func(n int) string{
		"providers": func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "provider \"registry.terraform.io/x/p%d\" {\n  version = \"1.0.0\"\n}\n", i)
			}
			return b.String()
		},
		"hashes": func(n int) string {
			var b strings.Builder
			b.WriteString("provider \"registry.terraform.io/x/p\" {\n  version = \"1.0.0\"\n  hashes = [\n")
			for i := range n {
				fmt.Fprintf(&b, "    \"zh:%d\",\n", n-i)
			}
			b.WriteString("  ]\n}\n")
			return b.String()
		},
		"constraints": func(n int) string {
			list := strings.TrimSuffix(strings.Repeat(">= 1.0.0, ", n), ", ")
			return "provider \"registry.terraform.io/x/p\" {\n  version = \"1.0.0\"\n  constraints = \"" + list +
				"\"\n}\n"
		},
		"problems": func(n int) string { return strings.Repeat("provider \"null\" {}\n", n) },
	} {
		work := func(n int) float64 {
			src := []byte(text(n))
			return testing.AllocsPerRun(1, func() { lockfile.Parse("lock", src) })
		}
		if few, many := work(200), work(800); many > 6*few {
			t.Errorf("%s: four times as many take %.0f allocations, and they took %.0f", what, many, few)
		}
	}
}

// A lock file beyond the size limit is not read, and the error contains the limit.
func TestLockFilesHaveASizeLimit(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, lockfile.Name), bytes.Repeat([]byte("# long\n"), 15<<20/7),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, diags := lockfile.Load(dir)
	if err := diags.Err(); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("15 MB: %v", err)
	}
}
