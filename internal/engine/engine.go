// Package engine runs projects: it loads a configuration with its surroundings, and validates, plans, applies, imports,
// recovers and evaluates it.
//
// Surroundings are the inputs of a run that are not in the configuration: the environment, the CLI configuration, the
// installed providers, and the store of the backend block. A Project is a loaded configuration with its store and
// providers. A Run holds the lock on its state. The command line, the command "test" and the root package use this
// package.
//
// Cancellation works in two steps, so that an interrupted apply can end cleanly. When the context of a method ends, no
// new operation starts, and operations in flight are finished. Options.Abort cancels their provider calls, too. No
// goroutine outlives a call.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/engine/ownstore"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/patience"
	"github.com/tombolo-iac/tombolo/internal/planning"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/tracing"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Version is the version of the engine itself. Its first two numbers are the language level, for programs that read
// them from the first line of `version`; the last one counts the releases of that level. It is never lower than that of
// state.LanguageVersion: requirements such as 1.15.3 or later are satisfied (docs/promises.md).
const Version = state.LanguageLevel + ".9"

// Options describes a project and its environment.
type Options struct {
	// Dir is the directory of the root module; empty means ".". Relative paths in the configuration start there.
	Dir string
	// DataDir is the folder for installed modules and providers, relative to Dir; empty means ".terraform".
	DataDir string
	// OriginalDir is path.cwd; empty means the process's working directory.
	OriginalDir string
	// Workspace is the selected workspace; empty means "default".
	Workspace string
	// Store keeps the state; nil means the local store at Dir/terraform.tfstate.
	Store state.Store
	// Providers are started on demand, one instance for each provider configuration. They override the built-in ones.
	Providers map[addr.Provider]provider.Factory
	// Title is the name of the program in sentences; empty means "Tombolo".
	Title string
	// Flavor is the program that the project is written for.
	Flavor flavor.Flavor
	// Parallelism limits concurrent provider calls; 0 means 10.
	Parallelism int
	// Events receives the events of runs; nil drops them.
	Events event.Sink
	// Abort, when it ends, cancels provider calls under way; nil never ends.
	Abort context.Context
	// MayRead decides whether a program may run during a plan: the program of a provider or, if words are set, the
	// command of a data source or resource. An error refuses it. Nil allows all.
	MayRead func(p addr.Provider, words []string) error
	// OtherStates opens the store of a backend in a service, for data sources that read other states; may be nil. c
	// decrypts these states.
	OtherStates func(ctx context.Context, b *backend.Backend, c *encryption.Cipher) (state.Store, diag.List)
	// Encryption returns the encryption of other states; may be nil.
	Encryption func(root *config.Module) (*encryption.Encryption, diag.List)
	// Keeps reports whether the main function of this process calls program.Keep when required, so that encrypted
	// responses of programs can outlive it.
	Keeps bool
	// Functions are the caller's own functions by name, in addition to those of the language.
	Functions map[string]function.Function
	// Log receives the engine's log; nil drops it.
	Log *slog.Logger
	// Secrets collects values that must not be shown; nil means a new collection.
	Secrets *value.Secrets
	// Config replaces the files of Dir with those of a saved plan.
	Config map[string][]byte
	// Query also reads query files.
	Query bool
	// RememberPreventDestroy records prevent_destroy in the state, where it protects objects whose block was removed.
	RememberPreventDestroy bool
	// Refresh selects the real objects that plans read, unless PlanOptions override it.
	Refresh RefreshPolicy
	// AllowDeferral makes plans defer what cannot be planned yet, unless PlanOptions forbid it.
	AllowDeferral bool
	// Waves limit the changes that an apply makes at a time.
	Waves []Wave
	// Rules are the addresses and patterns for which the project has settings; plans warn about those that match
	// nothing.
	Rules []addr.Target
	// Policies check plans, in this order.
	Policies []Policy
	// Hooks run on events, in this order, with the environment HookEnviron; nil means the environment of the process.
	Hooks       []hook.Hook
	HookEnviron []string
	// Patience holds the rules for provider calls; the zero value is the default.
	Patience patience.Policy
	// Module is loaded instead of the module in Dir; see config.Options, and there for RootProviders.
	Module        *config.Place
	RootProviders func(c *config.Config) []*config.ProviderConfig
	// Constants are the values of the root module's const variables.
	Constants func(root *config.Module) config.Values
}

// RefreshPolicy selects the real objects that plans read. The zero value reads all.
type RefreshPolicy struct {
	// Minimal makes a minimal refresh the default of normal plans.
	Minimal bool
	// MaxAge, in a minimal refresh, makes plans read objects whose last read is older. If it is set, the state records
	// when objects were read.
	MaxAge time.Duration
	// Never selects objects that normal and destroy plans do not read.
	Never []addr.Target
}

