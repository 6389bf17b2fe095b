package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// shown is what a call has for showing things.
type shown struct {
	json    bool
	view    view.View
	sources map[string][]byte // the text behind ranges of diagnostics
}

// addSources makes the text of more files known to diagnostics.
func (c *call) addSources(more map[string][]byte) {
	if c.shown.sources == nil {
		c.shown.sources = map[string][]byte{}
	}
	for name, src := range more {
		c.shown.sources[name] = src
	}
}

func (c *call) viewOptions() view.Options {
	return view.Options{
		Out: c.out, Err: c.err, JSON: c.shown.json, Color: c.color(), Width: c.width, Program: c.program,
		Command: c.path, Automation: c.automated(), CompactWarnings: c.compact,
		Sources: func() map[string][]byte { return c.shown.sources },
	}
}

// color tells whether colors are wanted: on a terminal, unless someone said no.
func (c *call) color() bool {
	return c.outTerminal && !c.noColor && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb"
}

// view gives the view of this call, made when first needed: then all flags are known.
func (c *call) view() view.View {
	if c.shown.view == nil {
		c.shown.view = view.New(c.viewOptions())
		c.shown.view.Start()
	}
	return c.shown.view
}

func (c *call) closeView() {
	if c.shown.view != nil {
		c.shown.view.Close()
	}
}

// report shows problems and tells whether there are no errors among them.
func (c *call) report(diags diag.List) bool {
	if len(diags) > 0 {
		c.readSources(diags)
		c.view().Diagnostics(diags)
	}
	return !diags.HasErrors()
}

// readSources reads the files that problems point into and that no configuration brought along, because it could not be loaded.
func (c *call) readSources(diags diag.List) {
	for _, d := range diags {
		if d.Subject == nil || c.shown.sources[d.Subject.Filename] != nil {
			continue
		}
		if src, err := os.ReadFile(filepath.FromSlash(d.Subject.Filename)); err == nil {
			c.addSources(map[string][]byte{d.Subject.Filename: src})
		}
	}
}

// end shows problems as the last thing that a command does.
func (c *call) end(diags diag.List) outcome {
	if !c.report(diags) {
		return failed
	}
	return done
}

// finish is end for a machine problem.
func (c *call) finish(summary string, err error) outcome {
	return c.end(diag.FromError(summary, err))
}

// interrupted shows what a killed run left open. It goes to standard error, because the output of some commands is read by programs.
func (c *call) interrupted(s *state.Snapshot) {
	if s == nil || s.Running != nil {
		return // a run that is under way has operations in flight, as it should
	}
	diags := tombolo.InterruptedWarnings(s)
	if len(diags) == 0 {
		return
	}
	o := c.viewOptions()
	o.Out, o.JSON = c.err, false
	v := view.New(o)
	v.Diagnostics(diags)
	v.Close()
}

