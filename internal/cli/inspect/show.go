package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/report"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Show is the command show.
func Show() *command.Command {
	return &command.Command{
		Name: "show", Short: "Show the state or a saved plan", Args: "[FILE]",
		Long: `Show the current state, or the plan or state in a file. Options select one of them, or print
the configuration or a module for other programs.

With -json, the document contains sensitive values in plain text.`,
		Example: `~ show
~ plan -out=change.plan && ~ show -json change.plan`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.DocumentFlags()
			c.SecretsFlag()
			c.FullFlag()
			w := &shown{}
			c.Flags.BoolVar(&w.markdown, "markdown", false,
				"Show a plan as Markdown, for example for a comment: destroyed objects first, details folded.")
			c.Flags.BoolVar(&w.html, "html", false,
				"Show a plan or state as a self-contained HTML page, without sensitive values.")
			c.Flags.IntVar(&w.maxBytes, "max-bytes", 0,
				"Limit the Markdown to `N` bytes, at least 1000, and note what is left out.")
			c.Flags.BoolVar(&w.state, "state", false, "Show the current state.")
			c.Flags.StringVar(&w.plan, "plan", "", "Show the plan in `FILE`.")
			c.Flags.BoolVar(&w.config, "config", false, "Show the configuration. It needs -json.")
			c.Flags.StringVar(&w.module, "module", "",
				"Show the declarations of the module in `DIR`, which need not be initialized. It needs -json.")
			return func(ctx context.Context) command.Outcome { return w.show(ctx, c) }
		},
	}
}

// shown holds the options of show that select the document.
type shown struct {
	state, config bool
	plan, module  string
	markdown      bool
	html          bool
	maxBytes      int
}

func (w *shown) show(ctx context.Context, c *command.Call) command.Outcome {
	asked := 0
	for _, is := range []bool{w.state, w.plan != "", w.config, w.module != ""} {
		if is {
			asked++
		}
	}
	switch {
	case w.config && !c.Document:
		return c.Misuse("JSON output required for configuration",
			"A configuration is only shown as JSON: add -json to -config.")
	case w.module != "" && !c.Document:
		return c.Misuse("JSON output required for module",
			"A module is only shown as JSON: add -json to -module.")
	case asked > 0 && len(c.Args) > 0:
		return c.Misuse("Unexpected command line arguments", "An option already selects what to show, but the "+
			"argument %q was also given. Remove it.", c.Args[0])
	case asked > 1:
		return c.Misuse("Conflicting object types to show",
			"Only one thing can be shown at a time: use one of -state, -plan=FILE, -config and -module=DIR.")
	case len(c.Args) > 1:
		return c.TooMany(1)
	case w.markdown && c.Document:
		return c.Misuse("Incompatible options", "The options -json and -markdown conflict: remove one of them.")
	case w.html && (c.Document || w.markdown):
		return c.Misuse("Incompatible options", "The option -html conflicts with -json and -markdown: remove one of "+
			"them.")
	case w.markdown && w.plan == "" && len(c.Args) == 0:
		return c.Misuse("Nothing to show as Markdown", "Only plans are shown as Markdown: add the file of a plan.")
	case w.maxBytes != 0 && (!w.markdown || w.maxBytes < view.LeastMarkdown):
		return c.Misuse("Invalid limit", "-max-bytes is %d. Use it with -markdown, and set it to %d or more.",
			w.maxBytes,
			view.LeastMarkdown)
	case w.plan != "":
		return w.showPlan(ctx, c, w.plan)
	case w.config:
		return showConfig(ctx, c)
	case w.module != "":
		return showModule(ctx, c, w.module)
	case len(c.Args) == 1:
		return w.showFile(ctx, c, c.Args[0])
	}
	return w.showState(ctx, c)
}

// showConfig shows the configuration with the schemas of its providers.
func showConfig(ctx context.Context, c *command.Call) command.Outcome {
	project, diags := c.Load(ctx, command.ProjectOptions{})
	if diags = diags.OnlyErrors(); len(diags) > 0 {
		return c.End(diags)
	}
	defer project.Close()
	if project.Config().IsEmpty() {
		return c.End(diags.Errorf(nil, "No configuration files", "This directory has no configuration (no .tf files). "+
			"Create one, or change to the directory that has them (-chdir)."))
	}
	return c.Finish("Failed to show the configuration", tfjson.Configuration(c.Documents(), project.Config(),
		project.Schemas(nil)))
}

// showModule shows a module from its files alone, without providers.
func showModule(ctx context.Context, c *command.Call, dir string) command.Outcome {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return c.End(diag.List{}.Errorf(nil, "Failed to read module directory",
			"There is no directory %s that can be read.", dir))
	}
	load := c.ConfigOptions()
	load.Dir, load.RootOnly = dir, true
	cfg, diags := config.Load(ctx, load)
	if diags = diags.OnlyErrors(); len(diags) > 0 {
		return c.End(command.SeenFromHere(diags, dir))
	}
	return c.Finish("Failed to show the module", tfjson.Module(c.Documents(), cfg))
}

