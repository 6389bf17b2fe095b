package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/engine/ownstore"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/tracing"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// LoadOptions configures how a project is loaded.
type LoadOptions struct {
	Dir         string // directory of the configuration; "" means the working directory
	Workspace   string // "" means the selected one
	Files       StateFiles
	Parallelism int
	Events      event.Sink
	Abort       context.Context
	Saved       *plan.Plan // load the configuration from this plan
	EachPlugin  bool       // report each missing provider separately
	// Module and RootProviders are those of Options.
	Module        *config.Place
	RootProviders func(*config.Config) []*config.ProviderConfig
	NoPlugins     bool // load only the configuration: installed providers may be missing
	Query         bool // also read query files
	// Terse suppresses the warning about providers under development, for commands whose output other programs read.
	Terse bool
	// Secrets is the same as in Options.
	Secrets *value.Secrets
	// Store, Providers and Functions are the caller's own: the store replaces that of the backend, the providers
	// override all others, and the functions are added to those of the language.
	Store     state.Store
	Providers map[addr.Provider]provider.Factory
	Functions map[string]function.Function
}

// Project loads the configuration with its providers and its store.
func (s *Surroundings) Project(ctx context.Context, o LoadOptions) (*Project, diag.List) {
	project, diags := s.Load(ctx, o)
	if diags.HasErrors() {
		return nil, diags
	}
	if o.Store != nil {
		return project.WithStore(ownstore.Guard(o.Store, o.Abort)), diags
	}
	var st state.Store
	var more diag.List
	if o.Saved != nil {
		st, more = s.StoreOfPlan(ctx, project.Config().Root, o.Files)
	} else {
		st, more = s.runStore(ctx, project.Config().Root, o.Files)
	}
	if !more.HasErrors() {
		_, more = s.Selected(st)
	}
	if diags = diags.Extend(more); more.HasErrors() {
		_ = project.Close()
		return nil, diags
	}
	return project.WithStore(st), diags
}

// Load loads the configuration with its providers, without a store.
func (s *Surroundings) Load(ctx context.Context, o LoadOptions) (_ *Project, diags diag.List) {
	ctx, span := tracing.Start(ctx, "load")
	defer func() { span.End(!diags.HasErrors()) }()
	name := o.Workspace
	if name == "" {
		var err error
		if name, _, err = s.Workspace(); err != nil {
			return nil, diag.FromError("Cannot tell which workspace is selected", err)
		}
	}
	if diags := checkFunctions(o.Functions); diags.HasErrors() {
		return nil, diags
	}
	if _, diags := s.SettingsEnvironment().ChosenFlavor(); diags.HasErrors() {
		return nil, diags
	}
	file, diags := s.ProjectFile()
	if diags.HasErrors() {
		return nil, diags
	}
	options := Options{
		Dir: cmp.Or(o.Dir, s.dir()), DataDir: s.DataDir(), OriginalDir: s.StartDir, Workspace: name,
		Parallelism: max(o.Parallelism, 0), Events: o.Events, Abort: o.Abort, Module: o.Module,
		RootProviders: o.RootProviders, Constants: s.Constants,
		Title: s.Title, Flavor: s.Flavor(),
		MayRead: s.MayRead, Functions: o.Functions, OtherStates: s.otherStore,
		Encryption: s.Encryption, Query: o.Query, RememberPreventDestroy: file.RemembersPreventDestroy(),
		Refresh:       RefreshPolicy{Minimal: file.Minimal(), MaxAge: file.MaxAge(), Never: file.Unrefreshed()},
		AllowDeferral: file.DefersPlans(),
		Waves:         wavesOf(file),
		Rules:         file.Selectors(),
		Policies:      policiesOf(file, s.PluginEnviron),
		Hooks:         hooksOf(file), HookEnviron: s.PluginEnviron, Keeps: s.Keeps,
		Patience: file.Patience(s.Flavor().RegistryHost()),
		Secrets:  o.Secrets,
		Log:      s.CoreLog,
	}
	s.Settings() // loads the settings before MayRead is called concurrently
	if o.Saved != nil {
		// a saved configuration has its manifest under the default name
		options.Config, options.DataDir = o.Saved.Config, ""
		options.Constants = func(*config.Module) config.Values { return valuesOf(o.Saved) }
		options.Encryption = func(root *config.Module) (*encryption.Encryption, diag.List) {
			return s.Encryption(s.encryptionModule(ctx, root))
		}
	}
	if o.NoPlugins {
		return Load(ctx, options)
	}
	return s.withPlugins(ctx, o, options)
}

