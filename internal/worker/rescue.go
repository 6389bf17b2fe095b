package worker

import (
	"context"
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
	"github.com/tombolo-iac/tombolo/internal/runs"
)

// A command that cannot reach the service of its state writes its results to a file in its working directory, and the
// next command that locks the state there adds them. The checkout of a run is removed, and another worker may have the
// next run. So a worker moves such files to the database of the runs before the run ends, and every checkout gets them
// from there. Until the database has them, they are in a folder of the worker.

// leftover is the age from which the folders of a worker that was killed are removed. Until then, a command that it has
// started may still work in them.
const leftover = 24 * time.Hour

// rescued returns the folder for the results of a repository that are not in the database yet.
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

// bring writes the results of former runs into a checkout, if it has their directories, and returns their names.
func bring(results map[string][]byte, root string) (brought []string, err error) {
	for name, content := range results {
		name = filepath.FromSlash(name)
		if !filepath.IsLocal(name) || !isRescue(filepath.Base(name)) {
			continue // not ours
		}
		if _, err := inside(root, filepath.ToSlash(filepath.Dir(name))); err != nil {
			continue // another commit
		}
		if err := write(filepath.Join(root, name), content); err != nil {
			return nil, err
		}
		brought = append(brought, name)
	}
	return brought, nil
}

// keep copies new results out of a checkout into a folder. It returns their names, and those of the files that were
// brought and whose results a command of the run has added to a state: these are no longer in the checkout.
func keep(root, rescued string, brought []string) (fresh, gone []string, err error) {
	now, err := files(root)
	if err != nil {
		return nil, nil, err
	}
	for name := range now {
		if slices.Contains(brought, name) {
			continue
		}
		content, err := regular.Read(filepath.Join(root, name), runs.MaxResult)
		if err != nil {
			return nil, nil, err
		}
		to := filepath.Join(rescued, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return nil, nil, err
		}
		if err := write(to, content); err != nil {
			return nil, nil, err
		}
		fresh = append(fresh, name)
	}
	for _, name := range brought {
		if !now[name] {
			gone = append(gone, name)
		}
	}
	return fresh, gone, nil
}

// write writes a file, which is durable when write returns.
func write(name string, content []byte) error {
	return replace.File(name, 0o600, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// upload moves the results in the folder of a repository to the database.
func (w *Worker) upload(ctx context.Context, folder, repository string) error {
	list, err := files(folder)
	if err != nil {
		return err
	}
	for name := range list {
		content, err := regular.Read(filepath.Join(folder, name), runs.MaxResult)
		if err != nil {
			return err
		}
		if err := w.queue.AddResult(ctx, repository, filepath.ToSlash(name), content); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// uploadAll moves the results of all accepted repositories to the database: those of a worker that was killed, or that
// could not reach the database.
func (w *Worker) uploadAll(ctx context.Context) error {
	for _, repo := range w.Repositories {
		if err := w.upload(ctx, w.rescued(repo.URL), runs.Address(repo.URL)); err != nil {
			return err
		}
	}
	return nil
}

// keepResults moves the results in the checkout to the database, and says so in the log.
func (s *step) keepResults(ctx context.Context) error {
	if s.root == "" || s.kept {
		return nil
	}
	folder := s.rescued(s.repo.URL)
	fresh, gone, err := keep(s.root, folder, s.brought)
	if err != nil {
		return err
	}
	s.kept = true // in the folder at least
	for _, name := range fresh {
		s.note("The service of the state did not take all results. The rest is kept as %s, and the next run of this "+
			"directory adds it to the state.", filepath.ToSlash(name))
	}
	for _, name := range gone {
		if err := s.queue.DropResult(ctx, s.claim.Repository, filepath.ToSlash(name)); err != nil {
			return err // a later run brings it again, which changes nothing
		}
	}
	return s.upload(ctx, folder, s.claim.Repository)
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
			_, _, err = keep(folder, filepath.Join(w.Dir, "rescued", filepath.Base(repository)), nil)
		}
		if err != nil {
			w.Log.Warn("a folder of a worker that was killed is kept", "folder", folder, "error", err.Error())
			continue
		}
		_ = os.RemoveAll(folder) // the next start tries again
	}
}
