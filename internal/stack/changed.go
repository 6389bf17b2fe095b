package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
)

// Which units differ from a commit.

// Changed returns the units whose files differ between a commit and the working directory: those in their directories,
// in local modules that they call, their files with values, and what the project file says about them. Files that git
// does not track count, unless it ignores them.
func (s *Stack) Changed(ctx context.Context, base *engine.Surroundings, commit string) (map[*Unit]bool, diag.List) {
	var diags diag.List
	git := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", s.Root}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil && stderr.Len() > 0 {
			err = errors.New(strings.TrimSpace(stderr.String()))
		}
		return out, err
	}
	failed := func(err error) (map[*Unit]bool, diag.List) {
		return nil, diags.Errorf(nil, "Failed to find changed units", "git cannot compare the working directory with "+
			"the commit %q: %s. The option -changed-since needs git, a repository and a commit in it.", commit, err)
	}
	if _, err := git("rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}"); err != nil {
		return failed(errors.New("there is no such commit"))
	}
	tracked, err := git("diff", "--name-only", "--no-renames", "--relative", "-z", commit, "--", ".")
	if err != nil {
		return failed(err)
	}
	others, err := git("ls-files", "--others", "--exclude-standard", "-z", "--", ".")
	if err != nil {
		return failed(err)
	}
	files := strings.FieldsFunc(string(tracked)+"\x00"+string(others), func(r rune) bool { return r == 0 })
	out := map[*Unit]bool{}
	for _, u := range s.Units {
		dirs := s.reads(ctx, base, u)
		out[u] = slices.ContainsFunc(files, func(file string) bool { return within(file, dirs) })
	}
	if slices.Contains(files, projectfile.Name) {
		before, err := git("show", commit+":./"+projectfile.Name)
		if err != nil {
			before = nil // the commit has no such file, so that all units are new
		}
		s.compare(before, out)
	}
	return out, diags
}

// reads returns the directories and files, relative to the root, that the configuration of a unit consists of.
func (s *Stack) reads(ctx context.Context, base *engine.Surroundings, u *Unit) []string {
	list := []string{u.Dir}
	for _, name := range u.VarFiles {
		if !filepath.IsAbs(name) {
			list = append(list, path.Join(u.Dir, filepath.ToSlash(name)))
		}
	}
	us := s.Surroundings(base, u)
	cfg, _, problems := load(ctx, us)
	if problems.diags.HasErrors() {
		return list
	}
	for _, m := range cfg.Modules {
		if m.Dir != "" && !filepath.IsAbs(m.Dir) {
			list = append(list, path.Join(u.Dir, m.Dir))
		}
	}
	for _, call := range cfg.Root.Calls { // modules may not be installed
		if source := call.Source; strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") {
			list = append(list, path.Join(u.Dir, source))
		}
	}
	return list
}

// within reports whether a file is one of the files, or in one of the directories.
func within(file string, list []string) bool {
	return slices.ContainsFunc(list, func(dir string) bool {
		return dir == "." || file == dir || strings.HasPrefix(file, dir+"/")
	})
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
