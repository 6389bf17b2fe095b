package backend_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// The hashes are those that Terraform 1.11.4 and OpenTofu 1.12.6 have recorded of the same blocks: each of the programs
// takes the record of another for its own.
func TestHashes(t *testing.T) {
	for text, want := range map[string]uint64{
		`backend "pg" {}`: 1949691007,
		"backend \"pg\" {\n schema_name = \"cli\"\n }":                         114055556,
		"backend \"pg\" {\n schema_name = \"tt\"\n table_name = \"mytab\"\n }": 2717447397,
		"backend \"local\" {\n path = \"a/terraform.tfstate\"\n }":             2202299524,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("terraform {\n"+text+"\n}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, diags := config.LoadModule(t.Context(), config.Options{}, dir, addr.RootModule)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		b, diags := backend.Of(m)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if b.Hash != want {
			t.Errorf("%s: hash %d, want %d", text, b.Hash, want)
		}
	}
}
