package fetch

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-version"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/fetch/download"
)

// fetched is a package in the stage.
type fetched struct {
	pkg, dir string
	size     size
	hash     string // of its files; "" if modules are not pinned, and for a folder on this machine
}

// reuse uses the installed module if it matches the call.
func (w *walk) reuse(n *node) bool {
	recorded, ok := w.old[n.entry.Key]
	if !ok || n.from.fresh || w.opts.Upgrade || recorded.Source != n.call.Source || !allows(n.call, recorded.Version) ||
		checkDir(w.files, recorded.Dir) != nil {
		return false
	}
	if pin, ok := w.pinOf(n); ok && pin.Version != recorded.Version {
		return false
	}
	n.entry = recorded
	pkg, _ := splitSource(n.call.Source)
	n.place = place{dir: recorded.Dir, pkg: download.Shown(pkg), inPkg: ".", files: w.files}
	if recorded.Version != "" {
		n.place.pkg += "@" + recorded.Version
	}
	if w.stage != nil {
		if sub, ok := strings.CutPrefix(recorded.Dir, w.stage.home(n.entry.Key)+"/"); ok {
			n.place.inPkg = sub
		}
	}
	return true
}

// allows reports whether a recorded version satisfies a call.
func allows(call *config.ModuleCall, recorded string) bool {
	if call.Kind != config.SourceRegistry {
		return true
	}
	v, err := version.NewVersion(recorded)
	return err == nil && call.Version.Parsed.Check(v)
}

func splitSource(source string) (pkg, sub string) {
	getter, rest := config.SplitForced(source)
	if pkg, sub = config.SplitSubdir(rest); getter != "" {
		pkg = getter + "::" + pkg
	}
	return pkg, sub
}

// splitPackage is splitSource for a package from a registry.
func splitPackage(located catalog.Package) (pkg catalog.Package, sub string) {
	pkg = located
	if !pkg.Archive {
		pkg.Source, sub = splitSource(pkg.Source)
	}
	return pkg, sub
}

// once calls do for the first request with a name, when there is a free slot, and returns its result to all requests
// with that name.
func once[T any](ctx context.Context, w *walk, name string, do func() (T, error)) (T, error) {
	w.mu.Lock()
	get := w.results[name]
	if get == nil {
		get = sync.OnceValues(func() (any, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case w.slots <- struct{}{}:
			}
			defer func() { <-w.slots }()
			return do()
		})
		w.results[name] = get
	}
	w.mu.Unlock()
	got, err := get()
	if err != nil {
		var none T
		return none, err
	}
	return got.(T), nil
}

// ask reports what is going to be downloaded.
func (n *node) ask(what string) {
	n.asking = "Downloading " + what + " for " + n.entry.Key + "..."
	close(n.asked)
}

// findPackage fetches the package of a call, unless another call has already fetched it.
func (w *walk) findPackage(ctx context.Context, n *node) bool {
	pkg, sub := splitPackage(catalog.Package{Source: n.call.Source})
	if n.call.Kind == config.SourceRegistry {
		located, ok := w.locate(ctx, n, pkg.Source)
		if !ok {
			return false
		}
		inner := ""
		pkg, inner = splitPackage(located)
		sub = path.Join(inner, sub)
	} else {
		n.ask(download.Shown(pkg.Source))
	}
	shown := download.Shown(pkg.Source)
	if n.call.Kind == config.SourceRegistry {
		shown = config.ShownAnswer(pkg.Source)
	}
	wanted := pkg
	if pin, ok := w.pinOf(n); ok && pin.Commit != "" {
		wanted.Source = download.AtCommit(pkg.Source, pin.Commit)
	}
	got, err := once(ctx, w, fmt.Sprintf("fetch %+v", wanted), func() (*fetched, error) { return w.fetch(ctx, wanted) })
	if err != nil {
		n.fail(&n.call.Range, "Failed to download module", // Programs find the address by its position.
			"Could not download module code from\n\"%s\": %s. It is the package of %s.", shown,
			strings.TrimSuffix(err.Error(), "."), n.path)
		return false
	}
	if sub != "" {
		if sub, err = download.Subdir(got.dir, sub); err != nil {
			n.fail(n.call.SourcePlace(), "Unreadable module subdirectory",
				"The module %s cannot be read from the package %s: %s.", n.path, shown, err)
			return false
		}
	}
	if !w.pinFetched(n, got) {
		return false
	}
	home := w.stage.home(n.entry.Key)
	n.fetched = got
	n.place = place{dir: path.Join(home, sub), pkg: download.Shown(pkg.Source), inPkg: path.Clean(sub), files: overlay{
		w.files, home, got.dir}, fresh: true}
	n.entry.Dir = n.place.dir
	return true
}

