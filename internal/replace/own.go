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

// Our files in a project, such as .terraform and the lock file, may come with the project, and so from a stranger: any
// folder or file may be a link. The functions below check the path to a folder before anything is written or removed
// there, and replace links instead of following them.

// OutsideError means that a folder that belongs into a project leads out of it.
type OutsideError struct{ Name, Real, Base string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("a symbolic link takes %s to %s, which is outside of %s. Nothing was written there, because "+
		"such a link can come with files from someone else. Remove the link. To install elsewhere, set TF_DATA_DIR "+
		"to another folder",
		e.Name, e.Real, e.Base)
}

// Within returns the real path of a folder that must be in another one, whichever links are on the way. Neither needs
// to be there.
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

// lookAgain is how often a folder may appear just when it was found missing.
const lookAgain = 1000

// real resolves the links of a name, of which the end need not be there.
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
			again++ // another process has created it meanwhile
			continue
		}
		if there == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
			return "", nowhere(path, err)
		}
		path, missing = filepath.Dir(path), filepath.Join(filepath.Base(path), missing)
	}
}

// nowhere words that a link cannot be followed.
func nowhere(path string, err error) error {
	if to, linkErr := os.Readlink(path); linkErr == nil {
		return fmt.Errorf("%s is a symbolic link to %s, which cannot be followed: remove it (%w)", path, to, err)
	}
	return err
}

// Own returns a file that belongs into a folder, at whatever depth, new content as File does. A link in its place is
// replaced and what it leads to stays; a link on the way may not lead out. Folders that are not there are made.
func Own(base, name string, perm fs.FileMode, write func(io.Writer) error) error {
	return own(base, name, perm, false, write)
}

// OwnExact is Own for a file that has these permissions afterwards, as with Exact.
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

// Detach goes before the writing of an output that a command line names. A link in its place that leads out of the
// folder to a file, or to nothing, is removed: it may have come with the folder, and whoever gave the name did not mean
// a file elsewhere. A link within the folder stays, and so does one to a device or a pipe.
func Detach(base, name string) error {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil // who writes there says what is wrong
	}
	if _, err := Within(base, filepath.Dir(name)); err != nil {
		return nil // a place of the user's own
	}
	if end, err := os.Stat(name); err == nil && !end.Mode().IsRegular() {
		return nil
	}
	if _, err := Within(base, name); err == nil {
		return nil
	}
	return os.Remove(name)
}
