package fetch

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
)

// CopyModule copies the module in a local directory into an empty one, without what is hidden: the beginning of a new configuration.
func CopyModule(source, dir string) (diags diag.List) {
	if !isLocal(source) {
		return diags.Errorf(nil, "Invalid module source address", "The module %q cannot be copied: this version copies modules from local directories only, written as ./DIR, ../DIR or with all of their path.", source)
	}
	there, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return diag.FromError("Failed to read the directory", err)
	case len(there) > 0:
		return diags.Errorf(nil, "Can't populate non-empty directory", "The directory has files in it, such as %s. A module is copied into an empty directory only, so that nothing is replaced.", there[0].Name())
	}
	info, err := os.Stat(source)
	if err != nil || !info.IsDir() {
		return diags.Errorf(nil, "Failed to download module", "There is no directory %s.", source)
	}
	err = filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		switch to := filepath.Join(dir, rel); {
		case rel == ".":
			return nil
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case sameDir(path, dir):
			return filepath.SkipDir // the module is copied into a directory of its own
		case d.IsDir():
			return os.Mkdir(to, 0o777)
		default:
			return copyFile(path, to)
		}
	})
	if err != nil {
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

// copyFile copies the content behind a name: of a link, that of its target.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file that can be copied", from)
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
	_, err = io.Copy(out, in)
	return err
}
