package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// ReadyOptions selects the providers that must be installed.
type ReadyOptions struct {
	Wanted Wanted
	Locked lockfile.File
	Folder packages.Folder
	// Overrides maps providers under development to their folders. They are never locked, so a state may need one that
	// the configuration does not.
	Overrides map[addr.Provider]string
	// Elsewhere reports whether a provider needs no package: it is built in or already running.
	Elsewhere func(addr.Provider) bool
	// BuiltIn reports whether this program itself serves a provider if no package of it is locked.
	BuiltIn func(addr.Provider) bool
	// Checks are checks that have begun already, or nil.
	Checks *Checks
	// Each reports a separate problem for each missing provider, with the summaries by which programs that validate
	// configurations recognize that init must run again. Otherwise there is one problem for all.
	Each bool
}

// Missing is the Extra of a problem that reports providers as not installed.
type Missing struct{ Providers []addr.Provider }

// missing collects the providers of one problem, with a line of its text for each.
type missing struct {
	Missing
	lines []string
}

func (m *missing) add(p addr.Provider, format string, args ...any) {
	m.Providers = append(m.Providers, p)
	m.lines = append(m.lines, fmt.Sprintf(format, args...))
}

// Ready returns the program of each wanted provider that must be started. A provider that this program serves itself
// has none.
func Ready(ctx context.Context, opts ReadyOptions) (map[addr.Provider]string, diag.List) {
	programs := map[addr.Provider]string{}
	var diags diag.List
	var undecided, broken missing
	var packaged []lockfile.Entry
	for _, p := range opts.Wanted.sorted() {
		locked, isLocked := opts.Locked.Entry(p)
		switch override := opts.Overrides[p]; {
		case p.IsBuiltin() || opts.Elsewhere != nil && opts.Elsewhere(p):
		case override != "":
			program, err := overridden(override, p.Type)
			if err != nil {
				diags = diags.Errorf(nil, "Development override cannot be used", "The CLI configuration sets the "+
					"directory of provider %s to %s, which cannot be used: %s. Build the provider there, or remove "+
					"it from dev_overrides.", p, override,
					err)
				continue
			}
			programs[p] = program
		case !isLocked && opts.BuiltIn != nil && opts.BuiltIn(p):
		case !isLocked && opts.Each:
			diags = diags.Errorf(nil, "Missing required provider", "The configuration needs a provider that is not "+
				"installed:\n  - provider %s: no version is selected", p).
				Advise("To choose a version and install it, run:\n  %s", diag.Run("init")).
				With(Missing{[]addr.Provider{p}})
		case !isLocked:
			undecided.add(p, "provider %s: no version is selected", p)
		case !opts.Wanted[p].Allow(locked.Version):
			undecided.add(p, "provider %s: the lock file has version %s, which the constraints %q do not allow", p,
				locked.Version, opts.Wanted[p])
		default:
			packaged = append(packaged, locked)
		}
	}
	for p, dir := range opts.Overrides {
		if _, wanted := opts.Wanted[p]; wanted {
			continue
		}
		if program, err := overridden(dir, p.Type); err == nil {
			programs[p] = program
		}
	}
	checks := opts.Checks.covering(ctx, opts.Folder, packaged)
	for _, e := range packaged {
		p, found := e.Provider, checks.of(e)
		switch {
		case found.problem != "" && opts.Each:
			diags = diags.Errorf(nil, fmt.Sprintf("%s: %s", p, found.problem), "").
				Advise("To install what the lock file selects, run:\n  %s", diag.Run("init")).
				With(Missing{[]addr.Provider{p}})
		case found.problem != "":
			broken.add(p, "%s: %s", p, found.problem)
		default:
			programs[p] = found.program
		}
	}
	return programs, diags.Extend(notReady(opts, undecided, broken))
}

