// Package packages defines how providers are stored on disk: the layouts of filesystem mirrors and of the install
// folder, their hashes, and the location of the program in a package.
//
// A package is one version of a provider for one platform: a directory, or a zip archive of one. Mirrors contain
//
//	HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/                               unpacked
//	HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip    packed
//
// and the install folder, .terraform/providers, contains the unpacked form. This package does not select versions.
package packages

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Platform is an operating system and a processor architecture, named as Go names them.
type Platform struct{ OS, Arch string }

// Current returns the platform of this process.
func Current() Platform { return Platform{runtime.GOOS, runtime.GOARCH} }

// String returns OS_ARCH.
func (p Platform) String() string { return p.OS + "_" + p.Arch }

// ParsePlatform parses OS_ARCH.
func ParsePlatform(text string) (Platform, error) {
	system, arch, ok := strings.Cut(text, "_")
	if !ok || system == "" || arch == "" || strings.ContainsAny(text, `/\. `) || strings.Contains(arch, "_") {
		return Platform{}, fmt.Errorf("%q is not a platform: expected OS_ARCH, such as linux_amd64", text)
	}
	return Platform{system, arch}, nil
}

// Package is one package of a mirror.
type Package struct {
	Provider addr.Provider
	Version  versions.Version
	Platform Platform
	Path     string // of the directory or archive
	Packed   bool
	From     string // download address for messages, or ""
}

// Search lists the packages of a provider in a mirror, newest version first. The list is empty if the mirror does not
// have the provider; for a missing mirror, the error wraps fs.ErrNotExist. Entries that are not packages are skipped,
// because mirrors contain other files as well.
func Search(mirror string, p addr.Provider) ([]Package, error) {
	if _, err := os.Stat(mirror); err != nil {
		return nil, err
	}
	dir := ProviderPath(mirror, p)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Package
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if found, ok := packed(p, path); ok {
			list = append(list, found)
			continue
		}
		found, err := unpacked(p, path)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	// If a package exists in both forms, prefer the unpacked one, which needs no work.
	slices.SortStableFunc(list, func(a, b Package) int {
		return cmp.Or(require.Compare(b.Version, a.Version), strings.Compare(a.Platform.String(), b.Platform.String()),
			compareBool(a.Packed, b.Packed))
	})
	return list, nil
}

// ProviderPath returns the folder of a mirror with the packages of a provider.
func ProviderPath(mirror string, p addr.Provider) string {
	return filepath.Join(mirror, hostFolder(p.Host), p.Namespace, p.Type)
}

// ArchivePath returns the path of a packed package in a mirror.
func ArchivePath(mirror string, w Request) string {
	return filepath.Join(ProviderPath(mirror, w.Provider), fmt.Sprintf("terraform-provider-%s_%s_%s.zip",
		w.Provider.Type, w.Version, w.Platform))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// hostFolder returns the name of a host's folder. Some systems do not allow a colon in names.
func hostFolder(host string) string {
	if runtime.GOOS == "windows" {
		return strings.ReplaceAll(host, ":", "_")
	}
	return host
}

func packed(p addr.Provider, path string) (Package, bool) {
	name, isZip := strings.CutSuffix(filepath.Base(path), ".zip")
	rest, ours := strings.CutPrefix(name, "terraform-provider-"+p.Type+"_")
	version, platform, split := strings.Cut(rest, "_")
	if !isZip || !ours || !split {
		return Package{}, false
	}
	v, err := versions.ParseVersion(version)
	if err != nil {
		return Package{}, false
	}
	on, err := ParsePlatform(platform)
	if err != nil {
		return Package{}, false
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return Package{}, false
	}
	return Package{Provider: p, Version: v, Platform: on, Path: path, Packed: true}, true
}

func unpacked(p addr.Provider, dir string) ([]Package, error) {
	v, err := versions.ParseVersion(filepath.Base(dir))
	if err != nil {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		if info, statErr := os.Stat(dir); statErr == nil && !info.IsDir() {
			return nil, nil
		}
		return nil, err
	}
	var list []Package
	for _, e := range entries {
		on, err := ParsePlatform(e.Name())
		path := filepath.Join(dir, e.Name())
		if info, statErr := os.Stat(path); err == nil && statErr == nil && info.IsDir() {
			list = append(list, Package{Provider: p, Version: v, Platform: on, Path: path})
		}
	}
	return list, nil
}

// limits are far higher than any provider needs, and low enough not to fill a disk.
var limits = unpack.Limits{Files: 20_000, Bytes: 4 << 30}

// Hash returns the hash of a package's files, "h1:…", which is the same for both forms.
func (p Package) Hash(ctx context.Context) (lockfile.Hash, error) {
	if !p.Packed {
		return HashDir(ctx, p.Path)
	}
	if err := unpack.CheckZip(p.Path, limits); err != nil {
		return "", err
	}
	archive, err := zip.OpenReader(p.Path)
	if err != nil {
		return "", err
	}
	defer archive.Close()
	files := map[string]*zip.File{}
	var names []string
	for _, f := range archive.File {
		names = append(names, f.Name)
		files[f.Name] = f
	}
	return hash(dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		in, err := files[name].Open()
		return stoppable(ctx, in), err
	}))
}