// Project is a loaded configuration with its store and providers. Its methods may be called concurrently.
type Project struct {
	opts      Options
	load      config.Options
	config    *config.Config
	registry  *host.Registry
	plugins   map[addr.Provider]string // programs of plugins
	preparing *sync.Mutex              // guards program
	program   *linking.Program
	diags     diag.List
	store     state.Store
	secrets   *value.Secrets                 // secrets that programs and providers must not show
	learned   *atomic.Pointer[plan.Plan]     // the last plan whose secrets were added to them
	answers   *atomic.Pointer[program.Spool] // the spool for responses of programs, once the state is locked
	gate      *patience.Gate                 // its knowledge about services is kept for later runs
}

// Load reads the configuration. Warnings come with a project; if there are errors, it is nil.
func Load(ctx context.Context, o Options) (*Project, diag.List) {
	if o.Dir == "" {
		o.Dir = "."
	}
	if o.Workspace == "" {
		o.Workspace = state.DefaultWorkspace
	}
	if o.Parallelism == 0 {
		o.Parallelism = 10
	}
	if o.Events == nil {
		o.Events = event.Discard
	}
	if o.Abort == nil {
		o.Abort = context.Background()
	}
	if o.OriginalDir == "" {
		if wd, err := os.Getwd(); err == nil {
			o.OriginalDir = wd
		}
	}
	load := config.Options{Dir: o.Dir, DataDir: o.DataDir, Flavor: o.Flavor, Module: o.Module,
		LanguageVersion: o.Flavor.Version(state.LanguageVersion), RootProviders: o.RootProviders,
		Constants: o.Constants, Workspace: o.Workspace, Query: o.Query}
	if o.Config != nil {
		load.Files = config.SnapshotFiles(o.Config)
	}
	cfg, diags := config.Load(ctx, load)
	if diags.HasErrors() {
		return nil, diags
	}
	p := &Project{opts: o, load: load, config: cfg, store: o.Store, diags: diags, preparing: &sync.Mutex{},
		secrets: cmp.Or(o.Secrets, &value.Secrets{}), answers: &atomic.Pointer[program.Spool]{},
		learned: &atomic.Pointer[plan.Plan]{},
		gate:    patience.New(o.Patience)}
	if p.store == nil {
		p.store = localStore(o.Dir)
	}
	p.registry = host.NewRegistry(o.Abort, p.factories())
	return p, diags
}

// Close stops the providers that were started for their schemas.
func (p *Project) Close() error { return p.registry.Close() }

// Config returns the loaded configuration.
func (p *Project) Config() *config.Config { return p.config }

// Workspace returns the name of the workspace of the project's state.
func (p *Project) Workspace() string { return p.opts.Workspace }

// Store returns the store of the project's states.
func (p *Project) Store() state.Store { return p.store }

// Schema returns the schema of a provider.
func (p *Project) Schema(a addr.Provider) (*provider.Schema, diag.List) { return p.registry.Schema(a) }

// prepare links the configuration, once.
func (p *Project) prepare() (*linking.Program, diag.List) {
	p.preparing.Lock()
	defer p.preparing.Unlock()
	if p.program != nil {
		return p.program, nil
	}
	p.registry.Prepare(used(p.config))
	prog, diags := linking.New(p.config, p.registry)
	if diags.HasErrors() {
		return nil, diags
	}
	p.program = prog
	return prog, diags
}

// used returns the providers whose blocks have to be compiled.
func used(cfg *config.Config) []addr.Provider {
	set := map[addr.Provider]bool{}
	for _, m := range cfg.Modules {
		for _, r := range m.Resources {
			set[r.Provider] = true
		}
		for _, c := range m.ProviderConfigs {
			set[c.Provider] = true
		}
	}
	return slices.Collect(maps.Keys(set))
}

// functions returns the functions for a walk; ctx cancels calls of providers' functions. Relative paths in filesystem
// functions start at the root module's directory; relative names in results are not changed.
func (p *Project) functions(ctx context.Context, o funcs.Options) eval.Functions {
	o.BaseDir, o.Nonsensitive, o.Recursive = p.baseDir(), p.secrets.Show, p.opts.Flavor.NestsTemplates()
	if o.Work == nil {
		o.Work = funcs.NewWork(ctx)
	}
	loose := o
	loose.Files = nil
	out := eval.Functions{Table: p.own(funcs.Table(o), o.Files), OfProvider: p.providerFunctions(ctx, o.Files)}
	if o.Files != nil {
		out.Loose, out.LooseOfProvider = p.own(funcs.Table(loose), nil), p.providerFunctions(ctx, loose.Files)
	}
	return out
}

