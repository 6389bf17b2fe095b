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

// Folder is the folder of installed providers, usually .terraform/providers.
type Folder struct {
	Dir string
	// Base is a folder out of which links in Folder must not lead, because they may have come with the project; ""
	// means that the folder is the user's own.
	Base string
}

// in returns the real path of the folder that contains a package.
func (f Folder) in(p Package) (string, error) {
	dir := filepath.Dir(f.Path(p.Provider, p.Version))
	if f.Base == "" {
		return dir, nil
	}
	return replace.Within(f.Base, dir)
}

// Path returns the path of a package for the current platform.
func (f Folder) Path(p addr.Provider, v versions.Version) string {
	return filepath.Join(f.Dir, hostFolder(p.Host), p.Namespace, p.Type, v.String(), Current().String())
}

// Installed reports whether a package is installed, and returns its program and hash.
func (f Folder) Installed(ctx context.Context, p addr.Provider, v versions.Version) (program string, h lockfile.Hash,
	err error) {
	dir := f.Path(p, v)
	if program, err = Program(dir, p.Type); err != nil {
		return "", "", err
	}
	h, err = HashDir(ctx, dir)
	return program, h, err
}

// Install installs a package: it creates a link to a directory, or unpacks an archive. accept is called with the hash
// of the package; its error refuses the package. The result is that hash. After an error, the previous package is
// restored.
//
// If several processes install the same package concurrently, the first one wins: a package with the same hash is kept,
// because others may be running it.
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

// stage creates a temporary folder beside the final location.
func stage(dir string) (staged *replace.Work, err error) {
	replace.Sweep(dir, stagedPrefix)
	for range swapAttempts {
		if err = os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		// Another process that has failed may remove the folder again while it is empty.
		if staged, err = replace.Unfinished(dir, stagedPrefix); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return staged, err
}

// prune removes empty folders, from dir upwards. It does not remove links.
func (f Folder) prune(dir string) {
	for ; dir != f.Dir && len(dir) > len(f.Dir); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || os.Remove(dir) != nil {
			return // it is not empty
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
		err = context.Cause(ctx) // a cancelled call installs nothing
	}
	if err != nil {
		return "", err
	}
	if p.Packed {
		// Renaming to a directory that is not empty fails, so no process sees a partial package.
		if err := os.Rename(fresh, target); err == nil {
			return h, nil
		}
		if present, err := HashDir(ctx, target); err == nil && present == h {
			return h, nil
		}
	}
	return h, swap(fresh, target, filepath.Join(staged.Dir, "former"))
}

// startable checks that an installed copy of a package contains a program.
func (p Package) startable(dir string) error {
	_, err := Program(dir, p.Provider.Type)
	if errors.Is(err, ErrNoProgram) {
		err = noProgram(cmp.Or(p.From, p.Path), p.Provider.Type) // the copy will be removed
	}
	return err
}

// place creates the content of a package at a path that does not exist yet.
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

// swapAttempts limits the tries to install in a location that another process uses concurrently.
const swapAttempts = 10

// swap moves fresh to target, and the previous target to former. If several processes do this concurrently, the last
// one wins.
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
			_ = os.Rename(away, target) // fails if another process has already installed its package
		}
	}
	return err
}
