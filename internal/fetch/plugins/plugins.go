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
	// Cache is a folder that projects share: what is installed is put there, and linked to. Its Dir is "" when there is none.
	Cache packages.Folder
	// CacheUnlocked takes packages from the cache that the lock file does not know yet. The lock file then has their hashes for this
	// platform alone.
	CacheUnlocked bool
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
	StepCached                         // it is linked to from the cache
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
	// ThisPlatformOnly are providers that were installed, and of which the lock file knows only the hash of what was found on this
	// machine.
	ThisPlatformOnly []addr.Provider
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

// legacyNamespace stands in old states where the namespace was not known.
const legacyNamespace = "-"

// candidate is the version of a provider that is going to be used, and its package; nil for one that is installed already.
type candidate struct {
	version versions.Version
	found   *packages.Package
}

// choose decides on a version. It reports what stands in the way and then gives false, as for a provider that needs no package.
func (in *installer) choose(p addr.Provider) (candidate, bool) {
	if p.Namespace == legacyNamespace {
		in.diags = in.diags.Errorf(nil, "Invalid legacy provider address",
			"The state has objects of provider %q, an address of before Terraform 0.13 that does not say whose provider it is. Say it with the command: state replace-provider %s NAMESPACE/%s", p.String(), p, p.Type)
		return candidate{}, false
	}
	wanted := in.Wanted[p]
	locked, isLocked := in.Locked.Entry(p)
	reuse := isLocked && !in.Upgrade
	if reuse {
		in.Progress(Step{Kind: StepReuse, Provider: p, Version: locked.Version})
		if !wanted.Allow(locked.Version) {
			in.queryFailed(p, "the lock file has version %s, which does not match the constraint %s of the configuration. Run init -upgrade to choose a new version, or change the constraint", locked.Version, wanted)
			return candidate{}, false
		}
		if isInstalled(in.Folder, locked) || isInstalled(in.Cache, locked) {
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
		in.queryFailed(p, "%s; there are %s", noMatch(wanted), listVersions(available))
		return candidate{}, false
	}
	found, ok := in.pick(p, version, available)
	return candidate{version, found}, ok
}

func noMatch(wanted require.Constraints) string {
	if wanted.IsEmpty() {
		return "all of its versions are pre-releases, which are used only where a constraint asks for exactly that version"
	}
	return fmt.Sprintf("no version matches the constraint %s", wanted)
}

// pick finds the package of a version for this platform.
func (in *installer) pick(p addr.Provider, version versions.Version, available []packages.Package) (*packages.Package, bool) {
	var elsewhere []string
	for i, c := range available {
		if c.Version != version {
			continue
		}
		if c.Platform == packages.Current() {
			return &available[i], true
		}
		elsewhere = append(elsewhere, c.Platform.String())
	}
	if len(elsewhere) == 0 {
		in.queryFailed(p, "the version %s of the lock file is not there any more; there are %s. Run init -upgrade to choose another one", version, listVersions(available))
		return nil, false
	}
	in.diags = in.diags.Errorf(nil, "Incompatible provider version",
		"Provider %s v%s is there for %s, but not for the platform of this machine, %s. Add that package to the mirror, or choose a version that has one.",
		p.ForDisplay(), version, strings.Join(elsewhere, ", "), packages.Current())
	return nil, false
}

func (in *installer) queryFailed(p addr.Provider, format string, args ...any) {
	hint := ""
	if p.Host == addr.DefaultProviderHost && p.Namespace == "hashicorp" {
		hint = fmt.Sprintf(" Where required_providers has no source for %s, this address is meant; if the provider is somebody else's, give its source there.", p.Type)
	}
	in.diags = in.diags.Errorf(nil, "Failed to query available provider packages",
		"Could not choose a version of provider %s: %s.\n\nThe command \"providers\" shows which modules need it and what versions they ask for.%s", p.ForDisplay(), strings.TrimSuffix(fmt.Sprintf(format, args...), "."), hint)
}

// isInstalled tells whether the locked version is in a folder already, unchanged.
func isInstalled(in packages.Folder, locked lockfile.Entry) bool {
	if in.Dir == "" {
		return false
	}
	_, h, err := in.Installed(locked.Provider, locked.Version)
	return err == nil && slices.Contains(locked.Hashes, h)
}

// install puts the chosen package into the folder and its hash into the lock file.
func (in *installer) install(p addr.Provider, c candidate) {
	locked, _ := in.Locked.Entry(p)
	entry := lockfile.Entry{Provider: p, Version: c.version, Constraints: in.Wanted[p]}
	if locked.Version == c.version {
		entry.Hashes = locked.Hashes
	}
	var h lockfile.Hash
	var err error
	step := Step{Kind: StepUse, Provider: p, Version: c.version}
	switch {
	case isInstalled(in.Folder, entry):
		in.Progress(step)
		// The entry stays as it is: its constraints are those under which the version was chosen, and that was not done again.
		return
	case in.isCached(entry):
		step.Kind = StepCached
		in.Progress(step)
		if h, err = in.fromCache(entry); err != nil {
			in.diags = in.diags.Errorf(nil, "Failed to install provider from shared cache", "Error while linking to %s v%s in the plugin cache: %s.", p.ForDisplay(), c.version, err)
			return
		}
	case c.found == nil:
		in.queryFailed(p, "version %s was installed a moment ago, and is not any more. Another process works in the same directory", c.version)
		return
	default:
		step.Kind = StepInstall
		in.Progress(step)
		if h, err = in.unpack(*c.found, entry); err != nil {
			in.diags = in.diags.Errorf(nil, "Failed to install provider", "Error while installing %s v%s: %s.", p.ForDisplay(), c.version, err)
			return
		}
		step.Kind, step.Authentication = StepInstalled, "unauthenticated"
		in.Progress(step)
	}
	if len(entry.Hashes) == 0 || slices.Equal(entry.Hashes, []lockfile.Hash{h}) {
		in.result.ThisPlatformOnly = append(in.result.ThisPlatformOnly, p)
	}
	entry.Hashes = append(understood(entry.Hashes), h)
	in.result.Lock = in.result.Lock.With(entry)
}

// understood leaves out hashes of schemes that nobody can check.
func understood(hashes []lockfile.Hash) []lockfile.Hash {
	return slices.DeleteFunc(slices.Clone(hashes), func(h lockfile.Hash) bool { return h.Scheme() != "h1" && h.Scheme() != "zh" })
}

// unpack installs a package that the lock file allows, through the cache if there is one.
func (in *installer) unpack(found packages.Package, entry lockfile.Entry) (lockfile.Hash, error) {
	h, err := found.Hash()
	if err != nil {
		return "", err
	}
	if err := allowed(found, h, entry.Hashes); err != nil {
		return "", err
	}
	if in.Cache.Dir == "" {
		return in.Folder.Install(found)
	}
	// What others may be running right now is not replaced by the same.
	if _, cached, err := in.Cache.Installed(found.Provider, found.Version); err != nil || cached != h {
		if _, err := in.Cache.Install(found); err != nil {
			return "", err
		}
	}
	return in.Folder.Install(in.cached(entry))
}

// allowed tells why a package with a hash must not be installed. For an archive the lock file may have the hash of the archive itself.
func allowed(found packages.Package, h lockfile.Hash, hashes []lockfile.Hash) error {
	if len(hashes) == 0 || slices.Contains(hashes, h) {
		return nil
	}
	if found.Packed {
		archive, err := found.ArchiveHash()
		if err != nil {
			return err
		}
		if slices.Contains(hashes, archive) {
			return nil
		}
	}
	return fmt.Errorf("the package %s has none of the checksums of the lock file, but %s. Either the package was changed since it was locked, or the lock file knows only packages of other platforms; in that case \"providers lock -platform=%s\" adds this one", found.Path, h, packages.Current())
}

// cached is the package of the cache.
func (in *installer) cached(e lockfile.Entry) packages.Package {
	return packages.Package{Provider: e.Provider, Version: e.Version, Platform: packages.Current(), Path: in.Cache.Path(e.Provider, e.Version)}
}

// isCached tells whether the cache has a package that may be used: one that the lock file knows, or any if that is allowed.
func (in *installer) isCached(e lockfile.Entry) bool {
	if in.Cache.Dir == "" {
		return false
	}
	_, h, err := in.Cache.Installed(e.Provider, e.Version)
	return err == nil && (slices.Contains(e.Hashes, h) || in.CacheUnlocked)
}

func (in *installer) fromCache(e lockfile.Entry) (lockfile.Hash, error) {
	found := in.cached(e)
	h, err := found.Hash()
	if err == nil {
		err = allowed(found, h, e.Hashes)
	}
	if err != nil {
		return "", err
	}
	return in.Folder.Install(found)
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
