package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// Folder is where providers are installed, usually .terraform/providers.
type Folder struct {
	Dir string
	// Base is a folder that links in Folder may not leave, since they may have come with the project; "" for a folder
	// that is the user's own.
	Base string
}

// in returns the real path of the folder around a package.
func (f Folder) in(p Package) (string, error) {
	dir := filepath.Dir(f.Path(p.Provider, p.Version))
	if f.Base == "" {
		return dir, nil
	}
	return replace.Within(f.Base, dir)
}

// Path returns where a package of the present platform belongs.
func (f Folder) Path(p addr.Provider, v versions.Version) string {
	return filepath.Join(f.Dir, hostFolder(p.Host), p.Namespace, p.Type, v.String(), Current().String())
}

// Installed reports whether a package is there, and returns its program and hash.
func (f Folder) Installed(ctx context.Context, p addr.Provider, v versions.Version) (program string, h lockfile.Hash,
	err error) {
	dir := f.Path(p, v)
	if program, err = Program(dir, p.Type); err != nil {
		return "", "", err
	}
	h, err = HashDir(ctx, dir)
	return program, h, err
}

// Install makes a package available: a directory is linked to, an archive unpacked. accept is called with the hash of
// the package; its error refuses the package. The result is that hash. After an error, the former package is restored.
//
// Of several processes that install the same package at the same time the first one wins: a package with the same hash
// stays, because others may be running it.
func (f Folder) Install(ctx context.Context, p Package, accept func(lockfile.Hash) error) (lockfile.Hash, error) {
	dir, err := f.in(p)
	if err != nil {
		return "", err
	}
	h, err := f.install(ctx, p, dir, accept)
	if err != nil {
		f.prune(filepath.Dir(f.Path(p.Provider, p.Version)))
	}
	return h, err
}

const stagedPrefix = ".install-"

// stage creates a temporary folder, beside the place of the result.
func stage(dir string) (staged *replace.Work, err error) {
	replace.Sweep(dir, stagedPrefix)
	for range swapAttempts {
		if err = os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		// Another process, which has failed, may remove the folder again before anything is in it.
		if staged, err = replace.Unfinished(dir, stagedPrefix); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return staged, err
}

// prune removes empty folders, from one upwards. A link to a folder is foreign, and stays.
func (f Folder) prune(dir string) {
	for ; dir != f.Dir && len(dir) > len(f.Dir); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || os.Remove(dir) != nil {
			return // something is in it
		}
	}
}

func (f Folder) install(ctx context.Context, p Package, dir string, accept func(lockfile.Hash) error) (lockfile.Hash,
	error) {
	if p.Platform != Current() {
		return "", fmt.Errorf("the package %s is for %s, not for %s", p.Path, p.Platform, Current())
	}
	target := filepath.Join(dir, filepath.Base(f.Path(p.Provider, p.Version)))
	staged, err := stage(dir)
	if err != nil {
		return "", err
	}
	defer staged.Remove()
	fresh := filepath.Join(staged.Dir, "package")
	if err := p.place(ctx, fresh); err != nil {
		return "", err
	}
	if err := p.startable(fresh); err != nil {
		return "", err
	}
	h, err := HashDir(ctx, fresh)
	if err == nil {
		err = accept(h)
	}
	if err == nil {
		err = context.Cause(ctx) // a cancelled call installs nothing any more
	}
	if err != nil {
		return "", err
	}
	if p.Packed {
		// A rename onto a directory that is not empty fails, so no process sees a partial package, or two.
		if err := os.Rename(fresh, target); err == nil {
			return h, nil
		}
		if present, err := HashDir(ctx, target); err == nil && present == h {
			return h, nil
		}
	}
	return h, swap(fresh, target, filepath.Join(staged.Dir, "former"))
}

// startable checks that there is a program in an installed copy of a package.
func (p Package) startable(dir string) error {
	_, err := Program(dir, p.Provider.Type)
	if errors.Is(err, ErrNoProgram) {
		err = noProgram(cmp.Or(p.From, p.Path), p.Provider.Type) // the copy goes away again
	}
	return err
}

// place makes the content of a package be at a path that is not there yet.
func (p Package) place(ctx context.Context, path string) error {
	if p.Packed {
		return unpack.Zip(ctx, p.Path, cmp.Or(p.From, p.Path), path, limits)
	}
	source, err := filepath.Abs(p.Path)
	if err != nil {
		return err
	}
	if err := os.Symlink(source, path); err == nil {
		return nil
	}
	return os.CopyFS(path, os.DirFS(source)) // a file system without links
}

// swapAttempts limits the attempts at a place that another process fills at the same time.
const swapAttempts = 10

// swap moves fresh to target, and the former target to former. Of several processes that do the same at the same time,
// the last one wins.
func swap(fresh, target, former string) (err error) {
	for i := range swapAttempts {
		away := fmt.Sprintf("%s%d", former, i)
		moved := os.Rename(target, away)
		if moved != nil && !errors.Is(moved, fs.ErrNotExist) {
			return moved
		}
		if err = os.Rename(fresh, target); err == nil {
			return nil
		}
		if moved == nil {
			_ = os.Rename(away, target) // fails if another process was faster, whose package is there then
		}
	}
	return err
}
