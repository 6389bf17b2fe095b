package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/fetch/download"
	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// copyPrefix begins the names of folders for modules that will be copied.
const copyPrefix = "tombolo-module-"

// CopyModule copies a module into an empty directory, without hidden files, as the start of a new configuration. The
// source is a local path or, if packages is set, any source that a call may have.
func CopyModule(ctx context.Context, source, dir string, packages Packages) (diags diag.List) {
	there, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return diag.FromError("Failed to read the directory", err)
	case len(there) > 0:
		return diags.Errorf(nil, "Can't populate non-empty directory", "The directory is not empty: it has %s. A "+
			"module can only be copied into an empty directory, so that nothing is overwritten.", there[0].Name())
	}
	if isLocal(source) {
		return copyTree(ctx, source, dir)
	}
	kind, normal, err := config.ParseSource(source, false)
	if err != nil {
		return diags.Errorf(nil, "Invalid module source address", "The module cannot be copied: %s.", err)
	}
	if packages == nil {
		return diags.Errorf(nil, "Module source not supported",
			"The module %q must be downloaded, which this command does not do.", source)
	}
	replace.Sweep(os.TempDir(), copyPrefix)
	temp, err := replace.Unfinished(os.TempDir(), copyPrefix)
	if err != nil {
		return diag.FromError("Failed to download module", err)
	}
	defer func() {
		if err := temp.Remove(); err != nil {
			diags = diags.AppendError("Failed to remove the downloaded files", err)
		}
	}()
	from, err := fetchModule(ctx, kind, normal, filepath.Join(temp.Dir, "package"), packages)
	if err != nil {
		return diags.Errorf(nil, "Failed to download module", "The module %s could not be fetched: %s.",
			download.Shown(source), strings.TrimSuffix(err.Error(), "."))
	}
	return copyTree(ctx, from, dir)
}

// fetchModule fetches the package of a source, and returns the folder of the module in it.
func fetchModule(ctx context.Context, kind config.SourceKind, source, to string, packages Packages) (string, error) {
	pkg, sub := splitPackage(catalog.Package{Source: source})
	if kind == config.SourceRegistry {
		m, err := catalog.Parse(pkg.Source)
		if err != nil {
			return "", err
		}
		offered, err := packages.Versions(ctx, m)
		if err != nil {
			return "", err
		}
		newest, _ := choose(offered, nil)
		if newest == "" {
			return "", fmt.Errorf("the registry %s has no usable version of it", m.Host)
		}
		located, err := packages.Locate(ctx, m, newest)
		if err != nil {
			return "", err
		}
		inner := ""
		pkg, inner = splitPackage(located)
		sub = path.Join(inner, sub)
	}
	if err := packages.Fetch(ctx, pkg, to); err != nil || sub == "" {
		return to, err
	}
	sub, err := download.Subdir(to, sub)
	return filepath.Join(to, filepath.FromSlash(sub)), err
}

// copyTree copies a folder. If it fails or the context ends, it removes the copy.
func copyTree(ctx context.Context, source, dir string) (diags diag.List) {
	info, err := os.Stat(source)
	if err != nil || !info.IsDir() {
		return diags.Errorf(nil, "Failed to download module", "There is no directory %s.", source)
	}
	if source, err = filepath.EvalSymlinks(source); err != nil {
		return diag.FromError("Failed to copy the module", err)
	}
	var made []string // entries of the folder itself
	err = filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(source, path)
		if err := errors.Join(err, relErr, context.Cause(ctx)); err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		keep := func(err error) error {
			if filepath.Dir(rel) == "." && !errors.Is(err, fs.ErrExist) {
				made = append(made, to)
			}
			return err
		}
		switch {
		case rel == ".":
			return nil
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case sameDir(path, dir):
			return filepath.SkipDir // do not copy the module's own copy
		case d.IsDir():
			return keep(os.Mkdir(to, 0o777))
		default:
			return keep(copyFile(ctx, path, to))
		}
	})
	if err != nil {
		for _, path := range made {
			_ = os.RemoveAll(path)
		}
		return diag.FromError("Failed to copy the module", err)
	}
	return nil
}

func isLocal(source string) bool {
	s := filepath.ToSlash(source)
	return s == "." || s == ".." || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || filepath.IsAbs(source)
}

func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// copyFile copies a file. For a link, it copies the content of the target.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := regular.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
	}()
	_, err = io.Copy(out, unpack.Reader(ctx, in))
	return err
}
