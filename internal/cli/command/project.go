package command

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// ErrorsOnly leaves warnings out.
func ErrorsOnly(diags diag.List) (out diag.List) {
	for _, d := range diags {
		if d.Severity == diag.Error {
			out = append(out, d)
		}
	}
	return out
}

// ProjectOptions say how to load a project.
type ProjectOptions struct {
	Dir         string // "" is the working directory
	Files       StateFiles
	Parallelism int
	Events      event.Sink
	Abort       context.Context
	Saved       *plan.Plan // take the configuration from here
	EachPlugin  bool       // report each installed provider that is missing by itself
	// Module and RootProviders are those of tombolo.Options.
	Module        *config.Place
	RootProviders func(*config.Config) []*config.ProviderConfig
	NoPlugins     bool // look at the configuration alone: installed providers need not be there
	// Terse leaves out the warning of providers under development, for commands whose output other programs read.
	Terse bool
}

// Project loads the configuration with its store.
func (c *Call) Project(ctx context.Context, p ProjectOptions) (*tombolo.Project, diag.List) {
	project, diags := c.Load(ctx, p)
	if diags.HasErrors() {
		return nil, diags
	}
	var st state.Store
	var more diag.List
	if p.Saved != nil {
		st, more = c.storeOfPlan(project.Config().Root, p.Files)
	} else {
		st, more = c.StoreOf(project.Config().Root, p.Files)
	}
	if !more.HasErrors() {
		_, more = c.Selected(st)
	}
	if diags = diags.Extend(more); more.HasErrors() {
		return nil, diags
	}
	return project.WithStore(st), diags
}

// Load loads the configuration and leaves open where the state is.
func (c *Call) Load(ctx context.Context, p ProjectOptions) (*tombolo.Project, diag.List) {
	name, _, err := c.Workspace()
	if err != nil {
		return nil, diag.FromError("Cannot tell which workspace is selected", err)
	}
	o := tombolo.Options{
		Dir: cmp.Or(p.Dir, "."), DataDir: c.DataDir(), OriginalDir: c.StartDir, Workspace: name,
		Parallelism: max(p.Parallelism, 0), Events: p.Events, Abort: p.Abort, Module: p.Module, RootProviders: p.RootProviders,
	}
	set, mistakes := c.Settings()
	o.MayRead = func(p addr.Provider, words []string) error {
		if mistakes.HasErrors() { // they are reported where settings are needed
			return errors.New("the CLI configuration, which may forbid it, cannot be read")
		}
		return set.PlanPrograms.Refusal(p, words)
	}
	if log := c.coreLog(); p.Events != nil && log.Enabled(ctx, slog.LevelError) {
		o.Events = logged{p.Events, log}
	}
	if p.Saved != nil {
		o.Config, o.DataDir = p.Saved.Config, "" // a saved configuration has its manifest under the default name
		c.AddSources(o.Config)
	}
	project, diags := tombolo.Load(ctx, o)
	if project == nil || diags.HasErrors() {
		return nil, diags
	}
	c.AddSources(project.Config().Files)
	if p.NoPlugins {
		return project, diags
	}
	factories, more := c.plugins(ctx, project, p)
	if diags = diags.Extend(more); more.HasErrors() {
		return nil, diags
	}
	return project.WithProviders(factories), diags
}

// Values gives the variables of the root module as Given does, only their values.
func (c *Call) Values(ctx context.Context, root *config.Module, given []config.Option, ask bool) (map[string]cty.Value, diag.List) {
	raw, diags := c.Given(ctx, root, given, ask)
	return root.RawValues(raw), diags
}

// Given collects the variables of the root module, asking for what is missing if that is allowed, and checks them.
func (c *Call) Given(ctx context.Context, root *config.Module, given []config.Option, ask bool) (config.Values, diag.List) {
	raw, sources, diags := config.CollectValues(config.ValueSources{Files: config.OSFiles("."), Environ: c.Environ, Options: given})
	c.AddSources(sources)
	if diags.HasErrors() {
		return nil, diags
	}
	if ask && c.InputAllowed() && !c.JSON {
		for _, v := range root.Unset(raw) {
			text, ok := c.askVariable(ctx, v)
			if !ok {
				break
			}
			raw[v.Name] = config.RawValue{Origin: config.FromInput, Text: text}
		}
		if ctx.Err() != nil {
			return nil, diags.Errorf(nil, "Interrupted", "The question for the value of a variable was interrupted. Nothing was changed.")
		}
	}
	_, more := root.VariableValues(raw)
	return raw, diags.Extend(more)
}

// Schemas gives the schemas of all providers that a configuration and a state mention, as far as they can be had: documents do
// without the others.
func Schemas(project *tombolo.Project, s *state.State, changes ...*plan.Change) tfjson.Schemas {
	out := tfjson.Schemas{}
	add := func(p addr.Provider) {
		if _, ok := out[p]; ok {
			return
		}
		if schema, diags := project.Schema(p); schema != nil && !diags.HasErrors() {
			out[p] = schema
		}
	}
	for _, m := range project.Config().Modules {
		for _, r := range m.Resources {
			add(r.Provider)
		}
		for _, p := range m.ProviderConfigs {
			add(p.Provider)
		}
	}
	if s != nil {
		for _, r := range s.Resources() {
			add(r.Provider.Provider)
		}
	}
	for _, ch := range changes {
		add(ch.Provider.Provider)
	}
	return out
}

// ReadPlan reads a plan file.
func ReadPlan(name string) (*plan.Plan, diag.List) {
	f, size, err := OpenFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.List{}.Errorf(nil, "Failed to load \""+name+"\" as a plan file", "There is no such file. The option -out of the command plan saves a plan.")
	}
	if err != nil {
		return nil, diag.List{}.Errorf(nil, "Failed to load \""+name+"\" as a plan file", "Error: %s", err)
	}
	defer f.Close()
	pl, err := plan.Decode(f, size)
	var fileErr *plan.FileError
	switch {
	case err == nil:
		return pl, nil
	case errors.As(err, &fileErr):
		return nil, diag.List{}.Errorf(nil, "Failed to load \""+name+"\" as a plan file", "%s", fileErr.Detail)
	}
	return nil, diag.List{}.Errorf(nil, "Failed to load \""+name+"\" as a plan file", "Error: %s", err)
}
