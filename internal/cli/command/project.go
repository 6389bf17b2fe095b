package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
)

// ProjectOptions holds the settings for loading a project.
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

// Values is like Given, but returns only the values.
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
	pl, _, diags := c.readPlan(ctx, name, func(f *os.File, _ int64) (io.ReaderAt, string, error) { return f, "", nil })
	return pl, diags
}

// maxHashed is the maximum size in bytes of a plan file to hash. The file is read only once, so that the plan and the
// hash match.
const maxHashed = 1 << 30

// ReadHashedPlan reads a saved plan and also returns the hash of its file, such as "sha256:0123...".
func (c *Call) ReadHashedPlan(ctx context.Context, name string) (*plan.Plan, string, diag.List) {
	return c.readPlan(ctx, name, func(f *os.File, size int64) (io.ReaderAt, string, error) {
		if size > maxHashed {
			return nil, "", fmt.Errorf("it has more than %d MiB", maxHashed>>20)
		}
		content := make([]byte, size)
		if _, err := io.ReadFull(f, content); err != nil {
			return nil, "", err
		}
		return bytes.NewReader(content), fmt.Sprintf("sha256:%x", sha256.Sum256(content)), nil
	})
}

func (c *Call) readPlan(ctx context.Context, name string, open func(*os.File, int64) (io.ReaderAt, string, error)) (
	*plan.Plan, string, diag.List) {
	summary := "Failed to load \"" + name + "\" as a plan file"
	f, size, err := OpenFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", diag.List{}.Errorf(nil, summary, "There is no such file.").
			Advise("To save a plan, run \"%s\".", diag.Run("plan", "-out="+name))
	}
	if err != nil {
		return nil, "", diag.List{}.Errorf(nil, summary, "Error: %s", err)
	}
	defer f.Close()
	from, hash, err := open(f, size)
	if err != nil {
		return nil, "", diag.List{}.Errorf(nil, summary, "Error: %s", err)
	}
	pl, diags, err := c.Surroundings.ReadPlan(ctx, from, size)
	var fileErr *plan.FileError
	switch {
	case err == nil:
		return pl, hash, diags
	case errors.As(err, &fileErr):
		return nil, "", diags.Errorf(nil, summary, "%s", fileErr.Detail)
	}
	return nil, "", diags.Errorf(nil, summary, "Error: %s", err)
}