// providerFunctions returns the functions of providers, and records their results unless record is nil.
func (p *Project) providerFunctions(ctx context.Context, record *funcs.FileRecord) func(
	addr.Provider) map[string]function.Function {
	return func(a addr.Provider) map[string]function.Function {
		of := p.registry.Functions(ctx, a)
		for name, f := range of {
			of[name] = funcs.OfProvider("provider::"+a.ForDisplay()+"::"+name, f, record)
		}
		return of
	}
}

// baseDir returns the base of relative names in the configuration, or "" for the working directory.
func (p *Project) baseDir() string {
	if p.opts.Dir == "." {
		return ""
	}
	return p.opts.Dir
}

// OfCheckBlock reports whether a diagnostic is the result of a check block: results from a plan are outdated after the
// apply.
func OfCheckBlock(d *diag.Diagnostic) bool {
	_, ok := d.Extra.(eval.OfCheck)
	return ok
}

// OpenOptions configures how to acquire the state's lock.
type OpenOptions struct {
	// Operation is shown to other runs that wait for the lock, such as state.OperationApply.
	Operation state.Operation
	// NoLock skips the shared lock; Timeout is how long to wait for another holder.
	NoLock  bool
	Timeout time.Duration
	// Reading means that nothing is written. With NoLock, the state can then be read even while another run writes it.
	Reading bool
}

// Run is a held lock on a project's state. Methods must not be called concurrently.
type Run struct {
	project *Project
	session state.Session
	ctx     context.Context
	// ended holds the objects of interrupted operations that have ended since, as reported by their programs.
	ended []addr.AbsResourceInstance
	// judged is the last plan of this run that no policy denied; unhooked is the last plan whose hooks have not run
	// yet.
	judged, unhooked *plan.Plan
	// reported is set after the loss of the lock was reported, or if the next run will report it.
	reported bool
}

// lost returns the reason why the lock is no longer held.
func (r *Run) lost() error {
	if r.ctx.Err() == nil {
		return nil
	}
	r.reported = true
	return context.Cause(r.ctx)
}

// withLockLoss adds the loss of the lock to the problems of a plan, as the cause of its interruption.
func (r *Run) withLockLoss(diags diag.List) diag.List {
	if !diags.HasErrors() {
		return diags
	}
	if lost := r.lost(); lost != nil {
		diags = diags.AppendError("State lock lost", fmt.Errorf("%w. Make a new plan", lost))
	}
	return diags
}

