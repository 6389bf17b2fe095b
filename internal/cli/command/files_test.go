package command

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManyFilesAreReplacedAndFailuresToldInOrder(t *testing.T) {
	dir := t.TempDir()
	var r Replacements
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
