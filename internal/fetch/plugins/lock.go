package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// LockOptions selects the packages to lock.
type LockOptions struct {
	Wanted    Wanted
	Locked    lockfile.File
	Sources   Sources
	Platforms []packages.Platform
	// Cache is a folder whose packages need not be fetched. Fetched packages for this platform are added to it. Its Dir
	// is "" if there is none.
	Cache packages.Folder
	// Progress is called before and after each package is fetched, not concurrently. It may be nil.
	Progress func(Fetching)
}

// Fetching is a step of fetching a package for another machine.
type Fetching struct {
	packages.Request
	// Ended means that the package was fetched, and Proof how it was checked.
	Ended bool
	packages.Proof
	// Done and Total are the bytes of a package that is being fetched; both are 0 at first.
	Done, Total int64
}

// Recorded is the content of the lock file before.
type Recorded uint8

// Contents of the lock file before.
const (
	NewProvider Recorded = iota + 1 // no entry of the provider
	NewHash                         // the provider, but not this package
	NoChange                        // this package
)

// Record is the result for one provider on one platform.
type Record struct {
	Provider addr.Provider
	Platform packages.Platform
	Recorded Recorded
}

// Lock adds the hashes of packages for several platforms to a lock file and installs nothing. Locked versions are kept;
// for other providers it chooses the newest allowed version.
func Lock(ctx context.Context, opts LockOptions) (lockfile.File, []Record, diag.List) {
	var mu sync.Mutex // held while Progress is called
	if progress := opts.Progress; progress != nil {
		opts.Progress = func(f Fetching) {
			mu.Lock()
			defer mu.Unlock()
			progress(f)
		}
	} else {
		opts.Progress = func(Fetching) {}
	}
	lock := opts.Locked.Keep(func(p addr.Provider) bool { return !p.IsBuiltin() })
	wanted := slices.DeleteFunc(opts.Wanted.sorted(), addr.Provider.IsBuiltin)
	outcomes := make([]locked, len(wanted))
	inParallel(ctx, len(wanted), func(i int) { outcomes[i] = opts.lock(ctx, wanted[i]) })
	var records []Record
	var diags diag.List
	if err := ctx.Err(); err != nil {
		return lock, nil, diags.AppendError("Locking was canceled", err)
	}
	for i, o := range outcomes {
		if o.err != nil {
			diags = diags.Errorf(nil, "Could not retrieve providers for locking",
				"The checksums of provider %s could not be calculated: %s.", wanted[i].ForDisplay(),
				strings.TrimSuffix(o.err.Error(), "."))
			if outdated := (*outdatedError)(nil); errors.As(o.err, &outdated) {
				diags = diags.Advise(upgrade, diag.Run("init", "-upgrade"))
			}
			continue
		}
		records = append(records, o.records...)
		lock = lock.With(o.entry)
	}
	return lock, records, diags
}

// locked is the result for one provider.
type locked struct {
	entry   lockfile.Entry
	records []Record
	err     error
}

func (o LockOptions) lock(ctx context.Context, p addr.Provider) (l locked) {
	s, err := selectVersion(ctx, o.Sources, p, o.Wanted, o.Locked)
	if err != nil {
		return locked{err: err}
	}
	l.entry = s.entry
	for _, on := range o.Platforms {
		h, proof, err := o.hash(ctx, s, on)
		if err != nil {
			l.err = err
			return l
		}
		record := Record{Provider: p, Platform: on, Recorded: NoChange}
		switch {
		case !s.known:
			record.Recorded = NewProvider
		case !slices.Contains(s.entry.Hashes, h):
			record.Recorded = NewHash
		}
		l.records = append(l.records, record)
		l.entry.Hashes = slices.Concat(l.entry.Hashes, []lockfile.Hash{h}, proof.Hashes)
	}
	return l
}

// hash fetches a package and returns its hash.
func (o LockOptions) hash(ctx context.Context, s selection, on packages.Platform) (h lockfile.Hash,
	proof packages.Proof, err error) {
	w := packages.Request{Provider: s.entry.Provider, Version: s.entry.Version, Platform: on}
	caches := o.Cache.Dir != "" && on == packages.Current()
	if caches {
		if _, h, err := o.Cache.Installed(ctx, w.Provider, w.Version); err == nil && slices.Contains(s.entry.Hashes,
			h) {
			return h, packages.Proof{}, nil
		}
	}
	if err := s.found.check(w); err != nil {
		return "", proof, err
	}
	o.Progress(Fetching{Request: w})
	err = staged(func(dir string) error {
		found, err := s.found.fetch(ctx, w, dir, func(done, total int64) {
			o.Progress(Fetching{Request: w, Done: done, Total: total})
		})
		if err != nil {
			return err
		}
		proof = found.Proof
		if h, err = found.Hash(ctx); err != nil {
			return errors.Join(fmt.Errorf("read the package %s", found.Path), err)
		}
		if caches {
			_, err = o.Cache.Install(ctx, found.Package, accepts(nil, ""))
		}
		return err
	})
	if err == nil {
		o.Progress(Fetching{Request: w, Ended: true, Proof: proof})
	}
	return h, proof, err
}

// selection is the version of a provider for other machines.
type selection struct {
	entry lockfile.Entry
	known bool // the lock file contained it
	found offer
}

// outdatedError means that the constraints do not allow the locked version.
type outdatedError struct{ locked, constraints string }

func (e *outdatedError) Error() string {
	return "the lock file has version " + e.locked + ", which does not match the constraint " + e.constraints +
		" of the configuration"
}

// selectVersion chooses the locked version of a provider, or else the newest allowed one.
func selectVersion(ctx context.Context, sources Sources, p addr.Provider, wanted Wanted, lock lockfile.File) (selection,
	error) {
	constraints := wanted[p]
	e, known := lock.Entry(p)
	if known && !constraints.Allow(e.Version) {
		return selection{}, &outdatedError{e.Version.String(), constraints.String()}
	}
	available, err := sources.search(ctx, p)
	if err != nil {
		return selection{}, err
	}
	if !known {
		v, ok := constraints.Newest(available.versions())
		if !ok {
			return selection{}, fmt.Errorf("%s; there are %s", noMatch(constraints), available)
		}
		e = lockfile.Entry{Provider: p, Version: v}
	}
	e.Constraints = constraints
	found, ok := available.offer(e.Version)
	if !ok {
		return selection{}, fmt.Errorf("version %s from the lock file is not available; available are %s", e.Version,
			available)
	}
	return selection{e, known, found}, nil
}