// ArchiveHash returns the hash of a package's archive, "zh:…", with which publishers identify their packages.
func (p Package) ArchiveHash(ctx context.Context) (h lockfile.Hash, err error) {
	f, err := regular.Open(p.Path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, unpack.Reader(ctx, f)); err != nil {
		return "", fmt.Errorf("read %s: %w", p.Path, err)
	}
	return lockfile.Hash(fmt.Sprintf("zh:%x", sum.Sum(nil))), nil
}

// HashDir returns the hash of the files of an unpacked package. If dir is a link, it is followed.
func HashDir(ctx context.Context, dir string) (lockfile.Hash, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	names, err := filesOf(ctx, real)
	if err != nil {
		return "", err
	}
	return hash(dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		path := filepath.Join(real, filepath.FromSlash(name))
		info, err := os.Stat(path)
		if err == nil {
			err = regular.Check(path, info)
		}
		if err != nil {
			return nil, err
		}
		in, err := regular.Open(path)
		return stoppable(ctx, in), err
	}))
}

// filesOf lists everything except for folders, with forward slashes.
func filesOf(ctx context.Context, dir string) (names []string, err error) {
	entries := 0
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, name)
		if err := errors.Join(err, relErr, context.Cause(ctx)); err != nil {
			return err
		}
		if entries++; entries > maxHashed {
			return fmt.Errorf("there are more than %d files and folders in %s", maxHashed, dir)
		}
		if !d.IsDir() {
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	return names, err
}

// maxHashed limits the number of files to hash: packages in mirrors may be larger than those that are unpacked.
const maxHashed = 200_000

// stoppable returns a reader that fails after the context has ended.
func stoppable(ctx context.Context, in io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{unpack.Reader(ctx, in), in}
}

func hash(text string, err error) (lockfile.Hash, error) { return lockfile.Hash(text), err }

// ErrNoProgram means that a package does not contain a program.
var ErrNoProgram = errors.New("the package contains no program")

// Program returns the path of the program in an unpacked package: the first file whose name is terraform-provider-TYPE,
// or that continues with _ (a version) or a dot (an extension).
func Program(dir, typ string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	prefix := "terraform-provider-" + typ
	for _, e := range entries {
		name := e.Name()
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours || rest != "" && rest[0] != '_' && rest[0] != '.' {
			continue
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		return path, nil
	}
	return "", noProgram(dir, typ)
}

func noProgram(place, typ string) error {
	return fmt.Errorf("%w: %s has no file whose name begins with terraform-provider-%s", ErrNoProgram, place, typ)
}
