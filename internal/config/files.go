package config

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Files is the file system of Load. Names are relative to the working directory, with forward slashes, and may leave it
// ("../shared/main.tf"); a data directory given as an absolute path makes absolute names. Methods may be called
// concurrently.
type Files interface {
	// ReadDir returns the names of the entries of a directory that are not directories, in any order. The error wraps
	// fs.ErrNotExist if the directory does not exist.
	ReadDir(dir string) ([]string, error)
	// ReadFile returns the content of a file. The error wraps fs.ErrNotExist if the file does not exist.
	ReadFile(name string) ([]byte, error)
}

// OSFiles reads the file system, with dir as the working directory ("" is that of the process).
func OSFiles(dir string) Files { return osFiles{dir} }

type osFiles struct{ dir string }

func (f osFiles) path(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.dir, name)
}

func (f osFiles) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(f.path(dir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (f osFiles) ReadFile(name string) ([]byte, error) {
	return regular.Read(f.path(name), regular.Text)
}

func (f osFiles) ReadNamed(name string) ([]byte, error) {
	return regular.Named(f.path(name), regular.Text)
}

// WithoutOwn returns files without those that only Tombolo reads.
func WithoutOwn(files Files) Files { return withoutOwn{files} }

type withoutOwn struct{ Files }

func (f withoutOwn) ReadDir(dir string) ([]string, error) {
	names, err := f.Files.ReadDir(dir)
	return slices.DeleteFunc(names, IsOwn), err
}

// readNamed reads a file that the user named. Unlike other files, it may be a pipe, such as a shell's <(command).
func readNamed(files Files, name string) ([]byte, error) {
	if f, ok := files.(interface{ ReadNamed(string) ([]byte, error) }); ok {
		return f.ReadNamed(name)
	}
	return files.ReadFile(name)
}

// Snapshot returns everything that Load needs to load this configuration again, by name: the source files, the module
// manifest under the default data directory, and each module directory without files as a name that ends in a slash.
// Plan files contain it; SnapshotFiles reads it.
func (c *Config) Snapshot() map[string][]byte {
	out := make(map[string][]byte, len(c.Files)+1)
	withFiles := map[string]bool{}
	for name, src := range c.Files {
		out[name] = src
		withFiles[path.Dir(name)] = true
	}
	if c.Manifest != nil {
		out[path.Join(DefaultDataDir, manifestName)] = c.Manifest
	}
	for _, m := range c.Modules {
		if !withFiles[m.Dir] {
			out[m.Dir+"/"] = nil
		}
	}
	return out
}

// SnapshotFiles returns the Files of a snapshot. The map must not change afterwards.
func SnapshotFiles(snapshot map[string][]byte) Files { return snapshotFiles(snapshot) }

type snapshotFiles map[string][]byte

func (f snapshotFiles) ReadDir(dir string) ([]string, error) {
	dir = path.Clean(dir)
	_, known := f[dir+"/"]
	var names []string
	for name := range f {
		if strings.HasSuffix(name, "/") {
			continue
		}
		if d, base := path.Split(name); path.Clean(d) == dir || d == "" && dir == "." {
			names = append(names, base)
			known = true
		}
	}
	if !known {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	return names, nil
}

func (f snapshotFiles) ReadFile(name string) ([]byte, error) {
	if src, ok := f[path.Clean(name)]; ok {
		return src, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// moduleFiles lists the configuration files of a directory in order of precedence: primary files by name, then override
// files by name. Files that the flavor replaces by a twin are left out.
func moduleFiles(files Files, dir string, f flavor.Flavor) (primary, override []string, err error) {
	names, err := files.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range WithoutTwins(names, f) {
		stem, ok := configStem(name, f)
		switch {
		case !ok:
		case stem == "override" || strings.HasSuffix(stem, "_override"):
			override = append(override, path.Join(dir, name))
		default:
			primary = append(primary, path.Join(dir, name))
		}
	}
	return primary, override, nil
}

// WithoutTwins filters file names, omitting those that the flavor replaces by a twin.
func WithoutTwins(names []string, f flavor.Flavor) []string {
	replaced := func(name string) bool {
		return slices.ContainsFunc(f.Twins(name), func(twin string) bool { return slices.Contains(names, twin) })
	}
	return slices.Sorted(func(yield func(string) bool) {
		for _, name := range names {
			if !replaced(name) && !yield(name) {
				return
			}
		}
	})
}

// IsLeftByEditor reports whether a file is hidden, or a backup of an editor.
func IsLeftByEditor(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") &&
		strings.HasSuffix(name, "#")
}

// configStem returns the name of a configuration file without its extension; ok is false for all other files, including
// backups of editors.
func configStem(name string, f flavor.Flavor) (stem string, ok bool) {
	if IsLeftByEditor(name) {
		return "", false
	}
	for _, ext := range append(f.Extensions(".tf"), f.Extensions(".tf.json")...) {
		if stem, ok = strings.CutSuffix(name, ext); ok {
			return stem, true
		}
	}
	return "", false
}
