package engine

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/settings"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// ModuleOptions configures the installation of modules.
type ModuleOptions struct {
	Upgrade  bool
	Progress func(line string) // receives a line for each step; nil drops them
	Calls    []config.Place    // modules in addition to those that the configuration calls
	ReadOnly bool              // the lock file of modules is not written, and must contain all modules
}

// InstallModules installs every module that the configuration calls, and records its directory.
func (s *Surroundings) InstallModules(ctx context.Context, o ModuleOptions) diag.List {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	file, diags := s.ProjectFile()
	if diags.HasErrors() {
		return diags
	}
	pinning := fetch.Unpinned
	switch {
	case file.LocksModules() && o.ReadOnly:
		pinning = fetch.PinnedReadOnly
	case file.LocksModules():
		pinning = fetch.Pinned
	}
	_, diags = fetch.InstallModules(ctx, s.dir(), filepath.ToSlash(s.DataDir()), fetch.Options{
		Base: s.DataBase(), LanguageVersion: s.LanguageVersion(), Flavor: s.Flavor(), Upgrade: o.Upgrade,
		Progress: o.Progress, Packages: fetch.Online(s.Web(), s.Environ), Calls: o.Calls, Constants: s.Constants,
		Workspace: s.workspaceName(), Pins: pinning,
	})
	return diags
}

// ProviderOptions configures the installation of providers.
type ProviderOptions struct {
	Upgrade bool
	// Dirs, if there are any, are the only sources of providers.
	Dirs []string
	// More holds providers that are required outside of the configuration.
	More plugins.Wanted
	// State is a state whose providers are installed, too; may be nil.
	State *state.State
	// Own holds providers of the calling program, which are not installed.
	Own map[addr.Provider]provider.Factory
	// Progress receives each step; nil drops them.
	Progress func(plugins.Step)
}

// Installation is the result of installing providers. The lock file is not written yet: see its Result.
type Installation struct {
	plugins.Result
	Wanted   plugins.Wanted
	Before   lockfile.File // the current lock file
	Settings *settings.Settings
}

// InstallProviders installs every provider that a configuration and a state need.
func (s *Surroundings) InstallProviders(ctx context.Context, cfg *config.Config, o ProviderOptions) (*Installation,
	diag.List) {
	out := &Installation{}
	var diags, more diag.List
	if out.Before, diags = lockfile.Load(s.dir()); diags.HasErrors() {
		return out, diags
	}
	out.Wanted, more = Wanted(cfg)
	diags = diags.Extend(more)
	for p, constraints := range o.More {
		out.Wanted[p] = out.Wanted[p].And(constraints)
	}
	diags = diags.Extend(checkBuiltins(out.Wanted))
	if out.Settings, more = s.Settings(); more.HasErrors() {
		diags = diags.Extend(more.OnlyErrors())
	}
	if o.State != nil {
		for _, r := range adopt(o.State, s.Flavor(), cfg.Uses()).Resources() {
			out.Wanted[r.Provider.Provider] = out.Wanted[r.Provider.Provider].And(require.Constraints{})
		}
	}
	attached, more := s.Reattached()
	if diags = diags.Extend(more); diags.HasErrors() {
		return out, diags
	}
	sources := plugins.NewSources(out.Settings, s.SettingsEnvironment().ImpliedMirrors(s.Flavor()), s.Web())
	if len(o.Dirs) > 0 {
		sources = plugins.OnlyFolders(o.Dirs)
	}
	if o.Progress == nil {
		o.Progress = func(plugins.Step) {}
	}
	locked, more := takeOver(out.Before, s.Flavor())
	diags = diags.Extend(more)
	out.Result, more = plugins.Install(ctx, plugins.Options{
		Wanted: out.Wanted, Locked: locked, Folder: s.PluginFolder(), Sources: sources,
		Cache:         packages.Folder{Dir: out.Settings.PluginCacheDir},
		CacheUnlocked: out.Settings.PluginCacheMayBreakLockFile,
		Overrides:     Uninstalled(out.Settings), BuiltIn: BuiltIn, Upgrade: o.Upgrade,
		Elsewhere: func(p addr.Provider) bool { _, runs := attached[p]; return runs || o.Own[p] != nil },
		Progress:  o.Progress,
	})
	return out, diags.Extend(more)
}

// checkBuiltins returns errors for built-in providers that do not exist, and version constraints on the others, which
// have no version of their own.
func checkBuiltins(wanted plugins.Wanted) (diags diag.List) {
	sorted := slices.SortedFunc(maps.Keys(wanted), func(a, b addr.Provider) int {
		return strings.Compare(a.String(), b.String())
	})
	for _, p := range sorted {
		switch {
		case !p.IsBuiltin():
		case !BuiltIn(p):
			diags = diags.Errorf(nil, "Invalid dependency on built-in provider",
				"This program has no built-in provider %s. Correct the source in required_providers.", p.ForDisplay())
		case !wanted[p].IsEmpty():
			diags = diags.Errorf(nil, "Invalid dependency on built-in provider",
				"%s is part of this program and has no separate version, but the configuration requires %q. Remove "+
					"the version constraint.",
				p.ForDisplay(), wanted[p])
		}
	}
	return diags
}

// InstallOptions configures the installation of modules and providers.
type InstallOptions struct {
	Upgrade  bool
	Progress func(line string) // receives a line for each step; nil drops them
	// Own holds providers of the calling program, which are not installed.
	Own map[addr.Provider]provider.Factory
	// Backend holds additional arguments of the backend.
	Backend map[string]cty.Value
	// Reconfigure replaces the record of another backend, without copying its states.
	Reconfigure bool
}

