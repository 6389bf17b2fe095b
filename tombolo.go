// Package tombolo is Tombolo as a Go library. It installs the providers and modules of a project, loads the project,
// makes plans, renders them, applies them and reads outputs.
//
//	options := tombolo.Options{Dir: "infra", Variables: map[string]any{"region": "north"}}
//	project, diags := tombolo.Load(ctx, options) // configuration, backend, installed providers, values of variables
//	if diags.HasErrors() {
//		return options.Diagnostics(os.Stderr, diags) // here and below: with their lines
//	}
//	defer project.Close()
//	run, diags := project.Open(ctx, tombolo.OpenOptions{}) // takes the lock of the state
//	defer run.Close(ctx)
//	p, diags := run.Plan(ctx, tombolo.PlanOptions{})
//	err := project.Text(os.Stdout, p, tombolo.TextOptions{})
//	counts, diags := run.Apply(ctx, p, tombolo.ApplyOptions{})
//	err = run.Output("address", &address)
//
// Load reads a project like the command line: with its backend block, its *.tfvars files, the environment (TF_VAR_name,
// TF_WORKSPACE, TF_DATA_DIR and the others), its lock file and the CLI configuration. Options can replace any of these
// with values, providers, functions or a store of the calling program. docs/library.md is the guide.
//
// Problems are returned as a diag.List, which includes warnings: HasErrors reports whether the call failed, and Err
// returns the list as an error. Methods that only render or decode return an error.
//
// Cancellation works in two steps, so that an interrupted apply can end cleanly. When the context of a call ends, no
// new operation starts, providers are asked to stop, and operations in flight are awaited. When Options.Abort ends,
// their provider calls are cancelled, too. An operation with an unknown result stays open: see Run.Interrupted. The
// package starts no goroutine that outlives a call.
package tombolo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/report"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Version is the version of the engine. Its first two numbers are the level of the language (docs/promises.md).
const Version = engine.Version

// Options describe a project and its environment. The zero value is the project in the working directory, with the
// environment of the process.
type Options struct {
	// Dir is the directory of the root module; empty means ".". The data folder, the lock file, *.tfvars files and a
	// local state are there. A relative name is resolved once, when Load or Install is called.
	Dir string
	// Environ is the environment of the engine and of plugins, in the form of os.Environ; nil means the environment of
	// the process, and an empty list none. Programs that a configuration names always get the environment of the
	// process.
	Environ []string
	// Workspace is the workspace of the state; empty means the selected one (TF_WORKSPACE, or the command "workspace
	// select"). Project.Open refuses a name that no workspace has, unless OpenOptions.CreateWorkspace is set.
	Workspace string

	// Variables are values of root input variables. They override those of files and of the environment. A value is a
	// cty.Value that is wholly known and without marks, or any value that encoding/json can encode: a struct, a map, a
	// list, a string, a number, a bool, nil. As in encoding/json, a []byte becomes a base64 string. Maps and lists may
	// hold a cty.Value. Strings that are not UTF-8 are refused, as are names that the configuration does not declare.
	Variables map[string]any
	// VarFiles are names of files with values, like those of the option -var-file, relative to Dir.
	VarFiles []string

	// Store replaces the store of the backend block.
	Store state.Store
	// Providers are providers of the calling program by their source, such as "example/notes". They need no
	// installation, and override installed ones.
	Providers map[string]provider.Factory
	// Functions are functions of the calling program, by their name in the configuration. Names of functions of the
	// language are refused.
	Functions map[string]function.Function

	// Flavor is the program that the project is written for: Terraform or OpenTofu. If it is not set, the environment,
	// the CLI configuration and the project's lock file decide.
	Flavor flavor.Flavor
	// Parallelism limits concurrent provider calls; 0 means 10, and a negative number is refused.
	Parallelism int
	// Events receives the events of runs; nil drops them.
	Events event.Sink
	// Log receives the logs of providers; nil drops it.
	Log *slog.Logger
	// Abort, when it ends, cancels provider calls under way, and stops the project from starting providers; nil never
	// ends.
	Abort context.Context
	// Saved is a plan from a file. It has the configuration and the values of variables that it was made with: only
	// these are loaded, and only that plan can be applied. Variables and VarFiles must be empty.
	Saved *plan.Plan
	// Query includes query files (.tfquery.hcl), for Run.Query.
	Query bool
}