// notReady reports providers without an entry in the lock file, and those that are not installed as locked.
func notReady(opts ReadyOptions, undecided, broken missing) (diags diag.List) {
	if len(undecided.lines) > 0 {
		how := "To choose versions by the constraints of the configuration, run:\n  %s"
		command := diag.Run("init", "-upgrade")
		if len(opts.Locked.Entries()) == 0 {
			how, command = "To make the first selections and write the lock file, run:\n  %s", diag.Run("init")
		}
		diags = diags.Errorf(nil, "Inconsistent dependency lock file",
			"The selections in the lock file do not match the configuration:\n  - %s",
			strings.Join(undecided.lines, "\n  - ")).
			Advise(how, command).With(undecided.Missing)
	}
	// Init, which decides about the others, also installs these.
	if len(broken.lines) > 0 && len(undecided.lines) == 0 {
		diags = diags.Errorf(nil, "Required plugins are not installed", "The installed providers are not those that "+
			"the lock file selects:\n  - %s", strings.Join(broken.lines, "\n  - ")).
			Advise("To install the plugins that this configuration needs, run:\n  %s", diag.Run("init")).
			With(broken.Missing)
	}
	return diags
}

// overridden returns the program of a provider under development.
func overridden(dir, typ string) (string, error) {
	program, err := packages.Program(dir, typ)
	if err != nil {
		return "", err
	}
	return filepath.Abs(program)
}

// Checks compares installed packages with the lock file while its owner does other work, on all processors, because
// hashing takes most of the time. A nil Checks covers no package.
//
// It owns goroutines, which end with the context of Check at the latest.
type Checks struct {
	list []*check
	all  sync.WaitGroup
}

type check struct {
	entry lockfile.Entry
	done  chan struct{} // closed when found is set
	found finding
}

// finding is the result of checking an installed package.
type finding struct{ program, problem string }

// Check begins to check the packages of entries of the lock file in a folder.
func Check(ctx context.Context, folder packages.Folder, entries []lockfile.Entry) *Checks {
	c := &Checks{}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, e := range entries {
		one := &check{entry: e, done: make(chan struct{})}
		c.list = append(c.list, one)
		c.all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			defer close(one.done)
			one.found = lookAt(ctx, folder, e)
		})
	}
	return c
}

// Wait returns when all checks have ended.
func (c *Checks) Wait() { c.all.Wait() }

// covering returns c if it has a check of each entry with exactly these hashes, and otherwise new checks.
func (c *Checks) covering(ctx context.Context, folder packages.Folder, entries []lockfile.Entry) *Checks {
	if slices.ContainsFunc(entries, func(e lockfile.Entry) bool { return c.find(e) == nil }) {
		return Check(ctx, folder, entries)
	}
	return c
}

// of returns the result for an entry that is covered.
func (c *Checks) of(e lockfile.Entry) finding {
	one := c.find(e)
	<-one.done
	return one.found
}

func (c *Checks) find(e lockfile.Entry) *check {
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.list, func(one *check) bool {
		return one.entry.Provider == e.Provider && one.entry.Version == e.Version &&
			slices.Equal(one.entry.Hashes, e.Hashes)
	})
	if i < 0 {
		return nil
	}
	return c.list[i]
}

func lookAt(ctx context.Context, folder packages.Folder, e lockfile.Entry) finding {
	p := e.Provider
	program, h, err := folder.Installed(ctx, p, e.Version)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{problem: fmt.Sprintf("there is no package for %s %s cached in %s", p, e.Version, folder.Dir)}
	case err != nil:
		return finding{problem: fmt.Sprintf("the package of %s %s in %s cannot be used: %s", p, e.Version, folder.Dir,
			err)}
	case len(e.Hashes) == 0:
		return finding{
			problem: fmt.Sprintf("the lock file has no checksum of %s %s, so its package in %s cannot be verified", p,
				e.Version, folder.Dir)}
	case !slices.Contains(e.Hashes, h):
		return finding{problem: fmt.Sprintf("the package of %s %s in %s has none of the checksums of the lock file", p,
			e.Version, folder.Dir)}
	}
	return finding{program: program}
}
