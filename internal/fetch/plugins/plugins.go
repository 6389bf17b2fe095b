// Package plugins chooses and installs the providers that a configuration needs, and checks at every run that the
// installed ones are the chosen ones.
//
// Install searches the sources that the CLI configuration allows, in order, chooses the newest version that satisfies
// all constraints (or the locked one), installs it and returns the new lock file. All other commands call Ready, which
// finds the program of each provider and compares its package with the lock file, and installs nothing. Lock and Copy
// are for other machines: they record the hashes of packages for other platforms, and fill a folder that can be used as
// a mirror.
//
// Several goroutines access sources and fetch packages; they have ended when a function returns.
//
// The functions report the problems of all providers together. They return the lock file without writing it: the caller
// writes it after success.
package plugins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/registries"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// Wanted maps each provider that the configuration and the state need to the constraints of all modules.
type Wanted map[addr.Provider]require.Constraints

func (w Wanted) sorted() []addr.Provider {
	return slices.SortedFunc(maps.Keys(w), func(a, b addr.Provider) int {
		return strings.Compare(a.String(), b.String())
	})
}

// Options configures an installation.
type Options struct {
	Wanted Wanted
	Locked lockfile.File
	// Folder is the folder of installed providers.
	Folder packages.Folder
	// Sources are the sources of packages; see Sources.
	Sources Sources
	// Cache is a folder that projects share: packages are installed in it, and projects have links to it. Its Dir is ""
	// if there is none.
	Cache packages.Folder
	// CacheUnlocked uses packages in the cache that the lock file does not contain yet. The lock file then only gets
	// their hashes for this platform.
	CacheUnlocked bool
	// Overrides maps providers under development to their folders: they are neither chosen nor locked.
	Overrides map[addr.Provider]string
	// BuiltIn reports whether this program itself serves a provider if no source has a package. Such a provider is not
	// locked.
	BuiltIn func(addr.Provider) bool
	// Elsewhere reports whether a provider is already running, so that it needs no package. Its lock entry is kept. It
	// may be nil.
	Elsewhere func(addr.Provider) bool
	// Upgrade chooses the newest version that the constraints allow, even if another is locked.
	Upgrade bool
	// Progress is called for each step, not concurrently. It may be nil.
	Progress func(Step)
}

// StepKind is the kind of a Step.
type StepKind uint8

// Steps of an installation, in the order in which they happen for a provider.
const (
	StepReuse      StepKind = iota + 1 // the locked version will be used
	StepFind                           // versions that match Constraints are being searched
	StepUse                            // the version is already installed
	StepInstall                        // a version is being installed
	StepInstalled                      // it is installed; Proof is the evidence for its origin
	StepCached                         // a link to the cache was created
	StepServedHere                     // the provider is part of this program
	StepFetch                          // its package is being downloaded: Done of Total bytes
)

// Step is one step of progress.
type Step struct {
	Kind        StepKind
	Provider    addr.Provider
	Version     versions.Version
	Constraints require.Constraints
	Proof       packages.Proof // of StepInstalled
	Done, Total int64          // bytes of StepFetch; Total is -1 if unknown
}

// Result is the result of an installation.
type Result struct {
	// Lock is the lock file for the installed packages.
	Lock lockfile.File
	// ThisPlatformOnly lists installed providers for which the lock file only has hashes of this platform's package.
	ThisPlatformOnly []addr.Provider
	// Signed means that an installed package is signed by a publisher other than HashiCorp.
	Signed bool
}

// Install installs all wanted providers.
func Install(ctx context.Context, opts Options) (Result, diag.List) {
	in := &installer{Options: opts}
	var result Result
	var diags diag.List
	result.Lock = opts.Locked.Keep(func(p addr.Provider) bool { _, wanted := opts.Wanted[p]; return wanted })
	var wanted []addr.Provider
	for _, p := range opts.Wanted.sorted() {
		if in.begin(p) {
			wanted = append(wanted, p)
		}
	}
	work := make([]task, len(wanted))
	inParallel(ctx, len(wanted), func(i int) {
		work[i].Provider = wanted[i]
		in.choose(ctx, &work[i])
	})
	inParallel(ctx, len(work), func(i int) {
		if work[i].chosen {
			in.install(ctx, &work[i])
		}
	})
	if err := ctx.Err(); err != nil {
		return result, diags.AppendError("Provider installation was canceled", err)
	}
	for _, t := range work {
		diags = diags.Extend(t.diags)
		switch {
		case t.served:
			result.Lock = result.Lock.Keep(func(other addr.Provider) bool { return other != t.Provider })
		case t.locks:
			result.Lock = result.Lock.With(t.entry)
		}
		if t.thisPlatformOnly {
			result.ThisPlatformOnly = append(result.ThisPlatformOnly, t.Provider)
		}
		result.Signed = result.Signed || t.proof.Trust == packages.SelfSigned || t.proof.Trust == packages.PartnerSigned
	}
	return result, diags
}

