package plugins_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// installedIn returns the real path of the program of hashicorp/null 3.1.0.
func (w *world) installedIn() string {
	w.t.Helper()
	path, err := filepath.EvalSymlinks(w.opts.Folder.Path(parse(w.t, "hashicorp/null"),
		versions.MustParseVersion("3.1.0")))
	if err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) lastStep() string { return strings.Fields(w.steps[len(w.steps)-1])[0] }

func TestTheCacheServesOnlyLockedPackages(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.wants("hashicorp/null", "")
	cache := filepath.Join(t.TempDir(), "not", "there yet")
	w.opts.Cache = packages.Folder{Dir: cache}
	w.mustInstall()
	if got := w.lastStep(); got != "5" {
		t.Errorf("first: step %s", got)
	}
	if _, err := os.Stat(w.opts.Cache.Path(parse(t, "hashicorp/null"),
		versions.MustParseVersion("3.1.0"))); err != nil {
		t.Error(err)
	}

	os.RemoveAll(w.opts.Folder.Dir)
	w.mustInstall()
	if got := w.lastStep(); got != "6" {
		t.Errorf("locked: step %s", got)
	}
	locked := w.opts.Locked
	os.RemoveAll(w.opts.Folder.Dir)
	w.opts.Locked = lockfile.File{}
	w.mustInstall()
	if got := w.lastStep(); got != "5" {
		t.Errorf("not locked: step %s", got)
	}
	os.RemoveAll(w.opts.Folder.Dir)
	w.opts.Locked, w.opts.CacheUnlocked = lockfile.File{}, true
	w.mustInstall()
	if got := w.lastStep(); got != "6" || !w.opts.Locked.Equal(locked) {
		t.Errorf("not locked, but allowed: step %s, %s", got, w.opts.Locked.Bytes())
	}
	programs, diags := w.ready()
	if diags.HasErrors() || len(programs) != 1 {
		t.Errorf("%v, %v", programs, diags.Err())
	}
}

func TestAChangedPackageInTheCacheIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.wants("hashicorp/null", "")
	w.mustInstall()
	cache := t.TempDir()
	w.opts.Cache = packages.Folder{Dir: cache}
	w.put(cache, "hashicorp/null", "3.1.0", packages.Current().String())
	dir := w.opts.Cache.Path(parse(t, "hashicorp/null"), versions.MustParseVersion("3.1.0"))
	if err := os.WriteFile(filepath.Join(dir, "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(w.opts.Folder.Dir)
	w.mustInstall()
	if got := w.lastStep(); got != "5" {
		t.Errorf("step %s", got)
	}
	if _, err := os.Stat(filepath.Join(w.installedIn(), "more")); err == nil {
		t.Error("the changed package was taken")
	}

	// The permission to use unlocked packages does not allow a package that differs from the locked one.
	os.RemoveAll(w.opts.Folder.Dir)
	if err := os.WriteFile(filepath.Join(w.installed(cache), "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.opts.CacheUnlocked = true
	_, diags := w.install()
	wantError(t, diags, "Failed to install provider from shared cache", "has none of the checksums")
}

func (w *world) installed(folder string) string {
	return packages.Folder{Dir: folder}.Path(parse(w.t, "hashicorp/null"), versions.MustParseVersion("3.1.0"))
}

func TestInstalledProvidersNeedNoSource(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.wants("hashicorp/null", "")
	w.opts.Cache = packages.Folder{Dir: t.TempDir()}
	w.opts.Folder = packages.Folder{Dir: filepath.Join(t.TempDir(), "providers")}
	w.mustInstall()
	copied := filepath.Join(t.TempDir(), "cache")
	if err := os.CopyFS(copied, os.DirFS(w.mirror)); err != nil {
		t.Fatal(err)
	}
	w.opts.Cache.Dir = copied
	os.RemoveAll(w.mirror)
	os.RemoveAll(w.opts.Folder.Dir)
	w.mustInstall()
	if got := w.lastStep(); got != "6" {
		t.Errorf("step %s", got)
	}
}
