package tombolo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo"
)

// A folder that cannot be written says what has to be possible there, not only which call failed.
func TestReadOnlyFolderSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(`resource "terraform_data" "a" {}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if f, err := os.Create(filepath.Join(dir, "probe")); err == nil {
		f.Close()
		t.Skip("this user may write everywhere")
	}
	project, diags := tombolo.Load(t.Context(), tombolo.Options{Dir: dir})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	if _, diags = project.Open(t.Context(), tombolo.OpenOptions{}); !diags.HasErrors() || !strings.Contains(diags[0].Detail, "-lock=false") {
		t.Errorf("a folder without the right to write gave %v", diags)
	}
}
