package command

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
)

// ProjectOptions hold the settings for loading a project.
type ProjectOptions = engine.LoadOptions

// Project loads the configuration with its store.
func (c *Call) Project(ctx context.Context, p ProjectOptions) (*engine.Project, diag.List) {
	return c.loaded(c.Surroundings.Project(ctx, c.loading(ctx, p)))
}

// Load loads the configuration without its store.
func (c *Call) Load(ctx context.Context, p ProjectOptions) (*engine.Project, diag.List) {
	return c.loaded(c.Surroundings.Load(ctx, c.loading(ctx, p)))
}

// loading prepares the report of problems while loading.
func (c *Call) loading(ctx context.Context, p ProjectOptions) ProjectOptions {
	c.Settings() // shows its warnings
	if log := c.CoreLog; p.Events != nil && log != nil && log.Enabled(ctx, slog.LevelError) {
		p.Events = logged{p.Events, log}
	}
	p.Secrets = &c.secrets
	if p.Saved != nil {
		c.AddSources(p.Saved.Config)
	}
	return p
}

func (c *Call) loaded(project *engine.Project, diags diag.List) (*engine.Project, diag.List) {
	if project != nil {
		c.AddSources(project.Config().Files)
	}
	return project, diags
}

// Values returns the variables of the root module as Given does, only their values.
func (c *Call) Values(ctx context.Context, root *config.Module, given []config.Option, ask bool) (map[string]cty.Value,
	diag.List) {
	raw, diags := c.Given(ctx, root, given, ask)
	return root.RawValues(raw), diags
}

// Given collects and checks the variables of the root module. If input is allowed, it asks for missing ones.
func (c *Call) Given(ctx context.Context, root *config.Module, given []config.Option, ask bool) (config.Values,
	diag.List) {
	o := engine.VariableOptions{Given: given, Sources: c.AddSources}
	if ask && c.InputAllowed() && !c.JSON {
		o.Ask = func(v *config.Variable) (string, bool) { return c.askVariable(ctx, v) }
	}
	raw, diags := c.Variables(root, o)
	if o.Ask != nil && ctx.Err() != nil {
		return nil, diag.List{}.Errorf(nil, "Interrupted",
			"The question for the value of a variable was interrupted. Nothing was changed.")
	}
	return raw, diags
}

// ReadPlan reads a plan file.
func (c *Call) ReadPlan(ctx context.Context, name string) (*plan.Plan, diag.List) {
	f, size, err := OpenFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.List{}.Errorf(nil, "Failed to load \""+name+"\" as a plan file",
			"There is no such file. Save a plan with plan -out.")
	}
	if err != nil {
		return nil, diag.List{}.Errorf(nil, "Failed to load \""+name+"\" as a plan file", "Error: %s", err)
	}
	defer f.Close()
	pl, diags, err := c.Surroundings.ReadPlan(ctx, f, size)
	var fileErr *plan.FileError
	switch {
	case err == nil:
		return pl, diags
	case errors.As(err, &fileErr):
		return nil, diags.Errorf(nil, "Failed to load \""+name+"\" as a plan file", "%s", fileErr.Detail)
	}
	return nil, diags.Errorf(nil, "Failed to load \""+name+"\" as a plan file", "Error: %s", err)
}
