package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/runs"
)

// Repository is a repository that a worker accepts.
type Repository struct {
	// URL is where the worker clones from. A run names the repository by runs.Address of it.
	URL string
	// Branches are patterns of branches: a commit must be in one of them. Directories are patterns of directories.
	// Without patterns, all are accepted.
	Branches, Directories []string
}

// refusal is a reason for which a run fails at once, because another try would end in the same way.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

func refuse(format string, args ...any) error { return refusal{fmt.Sprintf(format, args...)} }

// accept returns the repository of a run, or a refusal.
func (w *Worker) accept(r *runs.Run) (*Repository, error) {
	if err := r.Check(); err != nil {
		return nil, refuse("The run is not valid: %s", err)
	}
	for i := range w.Repositories {
		repo := &w.Repositories[i]
		if runs.Address(repo.URL) != r.Repository {
			continue
		}
		if !matches(repo.Directories, r.Directory) {
			return nil, refuse("This worker does not accept the directory %q of %s. Start a worker that does "+
				"(-directory), or use its queue.", r.Directory, r.Repository)
		}
		return repo, nil
	}
	return nil, refuse("This worker does not accept the repository %s. Start a worker that does (-repository), or "+
		"use its queue.", r.Repository)
}

// matches reports whether a name matches one of the patterns, or there are none. A pattern that ends with "/**" matches
// everything below.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		if above, ok := strings.CutSuffix(pattern, "/**"); ok && strings.HasPrefix(name, above+"/") {
			return true
		}
		ok, _ := path.Match(pattern, name) // patterns were checked when the worker started
		return ok
	})
}

// gitTime is the most time of one git command: a server that answers nothing must not stop all runs.
const gitTime = 15 * time.Minute

// runGit runs git in a directory, until the context ends. A repository cannot make it run programs: hooks are off, and
// so are helpers that an address or a repository names.
func (w *Worker) runGit(ctx context.Context, dir string, args ...string) (string, error) {
	safe := []string{"-C", dir, "-c", "core.hooksPath=" + os.DevNull, "-c", "protocol.ext.allow=never", "-c",
		"core.fsmonitor=false", "-c", "submodule.recurse=false", "-c", "gc.auto=0", "-c", "advice.detachedHead=false"}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	cmd.WaitDelay = 10 * time.Second // for helpers that outlive it and have its output open
	cmd.Env = append(w.usual(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	var out, problem strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(problem.String())
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, text[:min(len(text), 2000)])
	}
	return out.String(), nil
}

// usual returns the environment of the worker without the variables that would direct git to another repository.
func (w *Worker) usual() []string {
	return slices.DeleteFunc(slices.Clone(w.Environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
			"GIT_COMMON_DIR", "GIT_NAMESPACE"}, name)
	})
}

// checkedOut is the checkout of a run.
type checkedOut struct {
	root, dir string   // of the run in it
	brought   []string // results of former runs, see rescue.go
	lock      *os.File // held while a process works in it; nil where that is not supported
	remove    func()
}

// checkout makes a fresh checkout of the commit of a run. It fails with a refusal if the commit or the directory is not
// accepted.
func (w *Worker) checkout(ctx context.Context, r *runs.Run, repo *Repository) (c checkedOut, err error) {
	w.git.Lock()
	defer w.git.Unlock()
	clone, err := w.clone(ctx, repo)
	if err != nil {
		return c, err
	}
	if err := w.inBranch(ctx, clone, repo, r.Commit); err != nil {
		return c, err
	}
	above := filepath.Join(w.Dir, "checkouts", folderOf(repo.URL))
	if err := os.MkdirAll(above, 0o700); err != nil {
		return c, err
	}
	if c.root, err = os.MkdirTemp(above, fmt.Sprintf("%d-", r.ID)); err != nil {
		return c, err
	}
	if c.lock, err = hold(c.root + lockSuffix); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return c, err
	}
	c.remove = func() {
		w.git.Lock()
		defer w.git.Unlock()
		discard(c.root, c.lock)
		_, _ = w.runGit(context.WithoutCancel(ctx), clone, "worktree", "prune")
	}
	if _, err = w.runGit(ctx, clone, "worktree", "add", "--force", "--detach", c.root, r.Commit); err == nil {
		c.dir, err = inside(c.root, r.Directory)
	}
	if err == nil {
		err = checkLock(c.dir, r)
	}
	if err == nil {
		err = w.fill(ctx, &c, repo)
	}
	if err != nil {
		discard(c.root, c.lock)
	}
	return c, err
}