// parallel is the number of providers that are processed concurrently; they mostly wait for servers.
const parallel = 4

// inParallel calls f for 0 to n-1 until the context ends.
func inParallel(ctx context.Context, n int, f func(i int)) {
	slots := make(chan struct{}, parallel)
	var wait sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wait.Wait()
}

type installer struct {
	Options
	mu sync.Mutex // held while Progress is called
}

// task is the installation of one provider.
type task struct {
	addr.Provider
	version versions.Version
	// found is the version and its sources; it has no sources if it is already installed.
	found offer

	chosen bool // there is a package to install
	// installed and cached report whether the locked version is in the folder or the cache, unchanged. They are stored
	// because hashing large packages takes time.
	installed, cached bool
	served            bool // this program serves the provider itself

	entry            lockfile.Entry // new entry, if locks
	locks            bool
	proof            packages.Proof
	thisPlatformOnly bool
	diags            diag.List
}

func (in *installer) progress(s Step) {
	if in.Progress == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.Progress(s)
}

// legacyNamespace is the namespace in old states for providers whose namespace was unknown.
const legacyNamespace = "-"

// begin decides what to do with a provider; it returns false if there is nothing to do.
func (in *installer) begin(p addr.Provider) bool {
	locked, reuse := in.reuse(p)
	switch {
	case p.IsBuiltin():
		in.progress(Step{Kind: StepServedHere, Provider: p})
		return false
	case in.Elsewhere != nil && in.Elsewhere(p):
		return false
	case reuse:
		in.progress(Step{Kind: StepReuse, Provider: p, Version: locked.Version})
	case p.Namespace != legacyNamespace:
		in.progress(Step{Kind: StepFind, Provider: p, Constraints: in.Wanted[p]})
	}
	return true
}

// reuse returns the locked version if it is to be kept.
func (in *installer) reuse(p addr.Provider) (lockfile.Entry, bool) {
	locked, ok := in.Locked.Entry(p)
	return locked, ok && !in.Upgrade
}

// choose chooses a version, or reports why it cannot.
func (in *installer) choose(ctx context.Context, t *task) {
	p, wanted := t.Provider, in.Wanted[t.Provider]
	if p.Namespace == legacyNamespace {
		t.diags = t.diags.Errorf(nil, "Invalid legacy provider address",
			"The state has objects of provider %q, an address from before Terraform 0.13 without a namespace.",
			p.String()).Advise("Set the full address with \"%s\".",
			diag.Run("state", "replace-provider", p.String(), "NAMESPACE/"+p.Type))
		return
	}
	locked, reuse := in.reuse(p)
	if reuse {
		if !wanted.Allow(locked.Version) {
			t.queryFailed("the lock file has version %s, which does not match the constraint %s of the "+
				"configuration", locked.Version, wanted)
			t.diags = t.diags.Advise(upgrade, diag.Run("init", "-upgrade"))
			return
		}
		t.installed = isInstalled(ctx, in.Folder, locked)
		t.cached = !t.installed && isInstalled(ctx, in.Cache, locked)
		if t.installed || t.cached {
			t.version, t.chosen = locked.Version, true
			return
		}
	}
	available, err := in.search(ctx, p)
	if len(available.offers) == 0 {
		in.nothingFound(t, err)
		return
	}
	t.warn(available.warnings)
	if t.version = locked.Version; !reuse {
		var ok bool
		if t.version, ok = wanted.Newest(available.versions()); !ok {
			t.queryFailed("%s; there are %s", noMatch(wanted), available)
			return
		}
	}
	t.pick(available, wanted)
}

// search searches the sources for a provider. A built-in provider is only searched on the network if a version of it is
// locked: otherwise the response of a server, or a missing network, would determine which of two providers runs.
func (in *installer) search(ctx context.Context, p addr.Provider) (catalog, error) {
	if _, locked := in.Locked.Entry(p); !locked && in.BuiltIn != nil && in.BuiltIn(p) {
		return in.Sources.local().search(ctx, p)
	}
	return in.Sources.search(ctx, p)
}