func (w *shown) showState(ctx context.Context, c *command.Call) command.Outcome {
	snapshot, diags := c.Snapshot(ctx, command.StateFiles{})
	switch {
	case diags.HasErrors():
		return c.End(diags)
	case snapshot.State == nil && w.html:
		return w.showIn(ctx, c, snapshot.State.Builder().State(), true)
	case snapshot.State == nil:
		return noState(c)
	}
	return w.showIn(ctx, c, snapshot.State, true)
}

func noState(c *command.Call) command.Outcome {
	if !c.Document {
		fmt.Fprintln(c.Out, "No state.")
	}
	if to := c.Documents(); to != nil {
		return c.Finish("Failed to show the state", tfjson.State(to, nil, nil))
	}
	return command.Done
}

// showIn shows a state with the schemas of the configuration.
func (w *shown) showIn(ctx context.Context, c *command.Call, s *state.State, current bool) command.Outcome {
	project, diags := c.Project(ctx, command.ProjectOptions{})
	if diags = diags.OnlyErrors(); len(diags) > 0 {
		return c.End(diags)
	}
	defer project.Close()
	if w.html {
		o := reportOptions(c)
		if current {
			o.Workspace = project.Workspace()
		}
		return c.Finish("Failed to show the state", report.State(c.Out, o, s, project.Schemas(s)))
	}
	return printState(c, project, s)
}

// reportOptions returns the options of a page. Sensitive values are hidden even if they may be shown, because a page is
// meant to be shared.
func reportOptions(c *command.Call) report.Options {
	o := report.Options{View: c.ViewOptions(), Version: engine.Version}
	o.View.ShowSensitive = false
	return o
}

func printState(c *command.Call, project *engine.Project, s *state.State) command.Outcome {
	var err error
	if !c.Document {
		err = view.State(c.ViewOptions(), s, project.Schemas(s))
	}
	if to := c.Documents(); to != nil && err == nil {
		err = tfjson.State(to, s, project.Schemas(s))
	}
	return c.Finish("Failed to show the state", err)
}

// sealedPlan reports whether a file is an encrypted plan. Unlike an encrypted state, it has no lineage outside of the
// encrypted part.
func sealedPlan(f io.ReaderAt) bool {
	head := make([]byte, 256)
	n, _ := f.ReadAt(head, 0)
	return bytes.HasPrefix(head[:n], []byte(`{"meta":`))
}

// showFile shows a plan or a state, which it distinguishes by the first bytes.
func (w *shown) showFile(ctx context.Context, c *command.Call, name string) command.Outcome {
	const summary = "Failed to read the given file as a state or plan file"
	f, _, err := command.OpenFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.End(diag.List{}.Errorf(nil, summary, "There is no file %q.", name))
	case err != nil:
		return c.Finish(summary, err)
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err == nil && bytes.Equal(head, []byte("PK\x03\x04")) {
		return w.showPlan(ctx, c, name)
	}
	if sealedPlan(f) {
		return w.showPlan(ctx, c, name)
	}
	if w.markdown {
		return c.End(diag.List{}.Errorf(nil, summary, "The file %q holds no plan: only plans are shown as Markdown.",
			name))
	}
	s, err := c.ReadState(ctx, f)
	if err != nil {
		return c.End(diag.List{}.Errorf(nil, summary, "The file %q holds neither a plan nor a state: %s.", name,
			command.StateProblem(err)))
	}
	return w.showIn(ctx, c, s, false)
}

func (w *shown) showPlan(ctx context.Context, c *command.Call, name string) command.Outcome {
	read := func() (*plan.Plan, string, diag.List) {
		pl, diags := c.ReadPlan(ctx, name)
		return pl, "", diags
	}
	if w.markdown {
		read = func() (*plan.Plan, string, diag.List) { return c.ReadHashedPlan(ctx, name) }
	}
	pl, hash, diags := read()
	if diags.HasErrors() {
		return c.End(diags)
	}
	project, diags := c.Project(ctx, command.ProjectOptions{Saved: pl})
	if diags = diags.OnlyErrors(); len(diags) > 0 {
		return c.End(diags)
	}
	defer project.Close()
	project.LearnSecrets(pl)
	prior := pl.Prior()
	all := project.Schemas(prior, pl.Changes...)
	if w.markdown {
		return c.Finish("Failed to show the plan", view.Markdown(c.ViewOptions(), pl, all, w.maxBytes, hash))
	}
	if w.html {
		return c.Finish("Failed to show the plan", report.Plan(c.Out, reportOptions(c), pl, all))
	}
	if !c.Document {
		c.View().Plan(pl, all)
	}
	if to := c.Documents(); to != nil {
		return c.Finish("Failed to show the plan", tfjson.Plan(to, pl, prior, project.Config(), all))
	}
	return command.Done
}
