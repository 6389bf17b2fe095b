package replace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManyFilesAreReplacedAndFailuresToldInOrder(t *testing.T) {
	dir := t.TempDir()
	var r Files
	var want []string
	for i := range 40 {
		name := filepath.Join(dir, fmt.Sprintf("%02d.tf", i))
		if i%10 == 3 {
			name = filepath.Join(dir, "none", fmt.Sprintf("%02d.tf", i))
			want = append(want, name)
		}
		r.Add(name, 0o640, []byte(name))
	}
	var failed []string
	r.Wait(func(name string, err error) { failed = append(failed, name) })
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 36 {
		t.Fatalf("%d files, %v; want 36", len(names), err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil || string(content) != name {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}

	r.Add(names[0], 0o640, []byte("again"))
	r.Wait(func(name string, err error) { t.Errorf("%s: %v", name, err) })
	if content, err := os.ReadFile(names[0]); err != nil || string(content) != "again" {
		t.Errorf("after a second use: %q, %v", content, err)
	}
}

func TestExistingFilesKeepTheirPermissionsExceptWithExact(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs permissions of files: it runs everywhere but on Windows")
	}
	name := filepath.Join(t.TempDir(), "a")
	text := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	for _, step := range []struct {
		had, want fs.FileMode
		replace   func(string, fs.FileMode, func(io.Writer) error) error
	}{
		{0o600, 0o600, File},
		{0o664, 0o664, File},
		{0o600, 0o640, Exact},
		{0o666, 0o640, Exact},
	} {
		if err := os.WriteFile(name, nil, step.had); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, step.had); err != nil {
			t.Fatal(err)
		}
		if err := step.replace(name, 0o640, text); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != step.want {
			t.Errorf("from %o to %o, want %o", step.had, info.Mode().Perm(), step.want)
		}
	}
}

func TestAReplacementThatFailsLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	failure := errors.New("no more text")
	for _, name := range []string{filepath.Join(dir, "new"), filepath.Join(dir, "none", "new")} {
		if err := File(name, 0o666, func(io.Writer) error { return failure }); err == nil ||
			!strings.HasPrefix(err.Error(), "write "+name+": ") {
			t.Errorf("got error %v", err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("found %v, %v", entries, err)
	}
}
