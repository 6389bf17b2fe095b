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

// leftover is the age from which folders of a worker that was killed are removed, where no lock tells that nothing
// works in them.
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

// Files beside a checkout: its lock, and the names of what was brought.
const (
	lockSuffix    = ".lock"
	broughtSuffix = ".brought"
)

// lockDescriptor is the descriptor of the lock of a checkout in the process of a guard.
const lockDescriptor = 3

// errBusy means that another process has a lock.
var errBusy = errors.New("another process has the lock")

// discard removes a checkout.
func discard(root string, lock *os.File) {
	_ = os.RemoveAll(root) // what remains is removed later, see collect
	_ = os.Remove(root + broughtSuffix)
	_ = os.Remove(root + lockSuffix)
	if lock != nil {
		_ = lock.Close()
	}
}

// collect keeps the results of checkouts that a worker has left which was killed, and removes those. A checkout in
// which a command still works stays until that has ended.
func (w *Worker) collect(ctx context.Context, repo *Repository) error {
	above := filepath.Join(w.Dir, "checkouts", folderOf(repo.URL))
	entries, err := os.ReadDir(above)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		root := filepath.Join(above, e.Name())
		lock, err := hold(root + lockSuffix)
		if errors.Is(err, errBusy) || errors.Is(err, errors.ErrUnsupported) && !isOld(root) {
			continue
		}
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		brought, _ := regular.Read(root+broughtSuffix, 1<<20) // without it, all are new, which does no harm
		_, gone, err := keep(root, w.rescued(repo.URL), strings.Split(string(brought), "\n"))
		for _, name := range gone {
			if err == nil {
				err = w.queue.DropResult(ctx, runs.Address(repo.URL), filepath.ToSlash(name))
			}
		}
		if err != nil {
			if lock != nil {
				_ = lock.Close()
			}
			return err
		}
		discard(root, lock)
	}
	return nil
}

// isOld reports whether nothing works in a checkout any more, where locks cannot tell.
func isOld(root string) bool {
	info, err := os.Lstat(root)
	return err == nil && time.Since(info.ModTime()) > leftover
}

// upload moves the results in the folders of a repository to the database: of workers that were killed, and of runs
// that could not reach the database.
func (w *Worker) upload(ctx context.Context, repo *Repository) error {
	if err := w.collect(ctx, repo); err != nil {
		return err
	}
	folder := w.rescued(repo.URL)
	list, err := files(folder)
	if err != nil {
		return err
	}
	for name := range list {
		content, err := regular.Read(filepath.Join(folder, name), runs.MaxResult)
		if err != nil {
			return err
		}
		if err := w.queue.AddResult(ctx, runs.Address(repo.URL), filepath.ToSlash(name), content); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// uploadAll does that for all accepted repositories.
func (w *Worker) uploadAll(ctx context.Context) error {
	w.git.Lock()
	defer w.git.Unlock()
	for i := range w.Repositories {
		if err := w.upload(ctx, &w.Repositories[i]); err != nil {
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
	s.git.Lock()
	defer s.git.Unlock()
	return s.upload(ctx, s.repo)
}

// sweep removes the folders of plans that a worker has left which was killed before a moment.
func (w *Worker) sweep(before time.Time) {
	plans, _ := filepath.Glob(filepath.Join(w.Dir, "plan-*"))
	for _, folder := range plans {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() && info.ModTime().Before(before) {
			_ = os.RemoveAll(folder) // the next start tries again
		}
	}
}
