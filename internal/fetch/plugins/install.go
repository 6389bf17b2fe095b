package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// isInstalled reports whether the locked version is installed unchanged in a folder.
func isInstalled(ctx context.Context, in packages.Folder, locked lockfile.Entry) bool {
	if in.Dir == "" {
		return false
	}
	_, h, err := in.Installed(ctx, locked.Provider, locked.Version)
	return err == nil && slices.Contains(locked.Hashes, h)
}

// install installs the chosen version, and creates its entry of the lock file.
func (in *installer) install(ctx context.Context, t *task) {
	locked, _ := in.Locked.Entry(t.Provider)
	t.entry = lockfile.Entry{Provider: t.Provider, Version: t.version, Constraints: in.Wanted[t.Provider]}
	if locked.Version == t.version {
		t.entry.Hashes = locked.Hashes
	}
	var h lockfile.Hash
	var err error
	step := Step{Kind: StepUse, Provider: t.Provider, Version: t.version}
	switch {
	case t.installed || !t.cached && isInstalled(ctx, in.Folder, t.entry):
		in.progress(step)
		// The entry does not change: its constraints are those under which the version was chosen, which did not happen
		// again.
		return
	case t.cached || in.isCached(ctx, t.entry):
		step.Kind = StepCached
		in.progress(step)
		if h, err = in.Folder.Install(ctx, in.cached(t.entry), accepts(t.entry.Hashes, "")); err != nil {
			t.diags = t.diags.Errorf(nil, "Failed to install provider from shared cache",
				"Error while linking to %s v%s in the plugin cache: %s.", t.ForDisplay(), t.version, err)
			return
		}
	case len(t.found.sources) == 0:
		t.queryFailed(
			"version %s was just installed, but is no longer there. Another process uses the same directory",
			t.version)
		return
	default:
		step.Kind = StepInstall
		in.progress(step)
		h, err = in.fetch(ctx, t)
		var elsewhere *packages.PlatformError
		switch {
		case errors.As(err, &elsewhere):
			t.notForThisPlatform(elsewhere)
			return
		case err != nil:
			t.diags = t.diags.Errorf(nil, "Failed to install provider", "Error while installing %s v%s: %s.",
				t.ForDisplay(), t.version, err)
			return
		}
		step.Kind, step.Proof = StepInstalled, t.proof
		in.progress(step)
	}
	here := append([]lockfile.Hash{h}, t.proof.Hashes...)
	t.thisPlatformOnly = t.proof.Trust <= packages.Checksum &&
		!slices.ContainsFunc(t.entry.Hashes, func(known lockfile.Hash) bool { return !slices.Contains(here, known) })
	t.entry.Hashes = append(understood(t.entry.Hashes), here...)
	t.locks = true
}

// understood returns the hashes with known schemes.
func understood(hashes []lockfile.Hash) []lockfile.Hash {
	return slices.DeleteFunc(slices.Clone(hashes), func(h lockfile.Hash) bool {
		return h.Scheme() != "h1" &&
			h.Scheme() != "zh"
	})
}

const stagedPrefix = "tombolo-provider-"

// staged calls f with a temporary directory for fetched files.
func staged(f func(dir string) error) (err error) {
	replace.Sweep(os.TempDir(), stagedPrefix)
	work, err := replace.Unfinished(os.TempDir(), stagedPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, work.Remove()) }()
	return f(work.Dir)
}

// fetch fetches a package and installs it if the lock file allows it, through the cache if there is one.
func (in *installer) fetch(ctx context.Context, t *task) (h lockfile.Hash, err error) {
	var fill *filling
	if in.Cache.Dir != "" {
		fill = in.filling(t.entry)
		fill.mu.Lock()
		defer fill.mu.Unlock()
		if h, ok := fill.reuse(ctx, in, t); ok {
			return h, nil
		}
	}
	err = staged(func(dir string) error {
		found, err := t.found.fetch(ctx, t.request(), dir, func(done, total int64) {
			in.progress(Step{Kind: StepFetch, Provider: t.Provider, Version: t.version, Done: done, Total: total})
		})
		if err != nil {
			return err
		}
		t.proof = found.Proof
		archive := lockfile.Hash("")
		if found.Packed {
			if archive, err = found.ArchiveHash(ctx); err != nil {
				return err
			}
		}
		accept := accepts(t.entry.Hashes, archive)
		if in.Cache.Dir == "" {
			h, err = in.Folder.Install(ctx, found.Package, accept)
			return err
		}
		if h, err = in.Cache.Install(ctx, found.Package, accept); err == nil {
			fill.hash, fill.archive, fill.proof = h, archive, found.Proof
			h, err = in.Folder.Install(ctx, in.cached(t.entry), accepts([]lockfile.Hash{h}, ""))
		}
		return err
	})
	return h, err
}

// accepts returns a function that decides whether a package may be installed: it must have a hash in the lock file, of
// its files or of its archive. If the lock file has no hashes, every package may.
func accepts(hashes []lockfile.Hash, archive lockfile.Hash) func(lockfile.Hash) error {
	return func(h lockfile.Hash) error {
		if len(hashes) == 0 || slices.Contains(hashes, h) || archive != "" && slices.Contains(hashes, archive) {
			return nil
		}
		return diag.Advised(fmt.Errorf("the package has none of the checksums of the lock file, but %s. Either the "+
			"package was changed after it was locked, or the lock file has only packages for other platforms", h),
			"In that case, add this platform with \"%s\".",
			diag.Run("providers", "lock", "-platform="+packages.Current().String()))
	}
}

// cached returns the package in the cache.
func (in *installer) cached(e lockfile.Entry) packages.Package {
	return packages.Package{Provider: e.Provider, Version: e.Version, Platform: packages.Current(),
		Path: in.Cache.Path(e.Provider, e.Version)}
}

// isCached reports whether the cache contains a usable package: one with a hash in the lock file, or any if that is
// allowed.
func (in *installer) isCached(ctx context.Context, e lockfile.Entry) bool {
	if in.Cache.Dir == "" {
		return false
	}
	_, h, err := in.Cache.Installed(ctx, e.Provider, e.Version)
	return err == nil && (slices.Contains(e.Hashes, h) || in.CacheUnlocked)
}