// fetch fetches a package into the stage.
func (w *walk) fetch(ctx context.Context, pkg catalog.Package) (*fetched, error) {
	dir, err := w.stage.folder()
	if err != nil {
		return nil, err
	}
	if err := w.opts.Packages.Fetch(ctx, pkg, dir); err != nil {
		return nil, err
	}
	size, err := w.stage.spend(ctx, dir)
	if err != nil {
		return nil, err
	}
	hash, err := w.hash(ctx, dir)
	return &fetched{pkg.Source, dir, size, hash}, err
}

// locate selects a version of a registry module, and returns its package.
func (w *walk) locate(ctx context.Context, n *node, pkg string) (none catalog.Package, ok bool) {
	m, err := catalog.Parse(pkg)
	if err != nil {
		n.fail(n.call.SourcePlace(), "Invalid module source address", "%s.", err)
		return none, false
	}
	if pin, ok := w.pinOf(n); ok {
		return w.locateVersion(ctx, n, m, pin.Version)
	}
	offered, err := once(ctx, w, "versions "+pkg, func() ([]string, error) { return w.opts.Packages.Versions(ctx, m) })
	var unknown *catalog.NotFoundError
	switch {
	case errors.As(err, &unknown):
		n.fail(&n.call.Range, "Module not found", "The module %s cannot be installed: %s. Check the source %q, and "+
			"whether the registry requires a token for the module.", n.path, err, n.call.SourceRaw)
		return none, false
	case err != nil:
		n.fail(&n.call.Range, "Error accessing remote module registry",
			"The module %s is not installed, and the versions of %s could not be listed: %s.", n.path, m,
			strings.TrimSuffix(err.Error(), "."))
		return none, false
	}
	chosen, newest := choose(offered, n.call.Version.Parsed)
	switch {
	case newest == "":
		n.fail(&n.call.Range, "Module has no versions",
			"The module %s cannot be installed: the registry %s has no usable version of %s.", n.path,
			m.Host, m)
		return none, false
	case chosen == "":
		n.fail(&n.call.Range, "Unresolvable module version constraint",
			"No version of %s that the registry %s has satisfies %q. The newest is %s.", m, m.Host, n.call.Version.Text,
			newest)
		return none, false
	}
	return w.locateVersion(ctx, n, m, chosen)
}

// locateVersion returns the package of a version.
func (w *walk) locateVersion(ctx context.Context, n *node, m catalog.Module, chosen string) (catalog.Package, bool) {
	pkg, _ := splitSource(n.call.Source)
	n.entry.Version = chosen
	n.ask(pkg + " " + chosen)
	located, err := once(ctx, w, "locate "+pkg+" "+chosen, func() (catalog.Package, error) {
		return w.opts.Packages.Locate(ctx, m, chosen)
	})
	if err != nil {
		n.fail(&n.call.Range, "Error accessing remote module registry",
			"The module %s is not installed, and the address of version %s of %s could not be read: %s.", n.path,
			chosen,
			m, strings.TrimSuffix(err.Error(), "."))
		return catalog.Package{}, false
	}
	return located, true
}

// choose returns the newest allowed version. A pre-release is chosen only if a constraint requires exactly that
// version. newest is the newest version regardless of the constraints. Both may be "".
func choose(offered []string, allowed version.Constraints) (chosen, newest string) {
	var best, top *version.Version
	for _, text := range offered {
		v, err := version.NewVersion(text)
		if err != nil || len(text) > maxVersion {
			continue // perhaps in a later format; it cannot be requested
		}
		if v.Prerelease() != "" && !asksFor(allowed, v) {
			continue
		}
		if top == nil || v.GreaterThan(top) {
			top = v
		}
		if allowed.Check(v) && (best == nil || v.GreaterThan(best)) {
			best = v
		}
	}
	if best != nil {
		chosen = best.String()
	}
	if top != nil {
		newest = top.String()
	}
	return chosen, newest
}

const maxVersion = 256

// asksFor reports whether one of the constraints requires exactly this version.
func asksFor(allowed version.Constraints, v *version.Version) bool {
	return slices.ContainsFunc(allowed, func(c *version.Constraint) bool {
		named, err := version.NewVersion(strings.TrimSpace(strings.TrimPrefix(c.String(), "=")))
		return err == nil && named.Equal(v)
	})
}
