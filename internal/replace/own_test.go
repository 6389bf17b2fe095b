package replace_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/replace"
)

func text(content string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, content); return err }
}

// planted creates a project and a folder beside it, and in the project a link to that folder.
func planted(t *testing.T, name, to string) (project, elsewhere string) {
	t.Helper()
	top := t.TempDir()
	project, elsewhere = filepath.Join(top, "project"), filepath.Join(top, "elsewhere")
	link := filepath.Join(project, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Mkdir(elsewhere, 0o755),
		os.WriteFile(filepath.Join(elsewhere, "file"), []byte("mine"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, to), link); err != nil {
		t.Skipf("needs symbolic links: %s", err)
	}
	return project, elsewhere
}

func TestALinkInPlaceOfAFileIsReplaced(t *testing.T) {
	for _, to := range []string{"file", "none"} {
		project, elsewhere := planted(t, "data/record", to)
		name := filepath.Join(project, "data", "record")
		if err := replace.OwnExact(project, name, 0o644, text("ours")); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != "ours" {
			t.Errorf("%q %v", got, err)
		}
		mine, err := os.ReadFile(filepath.Join(elsewhere, "file"))
		info, statErr := os.Stat(filepath.Join(elsewhere, "file"))
		if err != nil || statErr != nil || string(mine) != "mine" || info.Mode().Perm() != 0o600 {
			t.Errorf("the file behind the link is %q (%v %v)", mine, err, info.Mode())
		}
		if entries, _ := os.ReadDir(elsewhere); len(entries) != 1 {
			t.Errorf("there are %v", entries)
		}
	}
}

func TestLinksInPathsMustNotLeadOut(t *testing.T) {
	for _, to := range []string{"", "none"} {
		project, elsewhere := planted(t, "data", to)
		err := replace.Own(project, filepath.Join(project, "data", "deep", "record"), 0o666, text("ours"))
		if err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("got %v", err)
		}
		if entries, _ := os.ReadDir(elsewhere); len(entries) != 1 {
			t.Errorf("there are %v", entries)
		}
	}
}

func TestALinkWithinTheProjectIsFollowed(t *testing.T) {
	project := t.TempDir()
	if err := os.Mkdir(filepath.Join(project, "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", filepath.Join(project, "data")); err != nil {
		t.Skipf("needs symbolic links: %s", err)
	}
	if err := replace.Own(project, filepath.Join(project, "data", "deep", "record"), 0o666, text("ours")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(project, "other", "deep", "record")); err != nil {
		t.Error(err)
	}
}

// Links in place of an output are removed if they lead out of the folder to a file or to nothing, and only then.
func TestLinksOfOutputsAreDetached(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"project/sub", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"project/file", "home/file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	project := filepath.Join(dir, "project")
	for name, c := range map[string]struct {
		at, to string
		goes   bool
	}{
		"a file outside":            {"project/out", "../home/file", true},
		"nothing outside":           {"project/out", "../home/none", true},
		"nothing in a missing one":  {"project/out", "../none/none", true},
		"itself":                    {"project/out", "out", true},
		"from a folder below":       {"project/sub/out", "../../home/file", true},
		"a file within":             {"project/out", "file", false},
		"a device":                  {"project/out", os.DevNull, false},
		"a folder outside":          {"project/out", "../home", false},
		"outside of the project":    {"home/out", "file", false},
		"outside, and leads within": {"home/out", "../project/file", false},
	} {
		at := filepath.Join(dir, c.at)
		if err := os.Symlink(c.to, at); err != nil {
			t.Skipf("needs symbolic links: %v", err)
		}
		if err := replace.Detach(project, at); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(at); (err != nil) != c.goes {
			t.Errorf("%s: the link goes: %t", name, err != nil)
		}
		_ = os.Remove(at)
	}
	for _, name := range []string{"none", "file", "sub"} {
		if err := replace.Detach(project, filepath.Join(project, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