// surroundings returns the surroundings of a project, or all problems of the options.
func (o Options) surroundings() (*engine.Surroundings, diag.List) {
	// A project keeps its directory if the working directory of the process changes.
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, diag.FromError("Unreadable directory", fmt.Errorf("Options.Dir is %q: %w", o.Dir, err))
	}
	s := &engine.Surroundings{Dir: dir, Environ: o.Environ, PluginEnviron: o.Environ, ProviderLog: o.Log,
		ChosenFlavor: o.Flavor, Words: words}
	if o.Environ == nil {
		s.Environ = os.Environ()
	}
	for _, name := range o.VarFiles {
		s.Given = append(s.Given, config.Option{File: true, Text: filepath.ToSlash(name)})
	}
	diags := o.check()
	var more diag.List
	s.Values, more = ctyValues("var.", o.Variables)
	return s, diags.Extend(more)
}

// providers returns the caller's own providers by address; host is the registry of sources without a host.
func (o Options) providers(host string) (map[addr.Provider]provider.Factory, diag.List) {
	var diags diag.List
	out := map[addr.Provider]provider.Factory{}
	spelt := map[addr.Provider]string{}
	for _, source := range slices.Sorted(maps.Keys(o.Providers)) {
		factory := o.Providers[source]
		a, err := addr.ParseProviderIn(source, host)
		if err != nil {
			diags = diags.AppendError("Invalid source of a provider", err)
			continue
		}
		if factory == nil {
			diags = diags.Errorf(nil, "Invalid provider", "Options.Providers[%q] is nil. Set the factory of the "+
				"provider, or leave the entry out.", source)
			continue
		}
		if other, twice := spelt[a]; twice {
			diags = diags.Errorf(nil, "Provider is set twice", "Options.Providers has %q and %q, which are both %s. "+
				"Remove one of them.", other, source, a)
			continue
		}
		out[a], spelt[a] = factory, source
	}
	return out, diags
}

// Project is a loaded configuration with its store, its providers and the values of its variables. Methods may be
// called concurrently.
type Project struct {
	engine *engine.Project
	values config.Values
	host   string      // the registry of sources without a host
	saved  *plan.Plan  // Options.Saved
	store  state.Store // Options.Store
	// listener wraps Options.Events; nil without events.
	listener *listener
	closed   atomic.Bool

	dir        string
	workspace  string                 // Options.Workspace
	expression atomic.Pointer[string] // the expression that Evaluate parsed last, for Diagnostics
}

// Load loads a project. Warnings may accompany a project; after errors it is nil, and Options.Diagnostics shows them.
// The caller must close the project after its runs.
func Load(ctx context.Context, o Options) (_ *Project, diags diag.List) {
	defer conclude(ctx, &diags)
	s, diags := o.surroundings()
	if diags.HasErrors() {
		return nil, diags
	}
	host := s.Flavor().RegistryHost()
	own, diags := o.providers(host)
	if diags.HasErrors() {
		return nil, diags
	}
	var events event.Sink
	var between *listener
	if o.Events != nil {
		between = &listener{sink: o.Events}
		events = between
	}
	p, diags := s.Project(ctx, engine.LoadOptions{
		Workspace: o.Workspace, Parallelism: o.Parallelism, Events: events, Abort: o.Abort, Saved: o.Saved,
		Store: o.Store, Providers: own, Functions: o.Functions, Query: o.Query,
	})
	if diags.HasErrors() {
		return nil, diags
	}
	project := &Project{engine: p, host: host, saved: o.Saved, store: o.Store, listener: between,
		dir: s.Dir, workspace: o.Workspace}
	if o.Saved != nil {
		project.values = valuesOf(o.Saved)
		return project, diags
	}
	values, more := s.Variables(p.Config().Root, engine.VariableOptions{Given: s.Given})
	if diags = diags.Extend(more); more.HasErrors() {
		_ = p.Close()
		return nil, diags
	}
	project.values = values
	return project, diags
}