// withPlugins loads the configuration with its providers.
func (s *Surroundings) withPlugins(ctx context.Context, o LoadOptions, options Options) (*Project, diag.List) {
	e := s.checkEarly(ctx, o.Providers)
	defer e.end()
	project, diags := Load(ctx, options)
	if project == nil || diags.HasErrors() {
		return project, diags
	}
	factories, more := s.Plugins(ctx, project, PluginOptions{Each: o.EachPlugin, Terse: o.Terse, Own: o.Providers,
		early: e})
	if diags = diags.Extend(more); more.HasErrors() {
		if o.EachPlugin { // missing arguments are reported first, without providers
			diags = diags.Extend(linking.CheckProvisioners(project.Config()))
		}
		return nil, diags
	}
	project = project.WithProviders(factories)
	project.plugins = e.programs
	return project, diags
}

// valuesOf returns the values of the variables in a plan.
func valuesOf(pl *plan.Plan) config.Values {
	out := config.Values{}
	for name, v := range pl.Variables {
		out[name] = config.RawValue{Origin: config.FromCaller, Value: v.Value}
	}
	return out
}

// checkFunctions returns errors for functions of the caller that hide those of the language, or that cannot be called.
func checkFunctions(own map[string]function.Function) (diags diag.List) {
	table := funcs.Table(funcs.Options{})
	for _, name := range slices.Sorted(maps.Keys(own)) {
		_, taken := table[name]
		switch {
		case taken:
			diags = diags.Errorf(nil, "Function exists already",
				"The program defines a function named %q, but the language already has a function of that name. Use "+
					"another name.",
				name)
		case !hclsyntax.ValidIdentifier(name):
			diags = diags.Errorf(nil, "Invalid name of a function", "The program defines a function named %q, which "+
				"a configuration cannot call: a name consists of letters, digits, underscores and dashes, and does "+
				"not begin with a digit or a dash.", name)
		case own[name] == function.Function{}:
			diags = diags.Errorf(nil, "Invalid function", "The program defines a function named %q that was not made "+
				"by function.New.", name)
		}
	}
	return diags
}

// own adds the functions of the caller to a table.
func (p *Project) own(table map[string]function.Function, record *funcs.FileRecord) map[string]function.Function {
	for name, f := range p.opts.Functions {
		table[name] = funcs.OfProvider(fmt.Sprintf("own %s", name), f, record)
	}
	return table
}

// elsewhere warns if other tools find errors in the configuration, because they do not read the files that only Tombolo
// reads. Projects of which they would read nothing are not meant for them.
func (p *Project) elsewhere(ctx context.Context, pool *host.Pool) diag.List {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(p.config.Files)), config.IsOwn) {
		return nil
	}
	load := p.load
	if load.Files == nil {
		load.Files = config.OSFiles("")
	}
	load.Files = config.WithoutOwn(load.Files)
	cfg, diags := config.Load(ctx, load)
	if cfg == nil && !diags.HasErrors() || cfg != nil && len(cfg.Files) == 0 {
		return nil
	}
	if !diags.HasErrors() {
		var prog *linking.Program
		if prog, diags = linking.New(cfg, p.registry); !diags.HasErrors() {
			diags = p.validate(ctx, prog, pool)
		}
	}
	diags = slices.DeleteFunc(diags, func(d *diag.Diagnostic) bool { return d.Severity != diag.Error })
	if len(diags) == 0 || ctx.Err() != nil {
		return nil
	}
	diags = diags.Sorted()
	more := ""
	if n := len(diags) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return diag.List{}.Warnf(diags[0].Subject, "Other tools cannot use this configuration",
		"Terraform and OpenTofu do not read files that end in .%s, and without these they find an error here: %s%s. "+
			"Declare in other files what these need, or let all files of the module end in .%[1]s.", flavor.Own,
		diags[0].Summary, more)
}