// workspace gives the selected workspace, and whether the environment decides.
func (a *app) workspace() (name string, overridden bool, err error) {
	if name := a.getenv("TF_WORKSPACE"); name != "" {
		return name, true, nil
	}
	content, err := os.ReadFile(filepath.Join(a.dataDir(), "environment"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(content)) == "" {
		return state.DefaultWorkspace, false, nil
	}
	return strings.TrimSpace(string(content)), false, err
}

// rootModule reads the root module alone: it may say where the state is.
func (c *call) rootModule(ctx context.Context) (*config.Module, diag.List) {
	root, diags := config.Load(ctx, config.Options{Dir: ".", DataDir: c.dataDir(), LanguageVersion: state.LanguageVersion, RootOnly: true})
	if diags.HasErrors() {
		return nil, errorsOnly(diags)
	}
	c.addSources(root.Files)
	return root.Root, nil
}

// open opens the store of the working directory.
func (c *call) open(ctx context.Context, files stateFiles) (state.Store, diag.List) {
	root, diags := c.rootModule(ctx)
	if diags.HasErrors() {
		return nil, diags
	}
	return c.storeOf(root, files)
}

// storeOf makes the store that a root module asks for.
func (c *call) storeOf(root *config.Module, files stateFiles) (state.Store, diag.List) {
	o, diags := localBackend(root)
	if diags.HasErrors() {
		return nil, diags
	}
	files.apply(&o)
	return store.New(o), diags
}

// localBackend reads the settings of a backend block of type local.
func localBackend(root *config.Module) (o store.Options, diags diag.List) {
	switch {
	case root.Cloud != nil:
		return o, diags.Errorf(&root.Cloud.Range, "Unsupported cloud block", "This version keeps states in local files only. Remove the cloud block.")
	case root.Backend == nil:
		return o, nil
	case root.Backend.Type != "local":
		return o, diags.Errorf(&root.Backend.Range, "Unsupported backend type", "This version keeps states in local files only: it has no backend %q. Remove the block, or use the backend \"local\".", root.Backend.Type)
	}
	attrs, hclDiags := root.Backend.Body.JustAttributes()
	diags = diags.AppendHCL(hclDiags)
	for name, attr := range attrs {
		var to *string
		switch name {
		case "path":
			to = &o.Path
		case "workspace_dir":
			to = &o.WorkspaceDir
		default:
			diags = diags.Errorf(&attr.NameRange, "Unsupported argument", "The backend \"local\" has no argument named %q, only path and workspace_dir.", name)
			continue
		}
		v, hclDiags := attr.Expr.Value(nil)
		diags = diags.AppendHCL(hclDiags)
		switch {
		case hclDiags.HasErrors() || v.IsNull():
		case v.Type() != cty.String:
			diags = diags.Errorf(attr.Expr.Range().Ptr(), "Invalid backend configuration", "The argument %s must be a string.", name)
		default:
			*to = v.AsString()
		}
	}
	return o, diags
}

func errorsOnly(diags diag.List) (out diag.List) {
	for _, d := range diags {
		if d.Severity == diag.Error {
			out = append(out, d)
		}
	}
	return out
}

// snapshot reads the state of the selected workspace without its lock, and warns of what is open in it.
func (c *call) snapshot(ctx context.Context, files stateFiles) (*state.Snapshot, diag.List) {
	st, diags := c.open(ctx, files)
	if diags.HasErrors() {
		return nil, diags
	}
	return c.snapshotOf(ctx, st)
}

func (c *call) snapshotOf(ctx context.Context, st state.Store) (*state.Snapshot, diag.List) {
	ws, diags := c.selected(st)
	if diags.HasErrors() {
		return nil, diags
	}
	s, err := ws.Read(ctx)
	if err != nil {
		return nil, diag.FromError("Error loading the state", err)
	}
	c.interrupted(s)
	return s, nil
}

// selected gives the selected workspace of a store.
func (c *call) selected(st state.Store) (state.Workspace, diag.List) {
	name, overridden, err := c.workspace()
	if err != nil {
		return nil, diag.FromError("Cannot tell which workspace is selected", err)
	}
	ws, err := st.Workspace(name)
	switch {
	case err != nil && overridden:
		return nil, diag.FromError("Invalid workspace name set using TF_WORKSPACE", err)
	case err != nil:
		return nil, diag.FromError("Invalid workspace name", err)
	}
	return ws, nil
}

// projectOptions say how to load a project.
type projectOptions struct {
	files       stateFiles
	parallelism int
	events      event.Sink
	abort       context.Context
	saved       *plan.Plan // take the configuration from here
}

// project loads the configuration with its store.
func (c *call) project(ctx context.Context, p projectOptions) (*tombolo.Project, diag.List) {
	project, diags := c.load(ctx, p)
	if diags.HasErrors() {
		return nil, diags
	}
	st, more := c.storeOf(project.Config().Root, p.files)
	if !more.HasErrors() {
		_, more = c.selected(st)
	}
	if diags = diags.Extend(more); more.HasErrors() {
		return nil, diags
	}
	return project.WithStore(st), diags
}

// load loads the configuration and leaves open where the state is.
func (c *call) load(ctx context.Context, p projectOptions) (*tombolo.Project, diag.List) {
	name, _, err := c.workspace()
	if err != nil {
		return nil, diag.FromError("Cannot tell which workspace is selected", err)
	}
	o := tombolo.Options{
		Dir: ".", DataDir: c.dataDir(), OriginalDir: c.cwd, Workspace: name,
		Parallelism: max(p.parallelism, 0), Events: p.events, Abort: p.abort,
	}
	if p.saved != nil {
		o.Config, o.DataDir = p.saved.Config, "" // a saved configuration has its manifest under the default name
		c.addSources(o.Config)
	}
	project, diags := tombolo.Load(ctx, o)
	if project == nil || diags.HasErrors() {
		return nil, diags
	}
	c.addSources(project.Config().Files)
	return project, diags
}

// values gives the variables of the root module, asking for what is missing if that is allowed.
func (c *call) values(ctx context.Context, root *config.Module, given []config.Option, ask bool) (map[string]cty.Value, diag.List) {
	raw, sources, diags := config.CollectValues(config.ValueSources{Files: config.OSFiles("."), Environ: c.environ, Options: given})
	c.addSources(sources)
	if diags.HasErrors() {
		return nil, diags
	}
	if ask && c.inputAllowed() && !c.shown.json {
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
	return root.RawValues(raw), diags.Extend(more)
}

// schemas gives the schemas of all providers that a configuration and a state mention, as far as they can be had: documents do
// without the others.
func schemas(project *tombolo.Project, s *state.State, changes ...*plan.Change) tfjson.Schemas {
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