// Open takes the lock of the workspace's state, recovers an interrupted run, and reads the state.
func (p *Project) Open(ctx context.Context, o OpenOptions) (_ *Run, diags diag.List) {
	ctx, span := tracing.Start(ctx, "open state")
	defer func() { span.End(!diags.HasErrors()) }()
	ws, err := p.store.Workspace(p.opts.Workspace)
	if err != nil {
		return nil, diag.FromError("Cannot open the workspace", err)
	}
	if o.Operation == "" {
		o.Operation = state.OperationApply
	}
	req := state.LockRequest{Unlocked: o.NoLock, Info: state.LockInfo{Operation: o.Operation}}
	session, err := state.Acquire(ctx, ws, req, o.Timeout, func(l *state.LockedError) {
		p.opts.Events.Send(event.LockWaiting{Info: cmp.Or(l.Info, &state.LockInfo{})})
	})
	if locked := (*state.LockedError)(nil); o.NoLock && o.Reading && errors.As(err, &locked) {
		session, err = readBesideWriter(ctx, ws)
	}
	if err != nil {
		return nil, lockFailed(err, o)
	}
	opened := false
	defer func() {
		if !opened { // after an error or a panic of the store, the caller has no run to close
			_ = session.Unlock()
		}
	}()
	r := &Run{project: p, session: session, ctx: session.Context()}
	diags = BlankWarning(session.Snapshot())
	if at, ok := ws.(spooling); ok {
		place := p.answersOf(at)
		if o.NoLock {
			place.Dir = ""
		}
		p.answers.Store(&place)
		diags = diags.Extend(r.foldAnswers(ctx))
	}
	if err := r.foldPartial(ctx); err != nil {
		diags = diags.AppendError("Cannot recover an interrupted run", err)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	opened = true
	return r, diags
}

// State returns the current state, or nil if there is none.
func (r *Run) State() *state.State { return r.session.Snapshot().State }

// prior returns the state in the form of the project's flavor.
func (r *Run) prior() *state.State {
	return adopt(r.State(), r.project.opts.Flavor, r.project.config.Uses())
}

// Snapshot returns the state with the open operations of an interrupted run.
func (r *Run) Snapshot() *state.Snapshot { return r.session.Snapshot() }

// Session returns the held lock, for commands that edit the state.
func (r *Run) Session() state.Session { return ownstore.Unwrap(r.session) }

// Close releases the lock.
func (r *Run) Close(context.Context) diag.List {
	reported := r.reported && r.ctx.Err() != nil
	err := r.session.Unlock()
	if err == nil || reported || r.reported && errors.Is(err, remote.ErrLost) {
		return nil
	}
	return diag.FromError("Error releasing the state lock", err)
}

// PlanOptions configures a plan.
type PlanOptions struct {
	Mode        plan.Mode
	SkipRefresh bool
	// MinimalRefresh reads only the objects that change, or depend on a change.
	MinimalRefresh bool
	// AllowDeferral plans only a part if the rest cannot be planned yet: Plan.Deferred. ForbidDeferral does not, even
	// if the project allows it.
	AllowDeferral, ForbidDeferral bool
	// FullRefresh reads all objects, overriding the policy of the project.
	FullRefresh  bool
	Targets      []addr.Target
	Except       []addr.Target // excluded with all dependents; excludes Targets
	ForceReplace []addr.AbsResourceInstance
	// Unprotected also destroys objects that prevent_destroy protects or that destroy = false keeps, for objects of
	// tests.
	Unprotected bool
	// Invoke holds actions to invoke; then nothing else is planned. The mode is RefreshOnly, and Targets selects the
	// callers of an action that refers to them.
	Invoke []addr.Target
	// GenerateConfig generates configuration for imported objects that have none: Change.GeneratedConfig.
	GenerateConfig bool
	// Strict makes failed conditions errors in refresh-only plans, as well.
	Strict bool
	// Import imports one object, as by the command "import".
	Import *Import
	// Variables are the root input variables as given; callers convert config.Values of files and options.
	Variables map[string]cty.Value
	// VariableRanges holds the ranges of values in files, for errors of validations; other errors show the declaration.
	VariableRanges map[string]hcl.Range
	// StandIns mock some providers and modules; usually nil.
	StandIns StandIns
	// Scope, if set, receives the scope to evaluate assertions with planned values. It can be used even after errors.
	Scope *Scope
	// Unjudged exempts the plan from policies, for objects of tests.
	Unjudged bool
}

// Import is one object to import.
type Import = planning.Import

// plan implements Plan without policies; hooks run around reads.
func (r *Run) plan(ctx context.Context, o PlanOptions, hooks *hook.Set) (out *plan.Plan, diags diag.List) {
	p := r.project
	ctx, span := tracing.Start(ctx, "plan")
	defer func() { span.End(!diags.HasErrors()) }()
	if diags := r.openMoves(); diags.HasErrors() {
		return nil, diags
	}
	prog, diags := p.prepare()
	if !diags.HasErrors() {
		diags = diags.Extend(p.config.CheckRoot())
	}
	if diags.HasErrors() {
		return nil, diags
	}
	now := time.Now()
	record := funcs.NewFileRecord(nil)
	pool := p.planPool(o)
	defer closing(pool.Pool, &diags)
	asked := ctx // assertions of tests are evaluated after the walk
	ctx, done := r.until(ctx, pool.Pool)
	defer done()
	if o.Mode != plan.Destroy && o.Import == nil { // otherwise only providers need a valid configuration
		if problems := p.validate(ctx, prog, pool.Pool); problems.HasErrors() {
			return nil, diags.Extend(problems)
		}
	}
	p.learnVariables(o.Variables)
	settings := p.settings(o.Variables, p.functions(asked, funcs.Options{PlanTime: now, Pure: true, Files: record}))
	settings.VariableRanges, settings.StandIns = o.VariableRanges, o.StandIns
	settings.Walked = o.Scope.walked(settings.Functions.Table)
	var interrupted []state.Intent
	if o.Import == nil { // an import can resolve the creation of the object
		interrupted = r.openCreations()
	}
	out, more := planning.Run(ctx, tracing.Carry(p.opts.Abort, ctx), prog, r.prior(), pool, planning.Options{
		Settings: settings, Title: p.opts.Title, Mode: o.Mode, SkipRefresh: o.SkipRefresh, Targets: o.Targets,
		Except:         o.Except,
		MinimalRefresh: o.MinimalRefresh || o.minimalByPolicy(p.opts.Refresh), MaxAge: p.opts.Refresh.MaxAge,
		Unrefreshed: o.unrefreshed(p.opts.Refresh), InFlight: r.inFlightObjects(), Interrupted: interrupted,
		Defer: o.defers(p.opts), ForceReplace: o.ForceReplace, Unprotected: o.Unprotected, Invoke: o.Invoke,
		Remember: p.opts.RememberPreventDestroy, Rules: p.opts.Rules,
		Generate: o.GenerateConfig, Strict: o.Strict, Import: o.Import, Now: now,
		Hooks: hooks,
	})
	diags = diags.Extend(more).Extend(r.unusedRules(o.Mode))
	diags = r.withLockLoss(diags)
	if problems := p.outsideWaves(out); problems.HasErrors() {
		out.Errored, diags = true, diags.Extend(problems)
	}
	if out != nil {
		out.FunctionResults, out.Nonsensitive = record.Results(), p.secrets.Shown()
		out.Config = p.config.Snapshot()
		out.Variables = planVariables(p.config, o.Variables)
		for _, f := range r.Snapshot().InFlight {
			out.Interrupted = append(out.Interrupted, f.Token())
		}
		diags = diags.Extend(r.inFlight())
	}
	return out, diags.Extend(r.checkNewPolicies(asked, out, diags, o.Unjudged || o.Import != nil))
}

// defers reports whether the plan may defer what cannot be planned yet.
func (o PlanOptions) defers(project Options) bool {
	return o.AllowDeferral || project.AllowDeferral && !o.ForbidDeferral
}

// planPool returns the providers for a plan.
func (p *Project) planPool(o PlanOptions) *pool {
	pool := p.pool(o.StandIns)
	if o.defers(p.opts) {
		pool.AllowDeferral()
	}
	return pool
}

// minimalByPolicy reports whether the policy of the project makes the refresh minimal.
func (o PlanOptions) minimalByPolicy(policy RefreshPolicy) bool {
	return policy.Minimal && !o.FullRefresh && !o.SkipRefresh && o.Mode == plan.Normal
}

// unrefreshed returns the objects that the policy of the project excludes from reading.
func (o PlanOptions) unrefreshed(policy RefreshPolicy) *linking.Selection {
	if o.FullRefresh {
		return nil
	}
	return linking.Select(policy.Never)
}

// inFlightObjects returns the objects of interrupted operations.
func (r *Run) inFlightObjects() (list []addr.Object) {
	for _, f := range r.Snapshot().InFlight {
		list = append(list, f.Object)
	}
	return list
}

// Validate checks the configuration without state, variables or services of providers.
func (p *Project) Validate(ctx context.Context) (diags diag.List) {
	prog, diags := p.prepare()
	if diags.HasErrors() {
		return diags
	}
	pool := p.registry.NewPool()
	defer closing(pool, &diags)
	diags = diags.Extend(backend.Validate(p.config.Root)).Extend(p.validate(ctx, prog, pool))
	if !diags.HasErrors() {
		diags = diags.Extend(p.elsewhere(ctx, pool))
	}
	return diags
}

// validate returns all problems of the configuration itself. Planning begins with it, so that errors are reported
// together, before any request; planning repeats its warnings with values.
func (p *Project) validate(ctx context.Context, prog *linking.Program, pool *host.Pool) diag.List {
	return planning.Validate(ctx, prog, pool, planning.Options{
		Settings: p.settings(nil, p.functions(ctx, funcs.Options{Pure: true})),
	})
}

// settings returns the settings of every walk of the project. The caller sets the others.
func (p *Project) settings(variables map[string]cty.Value, functions eval.Functions) access.Settings {
	return access.Settings{
		Functions: functions, Variables: variables, Workspace: p.opts.Workspace, Cwd: p.opts.OriginalDir,
		Parallelism: p.opts.Parallelism, Gate: p.gate, Secrets: p.secrets, Events: p.opts.Events,
	}
}

// until returns a context that also ends when the lock is lost. When it ends, the pool's providers are asked to stop
// calls that only read, so that the run does not wait for them. The caller must call the returned function.
func (r *Run) until(ctx context.Context, pool *host.Pool) (context.Context, func()) {
	both, cancel := context.WithCancelCause(ctx)
	lost := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	stopping := context.AfterFunc(both, func() { pool.Stop(r.project.opts.Abort) })
	return both, func() { stopping(); lost(); cancel(nil) }
}

func closing(pool *host.Pool, diags *diag.List) {
	if err := pool.Close(); err != nil {
		*diags = diags.Warnf(nil, "A provider did not stop cleanly", "%s.", err)
	}
}

func runID() string { return uuid.NewString() }
