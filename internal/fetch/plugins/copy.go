package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// CopyOptions selects the packages of a mirror.
type CopyOptions struct {
	Wanted    Wanted
	Locked    lockfile.File
	Sources   Sources
	Platforms []packages.Platform
	Dir       string // folder of the mirror
	// Selected is called with the chosen version of a provider, and whether the lock file contains it. It may be nil.
	Selected func(e lockfile.Entry, locked bool)
	// Progress is called before and after each package is fetched. It may be nil.
	Progress func(Fetching)
}

// Copy writes packed packages into a folder, with the documents of a network mirror for a web server. It keeps existing
// files. It chooses versions as Lock does.
func Copy(ctx context.Context, opts CopyOptions) (diags diag.List) {
	if opts.Selected == nil {
		opts.Selected = func(lockfile.Entry, bool) {}
	}
	if opts.Progress == nil {
		opts.Progress = func(Fetching) {}
	}
	if diags = opts.check(); diags.HasErrors() {
		return diags
	}
	for _, p := range opts.Wanted.sorted() {
		if p.IsBuiltin() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return diags.AppendError("Mirroring was canceled", err)
		}
		if err := opts.copy(ctx, p); err != nil {
			diags = diags.Errorf(nil, "Failed to mirror provider", "Provider %s could not be copied to %s: %s.",
				p.ForDisplay(), opts.Dir, strings.TrimSuffix(err.Error(), "."))
		}
	}
	return diags
}

// check returns an error if the lock file does not match, before anything is fetched.
func (o CopyOptions) check() (diags diag.List) {
	for _, p := range o.Wanted.sorted() {
		if e, ok := o.Locked.Entry(p); ok && !o.Wanted[p].Allow(e.Version) {
			diags = diags.Errorf(nil, "Inconsistent dependency lock file", "Provider %s: the lock file has version "+
				"%s, which does not match the constraint %s of the configuration.", p.ForDisplay(), e.Version,
				o.Wanted[p]).Advise(upgrade, diag.Run("init", "-upgrade"))
		}
	}
	return diags
}

func (o CopyOptions) copy(ctx context.Context, p addr.Provider) error {
	s, err := selectVersion(ctx, o.Sources, p, o.Wanted, o.Locked)
	if err != nil {
		return err
	}
	o.Selected(s.entry, s.known)
	for _, on := range o.Platforms {
		w := packages.Request{Provider: p, Version: s.entry.Version, Platform: on}
		if err := s.found.check(w); err != nil {
			return err
		}
		o.Progress(Fetching{Request: w})
		err := staged(func(dir string) error {
			found, err := s.found.fetch(ctx, w, dir, func(done, total int64) {
				o.Progress(Fetching{Request: w, Done: done, Total: total})
			})
			if err != nil {
				return err
			}
			if err := keep(ctx, found.Package, o.Dir, packages.ArchivePath(o.Dir, w)); err != nil {
				return err
			}
			o.Progress(Fetching{Request: w, Ended: true, Proof: found.Proof})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return writeIndex(ctx, o.Dir, p)
}

// keep atomically copies an archive to its location.
func keep(ctx context.Context, p packages.Package, mirror, target string) error {
	if !p.Packed {
		return fmt.Errorf("the package %s is not an archive, so its checksums differ from those of its publisher",
			p.Path)
	}
	in, err := regular.Open(p.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	return put(mirror, target, func(out io.Writer) error {
		_, err := io.Copy(out, unpack.Reader(ctx, in))
		return err
	})
}

// put writes a file of a mirror, whose links must not lead out of it.
func put(mirror, path string, write func(io.Writer) error) error {
	return replace.Own(mirror, path, 0o666, write)
}

// writeIndex writes the documents for the packed packages of a provider in a mirror.
func writeIndex(ctx context.Context, dir string, p addr.Provider) error {
	found, err := packages.Search(dir, p)
	if err != nil {
		return err
	}
	type archive struct {
		Hashes []lockfile.Hash `json:"hashes"`
		URL    string          `json:"url"`
	}
	type release struct {
		Archives map[string]archive `json:"archives"`
	}
	versions := map[string]struct{}{}
	releases := map[string]release{}
	for _, f := range found {
		if !f.Packed {
			continue
		}
		h, err := f.Hash(ctx)
		if err != nil {
			return err
		}
		v := f.Version.String()
		if _, ok := releases[v]; !ok {
			versions[v], releases[v] = struct{}{}, release{map[string]archive{}}
		}
		releases[v].Archives[f.Platform.String()] = archive{[]lockfile.Hash{h}, filepath.Base(f.Path)}
	}
	folder := packages.ProviderPath(dir, p)
	for v, r := range releases {
		if err := writeJSON(dir, filepath.Join(folder, v+".json"), r); err != nil {
			return err
		}
	}
	return writeJSON(dir, filepath.Join(folder, "index.json"), map[string]any{"versions": versions})
}

func writeJSON(mirror, path string, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return put(mirror, path, func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	})
}

// Why describes how the version of a provider was chosen.
func Why(locked bool, c require.Constraints) string {
	switch {
	case locked:
		return "to match dependency lock file"
	case c.IsEmpty():
		return "with no constraints"
	}
	return "to meet constraints " + c.String()
}
