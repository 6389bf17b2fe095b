//go:build !without_modules

package sandbox

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tetratelabs/wazero"
)

// Limits of the cache. Machine code is several times as large as its module.
const (
	maxCached     = 2 * 64  // files: for each module its machine code, and the record that it was checked
	maxCachedSize = 2 << 30 // bytes
)

// CacheDir returns the folder of compiled modules below the user's cache folder, or "" if there is none.
func CacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "" // services often have no home; they compile each time
	}
	return filepath.Join(dir, "tombolo", "modules")
}

// openCache returns the cache in a folder, or nil if the folder cannot be used. Compiled code is executed, so the
// folder must belong to the user alone.
func openCache(dir string) wazero.CompilationCache {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || !private(info) {
		return nil
	}
	if !tidy(dir) {
		return nil
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil
	}
	return cache
}

// tidy removes the oldest files of a cache that has reached its limits, and everything that is not a file. It reports
// whether the cache can be used: the library follows links, so there may be none in the place of its folders.
func tidy(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	type cached struct {
		path string
		info fs.FileInfo
	}
	var files []cached
	entries, err := fs.ReadDir(root.FS(), ".") // one folder for each version of the library
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !e.IsDir() {
			return false
		}
		inside, err := fs.ReadDir(root.FS(), e.Name())
		if err != nil {
			return false
		}
		for _, f := range inside {
			path := filepath.Join(e.Name(), f.Name())
			info, err := f.Info()
			switch {
			case err != nil: // another process has removed it
			case !info.Mode().IsRegular():
				if root.Remove(path) != nil {
					return false
				}
			default:
				files = append(files, cached{path, info})
			}
		}
	}
	slices.SortFunc(files, func(a, b cached) int { // newest first
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.path, b.path))
	})
	size := int64(0)
	for i, f := range files {
		if size += f.info.Size(); i > maxCached-2 || size > maxCachedSize {
			_ = root.Remove(f.path) // another process may have removed it, or have it open
		}
	}
	return true
}
