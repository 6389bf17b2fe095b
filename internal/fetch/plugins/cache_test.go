package plugins_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
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

// TestProjectsSideBySideShareAFetchedPackage installs the same provider for several projects at once, through one
// cache. All get the same package, later ones from the cache, unless somebody has changed it there.
func TestProjectsSideBySideShareAFetchedPackage(t *testing.T) {
	w := newWorld(t)
	w.wants("hashicorp/null", "")
	pack := func(content string) {
		t.Helper()
		p := parse(t, "hashicorp/null")
		dir := filepath.Join(w.mirror, p.Host, p.Namespace, p.Type)
		var archive bytes.Buffer
		z := zip.NewWriter(&archive)
		f, err := z.Create("terraform-provider-null_v3.1.0")
		if err == nil {
			_, err = f.Write([]byte(content))
		}
		name := filepath.Join(dir, "terraform-provider-null_3.1.0_"+packages.Current().String()+".zip")
		err = errors.Join(err, z.Close(), os.MkdirAll(dir, 0o755), os.WriteFile(name, archive.Bytes(), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	pack("a build")
	cache := packages.Folder{Dir: t.TempDir()}
	install := func() string {
		o := w.opts
		o.Cache, o.Folder, o.Progress = cache, packages.Folder{Dir: t.TempDir()}, nil
		result, diags := plugins.Install(t.Context(), o)
		if diags.HasErrors() {
			t.Error(diags.Err())
		}
		return string(result.Lock.Bytes())
	}
	locks := make([]string, 8)
	var group sync.WaitGroup
	for i := range locks {
		group.Go(func() { locks[i] = install() })
	}
	group.Wait()
	for _, lock := range locks {
		if lock != locks[0] || !strings.Contains(lock, "h1:") {
			t.Errorf("the lock files differ:\n%s\n%s", locks[0], lock)
		}
	}
	pack("another build")
	if got := install(); got != locks[0] {
		t.Errorf("the package was fetched again:\n%s", got)
	}
	found, err := filepath.Glob(filepath.Join(cache.Dir, "*", "*", "null", "*", "*", "terraform-provider-null*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if err := os.WriteFile(found[0], []byte("tampered"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := install(); got == locks[0] || !strings.Contains(got, "h1:") {
		t.Errorf("a package that was changed in the cache was used:\n%s", got)
	}
}
