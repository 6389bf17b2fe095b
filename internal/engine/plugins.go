package engine

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/pins"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/settings"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// BuiltIn reports whether a provider is built in, and used if no plugin of it is installed.
func BuiltIn(p addr.Provider) bool {
	return slices.ContainsFunc(BuiltInProviders(), func(source string) bool {
		own, err := addr.ParseProvider(source)
		return err == nil && (own == p || flavor.OfRegistry(p.Host) != flavor.Unset && own.Namespace == p.Namespace &&
			own.Type == p.Type)
	})
}

// Wanted returns the requirements of all modules of a configuration, for each provider.
func Wanted(cfg *config.Config) (plugins.Wanted, diag.List) {
	wanted := plugins.Wanted{}
	var diags diag.List
	for _, m := range cfg.SortedModules() {
		more, problems := WantedBy(m)
		diags = diags.Extend(problems)
		for p, c := range more {
			wanted[p] = wanted[p].And(c)
		}
	}
	return wanted, diags
}

// WantedBy returns the requirements of one module: those of required_providers and provider blocks, and those implied
// by its resources.
func WantedBy(m *config.Module) (plugins.Wanted, diag.List) {
	wanted := plugins.Wanted{}
	var diags diag.List
	add := func(p addr.Provider, v config.VersionConstraint) {
		c, err := require.Parse(v.Text)
		if err != nil {
			diags = diags.Errorf(&v.Range, "Invalid version constraint",
				"The version constraint of provider %s cannot be used: %s.", p.ForDisplay(), err)
		}
		wanted[p] = wanted[p].And(c)
	}
	for _, r := range m.SortedRequiredProviders() {
		add(r.Source, r.Version)
	}
	for _, p := range m.SortedProviderConfigs() {
		add(p.Provider, p.Version)
	}
	for _, r := range m.SortedResources() {
		add(r.Provider, config.VersionConstraint{})
	}
	for _, i := range m.Imports {
		if i.To.Module.IsRoot() && m.Resources[i.To.Resource] == nil { // its block will be generated
			add(i.Provider, config.VersionConstraint{})
		}
	}
	return wanted, diags
}

// PlainPlugins reports whether connections to plugins are unencrypted, to inspect the traffic.
func (s *Surroundings) PlainPlugins() bool { return s.Getenv("TF_DISABLE_PLUGIN_TLS") != "" }

// PluginOptions selects the providers of a project.
type PluginOptions struct {
	// Each reports each missing provider separately.
	Each bool
	// Terse suppresses the warning about providers under development.
	Terse bool
	// Own holds the caller's own providers, which override all others and need no installation.
	Own map[addr.Provider]provider.Factory

	early *early // may be nil
}

// early is what can be done about installed plugins before the configuration is known.
type early struct {
	locked lockfile.File
	diags  diag.List
	checks *plugins.Checks
	cancel context.CancelFunc

	programs map[addr.Provider]string // the plugins to start, once they are selected
}

// checkEarly reads the lock file and begins to check the packages in it, which takes most of the time of a short run.
// Nothing is started, and problems are reported when the plugins are selected. The caller must call end.
func (s *Surroundings) checkEarly(ctx context.Context, own map[addr.Provider]provider.Factory) *early {
	ctx, cancel := context.WithCancel(ctx)
	e := &early{cancel: cancel}
	e.locked, e.diags = lockfile.Load(s.dir())
	set, problems := s.Settings()
	attached, more := s.Reattached()
	if problems.HasErrors() || more.HasErrors() || e.diags.HasErrors() {
		return e
	}
	programs := ProgramProviders(set)
	e.checks = plugins.Check(ctx, s.PluginFolder(), slices.DeleteFunc(e.locked.Entries(), func(e lockfile.Entry) bool {
		_, runs := attached[e.Provider]
		return runs || own[e.Provider] != nil || programs[e.Provider] != "" || set.DevOverrides[e.Provider] != ""
	}))
	return e
}

// end cancels the checks that have not ended.
func (e *early) end() {
	e.cancel()
	if e.checks != nil {
		e.checks.Wait()
	}
}