// fill writes the results of former runs into a checkout.
func (w *Worker) fill(ctx context.Context, c *checkedOut, repo *Repository) error {
	if err := w.upload(ctx, repo); err != nil {
		return err
	}
	results, err := w.queue.Results(ctx, runs.Address(repo.URL))
	if err != nil {
		return err
	}
	if c.brought, err = bring(results, c.root); err != nil || len(c.brought) == 0 {
		return err
	}
	return write(c.root+broughtSuffix, []byte(strings.Join(c.brought, "\n")))
}

// folderOf returns the name of the folders for a repository.
func folderOf(url string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(url))) }

// clone returns the clone of a repository, with the branches as they are now: one may have been reset because of the
// commit of a run.
func (w *Worker) clone(ctx context.Context, repo *Repository) (string, error) {
	dir := filepath.Join(w.Dir, "clones", folderOf(repo.URL)+".git")
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		if _, err := w.runGit(ctx, dir, "init", "--quiet", "--bare"); err != nil {
			return "", err
		}
	}
	_, err := w.runGit(ctx, dir, "fetch", "--quiet", "--prune", "--force", "--no-tags", "--no-write-fetch-head", "--",
		repo.URL, "+refs/heads/*:refs/heads/*")
	return dir, err
}

// inBranch returns a refusal if a commit is in none of the branches that the worker accepts.
func (w *Worker) inBranch(ctx context.Context, clone string, repo *Repository, commit string) error {
	list, err := w.runGit(ctx, clone, "for-each-ref", "--contains", commit, "--format=%(refname:lstrip=2)",
		"refs/heads")
	if err != nil && strings.Contains(err.Error(), "no such commit") {
		list, err = "", nil
	}
	if err != nil {
		return err
	}
	for branch := range strings.Lines(list) {
		if matches(repo.Branches, strings.TrimSpace(branch)) {
			return nil
		}
	}
	if len(repo.Branches) > 0 {
		return refuse("The commit %s is in none of the branches of %s that this worker accepts: %s. Push or merge "+
			"it first.", commit, runs.Address(repo.URL), strings.Join(repo.Branches, ", "))
	}
	return refuse("The commit %s is in no branch of %s. Push it first.", commit, runs.Address(repo.URL))
}

// inside returns a directory of a checkout. Links must not lead out of the checkout.
func inside(root, dir string) (string, error) {
	full := filepath.Join(root, filepath.FromSlash(dir))
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", refuse("The commit has no directory %q.", dir)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, real); err != nil || rel != filepath.Clean(filepath.FromSlash(dir)) {
		return "", refuse("The directory %q of the commit is reached through a link. Use its real path.", dir)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", refuse("%q is not a directory in the commit.", dir)
	}
	return full, nil
}

// lockFile is the lock file of providers.
const lockFile = ".terraform.lock.hcl"

// maxLock is the maximum size of a lock file.
const maxLock = 16 << 20

// checkLock returns a refusal if the lock file of a root module is not the one of the run.
func checkLock(dir string, r *runs.Run) error {
	content, err := regular.Read(filepath.Join(dir, lockFile), maxLock)
	found := ""
	switch {
	case err == nil:
		found = fmt.Sprintf("%x", sha256.Sum256(content))
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if r.Unit == "" && found != r.LockDigest {
		return refuse("The lock file %s is not the one with which the run was submitted. Run init, commit the file "+
			"and submit the run again.", lockFile)
	}
	return nil
}

// checkUnchanged returns a refusal if init has written a lock file that differs from the commit, of any root module.
func (w *Worker) checkUnchanged(ctx context.Context, dir string) error {
	list, err := w.runGit(ctx, dir, "status", "--porcelain", "--ignored", "--untracked-files=all", "--",
		":(top,glob)**/"+lockFile)
	if err != nil || list == "" {
		return err
	}
	return refuse("Init has changed lock files of providers, which are not as in the commit. Run init, commit the "+
		"files and submit the run again:\n%s", strings.TrimSpace(list))
}