// InstallOptions configures the installation of modules and providers.
type InstallOptions struct {
	// Backend holds additional arguments of the backend, as the option -backend-config sets them. Values are as in
	// Options.Variables. They are stored in the record of the backend, so that Load does not need them.
	Backend map[string]any
	// Upgrade installs modules again and chooses the newest allowed version of each provider.
	Upgrade bool
	// Reconfigure accepts another backend block, or other arguments than the recorded ones. Existing states are not
	// moved: from then on, the states in the new backend are used. Otherwise such a change is refused.
	Reconfigure bool
	// Progress receives a line for each step; nil drops them.
	Progress func(line string)
}

// Install installs everything that the configuration needs, like the command "init": modules, providers, the lock file,
// and the record of the backend block. It uses these options: Dir, Environ, Flavor, Providers (which are not
// installed), Variables and VarFiles (which sources of modules may refer to). It asks no questions, and refuses a
// backend block that differs from the recorded one, unless InstallOptions.Reconfigure is set. A backend that cannot be
// used is not recorded. Only the command "init -migrate-state" copies states from one backend to another.
func Install(ctx context.Context, o Options, how InstallOptions) (diags diag.List) {
	defer conclude(ctx, &diags)
	s, diags := o.surroundings()
	if diags.HasErrors() {
		return diags
	}
	own, diags := o.providers(s.Flavor().RegistryHost())
	backend, more := ctyValues("the argument of the backend ", how.Backend)
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	return s.Install(ctx, engine.InstallOptions{Upgrade: how.Upgrade, Progress: how.Progress, Own: own,
		Backend: backend, Reconfigure: how.Reconfigure})
}

// Close stops the providers that were started for their schemas. Afterwards the project and its runs start no
// providers: calls that need one are refused. A second Close does nothing, nor does Close of a nil Project.
func (p *Project) Close() error {
	if p == nil || p.closed.Swap(true) {
		return nil
	}
	return p.engine.Close()
}

// Validate checks the configuration without state, values of variables or requests to services.
func (p *Project) Validate(ctx context.Context) (diags diag.List) {
	defer conclude(ctx, &diags)
	defer p.raisePanic()
	if ctx.Err(); p.usable().HasErrors() { // a nil context panics here, where the caller can see it
		return p.usable()
	}
	return p.engine.Validate(ctx)
}

// Store returns the store of the project's states.
func (p *Project) Store() state.Store {
	if p.store != nil {
		return p.store
	}
	return p.engine.Store()
}

// Schema returns the schema of the provider with a source.
func (p *Project) Schema(source string) (_ *provider.Schema, diags diag.List) {
	defer conclude(context.Background(), &diags)
	a, err := addr.ParseProviderIn(source, p.host)
	if err != nil {
		return nil, diag.FromError("Invalid source of a provider", err)
	}
	if diags := p.usable(); diags.HasErrors() {
		return nil, diags
	}
	return p.engine.Schema(a)
}

// TextOptions configures a plan as text.
type TextOptions struct {
	// Color enables terminal escape sequences.
	Color bool
	// Width is the number of columns to wrap text at; 0 means 78.
	Width int
}

// Text writes a plan as readable text.
func (p *Project) Text(w io.Writer, pl *plan.Plan, o TextOptions) error {
	if err := p.renders(pl); err != nil {
		return err
	}
	if o.Width < 0 {
		return fmt.Errorf("TextOptions.Width is %d: it must not be negative", o.Width)
	}
	out := &sink{w: w}
	v := view.New(view.Options{Out: out, Automation: true, Color: o.Color, Width: o.Width, Secrets: p.engine.Secrets(),
		Sources: func() map[string][]byte { return p.engine.Config().Files }})
	v.Plan(pl, p.schemas(pl))
	v.Close()
	return out.err
}