// Plugins returns the providers of a configuration and of the lock file that are separate programs. The order of
// precedence is: a running one, a program provider in its folder, one under development, an installed one.
func (s *Surroundings) Plugins(ctx context.Context, project *Project, o PluginOptions) (
	map[addr.Provider]provider.Factory, diag.List) {
	wanted, diags := Wanted(project.Config())
	set, more := s.Settings()
	diags = diags.Extend(more.OnlyErrors())
	e := o.early
	if e == nil {
		e = &early{}
		e.locked, e.diags = lockfile.Load(s.dir())
	}
	locked := e.locked
	diags = diags.Extend(e.diags)
	grants, more := pins.Load(s.dir())
	diags = diags.Extend(more)
	attached, more := s.Reattached()
	if diags = diags.Extend(more); diags.HasErrors() {
		return nil, diags
	}
	// A state may need providers that are no longer in the configuration.
	for _, e := range locked.Entries() {
		if _, ok := wanted[e.Provider]; !ok {
			wanted[e.Provider] = require.Constraints{}
		}
	}
	programs, more := plugins.Ready(ctx, plugins.ReadyOptions{
		Wanted: wanted, Locked: locked, Folder: s.PluginFolder(), Overrides: set.DevOverrides, BuiltIn: BuiltIn,
		Each: o.Each, Checks: e.checks,
		Elsewhere: func(p addr.Provider) bool {
			_, runs := attached[p]
			return runs || o.Own[p] != nil || ProgramProviders(set)[p] != ""
		},
	})
	more = misaddressed(misspelt(more, wanted), wanted, ProgramProviders(set))
	diags = diags.Extend(unused(more, wanted, o.Own))
	if !o.Terse {
		diags = diags.Extend(OverrideWarning(set, wanted,
			"They may behave differently from any release, and a release may not be able to read what they write to "+
				"the state."))
	}
	e.programs = programs
	out := make(map[addr.Provider]provider.Factory, len(programs)+len(attached))
	log := logOrDiscard(s.ProviderLog)
	for p, program := range programs {
		out[p] = host.Plugin{
			Provider: p, Program: program, Dir: s.In(""), Env: s.pluginEnviron(set, grants, p), Log: log,
			Redact: project.Redact, Plain: s.PlainPlugins(),
		}.Factory()
	}
	for p, dir := range ProgramProviders(set) {
		out[p] = project.ProgramProvider(p, dir, Granted(set, grants, p), log)
	}
	for p, r := range attached {
		out[p] = r.Factory()
	}
	for p, factory := range o.Own {
		out[p] = host.Patient(p, factory, project.opts.Abort)
	}
	return out, diags
}

// Begin starts the plugins that a plan or an apply will need, and returns at once. Close ends them, unless a run does.
// Problems are reported when the plugins are used.
func (p *Project) Begin() {
	p.registry.Begin(slices.DeleteFunc(used(p.config), func(a addr.Provider) bool { return p.plugins[a] == "" }))
}

// BeginApply is Begin for the plugins that the changes of a plan need.
func (p *Project) BeginApply(pl *plan.Plan) {
	set := map[addr.Provider]bool{}
	for _, c := range pl.Changes {
		if c.Provider == nil || c.Action == plan.NoOp || c.Action == plan.Forget {
			continue
		}
		if a := c.Provider.Provider; p.plugins[a] != "" {
			set[a] = true
		}
	}
	p.registry.Begin(slices.Collect(maps.Keys(set)))
}

// pluginEnviron returns the environment of a plugin. Packaged program providers use the variables that it adds (package
// pack/generic); other plugins ignore them.
func (s *Surroundings) pluginEnviron(set *settings.Settings, lock pins.File, p addr.Provider) []string {
	var more []string
	if lines := Granted(set, lock, p); len(lines) > 0 {
		more = append(more, "TOMBOLO_GRANTED="+strings.Join(lines, ","))
	}
	if why := set.PlanPrograms.Refusal(p, nil); why != nil {
		more = append(more, "TOMBOLO_PLAN_REFUSED="+why.Error())
	}
	switch {
	case more == nil:
		return s.PluginEnviron
	case s.PluginEnviron == nil:
		return append(os.Environ(), more...)
	}
	return slices.Concat(s.PluginEnviron, more)
}

// Granted returns the permissions of a sandboxed provider, one line for each: those in the lock file. It returns "*",
// all of them, if plan_programs allows the provider, which could then be any program.
func Granted(set *settings.Settings, lock pins.File, p addr.Provider) []string {
	if set.PlanPrograms != nil && set.PlanPrograms.Refusal(p, nil) == nil {
		return []string{"*"}
	}
	return lock.Granted(p)
}

// Reattached returns the running providers in the environment.
func (s *Surroundings) Reattached() (map[addr.Provider]host.Reattachment, diag.List) {
	attached, err := host.ParseReattach(s.Getenv(host.ReattachVariable))
	if err != nil {
		return nil, diag.List{}.AppendError("Invalid "+host.ReattachVariable, err)
	}
	return attached, nil
}

