package regular_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// TestSharedFilesCanBeRenamedAndReplacedWhileTheyAreOpen opens files with all flags, as the store does.
func TestSharedFilesCanBeRenamedAndReplacedWhileTheyAreOpen(t *testing.T) {
	dir := t.TempDir()
	old, name := filepath.Join(dir, "old"), filepath.Join(dir, "name")
	f, err := regular.Shared(old, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("content"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, name); err != nil {
		t.Fatal(err)
	}
	if _, err := regular.Shared(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !os.IsExist(err) {
		t.Errorf("a file that exists is created again: %v", err)
	}
	if _, err := regular.Shared(old, os.O_RDWR, 0); !os.IsNotExist(err) {
		t.Errorf("the former name has a file: %v", err)
	}
	end, err := regular.Shared(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := end.WriteString("!"); err != nil {
		t.Error(err)
	}
	end.Close()
	if got, err := regular.Read(name, regular.Note); err != nil || string(got) != "content!" {
		t.Errorf("the content is %q, %v", got, err)
	}
	for _, flag := range []int{os.O_TRUNC, os.O_TRUNC | os.O_CREATE} {
		empty, err := regular.Shared(name, os.O_WRONLY|flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		empty.Close()
	}
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("the open file is %+v, %v", info, err)
	}
	if err := os.Remove(name); err != nil {
		t.Error(err)
	}
}
