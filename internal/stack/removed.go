package stack

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
)

// Units that were removed from the project file, and whose objects were not destroyed.

// Removed returns a warning for each unit that an earlier version of the project file has, that no unit of the stack
// replaces, and whose state has objects. The versions are those of a commit or, if it is empty, the newest one and the
// one before the last change of the file. Without git, a repository or such commits, there are no warnings.
func (s *Stack) Removed(ctx context.Context, base *engine.Surroundings, commit string) (diags diag.List) {
	repo, problems := openRepository(ctx, s.Root)
	if problems.HasErrors() {
		return nil
	}
	commits := []string{commit}
	if commit == "" {
		commits = []string{"HEAD"}
		last, err := repo.git(ctx, "log", "-n", "1", "--format=%H", "--", s.inRepository(repo, projectfile.Name))
		if hash := strings.TrimSpace(string(last)); err == nil && hash != "" {
			commits = append(commits, hash+"^")
		}
	}
	type where struct{ dir, workspace string }
	known := map[where]bool{}
	for _, u := range s.Units {
		known[where{u.Dir, u.Workspace}] = true
	}
	for _, c := range commits {
		for _, u := range s.unitsOf(ctx, repo, c) {
			if at := (where{u.Dir, u.Workspace}); !known[at] {
				known[at] = true
				diags = diags.Extend(s.removed(ctx, base, u, c))
			}
		}
	}
	return diags
}

// inRepository returns the name of a file of the root for git, relative to the top of the repository.
func (s *Stack) inRepository(repo *repository, name string) string {
	root, err := realPath(s.Root)
	if err != nil {
		return name
	}
	rel, err := filepath.Rel(repo.top, filepath.Join(root, name))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// unitsOf returns the units of the project file of a commit.
func (s *Stack) unitsOf(ctx context.Context, repo *repository, commit string) (list []*Unit) {
	src, err := repo.git(ctx, "show", commit+":"+s.inRepository(repo, projectfile.Name))
	if err != nil {
		return nil
	}
	f, diags := projectfile.Parse(projectfile.Name, src)
	if diags.HasErrors() {
		return nil
	}
	var dirs []string
	top := s.inRepository(repo, ".")
	files, err := repo.git(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
	if err != nil {
		return nil
	}
	for name := range strings.SplitSeq(string(files), "\x00") {
		rel, inside := strings.CutPrefix(name, strings.TrimPrefix(top+"/", "./"))
		if inside && isConfiguration(name) {
			dirs = append(dirs, path.Dir(rel))
		}
	}
	slices.Sort(dirs)
	for _, b := range f.Units {
		source := path.Clean(filepath.ToSlash(b.Source))
		if !isPattern(source) {
			list = append(list, &Unit{Name: b.Name, Dir: source, Workspace: b.Workspace, block: b})
			continue
		}
		if _, err := path.Match(source, ""); err != nil {
			continue
		}
		for _, dir := range slices.Compact(dirs) {
			if matches(source, dir) {
				list = append(list, &Unit{Name: dir, Dir: dir, Workspace: b.Workspace, block: b})
			}
		}
	}
	return list
}

// removed returns a warning if the state of a removed unit has objects, or if it cannot tell.
func (s *Stack) removed(ctx context.Context, base *engine.Surroundings, u *Unit, commit string) (diags diag.List) {
	full := filepath.Join(s.Root, filepath.FromSlash(u.Dir))
	if path.IsAbs(u.Dir) || u.Dir == ".." || strings.HasPrefix(u.Dir, "../") {
		return nil
	}
	if real, err := filepath.EvalSymlinks(full); err == nil && !s.contains(real) {
		return nil
	}
	restore := ""
	if !hasConfiguration(full) {
		restore = fmt.Sprintf("restore its directory with \"git checkout %s -- %s\", ", commit, u.Dir)
	}
	snapshot, more := s.Stored(ctx, base, u)
	if more.HasErrors() && restore == "" {
		return nil // a backend that was never initialized here, or a configuration that cannot be read
	}
	n := 0
	if !more.HasErrors() && snapshot.State != nil {
		n = len(snapshot.State.Resources())
	}
	objects := fmt.Sprintf("its state still has %d resources", n)
	switch {
	case n == 1:
		objects = "its state still has one resource"
	case n == 0 && restore == "":
		return nil
	case n == 0:
		objects = "its directory was removed, so its state was not found: it may still have objects"
	}
	return diags.Warnf(nil, "A unit was removed, and its objects were not destroyed", "The unit %q is in %s of the "+
		"commit %s and not in that of this directory, but %s. To destroy its objects, %sput its block back and run "+
		"\"stack destroy %s\". To keep them without the stack, go on with the single commands in %s.", u.Name,
		projectfile.Name, commit, objects, restore, u.Name, u.Dir)
}