// misspelt adds suggestions to problems about providers: a misspelt resource type requires an unknown provider.
func misspelt(diags diag.List, wanted plugins.Wanted) diag.List {
	if !diags.HasErrors() {
		return diags
	}
	var known []string
	for _, source := range BuiltInProviders() {
		if p, err := addr.ParseProvider(source); err == nil {
			known = append(known, p.Type)
		}
	}
	for _, p := range SortedProviders(wanted) {
		if near := diag.Nearest(p.Type, known); near != "" && near != p.Type && !BuiltIn(p) {
			diags = remarked(diags, p, "If %q is a typing mistake: the provider %q is built in.", p.Type, near)
		}
	}
	return diags
}

// misaddressed suggests folders in problems about providers: unused folders of a provider with the same type, or a
// similar address.
func misaddressed(diags diag.List, wanted plugins.Wanted, folders map[addr.Provider]string) diag.List {
	for _, given := range SortedProviders(folders) {
		if _, used := wanted[given]; used {
			continue
		}
		for _, p := range SortedProviders(wanted) {
			if given.Type == p.Type || diag.Nearest(given.String(), []string{p.String()}) != "" {
				diags = remarked(diags, p, "A program provider in %s has the address %s, which nothing requires. To "+
					"use it for this provider, change its address to %s in %s, or in the CLI configuration.",
					folders[given], given, p, settings.ProgramsVariable)
			}
		}
	}
	return diags
}

// unused adds the unused providers of the calling program to problems about missing providers: one of them may be the
// missing one.
func unused(diags diag.List, wanted plugins.Wanted, own map[addr.Provider]provider.Factory) diag.List {
	for _, given := range SortedProviders(own) {
		if _, used := wanted[given]; used {
			continue
		}
		for _, p := range SortedProviders(wanted) {
			if own[p] == nil {
				diags = remarked(diags, p, "The calling program provides %s, which nothing requires. If it is meant "+
					"for %s, set it under that source in Options.Providers.", given, p.ForDisplay())
			}
		}
	}
	return diags
}

// remarked returns the list with a paragraph added to the problems that report a provider as missing, as new values.
func remarked(diags diag.List, p addr.Provider, format string, args ...any) diag.List {
	out := slices.Clone(diags)
	for i, d := range out {
		if of, ok := d.Extra.(plugins.Missing); ok && slices.Contains(of.Providers, p) {
			c := *d
			c.Detail = strings.TrimPrefix(c.Detail+"\n\n"+fmt.Sprintf(format, args...), "\n\n")
			out[i] = &c
		}
	}
	return out
}

// OverrideWarning returns the warning about providers under development.
func OverrideWarning(set *settings.Settings, wanted plugins.Wanted, consequence string) diag.List {
	list := listed(set.DevOverrides, wanted)
	if list == "" {
		return nil
	}
	return diag.List{}.Warnf(nil, "Provider development overrides are in effect",
		"The CLI configuration replaces these providers with programs under development:\n%s\n\n%s", list, consequence)
}

// listed lists the required providers in folders, one per line.
func listed(folders map[addr.Provider]string, wanted plugins.Wanted) string {
	var list []string
	for p, dir := range folders {
		if _, ok := wanted[p]; ok {
			list = append(list, fmt.Sprintf(" - %s in %s", p.ForDisplay(), dir))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// ProgramProviders returns the folders of providers that are used without installation. One under development takes
// precedence.
func ProgramProviders(set *settings.Settings) map[addr.Provider]string {
	out := maps.Clone(set.ProgramProviders)
	for p := range set.DevOverrides {
		delete(out, p)
	}
	return out
}

// Uninstalled returns the folders of all providers that need no installation.
func Uninstalled(set *settings.Settings) map[addr.Provider]string {
	out := maps.Clone(set.DevOverrides)
	if out == nil {
		out = map[addr.Provider]string{}
	}
	maps.Copy(out, ProgramProviders(set))
	return out
}

// ProgramNote returns the note about program providers that are used from their folders.
func ProgramNote(set *settings.Settings, wanted plugins.Wanted) diag.List {
	list := listed(ProgramProviders(set), wanted)
	if list == "" {
		return nil
	}
	return diag.List{}.Warnf(nil, "Program providers are used from their folders",
		"The CLI configuration sets the folders of these providers, so they are not installed and their versions are "+
			"not locked:\n%s", list)
}

// Selections returns the version of each provider in the lock file.
func (s *Surroundings) Selections() map[string]string {
	locked, _ := lockfile.Load(s.dir()) // its problems are reported where it is used
	out := map[string]string{}
	for _, e := range locked.Entries() {
		out[e.Provider.String()] = e.Version.String()
	}
	return out
}

// SortedProviders returns the keys of a set of providers in the order of their addresses.
func SortedProviders[T any](set map[addr.Provider]T) []addr.Provider {
	return slices.SortedFunc(maps.Keys(set), func(a, b addr.Provider) int {
		return strings.Compare(a.String(), b.String())
	})
}
