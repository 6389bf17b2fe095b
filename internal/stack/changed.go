package stack

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
)

// Which units differ from a commit.

// Changed returns the units whose files differ between a commit and the working directory: those in their directories,
// in local modules that they call, their files with values, files that functions in their variables read, and what the
// project file says about them. Files that git does not track count, unless it ignores them. A unit also counts as
// changed if it has a file of which git cannot tell whether it changed. Errors: there is no git, no
// repository, or no such commit.
func (s *Stack) Changed(ctx context.Context, base *engine.Surroundings, commit string) (map[*Unit]bool, diag.List) {
	repo, diags := openRepository(ctx, s.Root)
	if diags.HasErrors() {
		return nil, diags
	}
	if diags = repo.find(ctx, commit); diags.HasErrors() {
		return nil, diags
	}
	failed := func(err error) (map[*Unit]bool, diag.List) {
		return nil, diags.Errorf(nil, comparing, "git cannot compare the working directory with the commit %q: %s. "+
			"Check that \"git diff\" works in this directory.", commit, err)
	}
	tracked, err := repo.git(ctx, "diff", "--name-only", "--no-renames", "-z", commit)
	if err != nil {
		return failed(err)
	}
	others, err := repo.git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return failed(err)
	}
	var files []string
	for name := range strings.SplitSeq(string(tracked)+"\x00"+string(others), "\x00") {
		if name != "" {
			files = append(files, filepath.Join(repo.top, filepath.FromSlash(name)))
		}
	}
	out := map[*Unit]bool{}
	for _, u := range s.Units {
		r := &reading{repo: repo, seen: map[string]bool{}, templates: map[string]bool{}}
		s.reads(ctx, base, u, r)
		out[u] = r.unclear || slices.ContainsFunc(files, r.has)
	}
	root, err := realPath(s.Root)
	if err != nil {
		return failed(err)
	}
	if name, err := filepath.Rel(repo.top, filepath.Join(root, projectfile.Name)); err == nil {
		if slices.Contains(files, filepath.Join(repo.top, name)) {
			before, err := repo.git(ctx, "show", commit+":"+filepath.ToSlash(name))
			if err != nil {
				before = nil // the commit has no such file, so that all units are new
			}
			s.compare(before, out)
		}
	}
	return out, diags
}

// compare adds the units whose blocks differ from those of an earlier project file.
func (s *Stack) compare(before []byte, changed map[*Unit]bool) {
	old := map[string]string{}
	if f, diags := projectfile.Parse(projectfile.Name, before); !diags.HasErrors() {
		for _, b := range f.Units {
			old[b.Name] = blockText(b, before)
		}
	}
	for _, u := range s.Units {
		if was, there := old[u.block.Name]; !there || was != blockText(u.block, s.source) {
			changed[u] = true
		}
	}
}

// blockText returns what a block says, without the place where it says it.
func blockText(b projectfile.Unit, src []byte) string {
	text := fmt.Sprintf("%q %q %q", b.Source, b.Workspace, b.VarFiles)
	if b.Variables != nil {
		text += "\n" + string(b.Variables.Expr.Range().SliceBytes(src))
	}
	if b.DependsOn != nil {
		text += "\n" + string(b.DependsOn.Expr.Range().SliceBytes(src))
	}
	return text
}
