// Package plugins chooses and installs the providers that a configuration needs, and checks at every run that what is installed is what was
// chosen.
//
// Install looks in the sources that the CLI configuration allows, in their order, takes the newest version that satisfies all
// constraints (or the locked one), puts it into the install folder and gives the new lock file. Ready is what every other command
// calls: it finds the program of each provider and compares its package with the lock file, and installs nothing.
//
// Both report all problems of all providers together. The lock file is returned, not written: the caller writes it when all went well.
package plugins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
)

// Wanted are the constraints of each provider that the configuration and the state need, those of all modules together.
type Wanted map[addr.Provider]require.Constraints

func (w Wanted) sorted() []addr.Provider {
	return slices.SortedFunc(maps.Keys(w), func(a, b addr.Provider) int { return strings.Compare(a.String(), b.String()) })
}

// Options tell how to install.
type Options struct {
	Wanted Wanted
	Locked lockfile.File
	// Folder is where providers are installed.
	Folder packages.Folder
	// Sources are where packages come from; see Sources.
	Sources Sources
	// Overrides are providers under development: they are neither chosen nor locked.
	Overrides map[addr.Provider]string
	// BuiltIn tells which providers are served by this program when no source has a package. They are not locked.
	BuiltIn func(addr.Provider) bool
	// Upgrade chooses the newest version that the constraints allow, whatever is locked.
	Upgrade bool
	// Progress is called for each step; nil for none.
	Progress func(Step)
}

// StepKind tells what a Step is about.
type StepKind uint8

// The steps of an installation, in the order in which they happen to a provider.
const (
	StepReuse      StepKind = iota + 1 // the locked version is to be used
	StepFind                           // versions are looked for; Constraints tells which
	StepUse                            // the version is installed already
	StepInstall                        // a version is being installed
	StepInstalled                      // it is installed; Authentication tells how it was checked
	StepServedHere                     // the provider is part of this program
)

// Step is a piece of progress.
type Step struct {
	Kind           StepKind
	Provider       addr.Provider
	Version        versions.Version
	Constraints    require.Constraints
	Authentication string
}

// Result is what came of an installation.
type Result struct {
	// Lock is the lock file that belongs to what is installed now.
	Lock lockfile.File
	// HashedHere are providers whose hashes were computed from what was found on this machine, so that the lock file knows them
	// for this platform only.
	HashedHere []addr.Provider
}

// Install makes all wanted providers available.
func Install(ctx context.Context, opts Options) (Result, diag.List) {
	in := &installer{Options: opts}
	if in.Progress == nil {
		in.Progress = func(Step) {}
	}
	in.result.Lock = opts.Locked.Keep(func(p addr.Provider) bool { _, wanted := opts.Wanted[p]; return wanted })
	chosen := map[addr.Provider]candidate{}
	for _, p := range opts.Wanted.sorted() {
		if ctx.Err() != nil {
			break
		}
		if p.IsBuiltin() {
			in.Progress(Step{Kind: StepServedHere, Provider: p})
			continue
		}
		if c, ok := in.choose(p); ok {
			chosen[p] = c
		}
	}
	for _, p := range opts.Wanted.sorted() {
		if c, ok := chosen[p]; ok && ctx.Err() == nil {
			in.install(p, c)
		}
	}
	if err := ctx.Err(); err != nil {
		in.diags = in.diags.AppendError("Provider installation was canceled", err)
	}
	return in.result, in.diags
}

type installer struct {
	Options
	result Result
	diags  diag.List
}

// candidate is the version of a provider that is going to be used, and its package; nil for one that is installed already.
type candidate struct {
	version versions.Version
	found   *packages.Package
}

