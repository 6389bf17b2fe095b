package replace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Files of Tombolo in a project, such as .terraform and the lock file, may come with the project and thus from a
// stranger: any folder or file may be a link. The functions below check the path to a folder before they write or
// remove anything there, and replace links instead of following them.

// OutsideError means that a folder of a project is outside of the project, because of a link.
type OutsideError struct{ Name, Real, Base string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("a symbolic link takes %s to %s, which is outside of %s. Nothing was written there, because "+
		"such a link can come with files from someone else. Remove the link. To install elsewhere, set TF_DATA_DIR "+
		"to another folder",
		e.Name, e.Real, e.Base)
}

// Within returns the real path of a folder that must be inside of base, with all links resolved. Neither folder needs
// to exist.
func Within(base, name string) (string, error) {
	top, err := real(base)
	if err != nil {
		return "", err
	}
	path, err := real(name)
	if err != nil {
		return "", err
	}
	if in, err := filepath.Rel(top, path); err != nil || !filepath.IsLocal(in) {
		return "", &OutsideError{Name: name, Real: path, Base: top}
	}
	return path, nil
}

// lookAgain limits how often a folder may be created just after it was found missing.
const lookAgain = 1000

// real resolves the links in a path whose last elements need not exist.
func real(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	missing, again := "", 0
	for {
		found, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(found, missing), nil
		}
		info, there := os.Lstat(path)
		if there == nil && info.Mode()&fs.ModeSymlink == 0 && errors.Is(err, fs.ErrNotExist) && again < lookAgain {
			again++ // another process has just created it
			continue
		}
		if there == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
			return "", linkError(path, err)
		}
		path, missing = filepath.Dir(path), filepath.Join(filepath.Base(path), missing)
	}
}

// linkError returns the error for a link that cannot be followed.
func linkError(path string, err error) error {
	if to, linkErr := os.Readlink(path); linkErr == nil {
		return fmt.Errorf("%s is a symbolic link to %s, which cannot be followed: remove it (%w)", path, to, err)
	}
	return err
}

// Own replaces the content of a file at any depth below base, as File does. It replaces a link in the file's place
// without changing the target. Links in the path must not lead out of base. It creates missing folders.
func Own(base, name string, perm fs.FileMode, write func(io.Writer) error) error {
	return own(base, name, perm, false, write)
}

// OwnExact is like Own, with exactly these permissions, as in Exact.
func OwnExact(base, name string, perm fs.FileMode, write func(io.Writer) error) error {
	return own(base, name, perm, true, write)
}

func own(base, name string, perm fs.FileMode, exact bool, write func(io.Writer) error) error {
	dir, err := Within(base, filepath.Dir(name))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	target := filepath.Join(dir, filepath.Base(name))
	switch info, err := os.Lstat(target); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode().IsRegular() && !exact:
		perm, exact = info.Mode().Perm(), true
	case info.Mode().IsRegular(), info.Mode()&fs.ModeSymlink != 0:
	default:
		return fmt.Errorf("write %s: it is %s, not a regular file", name, regular.Kind(info.Mode()))
	}
	return durable(over(target, perm, exact, write))
}

// Detach is called before an output that a command line names is written. It removes a link in the output's place that
// leads out of the folder to a file, or to nothing: the link may have come with the folder, and the user did not mean a
// file elsewhere. It keeps links within the folder, and links to devices and pipes.
func Detach(base, name string) error {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil // the write will report the error
	}
	if _, err := Within(base, filepath.Dir(name)); err != nil {
		return nil // the user's own location
	}
	if end, err := os.Stat(name); err == nil && !end.Mode().IsRegular() {
		return nil
	}
	if _, err := Within(base, name); err == nil {
		return nil
	}
	return os.Remove(name)
}
