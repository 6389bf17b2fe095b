package stack

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Which files a unit reads.

// reading collects the files and directories that a unit reads.
type reading struct {
	repo *repository
	list []string // absolute, with links on the way and their targets
	seen map[string]bool
	// templates are those whose calls of functions are already known.
	templates map[string]bool
	// unclear means that the unit reads something that cannot be found out, or that is outside of the repository.
	unclear bool
}

// has reports whether a file is one of the files, or in one of the directories.
func (r *reading) has(file string) bool {
	return slices.ContainsFunc(r.list, func(dir string) bool {
		return file == dir || strings.HasPrefix(file, strings.TrimSuffix(dir, string(filepath.Separator))+
			string(filepath.Separator))
	})
}

// add adds a file or directory, all links on the way to it, and those in it.
func (r *reading) add(name string) {
	real, links := follow(name)
	r.list = append(append(r.list, links...), real)
	if rel, err := filepath.Rel(r.repo.top, real); err != nil || rel == ".." ||
		strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		r.unclear = true
		return
	}
	if r.seen[real] {
		return
	}
	r.seen[real] = true
	_ = filepath.WalkDir(real, func(inner string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // a file that was removed; git names it
		case e.IsDir() && (e.Name() == ".git" || e.Name() == ".terraform"):
			return fs.SkipDir
		case e.Type()&fs.ModeSymlink != 0:
			r.add(inner)
		}
		return nil
	})
}

// follow returns the absolute path of a file without links, and the links on the way to it. Missing parts of the path
// are kept.
func follow(name string) (real string, links []string) {
	full, err := filepath.Abs(name)
	if err != nil {
		return name, nil
	}
	const most = 255 // links; a circle of them has no end
	volume := filepath.VolumeName(full) + string(filepath.Separator)
	real = volume
	parts := strings.Split(strings.TrimPrefix(full, volume), string(filepath.Separator))
	for len(parts) > 0 {
		next := filepath.Join(real, parts[0])
		parts = parts[1:]
		target, err := os.Readlink(next)
		if err != nil || len(links) == most {
			real = next
			continue
		}
		links = append(links, next)
		if !filepath.IsAbs(target) {
			target = filepath.Join(real, target)
		}
		real = volume
		parts = append(strings.Split(strings.TrimPrefix(filepath.Clean(target), volume),
			string(filepath.Separator)), parts...)
	}
	return real, links
}

// reads adds what a unit reads.
func (s *Stack) reads(ctx context.Context, base *engine.Surroundings, u *Unit, r *reading) {
	dir := filepath.Join(s.Root, filepath.FromSlash(u.Dir))
	r.add(dir)
	for _, name := range u.VarFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, filepath.FromSlash(name))
		}
		r.add(name)
	}
	if a := u.block.Variables; a != nil {
		s.readsOf(u, a.Expr, r)
	}
	s.modules(ctx, base, dir, r, map[string]bool{})
}

// modules adds the local modules that a module calls, and those that they call. It does not need them to be installed.
func (s *Stack) modules(ctx context.Context, base *engine.Surroundings, dir string, r *reading, seen map[string]bool) {
	real, _ := follow(dir)
	if seen[real] {
		return
	}
	seen[real] = true
	cfg, diags := base.At(real).RootModule(ctx)
	if diags.HasErrors() || cfg == nil || cfg.Root == nil {
		r.unclear = true
		return
	}
	for _, call := range cfg.Root.Calls {
		switch call.Kind {
		case config.SourceLocal:
		case config.SourceRegistry, config.SourceRemote:
			continue
		default: // the source has no constant value
			r.unclear = true
			continue
		}
		inner := filepath.Join(dir, filepath.FromSlash(call.Source))
		r.add(inner)
		s.modules(ctx, base, inner, r, seen)
	}
}

// readsOf adds the files that functions in an expression read.
func (s *Stack) readsOf(u *Unit, e hcl.Expression, r *reading) {
	node, ok := e.(hclsyntax.Expression)
	if !ok {
		r.unclear = true
		return
	}
	scope := &hcl.EvalContext{Variables: map[string]cty.Value{"each": u.each()},
		Functions: funcs.Table(funcs.Options{BaseDir: s.Root, Pure: true})}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			s.readsOfCall(u, call, scope, r)
		}
		return nil
	})
}

// readsOfCall adds the file that a function reads.
func (s *Stack) readsOfCall(u *Unit, call *hclsyntax.FunctionCallExpr, scope *hcl.EvalContext, r *reading) {
	name := call.Name[strings.LastIndexByte(call.Name, ':')+1:]
	if !strings.HasPrefix(name, "file") && name != "templatefile" {
		if name == "templatestring" {
			r.unclear = true // its text may call functions that read files
		}
		return
	}
	text := func(i int) (string, bool) {
		if i >= len(call.Args) || call.ExpandFinal {
			return "", false
		}
		v, problems := call.Args[i].Value(scope)
		if problems.HasErrors() {
			return "", false
		}
		if v, _ = v.Unmark(); !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
			return "", false
		}
		return v.AsString(), true
	}
	file, ok := text(0)
	if !ok || strings.HasPrefix(file, "~") {
		r.unclear = true
		return
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.Root, filepath.FromSlash(file))
	}
	r.add(file)
	switch name {
	case "fileset":
		if pattern, ok := text(1); !ok || strings.Contains(pattern, "..") {
			r.unclear = true
		}
	case "templatefile":
		if r.templates[file] {
			return // a template that calls itself
		}
		r.templates[file] = true
		src, err := regular.Read(file, maxTemplate)
		if err != nil {
			r.unclear = true
			return
		}
		if nesting.CheckTemplate(src, file).HasErrors() {
			r.unclear = true
			return
		}
		inner, problems := hclsyntax.ParseTemplate(src, file, hcl.InitialPos)
		if problems.HasErrors() {
			r.unclear = true
			return
		}
		s.readsOf(u, inner, r)
	}
}

// maxTemplate is the size of templates up to which they are searched for files that they read.
const maxTemplate = 1 << 20