// choose decides on a version. It reports what stands in the way and then gives false, as for a provider that needs no package.
func (in *installer) choose(p addr.Provider) (candidate, bool) {
	wanted := in.Wanted[p]
	locked, isLocked := in.Locked.Entry(p)
	reuse := isLocked && !in.Upgrade
	if reuse {
		in.Progress(Step{Kind: StepReuse, Provider: p, Version: locked.Version})
		if !wanted.Allow(locked.Version) {
			in.queryFailed(p, "the lock file has version %s, which does not match the constraint %s of the configuration. Run init -upgrade to choose a new version, or change the constraint", locked.Version, wanted)
			return candidate{}, false
		}
		if in.isInstalled(p, locked) {
			return candidate{version: locked.Version}, true
		}
	} else {
		in.Progress(Step{Kind: StepFind, Provider: p, Constraints: wanted})
	}
	available, err := in.Sources.search(p)
	if len(available) == 0 {
		switch {
		case in.Overrides[p] != "":
			return candidate{}, false
		case in.BuiltIn != nil && in.BuiltIn(p):
			in.result.Lock = in.result.Lock.Keep(func(other addr.Provider) bool { return other != p })
			in.Progress(Step{Kind: StepServedHere, Provider: p})
			return candidate{}, false
		}
		in.queryFailed(p, "%s", cmp.Or(err, errors.New("no place to install from has this provider")))
		return candidate{}, false
	}
	version, ok := locked.Version, reuse
	if !reuse {
		version, ok = wanted.Newest(versionsOf(available))
	}
	if !ok {
		in.queryFailed(p, "no version matches the constraint %s; there are %s", wanted, listVersions(available))
		return candidate{}, false
	}
	for i, c := range available {
		if c.Version == version && c.Platform == packages.Current() {
			return candidate{version: version, found: &available[i]}, true
		}
	}
	if slices.ContainsFunc(available, func(c packages.Package) bool { return c.Version == version }) {
		in.queryFailed(p, "version %s is there, but not for %s", version, packages.Current())
	} else {
		in.queryFailed(p, "the version %s of the lock file is not there any more; there are %s. Run init -upgrade to choose another one", version, listVersions(available))
	}
	return candidate{}, false
}

func (in *installer) queryFailed(p addr.Provider, format string, args ...any) {
	in.diags = in.diags.Errorf(nil, "Failed to query available provider packages",
		"Could not choose a version of provider %s: %s.\n\nThe command \"providers\" shows which modules need it and what versions they ask for.", p.ForDisplay(), strings.TrimSuffix(fmt.Sprintf(format, args...), "."))
}

// isInstalled tells whether the locked version is in the install folder already, unchanged.
func (in *installer) isInstalled(p addr.Provider, locked lockfile.Entry) bool {
	_, h, err := in.Folder.Installed(p, locked.Version)
	return err == nil && slices.Contains(locked.Hashes, h)
}

// install puts the chosen package into the folder and its hash into the lock file.
func (in *installer) install(p addr.Provider, c candidate) {
	entry, _ := in.Locked.Entry(p)
	if entry.Version != c.version {
		entry.Hashes = nil // those of another version
	}
	entry = lockfile.Entry{Provider: p, Version: c.version, Constraints: in.Wanted[p], Hashes: entry.Hashes}
	if c.found == nil || in.isInstalled(p, entry) {
		in.Progress(Step{Kind: StepUse, Provider: p, Version: c.version})
		in.result.Lock = in.result.Lock.With(entry)
		return
	}
	in.Progress(Step{Kind: StepInstall, Provider: p, Version: c.version})
	h, err := c.found.Hash()
	if err == nil && len(entry.Hashes) > 0 && !slices.Contains(entry.Hashes, h) {
		err = fmt.Errorf("the package %s has the hash %s, which is none of those that the lock file allows. Either the package was changed since it was locked, or the lock file knows only packages of other platforms; in that case \"providers lock -platform=%s\" adds this one", c.found.Path, h, packages.Current())
	}
	if err == nil {
		h, err = in.Folder.Install(*c.found)
	}
	if err != nil {
		in.diags = in.diags.Errorf(nil, "Failed to install provider", "Error while installing %s v%s: %s.", p.ForDisplay(), c.version, err)
		return
	}
	if !slices.Contains(entry.Hashes, h) {
		entry.Hashes = append(slices.Clone(entry.Hashes), h)
		in.result.HashedHere = append(in.result.HashedHere, p)
	}
	in.result.Lock = in.result.Lock.With(entry)
	in.Progress(Step{Kind: StepInstalled, Provider: p, Version: c.version, Authentication: "unauthenticated"})
}

func versionsOf(list []packages.Package) []versions.Version {
	out := make([]versions.Version, len(list))
	for i, p := range list {
		out[i] = p.Version
	}
	return out
}

func listVersions(list []packages.Package) string {
	texts := []string{}
	for _, p := range list {
		if text := p.Version.String(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) > 10 {
		texts = append(texts[:10], fmt.Sprintf("and %d older ones", len(texts)-10))
	}
	return strings.Join(texts, ", ")
}
