package worker

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// A command that cannot reach the service of its state writes its results to a file in its working directory, and the
// next command that locks the state there adds them. The checkout of a run is removed, so a worker copies such files to
// a folder of the repository, and from there into each new checkout.

// maxRescued is the most bytes of such a file.
const maxRescued = 1 << 30

// leftover is the age from which the folders of a worker that was killed are removed. Until then, a command that it has
// started may still work in them.
const leftover = 24 * time.Hour

// rescued returns the folder for the results of a repository.
func (w *Worker) rescued(url string) string { return filepath.Join(w.Dir, "rescued", folderOf(url)) }

// isRescue reports whether a file has results: terraform.tfstate.NUMBER.journal, with sixteen digits of base 16.
func isRescue(name string) bool {
	number, ok := strings.CutPrefix(name, "terraform.tfstate.")
	number, isJournal := strings.CutSuffix(number, ".journal")
	return ok && isJournal && len(number) == 16 && strings.Trim(number, "0123456789abcdef") == ""
}

// files returns the files with results in a folder, by their names relative to it. Without the folder there are none.
func files(folder string) (map[string]bool, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !e.Type().IsRegular() || !isRescue(e.Name()):
			return nil
		}
		rel, err := filepath.Rel(folder, path)
		found[rel] = true
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return found, err
}

// bring copies the results of former runs into a checkout, if it has their directories, and returns their names.
func bring(rescued, root string) (brought []string, err error) {
	list, err := files(rescued)
	if err != nil {
		return nil, err
	}
	for name := range list {
		if _, err := inside(root, filepath.ToSlash(filepath.Dir(name))); err != nil {
			continue // another commit
		}
		if err := transfer(filepath.Join(rescued, name), filepath.Join(root, name)); err != nil {
			return nil, err
		}
		brought = append(brought, name)
	}
	return brought, nil
}

// keep copies new results out of a checkout, and removes copies of those that were brought and that a command of the
// run has added to the state: they are no longer in the checkout.
func keep(root, rescued string, brought []string) error {
	now, err := files(root)
	if err != nil {
		return err
	}
	for name := range now {
		if slices.Contains(brought, name) {
			continue
		}
		to := filepath.Join(rescued, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := transfer(filepath.Join(root, name), to); err != nil {
			return err
		}
	}
	for _, name := range brought {
		if now[name] {
			continue
		}
		if err := os.Remove(filepath.Join(rescued, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// transfer copies a file. The copy is durable when transfer returns.
func transfer(from, to string) error {
	content, err := regular.Read(from, maxRescued)
	if err != nil {
		return err
	}
	return replace.File(to, 0o600, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// sweep removes checkouts and plans that a worker has left which was killed before a moment, and keeps their results.
func (w *Worker) sweep(before time.Time) {
	checkouts, _ := filepath.Glob(filepath.Join(w.Dir, "checkouts", "*", "*"))
	plans, _ := filepath.Glob(filepath.Join(w.Dir, "plan-*"))
	for _, folder := range append(checkouts, plans...) {
		info, err := os.Lstat(folder)
		if err != nil || !info.IsDir() || info.ModTime().After(before) {
			continue
		}
		if repository := filepath.Dir(folder); repository != w.Dir {
			err = keep(folder, filepath.Join(w.Dir, "rescued", filepath.Base(repository)), nil)
		}
		if err != nil {
			w.Log.Warn("a folder of a worker that was killed is kept", "folder", folder, "error", err.Error())
			continue
		}
		_ = os.RemoveAll(folder) // the next start tries again
	}
}
