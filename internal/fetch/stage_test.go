package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
)

// giving has one package, which make writes into a folder.
type giving struct{ make func(dir string) error }

func (g giving) Versions(context.Context, catalog.Module) ([]string, error) {
	return nil, fs.ErrNotExist
}

func (g giving) Locate(context.Context, catalog.Module, string) (catalog.Package, error) {
	return catalog.Package{}, fs.ErrNotExist
}

func (g giving) Fetch(_ context.Context, _ catalog.Package, dir string) error { return g.make(dir) }

// A package may be within its limits but called so often that its copies are not.
func TestTotalSizeOfModulesIsLimited(t *testing.T) {
	usual := most
	t.Cleanup(func() { most = usual })
	folders := func(dir string) error {
		for i := range 20 {
			if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint(i)), 0o755); err != nil {
				return err
			}
		}
		return nil
	}
	own := t.TempDir() // the user's own files, which are copied
	if err := os.WriteFile(filepath.Join(own, "main.tf"), []byte(strings.Repeat("#", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(own, own+".link"), os.Link(filepath.Join(own, "main.tf"),
		own+".hard")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	for what, c := range map[string]struct {
		most  size
		make  func(dir string) error
		calls int
		fits  bool
	}{
		"folders":            {size{100, 1 << 20}, folders, 10, false},
		"folders that fit":   {size{100, 1 << 20}, folders, 4, true},
		"files of a link":    {size{1000, 3500}, func(dir string) error { return os.Symlink(own, dir) }, 10, false},
		"files that all fit": {size{1000, 3500}, func(dir string) error { return os.Symlink(own, dir) }, 4, true},
		"files that are ours": {size{1000, 3500}, func(dir string) error { return os.CopyFS(dir, os.DirFS(own)) }, 10,
			true},
	} {
		t.Run(what, func(t *testing.T) {
			most = c.most
			var text strings.Builder
			for i := range c.calls {
				fmt.Fprintf(&text, "module \"m%d\" {\n  source = \"https://example.com/p.zip\"\n}\n", i)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			_, diags := InstallModules(t.Context(), dir, config.DefaultDataDir, Options{Packages: giving{c.make}})
			switch {
			case c.fits && diags.HasErrors():
				t.Error(diags.Err())
			case !c.fits && (!diags.HasErrors() || !strings.Contains(diags.Err().Error(),
				"all modules together have more than")):
				t.Errorf("got %v", diags.Err())
			}
			if _, err := os.Stat(filepath.Join(dir, config.DefaultDataDir)); !c.fits &&
				!errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something is left: %v", err)
			}
		})
	}
}

// A process that has opened a module which is being replaced can continue to read all of it: the folder is moved away,
// not emptied.
func TestReadersOfAReplacedModuleKeepTheOldOne(t *testing.T) {
	dir := t.TempDir()
	files := []string{"a.tf", "b.tf", "sub/c.tf"}
	fill := func(name, content string) {
		for _, f := range files {
			path := filepath.Join(dir, name, f)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content),
				0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill("m", "old")
	fill("new", "new")
	reader, err := os.OpenRoot(filepath.Join(dir, "m"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := replaceFolder(filepath.Join(dir, "new"), filepath.Join(dir, "m"),
		filepath.Join(dir, "former")); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := reader.ReadFile(f); err != nil || string(text) != "old" {
			t.Errorf("whoever read the former one finds %q, %v in %s", text, err, f)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "m", f)); err != nil || string(text) != "new" {
			t.Errorf("in its place there is %q, %v in %s", text, err, f)
		}
	}
}

// The manifest of modules comes with a project. Its keys may be as long, and as deeply nested, as its size allows: the
// work must be linear in their length. (With quadratic work, this test would take hours.)
func TestLongManifestKeysTakeLinearWork(t *testing.T) {
	long := "m" + strings.Repeat(".m", 3<<20)
	old := &config.Manifest{Modules: []config.ManifestModule{{Key: "m"}, {Key: long}, {Key: long + ".x"}}}
	for depth := 1; depth < 2000; depth++ {
		old.Modules = append(old.Modules, config.ManifestModule{Key: "m" + strings.Repeat(".m", depth)})
	}
	src, err := old.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if old, err = config.ParseManifest(src); err != nil {
		t.Fatal(err)
	}
	s := &stage{}
	s.keep("m", nil)
	if left := s.without(old).Modules; len(left) != 0 {
		t.Errorf("%d modules are left of one that is replaced", len(left))
	}
	w := newWalk(nil, old, Options{})
	w.drop("m")
	w.drop(strings.TrimSuffix(long, ".m"))
	if _, ok := w.manifest["m"]; !ok || len(w.manifest) != 1 {
		t.Errorf("%d modules are still recorded, want the one above all", len(w.manifest))
	}
}

// A manifest with a password is only readable by its owner, even if others could read the previous one.
func TestManifestsWithPasswordsAreOnlyReadableByTheOwner(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("runs on systems whose files have permissions for others")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data", "modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newStage(dir, "data/modules")
	if err := s.check(dir); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"git::https://git.example/a.git", "git::https://git.example/a.git?access_token=x",
		"git::https://alice:hunter2@git.example/a.git", "https://alice:hunter2@web.example/a.zip"} {
		err := s.write(&config.Manifest{Modules: []config.ManifestModule{{Key: "m", Source: source}}})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, "data", "modules", "modules.json"))
		if err != nil {
			t.Fatal(err)
		}
		if others := info.Mode().Perm()&0o077 != 0; others != !strings.ContainsAny(source, "@?") {
			t.Errorf("%s: others may read it: %v (%s)", source, others, info.Mode())
		}
	}
}