// Install installs everything that the configuration in the working directory needs, like the command "init" without
// questions: it records the backend, installs modules and providers, and writes the lock file. A backend block that
// differs from the recorded one is refused, unless Reconfigure is set.
func (s *Surroundings) Install(ctx context.Context, how InstallOptions) diag.List {
	root, diags := s.RootModule(ctx)
	if diags.HasErrors() {
		return diags
	}
	if diags = diags.Extend(s.recordNewBackend(ctx, root.Root, how)); diags.HasErrors() {
		return diags
	}
	if diags = diags.Extend(
		s.InstallModules(ctx, ModuleOptions{Upgrade: how.Upgrade, Progress: how.Progress})); diags.HasErrors() {
		return diags
	}
	load := s.ConfigOptions()
	load.Constants = s.Constants
	cfg, diags := config.Load(ctx, load)
	if diags.HasErrors() {
		return diags
	}
	o := ProviderOptions{Upgrade: how.Upgrade, Own: how.Own}
	if how.Progress != nil {
		o.Progress = func(step plugins.Step) {
			if step.Kind == plugins.StepInstalled {
				how.Progress("Installed " + step.Provider.ForDisplay() + " " + step.Version.String())
			}
		}
	}
	var more diag.List
	if o.State, more = s.storedState(ctx, cfg.Root); more.HasErrors() {
		return diags.Extend(more)
	}
	installed, more := s.InstallProviders(ctx, cfg, o)
	if diags = diags.Extend(more); diags.HasErrors() || installed.Before.Equal(installed.Lock) {
		return diags
	}
	if err := installed.Lock.For(s.Flavor()).Save(s.dir()); err != nil {
		diags = diags.AppendError("Failed to write the dependency lock file", err)
	}
	return diags
}

// recordNewBackend records the backend block, with additional arguments, if none was recorded or if the record is to be
// replaced. It first reads the state, so that only a backend that works is recorded.
func (s *Surroundings) recordNewBackend(ctx context.Context, root *config.Module, how InstallOptions) diag.List {
	configured, diags := backend.Of(root)
	if diags.HasErrors() {
		return diags
	}
	if configured == nil && len(how.Backend) > 0 {
		return diags.Errorf(nil, "Missing backend configuration", "Arguments of a backend are set, but the root "+
			"module has no backend block. Add one, or remove the arguments.")
	}
	if configured != nil {
		if diags = setArguments(configured, how.Backend); diags.HasErrors() {
			return diags
		}
		if diags = configured.Check(root.Backend); diags.HasErrors() {
			return diags
		}
	}
	recorded, err := s.RecordedBackend()
	if err != nil && !how.Reconfigure {
		return diag.FromError("Failed to read the record of the backend", err)
	}
	switch {
	case configured == nil && (recorded == nil || !how.Reconfigure):
		return diags
	case recorded != nil && !how.Reconfigure:
		if _, diags = s.Backend(root); !diags.HasErrors() && len(how.Backend) > 0 && !configured.SamePlace(recorded) {
			diags = diags.Errorf(nil, "Backend configuration changed", "The arguments of the backend differ from the "+
				"recorded ones. Restore them, or choose what happens to the state. Nothing was changed.").
				Advise("\"%s\" copies it to the new location, \"%s\" uses the state that is there.",
					diag.Run("init", "-migrate-state"), diag.Run("init", "-reconfigure"))
		}
		return diags
	}
	if diags = s.Reach(ctx, configured); diags.HasErrors() {
		return diags
	}
	st, diags := s.Store(ctx, configured, s.storeOptions(configured))
	if diags.HasErrors() {
		return diags
	}
	if _, diags = s.stored(ctx, st); diags.HasErrors() {
		return diags
	}
	if err := s.RecordBackend(configured); err != nil {
		return diag.FromError("Failed to record the backend", err)
	}
	return nil
}

// Reach opens the store of a backend in a service and lists its workspaces, so that wrong arguments are found before
// the backend is recorded.
func (s *Surroundings) Reach(ctx context.Context, b *backend.Backend) diag.List {
	if !b.InService() {
		return nil
	}
	st, diags := s.Store(ctx, b, b.Options().Store())
	if diags.HasErrors() {
		return diags
	}
	if _, err := st.Workspaces(ctx); err != nil && !errors.Is(err, remote.ErrNoWorkspaces) {
		return diag.FromError("Failed to list the workspaces", err)
	}
	return nil
}

// setArguments sets additional arguments of a backend.
func setArguments(b *backend.Backend, values map[string]cty.Value) (diags diag.List) {
	attrs := hcl.Attributes{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(b.Arguments(), name) {
			diags = diags.Errorf(nil, "Invalid backend configuration argument", "The calling program sets %q, but the "+
				"backend %q has no argument of that name.%s", name, b.Type, diag.DidYouMean(name, b.Arguments()))
			continue
		}
		attrs[name] = &hcl.Attribute{Name: name, Expr: hcl.StaticExpr(values[name], hcl.Range{})}
	}
	return diags.Extend(b.Set(attrs))
}

// storedState reads the state of the selected workspace without its lock.
func (s *Surroundings) storedState(ctx context.Context, root *config.Module) (*state.State, diag.List) {
	st, diags := s.StoreOf(ctx, root, StateFiles{})
	if diags.HasErrors() {
		return nil, diags
	}
	return s.stored(ctx, st)
}

func (s *Surroundings) stored(ctx context.Context, st state.Store) (*state.State, diag.List) {
	ws, diags := s.Selected(st)
	if diags.HasErrors() {
		return nil, diags
	}
	snapshot, err := ws.Read(ctx)
	if err != nil {
		return nil, diag.FromError("Failed to load state", err)
	}
	return snapshot.State, nil
}