// JSON writes a plan as the JSON document of "show -json PLANFILE".
func (p *Project) JSON(w io.Writer, pl *plan.Plan) error {
	if err := p.renders(pl); err != nil {
		return err
	}
	return tfjson.Plan(w, pl, pl.Prior(), p.engine.Config(), p.schemas(pl))
}

// MarkdownOptions configures a plan as Markdown.
type MarkdownOptions struct {
	// Limit is the maximum size of the document in bytes, at least 1000; 0 means no limit. A longer document is cut,
	// with a note about what is left out. GitHub, for example, limits comments to 65536 characters.
	Limit int
}

// Markdown writes a plan as Markdown, for a comment or a page: a headline with the counts, failed checks, a line for
// each change, and the plan text in a code block. Warnings are not part of a plan: Diagnostics writes them.
func (p *Project) Markdown(w io.Writer, pl *plan.Plan, o MarkdownOptions) error {
	if err := p.renders(pl); err != nil {
		return err
	}
	if o.Limit != 0 && o.Limit < view.LeastMarkdown {
		return fmt.Errorf("MarkdownOptions.Limit is %d: it must be 0, or at least %d", o.Limit, view.LeastMarkdown)
	}
	return view.Markdown(view.Options{Out: w, Secrets: p.engine.Secrets()}, pl, p.schemas(pl), o.Limit, "")
}

// HTMLOptions configures an HTML page.
type HTMLOptions struct {
	// Problems are those of planning or applying.
	Problems diag.List
	// Applied are the events of the apply that performed the plan: the page then has the outcome of each change and a
	// timeline.
	Applied *Recording
}

// Recording records the events of an apply for its page: set it as Options.Events. The zero value is ready for use.
type Recording struct {
	// Next receives the events, too, unless it is nil.
	Next event.Sink

	recorder report.Recorder
}

// Send implements event.Sink.
func (r *Recording) Send(e event.Event) {
	r.recorder.Send(e)
	if r.Next != nil {
		r.Next.Send(e)
	}
}

// HTML writes a plan as a page that needs no other file and no network (docs/report.md). It has no sensitive values.
func (p *Project) HTML(w io.Writer, pl *plan.Plan, o HTMLOptions) error {
	if err := p.renders(pl); err != nil {
		return err
	}
	how := report.Options{View: p.reporting(), Version: engine.Version, Problems: o.Problems}
	if o.Applied != nil {
		how.Run = &o.Applied.recorder
	}
	return report.Plan(w, how, pl, p.schemas(pl))
}

// HTMLState writes a state as a page like that of HTML.
func (p *Project) HTMLState(w io.Writer, s *state.State) error {
	if err := p.usable().Err(); err != nil {
		return err
	}
	return report.State(w, report.Options{View: p.reporting(), Version: engine.Version,
		Workspace: p.engine.Workspace()}, s, p.engine.Schemas(s))
}

func (p *Project) reporting() view.Options { return view.Options{Secrets: p.engine.Secrets()} }

func (p *Project) schemas(pl *plan.Plan) tfjson.Schemas {
	return p.engine.Schemas(pl.Base, pl.Changes...)
}

// MemoryStore returns a store in memory, for tests, and for programs that do not store their state.
func MemoryStore() state.Store { return mem.New() }

// LocalStore returns the store of a project without a backend block: the state in a file, with its journal, lock and
// backup beside it, and other workspaces in terraform.tfstate.d in the same folder. A relative path is resolved now,
// against the working directory of the process; it must not be empty. If the results of a run can no longer be written
// to the folder, they are written to files named after the state, in the working directory of the process or in the
// folder for temporary files, where the next run finds them.
func LocalStore(path string) state.Store {
	if path == "" {
		panic("tombolo: LocalStore with an empty path")
	}
	if absolute, err := filepath.Abs(path); err == nil { // Abs fails only without a working directory
		path = absolute
	}
	return store.New(store.Options{
		Path: path, WorkspaceDir: filepath.Join(filepath.Dir(path), "terraform.tfstate.d"), Version: "Tombolo " +
			Version,
	})
}

// sink remembers the first error of a writer.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(data []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(data)
	s.err = err
	return n, err
}
