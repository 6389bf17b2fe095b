package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// LockOptions tell which packages are to be recorded.
type LockOptions struct {
	Wanted    Wanted
	Locked    lockfile.File
	Sources   Sources
	Platforms []packages.Platform
	// Progress is called before and after each package is read; nil for none.
	Progress func(p addr.Provider, v versions.Version, on packages.Platform, done bool)
}

// Recorded tells what the lock file knew of a package before.
type Recorded uint8

// What the lock file knew.
const (
	NewProvider Recorded = iota + 1 // nothing of the provider
	NewHash                         // the provider, not this package
	NoChange                        // this package
)

// Record is the outcome for one provider on one platform.
type Record struct {
	Provider addr.Provider
	Platform packages.Platform
	Recorded Recorded
}

// Lock adds the hashes of packages for several platforms to a lock file and installs nothing. Locked versions stay; for other providers
// the newest allowed version is chosen.
func Lock(ctx context.Context, opts LockOptions) (lockfile.File, []Record, diag.List) {
	if opts.Progress == nil {
		opts.Progress = func(addr.Provider, versions.Version, packages.Platform, bool) {}
	}
	lock := opts.Locked.Keep(func(p addr.Provider) bool { return !p.IsBuiltin() })
	var records []Record
	var diags diag.List
	for _, p := range opts.Wanted.sorted() {
		if p.IsBuiltin() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return lock, nil, diags.AppendError("Locking was canceled", err)
		}
		entry, known, err := opts.entry(p)
		var more []Record
		if err == nil {
			entry, more, err = opts.hashes(entry, known)
		}
		if err != nil {
			diags = diags.Errorf(nil, "Could not retrieve providers for locking", "The checksums of provider %s could not be calculated: %s.", p.ForDisplay(), strings.TrimSuffix(err.Error(), "."))
			continue
		}
		records = append(records, more...)
		lock = lock.With(entry)
	}
	return lock, records, diags
}

// entry gives the entry of a provider to which hashes are going to be added, and whether the lock file had one.
func (o LockOptions) entry(p addr.Provider) (lockfile.Entry, bool, error) {
	wanted := o.Wanted[p]
	if e, ok := o.Locked.Entry(p); ok {
		if !wanted.Allow(e.Version) {
			return e, true, fmt.Errorf("the lock file has version %s, which does not match the constraint %s of the configuration; run init -upgrade to choose a new version, or change the constraint", e.Version, wanted)
		}
		e.Constraints = wanted
		return e, true, nil
	}
	available, err := o.Sources.search(p)
	if err != nil {
		return lockfile.Entry{}, false, err
	}
	v, ok := wanted.Newest(versionsOf(available))
	if !ok {
		return lockfile.Entry{}, false, fmt.Errorf("%s; there are %s", noMatch(wanted), listVersions(available))
	}
	return lockfile.Entry{Provider: p, Version: v, Constraints: wanted}, false, nil
}

// whatThereIs names the platforms that the version is there for, or the versions when it is there for none.
func whatThereIs(e lockfile.Entry, available []packages.Package) string {
	var platforms []string
	for _, p := range available {
		if p.Version == e.Version && !slices.Contains(platforms, p.Platform.String()) {
			platforms = append(platforms, p.Platform.String())
		}
	}
	if len(platforms) == 0 {
		return "there are " + listVersions(available)
	}
	slices.Sort(platforms)
	return "it is there for " + strings.Join(platforms, ", ")
}

// hashes adds the hashes of all platforms to an entry.
func (o LockOptions) hashes(e lockfile.Entry, known bool) (lockfile.Entry, []Record, error) {
	available, err := o.Sources.search(e.Provider)
	if err != nil {
		return e, nil, err
	}
	before := slices.Clone(e.Hashes)
	var records []Record
	for _, on := range o.Platforms {
		i := slices.IndexFunc(available, func(c packages.Package) bool { return c.Version == e.Version && c.Platform == on })
		if i < 0 {
			return e, nil, fmt.Errorf("version %s is not available for %s; %s", e.Version, on, whatThereIs(e, available))
		}
		o.Progress(e.Provider, e.Version, on, false)
		h, err := available[i].Hash()
		if err != nil {
			return e, nil, errors.Join(fmt.Errorf("read the package %s", available[i].Path), err)
		}
		o.Progress(e.Provider, e.Version, on, true)
		record := Record{Provider: e.Provider, Platform: on, Recorded: NoChange}
		switch {
		case !known:
			record.Recorded = NewProvider
		case !slices.Contains(before, h):
			record.Recorded = NewHash
		}
		records = append(records, record)
		e.Hashes = append(slices.Clone(e.Hashes), h)
	}
	return e, records, nil
}