func (in *installer) nothingFound(t *task, err error) {
	var missing *web.NoServiceError
	switch {
	case in.Overrides[t.Provider] != "":
	case in.BuiltIn != nil && in.BuiltIn(t.Provider):
		t.served = true
		in.progress(Step{Kind: StepServedHere, Provider: t.Provider})
	case errors.As(err, &missing):
		t.diags = t.diags.Errorf(nil, "Invalid provider registry host", "The host %q in the address of provider %s "+
			"has no provider registry. Check the address, or add a mirror that has the provider to the CLI "+
			"configuration.", t.Host, t.Provider)
	default:
		t.queryFailed("%s", cmp.Or(err, errors.New("no installation source has this provider")))
	}
}

func noMatch(wanted require.Constraints) string {
	if wanted.IsEmpty() {
		return "all of its versions are pre-releases, which are used only if a constraint requires exactly that version"
	}
	return fmt.Sprintf("no available releases match the constraint %s", wanted)
}

// pick selects the source of the version.
func (t *task) pick(available catalog, wanted require.Constraints) {
	found, ok := available.offer(t.version)
	var elsewhere *packages.PlatformError
	switch {
	case !ok:
		t.queryFailed("version %s from the lock file is no longer available; available are %s", t.version, available)
		t.diags = t.diags.Advise("Run \"%s\" to choose another one.", diag.Run("init", "-upgrade"))
	case errors.As(found.check(t.request()), &elsewhere):
		t.notForThisPlatform(elsewhere)
	case len(found.Protocols) > 0 && !slices.ContainsFunc(found.Protocols, registries.Speaks):
		advice := "No version that the constraints allow supports one of these."
		fit := slices.DeleteFunc(slices.Clone(available.offers), func(o offer) bool {
			return len(o.Protocols) > 0 && !slices.ContainsFunc(o.Protocols, registries.Speaks) ||
				!wanted.Allow(o.Version)
		})
		if len(fit) > 0 {
			advice = fmt.Sprintf("The newest version that supports one of these is %s: require it with version = %q.",
				fit[0].Version, fit[0].Version.String())
		}
		t.diags = t.diags.Errorf(nil, "Incompatible provider version", "Provider %s: %s. %s", t.ForDisplay(),
			&registries.ProtocolError{Request: t.request(), Protocols: found.Protocols}, advice)
	default:
		t.found, t.chosen = found, true
	}
}

func (t *task) request() packages.Request {
	return packages.Request{Provider: t.Provider, Version: t.version, Platform: packages.Current()}
}

func (t *task) notForThisPlatform(problem *packages.PlatformError) {
	t.diags = t.diags.Errorf(nil, "Incompatible provider version",
		"Provider %s: %s. The platform of this machine is %s: choose a version that has a package for it, or add one "+
			"to a mirror.",
		t.ForDisplay(), problem, packages.Current())
}

// upgrade is the advice if the lock file does not match the constraints.
const upgrade = "Run \"%s\" to choose a new version, or change the constraint."

func (t *task) queryFailed(format string, args ...any) {
	hint := ""
	if t.Host == addr.DefaultProviderHost && t.Namespace == "hashicorp" {
		hint = fmt.Sprintf(" Where required_providers has no source for %s, this address is used; if it is a "+
			"different provider, set its source there.", t.Type)
	}
	t.diags = t.diags.Errorf(nil, "Failed to query available provider packages",
		"Could not choose a version of provider %s: %s.\n\nThe command \"providers\" shows which modules need it and "+
			"which versions they require.%s", t.ForDisplay(), strings.TrimSuffix(fmt.Sprintf(format, args...), "."),
		hint)
}

// maxWarnings is the maximum number of a registry's warnings that are shown.
const maxWarnings = 10

// warn reports a registry's warnings about a provider.
func (t *task) warn(warnings []string) {
	if len(warnings) == 0 {
		return
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		warnings = append(slices.Clone(warnings[:maxWarnings]), fmt.Sprintf("and %d more", more))
	}
	text := ""
	for _, w := range warnings {
		if len(w) > 1000 {
			w = strings.ToValidUTF8(w[:1000], "") + "…"
		}
		text += "\n- " + w
	}
	t.diags = t.diags.Warnf(nil, "Additional provider information from registry",
		"The registry returned warnings about %s:%s", t.Provider, text)
}
