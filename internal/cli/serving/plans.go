package serving

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/pages"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
)

const (
	// mostPlans is the maximum number of plans in a list.
	mostPlans = 500
	// maxPlan is the maximum size of a plan in bytes.
	maxPlan = 256 << 20
)

// folder is a folder of saved plans. It implements pages.Plans. Links in it are not followed.
type folder struct {
	dir  string
	call *command.Call
	base *engine.Surroundings
	view view.Options
}

// check returns an error if the folder cannot be read.
func (f *folder) check() error {
	info, err := os.Stat(f.dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", f.dir)
	}
	return err
}

// Folder implements pages.Plans.
func (f *folder) Folder() string { return f.dir }

// List implements pages.Plans.
func (f *folder) List(context.Context) ([]pages.PlanFile, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var all []pages.PlanFile
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || strings.HasPrefix(name, ".") || view.CleanLine(name) != name {
			continue
		}
		info, err := e.Info()
		if err == nil && looksLikePlan(root, name) {
			all = append(all, pages.PlanFile{Name: name, Size: info.Size(), Modified: info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b pages.PlanFile) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), mostPlans)], nil
}

// looksLikePlan reports whether a file begins as plans do: an archive, or an encrypted document without a lineage.
func looksLikePlan(root *os.Root, name string) bool {
	f, err := regular.OpenIn(root, name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 16)
	n, _ := f.ReadAt(head, 0)
	return bytes.HasPrefix(head[:n], []byte("PK\x03\x04")) || bytes.HasPrefix(head[:n], []byte(`{"meta":`))
}

// read reads the file of a plan, which must not be a link, and returns its content with its hash.
func (f *folder) read(name string) (content []byte, hash string, err error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	if filepath.Base(name) != name {
		return nil, "", fs.ErrNotExist
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() {
		return nil, "", fs.ErrNotExist
	}
	if content, err = regular.ReadIn(root, name, maxPlan); err != nil {
		return nil, "", err
	}
	return content, fmt.Sprintf("sha256:%x", sha256.Sum256(content)), nil
}

// Open implements pages.Plans.
func (f *folder) Open(ctx context.Context, name string) (*pages.Plan, error) {
	content, hash, err := f.read(name)
	if err != nil {
		return nil, err
	}
	sur := f.base.At("")
	sur.Keeps = f.base.Keeps
	pl, diags, err := sur.ReadPlan(ctx, bytes.NewReader(content), int64(len(content)))
	if problem := (*plan.FileError)(nil); errors.As(err, &problem) {
		err = errors.New(problem.Detail)
	}
	if err = cmp.Or(err, asError(diags)); err != nil {
		return nil, err
	}
	project, diags := sur.Project(ctx, engine.LoadOptions{Saved: pl, Terse: true, Secrets: &view.Secrets{}})
	if err := asError(diags); err != nil {
		return nil, err
	}
	p := &pages.Plan{PlanFile: pages.PlanFile{Name: name, Size: int64(len(content))}, Hash: hash, Plan: pl,
		View: f.view}
	p.Schemas = maps.Clone(project.Schemas(pl.Prior(), pl.Changes...))
	p.View.Sources = func() map[string][]byte { return pl.Config }
	if err := project.Close(); err != nil {
		return nil, fmt.Errorf("a provider did not stop cleanly: %w", err)
	}
	return p, nil
}
